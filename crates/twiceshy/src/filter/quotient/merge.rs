//! Merging: all filters are read in order at once, and the union is written in order.

use super::QuotientFilter;
use super::fill::{FillError, Filled, fill};
use super::iter::{Fingerprint, Iter};
use crate::error::MergeError;
use crate::filter::union::{Union, union_of};
use crate::table::{Shape, Table};

impl QuotientFilter {
    /// Adds all keys of `other` to this filter.
    ///
    /// Both must hash in the same way. The filter grows only if it was built with
    /// [`grow_to`](super::Builder::grow_to). An error changes nothing.
    ///
    /// If their fingerprints differ in length, the result has the shorter ones, for bits that were never
    /// stored cannot be made up. **All keys then have the shorter fingerprint**, and the error rate is that
    /// of all of them together: the number of fingerprints divided by two to the power of the shorter
    /// length, which can be far above that of either filter. Compare
    /// [`fingerprint_bits`](Self::fingerprint_bits) first if that matters;
    /// [`expected_error_rate`](Self::expected_error_rate) tells the rate afterwards.
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
        let sources = Sources::new([borrowed(self), borrowed(other)])?;
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
        let sources = Sources::new(filters.into_iter().map(borrowed))?;
        let needed = sources.used_slots();
        let fitting = (1..=Shape::MAX_QUOTIENT_BITS)
            .map_while(|bits| sources.shape(bits))
            .find(|shape| needed <= shape.slot_limit());
        let shape = fitting.ok_or_else(|| sources.not_enough_bits())?;
        // Copies that meet may need more slots together than apart, and narrower slots more for counts.
        let (table, filled) = sources.fill(shape, (sources.bits - 1).min(Shape::MAX_QUOTIENT_BITS))?;
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

/// A filter over borrowed bytes, so that filters of different storage have one type.
fn borrowed<B: AsRef<[u8]>>(filter: &QuotientFilter<B>) -> QuotientFilter<&[u8]> {
    filter.with_table(filter.table.borrowed())
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
    fn fill(&'a self, shape: Shape, max_quotient_bits: u32) -> Result<(Table, Filled), MergeError> {
        let cut = |filter| Cut::new(filter, self.bits);
        // Two filters are the usual case and worth a loop of their own.
        let filled = match self.filters.as_slice() {
            [one, other] => fill(shape, max_quotient_bits, Union::new(cut(one), cut(other))),
            all => fill(shape, max_quotient_bits, union_of(all.iter().map(cut).collect())),
        };
        filled.map_err(not_filled)
    }
}

/// Why there is no union.
pub(super) fn not_filled(error: FillError) -> MergeError {
    match error {
        FillError::Full(shape) => MergeError::Full { slots: shape.slots() },
        FillError::Unsorted => MergeError::Invalid,
        FillError::TooManyCopies => MergeError::TooManyCopies,
        FillError::Memory(error) => MergeError::Memory(error),
    }
}

/// The entries of a filter, with fingerprints cut by some bits.
struct Cut<'a> {
    entries: Iter<'a, &'a [u8]>,
    surplus: u32,
}

impl<'a> Cut<'a> {
    fn new(filter: &'a QuotientFilter<&'a [u8]>, bits: u32) -> Self {
        Self { entries: filter.iter(), surplus: filter.fingerprint_bits() - bits }
    }
}

impl Iterator for Cut<'_> {
    type Item = Fingerprint;
    // Not a closure in a `map`: it would not be compiled for the CPU at hand.
    #[inline(always)]
    fn next(&mut self) -> Option<Fingerprint> {
        let Fingerprint { fingerprint, count } = self.entries.next()?;
        Some(Fingerprint { fingerprint: fingerprint >> self.surplus, count })
    }
}
