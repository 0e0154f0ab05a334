//! The model of a filter that counts: how often each of its fingerprints is there.

use std::collections::BTreeMap;

/// Things, each with a count that is never zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiset<T>(BTreeMap<T, u64>);

impl<T> Default for Multiset<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> Multiset<T> {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds so many copies. Tells how many there are now.
    pub fn add(&mut self, thing: T, copies: u64) -> u64 {
        if copies == 0 {
            return self.count(&thing);
        }
        let count = self.0.entry(thing).or_insert(0);
        *count += copies;
        *count
    }

    /// Takes so many copies away, or as many as there are. Tells how many that were.
    pub fn take(&mut self, thing: &T, copies: u64) -> u64 {
        let Some(count) = self.0.get_mut(thing) else { return 0 };
        let taken = copies.min(*count);
        *count -= taken;
        if *count == 0 {
            self.0.remove(thing);
        }
        taken
    }

    /// How often it is there.
    pub fn count(&self, thing: &T) -> u64 {
        self.0.get(thing).copied().unwrap_or(0)
    }

    /// All copies together.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// How many different things there are.
    pub fn distinct(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The things in order, with their counts.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&T, u64)> {
        self.0.iter().map(|(thing, &count)| (thing, count))
    }

    /// The things in order, each once.
    pub fn things(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.keys()
    }

    /// Takes everything away.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl<T: Ord> Extend<(T, u64)> for Multiset<T> {
    fn extend<I: IntoIterator<Item = (T, u64)>>(&mut self, things: I) {
        for (thing, copies) in things {
            self.add(thing, copies);
        }
    }
}

impl<T: Ord> FromIterator<(T, u64)> for Multiset<T> {
    fn from_iter<I: IntoIterator<Item = (T, u64)>>(things: I) -> Self {
        let mut all = Self::new();
        all.extend(things);
        all
    }
}

impl<T: Ord> IntoIterator for Multiset<T> {
    type Item = (T, u64);
    type IntoIter = std::collections::btree_map::IntoIter<T, u64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_can_be_taken_once() {
        let mut all = Multiset::new();
        assert_eq!((all.add('b', 2), all.add('a', 1), all.add('b', 1), all.add('c', 0)), (2, 1, 3, 0));
        assert_eq!((all.total(), all.distinct(), all.count(&'b'), all.count(&'c')), (4, 2, 3, 0));
        assert!(all.iter().eq([(&'a', 1), (&'b', 3)]));
        assert_eq!((all.take(&'b', 2), all.take(&'b', 2), all.take(&'b', 2)), (2, 1, 0));
        assert!(all.things().eq(&['a']) && !all.is_empty());
        assert_eq!(all, Multiset::from_iter([('a', 1), ('c', 0)]));
    }
}
