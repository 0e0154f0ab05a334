//! Laws: what every filter promises, whatever it is made of.
//!
//! A filter that is [`Lawful`] gets all of them: the list is in [`for_every_filter`]. Each law is held against many random
//! cases (`TWICESHY_CASES` says how many), with good hashes and with weak ones, in filters that have room, that grow, and
//! that refuse what does not fit. After every single operation that fails, nothing may have changed.

mod adaptive;
mod adaptive_range;
mod answers;
mod case;
mod contents;
mod copies;
mod expandable;
mod kept;
mod quotient;
mod range;
mod size;

use std::fmt::Debug;

use super::{Written, comes_back};
use crate::filter::any::FilterKind;
use crate::hash::{HashKey, Hasher};
use case::{Case, hold};
use kept::Kept;

/// Makes tests of laws, for every filter that there is; after `of_points:` for those that are asked for single keys only. A new
/// filter is two lines here.
macro_rules! for_every_filter {
    (array $what:ident) => {
        [
            $what::<crate::QuotientFilter>(),
            $what::<crate::AdaptiveSet<crate::reverse_map::MemoryMap>>(),
            $what::<crate::ExpandableFilter>(),
            $what::<crate::AdaptiveRangeSet<u16, crate::reverse_map::MemoryMap>>(),
            $what::<crate::RangeFilter<u16>>(),
        ]
    };
    ($($law:ident)* $(; of_points: $($of_points:ident)+)?) => {
        mod quotient { $(#[test] fn $law() { super::$law::<crate::QuotientFilter>(); })*
            $($(#[test] fn $of_points() { super::$of_points::<crate::QuotientFilter>(); })+)? }
        mod adaptive { $(#[test] fn $law() { super::$law::<crate::AdaptiveSet<crate::reverse_map::MemoryMap>>(); })*
            $($(#[test] fn $of_points() { super::$of_points::<crate::AdaptiveSet<crate::reverse_map::MemoryMap>>(); })+)? }
        mod expandable { $(#[test] fn $law() { super::$law::<crate::ExpandableFilter>(); })*
            $($(#[test] fn $of_points() { super::$of_points::<crate::ExpandableFilter>(); })+)? }
        mod adaptive_range { $(#[test] fn $law() { super::$law::<crate::AdaptiveRangeSet<u16, crate::reverse_map::MemoryMap>>(); })* }
        mod range { $(#[test] fn $law() { super::$law::<crate::RangeFilter<u16>>(); })* }
    };
}
use for_every_filter;

/// How large a filter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Six hundred keys find room without growth, if their hashes are good.
    Roomy,
    /// It starts with a few slots and grows by itself, to a thousand keys at least.
    Growing,
    /// It has room for a few dozen keys and refuses what is too much.
    Cramped,
}

/// Whether a filter should have small internal limits, which make long clusters and full spill areas common.
fn is_narrow(size: Size, number: u64) -> bool {
    size != Size::Roomy && number % 8 < 4
}

/// What became of an operation. `None`: there is no such operation.
type Done = Option<Result<(), String>>;

/// A filter as the laws see it: the same operations under the same names. A method that returns an `Option` gives `None`
/// if the filter has no such operation; then the laws about it say nothing.
trait Lawful: Clone + Debug + Send + Sync + 'static {
    const KIND: FilterKind;
    /// Whether a key that was inserted twice is there until it was removed twice.
    const COUNTS: bool;
    /// Whether a batch that fails leaves nothing behind. (Otherwise the keys before the error are in.)
    const WHOLE_BATCHES: bool;
    /// What is in its file.
    type Stored: Written;

    /// An empty filter of this size. All other settings follow from the number, so that there are many different ones;
    /// where the size is not [`Size::Roomy`], also small internal limits.
    fn make(size: Size, number: u64, hasher: Hasher) -> Self;
    fn empty_like(&self) -> Self;

    /// Whether something new came in: the key, or for whoever counts its fingerprint.
    fn insert(&mut self, key: &[u8]) -> Result<bool, String>;
    /// How many were new.
    fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<u64, String>;
    /// Whether it was there.
    fn remove(&mut self, key: &[u8]) -> Option<bool>;
    /// Whether there is something to clear with.
    fn clear(&mut self) -> Option<()>;
    fn grow(&mut self) -> Done;
    fn shrink(&mut self) -> Done;
    /// Makes the fingerprints of these keys, or of all, as long as those of new keys.
    fn rejuvenate(&mut self, keys: &[&[u8]]) -> Done;
    fn merge_from(&mut self, other: &Self) -> Done;
    /// A filter like this one, which is empty, with these keys: loaded at once, in the order of their hashes.
    fn load(&self, keys: &[&[u8]]) -> Option<Result<Self, String>>;

    fn contains(&self, key: &[u8]) -> bool;
    fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]);
    fn len(&self) -> u64;
    /// All fingerprints, as they are iterated over, as digits 0 and 1, with their counts; those of ranges with their suffixes.
    fn entries(&self) -> Vec<(String, u64)>;

    /// Says what is wrong.
    fn validate(&self) -> Result<(), String>;
    /// The part that is written to a file.
    fn stored(&self) -> &Self::Stored;
    /// The filter as it was written and read again.
    fn reread(&self) -> Self;
    /// All that there is, also what is not in the file: filters with equal bytes are equal.
    fn bytes(&self) -> Vec<u8>;
}

/// The methods that have the same names in all filters and sets. If keys are not bytes, a function says what bytes are as a key.
macro_rules! named_alike {
    () => {
        super::named_alike!(|key: &[u8]| key);
    };
    (|$bytes:ident: &[u8]| $key:expr) => {
        fn insert(&mut self, $bytes: &[u8]) -> Result<bool, String> {
            self.insert($key).map_err(|error| error.to_string())
        }
        fn insert_batch(&mut self, keys: &[&[u8]]) -> Result<u64, String> {
            let keys: Vec<_> = keys.iter().map(|$bytes| $key.to_owned()).collect();
            self.insert_batch(&keys).map_err(|error| error.to_string())
        }
        fn shrink(&mut self) -> super::Done {
            Some(self.shrink_to_fit().map_err(|error| error.to_string()))
        }
        fn merge_from(&mut self, other: &Self) -> super::Done {
            Some(self.merge_from(other).map_err(|error| error.to_string()))
        }
        fn contains(&self, $bytes: &[u8]) -> bool {
            self.contains($key)
        }
        fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
            let keys: Vec<_> = keys.iter().map(|$bytes| $key.to_owned()).collect();
            self.contains_batch(&keys, found);
        }
        fn len(&self) -> u64 {
            self.len()
        }
    };
}

/// Those of filters that are stored as they are, without a map.
macro_rules! stored_alike {
    () => {
        super::stored_alike!(|key: &[u8]| key);
    };
    (|$bytes:ident: &[u8]| $key:expr) => {
        type Stored = Self;
        fn empty_like(&self) -> Self {
            self.empty_like().unwrap()
        }
        fn remove(&mut self, $bytes: &[u8]) -> Option<bool> {
            Some(self.remove($key))
        }
        fn clear(&mut self) -> Option<()> {
            self.clear();
            Some(())
        }
        fn validate(&self) -> Result<(), String> {
            self.validate()
        }
        fn stored(&self) -> &Self {
            self
        }
        fn reread(&self) -> Self {
            Self::from_bytes(&self.to_bytes()).unwrap()
        }
        fn bytes(&self) -> Vec<u8> {
            self.to_bytes()
        }
    };
}

/// The builder of an adaptive filter of some size; all other settings follow from the number.
macro_rules! sized_set {
    ($builder:expr, $size:expr, $number:expr) => {{
        let (size, number) = ($size, $number);
        let few = number as u32 % 40;
        let builder = match size {
            Size::Roomy => $builder.quotient_bits(11).remainder_bits(1 + few),
            Size::Growing => $builder.quotient_bits(1 + few % 4).remainder_bits(1 + few % 20),
            Size::Cramped => {
                let builder = $builder.quotient_bits(3 + few % 4).remainder_bits(1 + few % 9);
                builder.growth(crate::adaptive::Growth::Refuse)
            }
        };
        if super::is_narrow(size, number) { builder.limits(3, 20) } else { builder }
    }};
}

/// Those of sets, with the keys in memory.
macro_rules! set_alike {
    (|$bytes:ident: &[u8]| $key:expr) => {
        fn empty_like(&self) -> Self {
            Self::from_parts(self.filter().empty_like().unwrap(), MemoryMap::new())
        }
        fn remove(&mut self, $bytes: &[u8]) -> Option<bool> {
            Some(self.remove($key).unwrap())
        }
        fn clear(&mut self) -> Option<()> {
            let mut filter = self.filter().clone();
            filter.clear();
            *self = Self::from_parts(filter, MemoryMap::new());
            Some(())
        }
        fn grow(&mut self) -> super::Done {
            Some(self.grow().map_err(|error| error.to_string()))
        }
        fn rejuvenate(&mut self, _: &[&[u8]]) -> super::Done {
            Some(self.rejuvenate().map_err(|error| error.to_string()))
        }
        fn validate(&self) -> Result<(), String> {
            self.validate().map_err(|error| error.to_string())
        }
        fn stored(&self) -> &Self::Stored {
            self.filter()
        }
        fn reread(&self) -> Self {
            let filter = Self::Stored::from_bytes(&self.filter().to_bytes()).unwrap();
            Self::from_parts(filter, self.map().clone())
        }
        fn bytes(&self) -> Vec<u8> {
            let mut bytes = self.filter().to_bytes();
            for row in self.map().iter() {
                bytes.extend_from_slice(&row.hash.to_le_bytes());
                bytes.extend_from_slice(row.key);
                bytes.extend_from_slice(row.value);
            }
            bytes
        }
    };
}
use {named_alike, set_alike, sized_set, stored_alike};

fn kind<F: Lawful>() -> FilterKind {
    F::KIND
}

#[test]
fn no_filter_is_left_out() {
    // Lists and cascades have laws of their own.
    let has_others = |kind: &FilterKind| ["list", "cascade"].iter().any(|other| kind.name().contains(other));
    let filters = FilterKind::ALL.iter().filter(|kind| !has_others(kind));
    assert!(filters.eq(&for_every_filter!(array kind)));
}
