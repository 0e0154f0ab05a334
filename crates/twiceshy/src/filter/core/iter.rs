//! All fingerprints in order.

use std::iter::successors;

use super::Core;
use crate::bits::cpu::Portable;
use crate::codec::string::{Entry, Payload};
use crate::prefix::Prefix;
use crate::table::{Extended, Run, Runs};

/// The fingerprints of a core in ascending order, with what they carry.
pub(crate) struct Iter<'a, P: Payload, B> {
    core: &'a Core<P, B>,
    runs: Runs<'a, B, Extended>,
    /// What is left of the present run.
    quotient: u64,
    rest: Run,
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    pub(crate) fn iter(&self) -> Iter<'_, P, B> {
        Iter { core: self, runs: self.table.runs(), quotient: 0, rest: Run { start: 0, end: 0 } }
    }

    /// The fingerprint that a prefix begins with, or those that begin with the prefix.
    pub(crate) fn fingerprints_at(&self, prefix: &Prefix) -> Vec<Prefix> {
        let Self { table, strings, .. } = self;
        let (first, last) = prefix.first_words().into_inner();
        let (first, last) = (table.address().quotient(first), table.address().quotient(last));
        let quotients = successors(table.next_quotient(first), |quotient| table.next_quotient(quotient + 1));
        let entries = quotients.take_while(|quotient| *quotient <= last).flat_map(|quotient| {
            let entries = strings.entries(table, table.run(Portable, quotient));
            entries.map(move |entry| strings.prefix(table, quotient, &entry))
        });
        entries.filter(|found| found.overlaps(prefix)).collect()
    }

    /// The fingerprints of entries that are not `known`.
    pub(crate) fn fingerprints_without(&self, known: impl Fn(&Entry) -> bool) -> Vec<Prefix> {
        let strings = self.strings;
        let mut unknown = Vec::new();
        for (quotient, run) in self.table.runs() {
            let entries = strings.entries(&self.table, run).filter(|entry| !known(entry));
            unknown.extend(entries.map(|entry| strings.prefix(&self.table, quotient, &entry)));
        }
        unknown
    }
}

impl<P: Payload, B: AsRef<[u8]>> Iterator for Iter<'_, P, B> {
    type Item = (Prefix, P::Value);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            (self.quotient, self.rest) = self.runs.next()?;
        }
        let Core { table, strings, .. } = self.core;
        let entry = strings.entry(table, self.rest.start, self.rest.end);
        self.rest.start = entry.end();
        Some((strings.prefix(table, self.quotient, &entry), strings.value(table, &entry)))
    }
}
