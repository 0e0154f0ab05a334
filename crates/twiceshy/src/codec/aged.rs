//! Strings of bits of different lengths, each with a count.
//!
//! # The idea
//!
//! A slot holds a string that ends with a stop bit ([`stop`]); a string that occurs several times is counted
//! as in [`counted`], for which such a slot is a number like any other. So inserting, removing and
//! loading are that codec's; here is what the stop bit adds: which strings of a run are prefixes of a hash.
//!
//! Strings may be prefixes of each other (this is a multiset), so a match does not end a search for the longest
//! one: a run is read to its end. In slot order a string lies between its continuations, so there is no order
//! that would allow to stop early.
//!
//! # Cost
//!
//! A query that needs no more than a glance compares up to six slots at once.

use super::{counted, stop};
use crate::bits::cpu::{Cpu, Kernel};
use crate::table::{Home, Table};

/// Whether there is a prefix of `hash`, which belongs there.
#[inline(always)]
pub(crate) fn contains<C: Cpu, B: AsRef<[u8]>>(cpu: C, table: &Table<B>, home: Home, hash: u64) -> bool {
    if let Some(glance) = table.glance_at(cpu, home) {
        let found = table.find_prefix_at_glance(&glance, table.address().window(cpu, hash));
        // What is found further on may be a digit.
        if !table.is_behind::<{ counted::FIRST_DIGIT }>(found) {
            return found != 0;
        }
    }
    cpu.outlined(LookCloser { table, hash })
}

/// [`contains`] for all runs. Two words, which are passed in registers, so that the caller needs no stack.
struct LookCloser<'a, B> {
    table: &'a Table<B>,
    hash: u64,
}

impl<B: AsRef<[u8]>> Kernel for LookCloser<'_, B> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, hash } = self;
        let (quotient, window) = table.address().split(hash);
        Longest { table, quotient, window, known: u64::MAX }.run(cpu).is_some()
    }
}

/// The slot of the longest prefix of `window` in the run of `quotient`. Only the bits of the window that are
/// set in `known` are compared.
pub(crate) struct Longest<'a, B> {
    pub(crate) table: &'a Table<B>,
    pub(crate) quotient: u64,
    pub(crate) window: u64,
    pub(crate) known: u64,
}

impl<B: AsRef<[u8]>> Kernel for Longest<'_, B> {
    type Output = Option<u64>;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Option<u64> {
        let Self { table, quotient, window, known } = self;
        let run = table.run(cpu, quotient);
        let (mut at, mut longest) = (run.start, None::<u64>);
        while at < run.end {
            let entry = counted::decode(table, at, run.end);
            let slot = entry.remainder;
            // The longer a string is, the lower its stop bit.
            if stop::matches(slot, window & known | slot & !known)
                && longest.is_none_or(|longest| slot.trailing_zeros() < longest.trailing_zeros())
            {
                longest = Some(slot);
            }
            at = entry.end();
        }
        longest
    }
}

/// Removes the longest prefix of `window` if that takes no more than a glance; the usual removal.
#[inline(always)]
pub(crate) fn remove_at_glance<C: Cpu>(cpu: C, table: &mut Table, home: Home, window: u64) -> bool {
    table.prefetch_block(home);
    match table.glance_at(cpu, home) {
        Some(glance) if counted::is_plain(table, &glance) => {
            match table.only_prefix_at_glance(&glance, window, 0, u64::MAX) {
                Some(rank) => table.remove_at_glance(cpu, &glance, rank),
                None => false,
            }
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::cpu::dispatch;
    use crate::table::{Loader, Shape};
    use twiceshy_testkit::Random;

    struct Ask<'a>(&'a Table, u64, u64);
    impl Kernel for Ask<'_> {
        type Output = (Option<bool>, Option<u64>, Option<Option<u32>>);
        #[inline(always)]
        fn run<C: Cpu>(self, cpu: C) -> Self::Output {
            let Self(table, quotient, window) = self;
            let (glance, slot_bits) = (table.glance(cpu, quotient), table.shape().slot_bits());
            let hash = || quotient << 58 | window << (58 - slot_bits);
            (
                (slot_bits <= 58).then(|| contains(cpu, table, table.home_now(cpu, hash()), hash())),
                Longest { table, quotient, window, known: u64::MAX }.run(cpu),
                glance
                    .filter(|glance| counted::is_plain(table, glance))
                    .map(|glance| table.only_prefix_at_glance(&glance, window, 0, u64::MAX)),
            )
        }
    }

    /// Random runs of every width against a search one by one.
    #[test]
    fn lanes_agree_with_single_slots() {
        let mut random = Random(1);
        for slot_bits in 2..=64u32 {
            for _ in 0..300 {
                let mask = crate::bits::word::low_mask(slot_bits);
                let mut slots: Vec<u64> = (0..random.below(8))
                    .map(|_| {
                        let most = slot_bits.min(4 + random.below(60) as u32);
                        let len = random.below(u64::from(most)) as u32;
                        stop::encode(random.next() & crate::bits::word::low_mask(len), len, slot_bits)
                    })
                    .collect();
                slots.sort_unstable();
                let mut loader = Loader::new(Shape::new(6, slot_bits), u64::MAX).unwrap();
                let mut strings = Vec::new();
                for group in slots.chunk_by(|a, b| a == b) {
                    let count = [1, 1, 1, 2, 3, 5, 1000][random.below(7) as usize] * group.len() as u64;
                    counted::push(&mut loader, 5, group[0], count).unwrap();
                    strings.push((group[0], count));
                }
                let table = loader.finish();
                for _ in 0..50 {
                    let window = match random.below(3) {
                        // What follows the string does not matter.
                        0 if !slots.is_empty() => {
                            let slot = slots[random.below(slots.len() as u64) as usize];
                            slot ^ random.next() & (slot ^ (slot - 1))
                        }
                        _ => random.next() & mask,
                    };
                    let matching: Vec<u64> =
                        slots.iter().copied().filter(|&slot| stop::matches(slot, window)).collect();
                    let longest = matching.iter().copied().max_by_key(|&slot| stop::len(slot, slot_bits));
                    let (found, best, only) = dispatch(Ask(&table, 5, window));
                    let expected = Some(!matching.is_empty()).filter(|_| slot_bits <= 58);
                    assert_eq!(found, expected, "width {slot_bits} {slots:x?} {window:x}");
                    assert_eq!(best, longest);
                    if let Some(rank) = only.flatten() {
                        assert_eq!(
                            strings.iter().filter(|(slot, _)| stop::matches(*slot, window)).count(),
                            1
                        );
                        let flat: Vec<u64> =
                            strings.iter().flat_map(|&(slot, count)| vec![slot; count as usize]).collect();
                        assert_eq!(Some(flat[rank as usize]), longest);
                    }
                }
            }
        }
    }
}
