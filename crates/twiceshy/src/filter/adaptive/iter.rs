//! All fingerprints of an adaptive filter in order.

use super::AdaptiveFilter;
use crate::codec::string::{Entry, Strings, Table};
use crate::prefix::Prefix;
use crate::table::{Extended, Run, Runs};

/// A fingerprint of an [`AdaptiveFilter`], with its tag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The hashes of the keys under it begin like this.
    pub prefix: Prefix,
    /// The tag that all those keys have, 0 if none was given.
    pub tag: u64,
}

/// The fingerprints of an [`AdaptiveFilter`] in ascending order. Made by [`AdaptiveFilter::iter`].
pub struct FingerprintsInOrder<'a, B> {
    table: &'a Table<B>,
    strings: Strings,
    runs: Runs<'a, B, Extended>,
    /// What is left of the present run.
    quotient: u64,
    rest: Run,
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// All fingerprints in ascending order.
    ///
    /// ```
    /// use twiceshy::AdaptiveFilter;
    ///
    /// let mut filter = AdaptiveFilter::builder().quotient_bits(4).remainder_bits(4).build()?;
    /// let _ = filter.insert_hash(0xab << 56)?;
    /// let all: Vec<String> = filter.iter().map(|fingerprint| fingerprint.prefix.to_string()).collect();
    /// assert_eq!(all, ["10101011"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> FingerprintsInOrder<'_, B> {
        FingerprintsInOrder::new(&self.table, self.strings())
    }
}

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// The fingerprint that a prefix begins with, or those that begin with the prefix, which is not shorter than the
    /// quotient.
    pub(super) fn fingerprints_at(&self, prefix: &Prefix) -> Vec<Prefix> {
        let (quotient, run, _) = self.find(prefix);
        let strings = self.strings();
        let all = strings.entries(&self.table, run);
        let all = all.map(|entry| strings.prefix(&self.table, quotient, &entry));
        all.filter(|found| found.overlaps(prefix)).collect()
    }

    /// The fingerprints of entries that are not `known`.
    pub(super) fn fingerprints_without(&self, known: impl Fn(&Entry) -> bool) -> Vec<Prefix> {
        let strings = self.strings();
        let mut unknown = Vec::new();
        for (quotient, run) in self.table.runs() {
            let entries = strings.entries(&self.table, run).filter(|entry| !known(entry));
            unknown.extend(entries.map(|entry| strings.prefix(&self.table, quotient, &entry)));
        }
        unknown
    }
}

impl<'a, B: AsRef<[u8]>> FingerprintsInOrder<'a, B> {
    pub(super) fn new(table: &'a Table<B>, strings: Strings) -> Self {
        Self { table, strings, runs: table.runs(), quotient: 0, rest: Run { start: 0, end: 0 } }
    }
}

impl<B: AsRef<[u8]>> Iterator for FingerprintsInOrder<'_, B> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        if self.rest.is_empty() {
            (self.quotient, self.rest) = self.runs.next()?;
        }
        let entry = self.strings.entry(self.table, self.rest.start, self.rest.end);
        self.rest.start = entry.end();
        let prefix = self.strings.prefix(self.table, self.quotient, &entry);
        Some(Fingerprint { prefix, tag: self.strings.tag(self.table, &entry) })
    }
}

impl<'a, B: AsRef<[u8]>> IntoIterator for &'a AdaptiveFilter<B> {
    type Item = Fingerprint;
    type IntoIter = FingerprintsInOrder<'a, B>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
