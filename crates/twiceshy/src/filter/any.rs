//! All kinds of files, and a filter of any kind.

use std::fmt;
use std::io::Read;

use super::adaptive::AdaptiveFilter;
use super::adaptive_range::AdaptiveRangeFilter;
use super::cascade::{BloomCascade, QuotientCascade};
use super::expandable::ExpandableFilter;
use super::quotient::QuotientFilter;
use super::range::RangeFilter;
use crate::error::ReadError;
use crate::filter::macros::cloned;
use crate::hash::Hasher;
use crate::key::Key;
use crate::list::{Delta, FrozenYesNoList, ListFilter};
use crate::mem::{Memory, OutOfMemory};
use crate::persist::{First, Kind, Parts, Source, Stored, stored};

/// All that follows from the list of kinds.
macro_rules! kinds {
    (
        $($kind:ident($filter:ident),)+;
        $($range:ident($of_ranges:ident),)+;
        $($list:ident($of_lists:ident, $place:literal),)+
    ) => {
        /// Kinds of filters, and of what else has files like theirs. The numbers are part of the format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum FilterKind {
            $(
                #[doc = concat!("A [`", stringify!($filter), "`](crate::", stringify!($filter), ").")]
                $kind = <$filter as Kind>::NUMBER,
            )+
            $(
                #[doc = concat!("A [`", stringify!($of_ranges), "`](crate::", stringify!($of_ranges), "), of keys of one type.")]
                $range = <$of_ranges<u64> as Kind>::NUMBER,
            )+
            $(
                #[doc = concat!("A [`", stringify!($of_lists), "`](crate::", $place, ").")]
                $list = <$of_lists>::NUMBER,
            )+
        }

        impl FilterKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)+ $(Self::$range,)+ $(Self::$list),+];

            /// Those that an [`AnyFilter`] can be, in the order of their numbers: filters of ranges are not among them, since only
            /// who knows the type of their keys can ask them, nor are lists, which say *no* for other reasons, nor cascades.
            pub const POINTS: &[Self] = &[$(Self::$kind),+];

            /// Its name in one word.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => <$filter as Kind>::NAME,)+
                    $(Self::$range => <$of_ranges<u64> as Kind>::NAME,)+
                    $(Self::$list => <$of_lists>::NAME,)+
                }
            }
        }

        /// A filter of any kind but those of ranges and lists, for whoever opens files without knowing what they hold.
        ///
        /// It can do what all kinds can: be asked, written and read. For more, match on it.
        ///
        /// ```
        /// use twiceshy::any::FilterKind;
        /// use twiceshy::{AnyFilter, QuotientFilter};
        ///
        /// let mut seen = QuotientFilter::new(100, 0.01)?;
        /// seen.insert("moth")?;
        ///
        /// let filter = AnyFilter::from_bytes(&seen.to_bytes())?;
        /// assert_eq!(filter.kind(), FilterKind::Quotient);
        /// assert!(filter.contains("moth"));
        /// if let AnyFilter::Quotient(filter) = filter {
        ///     assert_eq!(filter.count("moth"), 1);
        /// }
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[non_exhaustive]
        #[expect(clippy::large_enum_variant, reason = "there are few of them, and their tables are larger")]
        pub enum AnyFilter<B = Memory> {
            $(
                #[doc = concat!("A [`", stringify!($filter), "`](crate::", stringify!($filter), ").")]
                $kind($filter<B>),
            )+
        }

        $(
            impl<B> From<$filter<B>> for AnyFilter<B> {
                fn from(filter: $filter<B>) -> Self {
                    Self::$kind(filter)
                }
            }
        )+

        impl<B> AnyFilter<B> {
            /// Of which kind it is.
            pub fn kind(&self) -> FilterKind {
                match self {
                    $(Self::$kind(_) => FilterKind::$kind,)+
                }
            }
        }

        /// Does this for a filter of whatever kind.
        macro_rules! each {
            ($any:expr, $one:ident => $what:expr) => {
                match $any {
                    $(AnyFilter::$kind($one) => $what,)+
                }
            };
        }

        impl<B: AsRef<[u8]>> Stored for AnyFilter<B> {
            type Bytes = B;

            fn read(first: &First, source: impl Source<Bytes = B>) -> Result<Self, ReadError> {
                Ok(match kind_of(first, FilterKind::POINTS)? {
                    $(FilterKind::$kind => Self::$kind(Stored::read(first, source)?),)+
                    $(FilterKind::$range => unreachable!("not one of points"),)+
                    $(FilterKind::$list => unreachable!("not one of points"),)+
                })
            }

            fn parts(&self) -> Parts<'_> {
                each!(self, filter => filter.parts())
            }

            fn validate(&self) -> Result<(), String> {
                each!(self, filter => filter.validate())
            }
        }
    };
}

