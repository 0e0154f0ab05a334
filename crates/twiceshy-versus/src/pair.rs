//! The paired measurement.
//!
//! # The method
//!
//! A time measured alone says little on a machine whose frequency, neighbours and caches change from one
//! second to the next. So a filter is never measured alone. Its table and that of the yardstick are alive
//! together, and only these two: a third one would take its share of the caches, and which of the others
//! suffers from that is a matter of luck (it changed a ratio from 1.16 to 1.90 once).
//!
//! The work is cut into *chunks*. For each chunk both sides get a *turn* with the same items in the same
//! order; which of them goes first changes with every chunk. So one side after the other has two turns in a
//! row, and finds its table nearer to the CPU in the second one (10 to 20 % faster with tables of some MiB).
//! A ratio is therefore formed over two chunks, one in either order: what happens to both sides within a
//! few milliseconds, the change of caches included, cancels out. The first chunk warms up and does not
//! count. The result is the median of the ratios, and the interval from the 10th to the 90th percentile
//! tells how far they spread. A filter compared with itself has a median of 1, within a few percent.
//!
//! Only the work itself is timed, in CPU time of the thread (see [`clock`](crate::clock)); hashes and
//! queries are made beforehand, and every answer is used.

use crate::stats::{median, percentile};

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The filter that is compared with the yardstick.
    Ours,
    /// The yardstick.
    Theirs,
}

/// Something for each side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair<T> {
    pub(crate) ours: T,
    pub(crate) theirs: T,
}

impl<T> Pair<T> {
    pub(crate) fn get(&self, side: Side) -> &T {
        match side {
            Side::Ours => &self.ours,
            Side::Theirs => &self.theirs,
        }
    }

    pub(crate) fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Ours => &mut self.ours,
            Side::Theirs => &mut self.theirs,
        }
    }

    pub(crate) fn as_ref(&self) -> Pair<&T> {
        Pair { ours: &self.ours, theirs: &self.theirs }
    }

    pub(crate) fn map<U>(self, mut change: impl FnMut(T) -> U) -> Pair<U> {
        Pair { ours: change(self.ours), theirs: change(self.theirs) }
    }
}

/// What a side did in a turn and how long it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) operations: u64,
    pub(crate) seconds: f64,
}

/// Lets the sides take turns for a warm-up chunk, number 0, and then for `chunks` chunks that count, an
/// even number. `turn` is given the side and the number of the chunk.
pub(crate) fn take_turns(chunks: usize, mut turn: impl FnMut(Side, usize) -> Turn) -> Vec<Pair<Turn>> {
    assert!(chunks.is_multiple_of(2), "as many chunks in one order as in the other");
    let mut turns = Vec::with_capacity(chunks);
    for chunk in 0..=chunks {
        let order = match chunk % 2 {
            0 => [Side::Ours, Side::Theirs],
            _ => [Side::Theirs, Side::Ours],
        };
        let mut pair = Pair::<Turn>::default();
        for side in order {
            *pair.get_mut(side) = turn(side, chunk);
        }
        if chunk > 0 {
            turns.push(pair);
        }
    }
    turns
}

/// What some chunks come down to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    /// Millions of operations per second of each side, over all chunks together.
    pub(crate) mops: Pair<f64>,
    /// The median ratio of the speeds. More than 1 means that ours is faster.
    pub(crate) ratio: f64,
    pub(crate) ratio_p10: f64,
    pub(crate) ratio_p90: f64,
}

/// Summarises an even number of chunks; `None` if there are none.
pub(crate) fn summarise(turns: &[Pair<Turn>]) -> Option<Summary> {
    let speed = |turns: &[Pair<Turn>], side: Side| {
        let operations: u64 = turns.iter().map(|pair| pair.get(side).operations).sum();
        let seconds: f64 = turns.iter().map(|pair| pair.get(side).seconds).sum();
        operations as f64 / seconds
    };
    let ratio = |both: &[Pair<Turn>]| speed(both, Side::Ours) / speed(both, Side::Theirs);
    let ratios: Vec<f64> = turns.chunks_exact(2).map(ratio).collect();
    Some(Summary {
        ratio: median(&ratios)?,
        ratio_p10: percentile(&ratios, 0.1)?,
        ratio_p90: percentile(&ratios, 0.9)?,
        mops: Pair { ours: speed(turns, Side::Ours) / 1e6, theirs: speed(turns, Side::Theirs) / 1e6 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_swap_and_the_first_chunk_does_not_count() {
        let mut order = Vec::new();
        let turns = take_turns(2, |side, chunk| {
            order.push((side, chunk));
            Turn { operations: chunk as u64, seconds: 1.0 }
        });
        use Side::{Ours, Theirs};
        let expected = [(Ours, 0), (Theirs, 0), (Theirs, 1), (Ours, 1), (Ours, 2), (Theirs, 2)];
        assert_eq!(order, expected);
        let counted: Vec<u64> = turns.iter().map(|pair| pair.ours.operations).collect();
        assert_eq!(counted, [1, 2]);
    }

    #[test]
    fn twice_as_fast_is_a_ratio_of_two_whatever_one_chunk_does() {
        let turn = |seconds| Turn { operations: 1_000_000, seconds };
        let mut turns = vec![Pair { ours: turn(0.5), theirs: turn(1.0) }; 38];
        turns.extend([Pair { ours: turn(100.0), theirs: turn(1.0) }; 2]);
        let summary = summarise(&turns).unwrap();
        assert_eq!((summary.ratio, summary.ratio_p10, summary.ratio_p90), (2.0, 2.0, 2.0));
        assert_eq!(summary.mops.theirs, 1.0);
        assert!(summary.mops.ours < 0.2);
        assert!(summarise(&[]).is_none());
    }

    #[test]
    fn what_the_second_of_two_turns_in_a_row_gains_cancels_out() {
        let turn = |seconds| Turn { operations: 10, seconds };
        let first = Pair { ours: turn(2.0), theirs: turn(1.0) };
        let second = Pair { ours: turn(1.0), theirs: turn(2.0) };
        let summary = summarise(&[first, second, first, second]).unwrap();
        assert_eq!((summary.ratio, summary.ratio_p10, summary.ratio_p90), (1.0, 1.0, 1.0));
    }
}
