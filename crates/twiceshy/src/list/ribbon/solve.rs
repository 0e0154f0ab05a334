//! Solving the equations of a ribbon: Gaussian elimination while they come, one row for each, and the matrix at the end.
//!
//! An equation that starts at a row which is taken is added to the one there; the sum starts further down. If nothing is left of
//! it, it said nothing new, or contradicts the others. Taking the last equations back is to clear their rows, since none was
//! added to another before.

use std::ops::Range;

use super::GROUP;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::mem::OutOfMemory;

/// The equations, each in the row that it starts at.
pub(super) struct System {
    rows: Vec<Row>,
}

/// An equation, or none if there are no coefficients.
#[derive(Clone, Copy, Default)]
struct Row {
    coefficients: u64,
    values: u64,
}

/// What became of an equation.
#[derive(Debug, PartialEq)]
pub(super) enum Added {
    /// It is in this row.
    At(usize),
    /// It follows from the others.
    Known,
    /// It contradicts the others.
    Not,
}

impl System {
    /// No equations, in so many groups of rows.
    pub(super) fn new(groups: u32) -> Result<Self, OutOfMemory> {
        let (mut rows, len) = (Vec::new(), groups as usize * GROUP);
        let bytes = len.saturating_mul(size_of::<Row>());
        rows.try_reserve_exact(len).map_err(|error| OutOfMemory::new(bytes, error))?;
        rows.resize(len, Row::default());
        Ok(Self { rows })
    }

    /// Adds an equation. Bits of the values that do not count are 0.
    #[inline]
    pub(super) fn add(&mut self, mut start: usize, mut coefficients: u64, mut values: u64) -> Added {
        loop {
            let row = &mut self.rows[start];
            if row.coefficients == 0 {
                *row = Row { coefficients, values };
                return Added::At(start);
            }
            coefficients ^= row.coefficients;
            values ^= row.values;
            if coefficients == 0 {
                return if values == 0 { Added::Known } else { Added::Not };
            }
            let skip = coefficients.trailing_zeros();
            start += skip as usize;
            coefficients >>= skip;
        }
    }

    /// Takes equations back, which must be the last ones that were added.
    pub(super) fn take_back(&mut self, rows: &[usize]) {
        rows.iter().for_each(|&row| self.rows[row] = Row::default());
    }

    /// Writes the matrix into some columns of groups of so many bytes. Rows without an equation are 0.
    pub(super) fn solve(&self, columns: Range<usize>, group_bytes: usize, groups: &mut [u8]) {
        debug_assert_eq!(groups.len() * GROUP, self.rows.len() * group_bytes);
        dispatch(Solve { rows: &self.rows, columns, group_bytes, groups });
    }
}

struct Solve<'a> {
    rows: &'a [Row],
    columns: Range<usize>,
    group_bytes: usize,
    groups: &'a mut [u8],
}

impl Kernel for Solve<'_> {
    type Output = ();
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) {
        let Self { rows, columns, group_bytes, groups } = self;
        // Of each column the rows from the present one on, which is in the lowest bit.
        let mut window = vec![0u64; columns.len()];
        let groups = rows.chunks_exact(GROUP).zip(groups.chunks_exact_mut(group_bytes));
        for (rows, bytes) in groups.rev() {
            for row in rows.iter().rev() {
                let later = row.coefficients >> 1;
                for (column, window) in (0..).zip(&mut window) {
                    let sum = u64::from((later & *window).count_ones());
                    *window = *window << 1 | (sum ^ row.values >> column) & 1;
                }
            }
            for (byte, window) in bytes[columns.clone()].iter_mut().zip(&window) {
                *byte = *window as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use twiceshy_testkit::Random;

    use super::super::{Equation, WIDTH};
    use super::*;
    use crate::bits::word::low_mask;

    #[test]
    fn a_solution_fulfils_every_equation_that_was_added() {
        let mut random = Random(1);
        for case in 0..300 {
            let (groups, columns) = (8 + random.below(10) as u32, 1 + random.below(20) as usize);
            let rows = groups as usize * GROUP;
            let mut system = System::new(groups).unwrap();
            let (mut kept, mut taken) = (Vec::new(), 0);
            for _ in 0..rows + 20 {
                let start = random.below((rows - WIDTH as usize + 1) as u64) as usize;
                let Equation { coefficients, values } = Equation::of(random.next());
                // Few coefficients make dependent equations frequent.
                let coefficients = if case % 2 == 0 { coefficients & 0b1_0101 } else { coefficients };
                let values = values & low_mask(columns as u32);
                match system.add(start, coefficients, values) {
                    Added::At(row) if random.below(10) == 0 => system.take_back(&[row]),
                    Added::At(_) => kept.push((start, coefficients, values)),
                    Added::Known => {
                        kept.push((start, coefficients, values));
                        taken += 1;
                    }
                    Added::Not => taken += 1,
                }
            }
            assert!(case % 2 == 1 || taken > 0, "dependent equations");
            // Others may have columns beside these.
            let (before, after) = (random.below(3) as usize, random.below(3) as usize);
            let group_bytes = before + columns + after;
            let mut matrix = vec![0xa5; groups as usize * group_bytes];
            system.solve(before..before + columns, group_bytes, &mut matrix);
            for group in matrix.chunks_exact(group_bytes) {
                let others = group[..before].iter().chain(&group[before + columns..]);
                assert!(others.copied().all(|byte| byte == 0xa5));
            }
            let bit = |row: usize, column: usize| {
                u64::from(matrix[row / GROUP * group_bytes + before + column] >> (row % GROUP) & 1)
            };
            for (start, coefficients, values) in kept {
                for column in 0..columns {
                    let sum = (0..WIDTH as usize)
                        .filter(|row| coefficients >> row & 1 == 1)
                        .fold(0, |sum, row| sum ^ bit(start + row, column));
                    assert_eq!(sum, values >> column & 1);
                }
            }
        }
    }

    #[test]
    fn equal_equations_are_known_and_opposite_ones_contradict() {
        let mut system = System::new(8).unwrap();
        assert_eq!(system.add(3, 0b101, 1), Added::At(3));
        assert_eq!(system.add(3, 0b101, 1), Added::Known);
        assert_eq!(system.add(3, 0b101, 0), Added::Not);
        // The sum of both: it starts where they differ.
        assert_eq!(system.add(3, 0b1101, 0), Added::At(6));
        assert_eq!(system.add(6, 0b1, 1), Added::Known);
        system.take_back(&[6]);
        assert_eq!(system.add(6, 0b1, 0), Added::At(6));
        assert_eq!(system.add(3, 0b1101, 0), Added::Not);
    }
}
