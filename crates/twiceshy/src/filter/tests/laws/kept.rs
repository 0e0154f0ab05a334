//! A filter, and what must be in it.

use std::collections::BTreeSet;

use twiceshy_testkit::Multiset;

use super::case::UNIVERSE;
use super::{Done, Lawful};

/// A filter, and the keys that must be found in it. Every operation here notices if an error changed anything.
#[derive(Debug, Clone)]
pub(super) struct Kept<F> {
    pub(super) filter: F,
    pub(super) members: Multiset<u16>,
}

/// The bytes of keys.
pub(super) fn bytes_of(keys: &[u16]) -> Vec<[u8; 2]> {
    keys.iter().map(|key| key.to_le_bytes()).collect()
}

/// As slices.
pub(super) fn slices(keys: &[[u8; 2]]) -> Vec<&[u8]> {
    keys.iter().map(|key| key.as_slice()).collect()
}

impl<F: Lawful> Kept<F> {
    pub(super) fn new(filter: F) -> Self {
        Self { filter, members: Multiset::new() }
    }

    /// What came of it. If nothing did, everything is as it was.
    fn attempt<T>(&mut self, operation: impl FnOnce(&mut F) -> Result<T, String>) -> Option<T> {
        let before = self.filter.bytes();
        let done = operation(&mut self.filter);
        if let Err(error) = &done {
            assert!(self.filter.bytes() == before, "an error changed something: {error}");
        }
        done.ok()
    }

    /// Whether there is such an operation, and it worked.
    pub(super) fn attempt_if_any(&mut self, operation: impl FnOnce(&mut F) -> Done) -> bool {
        let no_such_operation = || Err("there is no such operation".into());
        self.attempt(|filter| operation(filter).unwrap_or_else(no_such_operation)).is_some()
    }

    /// Whether it found room.
    pub(super) fn insert(&mut self, key: u16) -> bool {
        let was_found = self.filter.contains(&key.to_le_bytes());
        let Some(is_new) = self.attempt(|filter| filter.insert(&key.to_le_bytes())) else { return false };
        assert!(is_new || was_found, "{key} was not new, and was not found");
        assert!(F::COUNTS || is_new == (self.members.count(&key) == 0), "{key} is new: {is_new}");
        self.remember(key);
        true
    }

    fn remember(&mut self, key: u16) {
        if F::COUNTS || self.members.count(&key) == 0 {
            self.members.add(key, 1);
        }
    }

    /// One by one. Whether all found room.
    pub(super) fn insert_all(&mut self, keys: &[u16]) -> bool {
        keys.iter().filter(|&&key| !self.insert(key)).count() == 0
    }

    pub(super) fn insert_batch(&mut self, keys: &[u16]) -> bool {
        let bytes = bytes_of(keys);
        let done = match F::WHOLE_BATCHES {
            true => self.attempt(|filter| filter.insert_batch(&slices(&bytes))),
            false => self.filter.insert_batch(&slices(&bytes)).ok(),
        };
        // The keys before an error may be in.
        let in_anyway = |key: &&u16| !F::WHOLE_BATCHES && self.filter.contains(&key.to_le_bytes());
        let inserted = if done.is_some() { keys.len() } else { keys.iter().take_while(in_anyway).count() };
        let before = self.members.distinct();
        keys[..inserted].iter().for_each(|&key| self.remember(key));
        if let Some(new) = done {
            let new_keys = self.members.distinct() - before;
            assert!(if F::COUNTS { new <= keys.len() as u64 } else { new == new_keys }, "{new} new");
        }
        done.is_some()
    }

    /// Removes a member, if there is such an operation.
    pub(super) fn remove(&mut self, key: u16) -> Option<()> {
        let was_there = self.filter.remove(&key.to_le_bytes())?;
        assert!(was_there, "{key} was inserted, and was not there to be removed");
        assert_eq!(self.members.take(&key, 1), 1, "tests remove members only");
        Some(())
    }

    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let untouched = other.filter.bytes();
        let done = self.attempt_if_any(|filter| filter.merge_from(&other.filter));
        assert!(other.filter.bytes() == untouched, "merging changed the other filter");
        if done {
            other.members.iter().for_each(|(&key, copies)| (0..copies).for_each(|_| self.remember(key)));
        }
        done
    }

    pub(super) fn clear(&mut self) {
        if self.filter.clear().is_some() {
            self.members.clear();
        }
    }

    /// The keys that are found.
    pub(super) fn found(&self) -> BTreeSet<u16> {
        (0..UNIVERSE).filter(|key| self.filter.contains(&key.to_le_bytes())).collect()
    }

    /// Everything that must always be true.
    pub(super) fn check(&self) {
        self.filter.validate().unwrap();
        assert_eq!(self.filter.len(), self.members.total(), "keys");
        let found = self.found();
        let lost: Vec<_> = self.members.things().filter(|key| !found.contains(key)).collect();
        assert!(lost.is_empty(), "lost: {lost:?}");
    }
}