// A new kind is a line here. After the first semicolon are those of ranges, after the second those of lists, and cascades.
kinds! {
    Quotient(QuotientFilter),
    Adaptive(AdaptiveFilter),
    Expandable(ExpandableFilter),
    ;
    AdaptiveRange(AdaptiveRangeFilter),
    Range(RangeFilter),
    ;
    FrozenList(FrozenYesNoList, "FrozenYesNoList"),
    ListDelta(Delta, "list::Delta"),
    List(ListFilter, "list::ListFilter"),
    BloomCascade(BloomCascade, "cascade::BloomCascade"),
    QuotientCascade(QuotientCascade, "cascade::QuotientCascade"),
}

stored! {
    AnyFilter, View, "a filter",
    "let mut filter = QuotientFilter::new(100, 0.01)?;",
    r#"filter.insert("ant")?;"#,
    "let filter = AnyFilter::from(filter);",
    => r#"contains("ant")"#
}

impl AnyFilter {
    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        each!(self, filter => Ok(filter.try_clone()?.into()))
    }
}

cloned!(AnyFilter);

impl<B: AsRef<[u8]>> AnyFilter<B> {
    /// Whether `key` may have been inserted. `false` is certain.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        each!(self, filter => filter.contains(key))
    }

    /// [`contains`](Self::contains) for callers who hash themselves.
    pub fn contains_hash(&self, hash: u64) -> bool {
        each!(self, filter => filter.contains_hash(hash))
    }

    /// [`contains`](Self::contains) for many keys: sets `found[i]` for `keys[i]`.
    ///
    /// # Panics
    ///
    /// If the slices have different lengths.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        each!(self, filter => filter.contains_batch(keys, found))
    }

    /// [`contains_batch`](Self::contains_batch) for callers who hash themselves.
    pub fn contains_hash_batch(&self, hashes: &[u64], found: &mut [bool]) {
        each!(self, filter => filter.contains_hash_batch(hashes, found))
    }

    /// How many keys were inserted and not removed since; for kinds that count, with all copies.
    pub fn len(&self) -> u64 {
        each!(self, filter => filter.len())
    }

    /// Whether nothing is in the filter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all tables.
    pub fn size_in_bytes(&self) -> usize {
        each!(self, filter => filter.size_in_bytes())
    }

    /// How many slots the table has where new keys go, without the spill area; `None` for a kind without tables.
    pub fn slots(&self) -> Option<u64> {
        each!(self, filter => Some(filter.slots()))
    }

    /// How many slots are in use, in all tables; `None` for a kind without tables.
    pub fn used_slots(&self) -> Option<u64> {
        each!(self, filter => Some(filter.used_slots()))
    }

    /// The share of the slots that is in use, of the table where new keys go; `None` for a kind without tables.
    pub fn load_factor(&self) -> Option<f64> {
        each!(self, filter => Some(filter.load_factor()))
    }

    /// The probability that a key that was never inserted is found now. May read all tables.
    pub fn expected_error_rate(&self) -> f64 {
        each!(self, filter => filter.expected_error_rate())
    }

    /// How this filter hashes its keys.
    pub fn hasher(&self) -> &Hasher {
        each!(self, filter => filter.hasher())
    }
}

/// A summary, without the hash key and without the contents.
impl<B: AsRef<[u8]>> fmt::Debug for AnyFilter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        each!(self, filter => filter.fmt(f))
    }
}

/// What the first bytes of a filter say, whatever its kind. Made by [`identify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Which type reads it.
    pub kind: FilterKind,
    /// The version of its format.
    pub version: u16,
}

/// Tells what kind of filter a file holds, from its first 128 bytes. The table is not read.
///
/// ```
/// use twiceshy::any::{FilterKind, identify};
/// use twiceshy::QuotientFilter;
///
/// let bytes = QuotientFilter::new(1_000, 0.01)?.to_bytes();
/// assert_eq!(identify(bytes.as_slice())?.kind, FilterKind::Quotient);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn identify(reader: impl Read) -> Result<Identity, ReadError> {
    let first = First::read(reader)?;
    Ok(Identity { kind: kind_of(&first, FilterKind::ALL)?, version: first.version() })
}

/// The kind of a filter that is one of some kinds.
fn kind_of(first: &First, all: &[FilterKind]) -> Result<FilterKind, ReadError> {
    let found = first.kind();
    all.iter().copied().find(|&kind| kind as u8 == found).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|&kind| format!("{} ({})", kind as u8, kind.name())).collect();
        ReadError::Field { field: "kind", expected: names.join(" or "), found: found.into() }
    })
}
