//! Merging: all filters are read in order at once, and the union is written in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::fill::{FillError, Filled, Filler};
use super::iter::{FingerprintCount, Fingerprints};
use super::{QuotientFilter, slot_limit};
use crate::error::MergeError;
use crate::table::{Shape, Table};

impl QuotientFilter {
    /// Adds all keys of `other` to this filter.
    ///
    /// Both must hash in the same way. If their fingerprints differ in length, the result has the
    /// shorter one (bits that were never stored cannot be made up), and so the higher error rate of the
    /// two; [`expected_error_rate`](Self::expected_error_rate) tells it. The filter grows only if it was
    /// built with [`grow_to`](super::QuotientFilterBuilder::grow_to). An error changes nothing.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// let mut monday = QuotientFilter::new(1_000, 0.01)?;
    /// let mut tuesday = monday.empty_like()?;
    /// monday.insert("cat")?;
    /// tuesday.insert("dog")?;
    /// monday.merge_from(&tuesday)?;
    /// assert!(monday.contains("cat") && monday.contains("dog"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge_from<B: AsRef<[u8]>>(&mut self, other: &QuotientFilter<B>) -> Result<(), MergeError> {
        let sources = Sources::new([self.borrowed(), other.borrowed()])?;
        let quotient_bits = self.quotient_bits();
        let shape = sources.shape(quotient_bits).ok_or_else(|| sources.not_enough_bits())?;
        let (table, filled) = sources.fill(shape, self.max_quotient_bits)?;
        let Filled { len, distinct } = filled;
        (self.table, self.len, self.distinct) = (table, len, distinct);
        Ok(())
    }

    /// A new filter with all keys of some filters, just large enough.
    ///
    /// The filters must hash in the same way; their sizes may differ. As with
    /// [`merge_from`](Self::merge_from), the result has the shortest of their fingerprints. Growth is
    /// allowed as far as any of the filters allows it.
    ///
    /// ```
    /// # use twiceshy::{Hasher, QuotientFilter};
    /// let mut parts = Vec::new();
    /// for day in 0..7u32 {
    ///     let mut part = QuotientFilter::builder().capacity(1_000).hasher(Hasher::fast()).build()?;
    ///     part.insert(&day)?;
    ///     parts.push(part);
    /// }
    /// let week = QuotientFilter::merge(&parts)?;
    /// assert!((0..7u32).all(|day| week.contains(&day)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge<'a, B: AsRef<[u8]> + 'a>(
        filters: impl IntoIterator<Item = &'a QuotientFilter<B>>,
    ) -> Result<Self, MergeError> {
        let sources = Sources::new(filters.into_iter().map(|filter| filter.borrowed()))?;
        let needed = sources.used_slots();
        let fitting = (1..=Shape::MAX_QUOTIENT_BITS)
            .map_while(|bits| sources.shape(bits))
            .find(|shape| needed <= slot_limit(shape));
        let shape = fitting.ok_or_else(|| sources.not_enough_bits())?;
        // Copies that meet may need a slot more together than apart: leave room for one more doubling.
        let (table, filled) = sources.fill(shape, shape.quotient_bits() + 1)?;
        let allowed = sources.filters.iter().map(|filter| filter.max_quotient_bits).max().unwrap_or(0);
        Ok(QuotientFilter {
            max_quotient_bits: allowed,
            hasher: sources.filters[0].hasher.clone(),
            table,
            len: filled.len,
            distinct: filled.distinct,
        })
    }
}

impl<B: AsRef<[u8]>> QuotientFilter<B> {
    /// The same filter over borrowed bytes, so that filters of different storage have one type.
    fn borrowed(&self) -> QuotientFilter<&[u8]> {
        QuotientFilter {
            table: self.table.borrowed(),
            hasher: self.hasher.clone(),
            len: self.len,
            distinct: self.distinct,
            max_quotient_bits: self.max_quotient_bits,
        }
    }
}

/// Filters that can be merged.
struct Sources<'a> {
    /// At least one.
    filters: Vec<QuotientFilter<&'a [u8]>>,
    /// Bits of the shortest fingerprint.
    bits: u32,
}

impl<'a> Sources<'a> {
    fn new(filters: impl IntoIterator<Item = QuotientFilter<&'a [u8]>>) -> Result<Self, MergeError> {
        let filters: Vec<_> = filters.into_iter().collect();
        let bits = filters.iter().map(|filter| filter.fingerprint_bits()).min().ok_or(MergeError::Nothing)?;
        if filters.iter().any(|filter| filter.hasher != filters[0].hasher) {
            return Err(MergeError::DifferentHash);
        }
        Ok(Self { filters, bits })
    }

    fn used_slots(&self) -> u64 {
        self.filters.iter().map(|filter| filter.used_slots()).sum()
    }

    /// The shape of the first filter with the shortest fingerprint and this many quotient bits; `None`
    /// if that leaves nothing to store.
    fn shape(&self, quotient_bits: u32) -> Option<Shape> {
        let slot_bits = self.bits.checked_sub(quotient_bits).filter(|&bits| bits > 0)?;
        Some(self.filters[0].table.shape().resized(quotient_bits, slot_bits))
    }

    fn not_enough_bits(&self) -> MergeError {
        MergeError::NotEnoughBits { fingerprint_bits: self.bits, needed_slots: self.used_slots() }
    }

    /// Writes the union.
    fn fill(&self, shape: Shape, max_quotient_bits: u32) -> Result<(Table, Filled), MergeError> {
        let fill = || {
            let mut filler = Filler::new(shape, max_quotient_bits)?;
            for entry in Union::new(&self.filters, self.bits) {
                filler.push(entry.fingerprint, entry.count)?;
            }
            filler.finish()
        };
        fill().map_err(|error| match error {
            FillError::Full(shape) => MergeError::Full { slots: shape.quotients() },
            FillError::Unsorted => MergeError::Invalid,
            FillError::TooManyCopies => MergeError::TooManyCopies,
            FillError::Memory(error) => MergeError::Memory(error),
        })
    }
}

/// The entries of several filters in ascending order, cut to the same number of bits. Equal
/// fingerprints of different filters follow each other.
struct Union<'a> {
    streams: Vec<Truncated<'a>>,
    /// The next entry of each stream that has one, smallest first.
    heads: BinaryHeap<Reverse<(FingerprintCount, usize)>>,
}

/// The entries of one filter and how many bits to cut off.
struct Truncated<'a>(Fingerprints<'a, &'a [u8]>, u32);

impl Iterator for Truncated<'_> {
    type Item = FingerprintCount;
    #[inline]
    fn next(&mut self) -> Option<FingerprintCount> {
        let FingerprintCount { fingerprint, count } = self.0.next()?;
        Some(FingerprintCount { fingerprint: fingerprint >> self.1, count })
    }
}

impl<'a> Union<'a> {
    fn new(filters: &'a [QuotientFilter<&'a [u8]>], bits: u32) -> Self {
        let mut streams: Vec<_> =
            filters.iter().map(|filter| Truncated(filter.iter(), filter.fingerprint_bits() - bits)).collect();
        let first = |(i, stream): (usize, &mut Truncated<'a>)| stream.next().map(|entry| Reverse((entry, i)));
        let heads = streams.iter_mut().enumerate().filter_map(first).collect();
        Self { streams, heads }
    }
}

impl Iterator for Union<'_> {
    type Item = FingerprintCount;
    #[inline]
    fn next(&mut self) -> Option<FingerprintCount> {
        let mut top = self.heads.peek_mut()?;
        let Reverse((entry, i)) = *top;
        match self.streams[i].next() {
            Some(next) => *top = Reverse((next, i)),
            None => drop(PeekMut::pop(top)),
        }
        Some(entry)
    }
}
