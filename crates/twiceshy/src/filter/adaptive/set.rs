//! A filter and its reverse map, in step by themselves.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::cut::{Member, cut};
use super::insert::Room;
use super::rebuild::Filling;
use super::{Adapted, AdaptiveFilter, AdaptiveFilterBuilder, Insertion, Query, Record};
use crate::codec::string::{Entry, Found};
use crate::error::{AdaptError, Indistinguishable, InsertError, RebuildError, SetError};
use crate::filter::batch::AHEAD;
use crate::hash::{Hasher, KeyWords, Words};
use crate::key::Key;
use crate::mem::OutOfMemory;
use crate::prefix::Prefix;
use crate::reverse_map::{MemoryMap, ReverseMap, Row};
use crate::table::Full;

/// A set of keys with an adaptive filter in front: grows by itself, and never makes the same mistake twice.
///
/// It keeps an [`AdaptiveFilter`] and a [`ReverseMap`] with all keys in step. Queries look at the filter
/// only; the map is written once per new key, and read when the filter says *maybe* to an insert, to adapt,
/// to remove, and for the few fingerprints that run out of bits when the filter grows.
///
/// ```
/// use twiceshy::{AdaptiveSet, MemoryMap};
///
/// let mut set = AdaptiveSet::builder().error_rate(0.01).build_set(MemoryMap::new())?;
/// for word in ["ant", "bee", "cow"] {
///     assert!(set.insert(word)?);
/// }
/// assert!(!set.insert("ant")?);
///
/// // The filter alone: `false` is certain.
/// assert!(set.contains("bee"));
///
/// // With the map, and with learning: no query is ever wrong here, and none that was a false positive
/// // costs a look into the map again.
/// for number in 0..10_000u32 {
///     assert!(!set.contains_exactly(&number)?);
///     assert!(!set.contains(&number));
/// }
/// assert!(set.remove("bee")?);
/// assert_eq!(set.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An error of the map leaves filter and map as they were; what the map did before it failed, only it knows.
#[derive(Debug, Clone)]
pub struct AdaptiveSet<M> {
    filter: AdaptiveFilter,
    map: M,
}

impl AdaptiveSet<MemoryMap> {
    /// Chooses size, error rate, hash and growth; then call
    /// [`build_set`](AdaptiveFilterBuilder::build_set) with a map.
    pub fn builder() -> AdaptiveFilterBuilder {
        AdaptiveFilter::builder()
    }
}

impl<M: ReverseMap> AdaptiveSet<M> {
    /// A set from a filter and the map that holds exactly its keys.
    pub fn from_parts(filter: AdaptiveFilter, map: M) -> Self {
        Self { filter, map }
    }

    /// The filter and the map.
    pub fn into_parts(self) -> (AdaptiveFilter, M) {
        (self.filter, self.map)
    }

    /// The filter: size, statistics, fingerprints, bytes.
    pub fn filter(&self) -> &AdaptiveFilter {
        &self.filter
    }

    /// The map.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// How many keys there are.
    pub fn len(&self) -> u64 {
        self.filter.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Whether `key` may be in the set. `false` is certain. Asks the filter only.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.filter.contains(key)
    }

    /// [`contains`](Self::contains) for every key, in order.
    ///
    /// # Panics
    ///
    /// If there are not as many answers as keys.
    pub fn contains_batch<K: Key>(&self, keys: &[K], found: &mut [bool]) {
        self.filter.contains_batch(keys, found);
    }

    /// Whether `key` may be in the set, and under which fingerprint. Asks the filter only.
    pub fn query<K: Key + ?Sized>(&self, key: &K) -> Query {
        self.filter.query(key)
    }

    /// The tag of the fingerprint that `key` meets, `None` if the key is certainly not in the set.
    pub fn tag<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.filter.tag(key)
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and learns nothing from it.
    pub fn lookup<K: Key + ?Sized>(&self, key: &K) -> Result<bool, M::Error> {
        let bytes = key.key_bytes();
        let hash = self.filter.hasher.hash_bytes(bytes.as_ref());
        Ok(self.filter.contains(key) && self.map.contains(hash, bytes.as_ref())?)
    }

    /// Whether `key` is in the set. Asks the map if the filter says *maybe*, and [adapts](Self::adapt) if
    /// that was a mistake.
    pub fn contains_exactly<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        if !self.contains(key) {
            return Ok(false);
        }
        let is_member = self.lookup(key).map_err(SetError::Map)?;
        if !is_member {
            self.adapt(key)?;
        }
        Ok(is_member)
    }

    /// Inserts a key. `false` if it was there already.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        self.insert_tagged(key, 0)
    }

    /// Inserts a key with a tag that [`tag`](Self::tag) tells, or gives a key that is there already another
    /// tag. `false` if it was there already.
    ///
    /// All keys under a fingerprint have the same tag, so keys whose tags differ never share one.
    pub fn insert_tagged<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<bool, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        self.edit(|filter, map| {
            let hasher = filter.hasher.clone();
            let words = KeyWords::new(&hasher, bytes);
            let place = match filter.room_for(&words, tag)? {
                Room::Covered(place) => place,
                room => {
                    Stop::unless_enough(room)?;
                    let new = map.insert(words.word(0), bytes, &value_of(tag)).map_err(SetError::Map)?;
                    // It has room, so it is stored.
                    let _: Insertion = filter.insert_words(&words, tag)?;
                    return Ok(new);
                }
            };
            let ticket = filter.ticket(place.quotient, &place.entry);
            if ticket.tag == tag {
                let new = !map.contains(words.word(0), bytes).map_err(SetError::Map)?;
                if new {
                    map.insert(words.word(0), bytes, &value_of(tag)).map_err(SetError::Map)?;
                    filter.insert_covered(&ticket).map_err(AdaptError::from)?;
                }
                return Ok(new);
            }
            let rows = rows_under(map, &hasher, &ticket.prefix).map_err(SetError::Map)?;
            let new = rows.iter().all(|row| row.key() != bytes);
            let strings = filter.strings();
            let (from, fresh) = (ticket.prefix.len(), strings.bits_in(1));
            let mut members: Vec<_> = rows
                .into_iter()
                .filter(|row| row.key() != bytes)
                .map(|words| Member { words, tag: ticket.tag, least: from.max(fresh) })
                .collect();
            let own = KeyWords::new(&hasher, bytes.to_vec());
            members.push(Member { words: own, tag, least: from.max(fresh) });
            let pieces = cut(&mut members, &strings, from)?;
            Stop::unless_enough(filter.room_to_replace(&place, &members, &pieces)?)?;
            map.insert(words.word(0), bytes, &value_of(tag)).map_err(SetError::Map)?;
            filter.replace(&place, &members, &pieces)?;
            filter.set_len(filter.len + u64::from(new));
            Ok(new)
        })
    }

    /// Inserts every key and tells how many were new. If there is an error, the keys before it are in.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<u64, SetError<M::Error>> {
        let ask_for = |filter: &AdaptiveFilter, key: &K| filter.prefetch(filter.hasher.hash(key));
        keys.iter().take(AHEAD).for_each(|key| ask_for(&self.filter, key));
        let mut new = 0;
        for (i, key) in keys.iter().enumerate() {
            if let Some(ahead) = keys.get(i + AHEAD) {
                ask_for(&self.filter, ahead);
            }
            new += u64::from(self.insert(key)?);
        }
        Ok(new)
    }

    /// Learns that the filter's *maybe* was wrong for `key`; asks the map whether it was.
    pub fn adapt<K: Key + ?Sized>(&mut self, key: &K) -> Result<Adapted, SetError<M::Error>> {
        let mut was_positive = false;
        self.edit(|filter, map| {
            let Query::Maybe(ticket) = filter.query(key) else {
                return Ok(if was_positive { filter.fixed_by_growth() } else { Adapted::NotPositive });
            };
            was_positive = true;
            let hasher = filter.hasher.clone();
            let keys = keys_under(map, &hasher, &ticket.prefix).map_err(SetError::Map)?;
            Ok(filter.adapt(&ticket, key, keys)?)
        })
    }

    /// Removes a key. `false` if it was not there; the map is asked, so no other key is ever lost.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        let Query::Maybe(ticket) = self.filter.query(key) else { return Ok(false) };
        let bytes = key.key_bytes();
        let (bytes, hasher) = (bytes.as_ref(), self.filter.hasher.clone());
        let (mut is_there, mut others) = (false, false);
        self.map
            .visit(ticket.prefix.first_words(), &mut |row| {
                if row.key == bytes {
                    is_there = true;
                } else {
                    others |= ticket.prefix.is_prefix_of(&KeyWords::with_first(&hasher, row.key, row.hash));
                }
                if is_there && others { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .map_err(SetError::Map)?;
        if !is_there || !self.map.remove(hasher.hash_bytes(bytes), bytes).map_err(SetError::Map)? {
            return Ok(false);
        }
        // Nothing can have changed in between.
        self.filter.remove(&ticket, others).map_err(AdaptError::from)?;
        Ok(true)
    }

    /// Shrinks the filter to the smallest size that holds its contents. Nothing learned is lost.
    pub fn shrink_to_fit(&mut self) -> Result<(), OutOfMemory> {
        self.filter.shrink_to_fit()
    }

    /// Doubles the filter.
    pub fn grow(&mut self) -> Result<(), SetError<M::Error>> {
        self.filter = grown(&self.filter, &self.map)?;
        Ok(())
    }

    /// Gives every key a fingerprint of fresh length, or as long as it has. Reads the whole map, once, and
    /// counts the keys.
    pub fn rejuvenate(&mut self) -> Result<(), SetError<M::Error>> {
        self.filter = rebuilt(&self.filter, &[], |visit| self.map.visit(0..=u64::MAX, visit))?;
        Ok(())
    }

    /// A set from a map that may have changed since the filter was saved: reads the whole map, once. Keys
    /// that the filter does not know get fingerprints, fingerprints without a key go, and what the filter
    /// and the records have learned stays learned.
    pub fn recover<B: AsRef<[u8]>>(
        filter: &AdaptiveFilter<B>,
        map: M,
        journal: impl IntoIterator<Item = Record>,
    ) -> Result<Self, SetError<M::Error>> {
        let separate = |record| match record {
            Record::Separate(prefix) => Some(prefix),
            Record::Inserted(_) | Record::Removed(_) => None,
        };
        let mut apart: Vec<Prefix> = journal.into_iter().filter_map(separate).collect();
        apart.sort();
        Ok(Self { filter: rebuilt(filter, &apart, |visit| map.visit(0..=u64::MAX, visit))?, map })
    }

    /// Does again what a record of a journal says, on a filter that was saved before. May be done more than
    /// once. Much cheaper than [`recover`](Self::recover) for few records. Keys that were removed without a record
    /// leave fingerprints behind, which the first false positive clears away; [`recount`](Self::recount)
    /// counts the keys.
    pub fn replay(&mut self, record: &Record) -> Result<(), SetError<M::Error>> {
        match record {
            Record::Inserted(hash) => {
                for (key, tag) in keys_with_hash(&self.map, *hash).map_err(SetError::Map)? {
                    self.cover(key.as_slice(), tag)?;
                }
                Ok(())
            }
            Record::Separate(apart) => self.edit(|filter, map| {
                let Some(ticket) = filter.query_prefix(apart) else { return Ok(()) };
                let hasher = filter.hasher.clone();
                let keys = keys_under(map, &hasher, &ticket.prefix).map_err(SetError::Map)?;
                filter.separate(&ticket, apart, keys)?;
                Ok(())
            }),
            Record::Removed(hash) => self.clear_away(*hash).map_err(SetError::Map),
        }
    }

    /// Removes the fingerprints that a hash begins with, or that begin with a hash, if no key is under them.
    fn clear_away(&mut self, hash: u64) -> Result<(), M::Error> {
        for prefix in self.filter.fingerprints_at(&Prefix::from_bits(hash, 64)) {
            if keys_under(&self.map, &self.filter.hasher, &prefix)?.is_empty() {
                self.filter.remove_leftover(&prefix);
            }
        }
        Ok(())
    }

    /// Gives a key that is in the map a fingerprint with its tag, if it has none: what [`replay`](Self::replay) does for
    /// [`Inserted`](Record::Inserted), for callers who know the key.
    pub fn cover<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<(), SetError<M::Error>> {
        self.edit(|filter, map| match filter.insert_tagged(key, tag)? {
            Insertion::Covered(ticket) if ticket.tag != tag => {
                let hasher = filter.hasher.clone();
                let others = keys_under(map, &hasher, &ticket.prefix).map_err(SetError::Map)?;
                Ok(filter.insert_apart(&ticket, key, tag, true, others)?)
            }
            Insertion::Covered(ticket) => Ok(filter.insert_covered(&ticket).map_err(AdaptError::from)?),
            Insertion::Stored => Ok(()),
        })
    }

    /// Counts the keys of the map, which it reads as a whole, and removes fingerprints without a key: those of keys that
    /// were removed from the map only.
    pub fn recount(&mut self) -> Result<u64, SetError<M::Error>> {
        let (mut len, mut met) = (0, HashSet::new());
        let count = |_: &Row<'_>, entry: Option<Entry>| {
            len += 1;
            met.extend(entry.map(|entry| entry.start));
            ControlFlow::Continue(())
        };
        self.for_each_entry(count).map_err(SetError::Map)?;
        for prefix in self.filter.fingerprints_without(|entry| met.contains(&entry.start)) {
            self.filter.remove_leftover(&prefix);
        }
        self.filter.set_len(len);
        Ok(len)
    }

    /// Calls `visit` with every row of the map and the entry that covers its key.
    fn for_each_entry(
        &self,
        mut visit: impl FnMut(&Row<'_>, Option<Entry>) -> ControlFlow<()>,
    ) -> Result<(), M::Error> {
        self.map.visit(0..=u64::MAX, &mut |row| {
            let words = KeyWords::with_first(&self.filter.hasher, row.key, row.hash);
            match self.filter.find(&words) {
                (_, _, Found::Covered(entry)) => visit(&row, Some(entry)),
                (_, _, Found::Between { .. }) => visit(&row, None),
            }
        })
    }

    /// Adds all keys of another set that hashes in the same way. What either filter has learned stays
    /// learned. Where both have a key, this set's tag counts. If the error rate would get too high, all keys get
    /// fingerprints of fresh length.
    ///
    /// If the map fails, the rows that were copied are removed again, as far as it lets us, and the filter is as it was; to
    /// merge again finishes the work.
    pub fn merge_from<N: ReverseMap<Error = M::Error>>(
        &mut self,
        other: &AdaptiveSet<N>,
    ) -> Result<(), SetError<M::Error>> {
        let hasher = self.filter.hasher.clone();
        let (mine, theirs) = (&self.map, &other.map);
        let mut merged = self.filter.try_clone()?;
        merged
            .merge_from(
                &other.filter,
                |prefix| keys_under(mine, &hasher, prefix),
                |prefix| keys_under(theirs, &hasher, prefix),
            )
            .map_err(|error| set_error(error, &self.filter))?;
        // Whatever can fail comes before the first row is copied.
        if merged.expected_error_rate() > merged.highest_error_rate() {
            let parts = merged.len / ROWS_AT_ONCE;
            merged = rebuilt(&merged, &[], |visit| visit_union(mine, theirs, parts, visit))?;
        }
        let new = self.copy_rows(other).map_err(SetError::Map)?;
        merged.set_len(self.filter.len + new);
        self.filter = merged;
        Ok(())
    }

    /// Copies the rows of another set that are not in this one, and tells how many. If that fails, those that were copied
    /// are removed again, as far as the map lets us.
    fn copy_rows<N: ReverseMap<Error = M::Error>>(
        &mut self,
        other: &AdaptiveSet<N>,
    ) -> Result<u64, M::Error> {
        let (filter, map) = (&self.filter, &mut self.map);
        let (mut copied, mut error) = (Vec::new(), None);
        let copy = &mut |row: Row<'_>| {
            let known = if filter.contains(row.key) { map.contains(row.hash, row.key) } else { Ok(false) };
            let done = known.and_then(|known| match known {
                true => Ok(()),
                false => {
                    // Whether or not it works: who fails may have written.
                    copied.push((row.hash, row.key.to_vec()));
                    map.insert(row.hash, row.key, row.value).map(drop)
                }
            });
            match done {
                Ok(()) => ControlFlow::Continue(()),
                Err(failed) => {
                    error = Some(failed);
                    ControlFlow::Break(())
                }
            }
        };
        let visited = other.map.visit(0..=u64::MAX, copy);
        let done = error.map_or(visited, Err);
        if done.is_err() {
            for (hash, key) in &copied {
                let _ = self.map.remove(*hash, key);
            }
        }
        done.map(|()| copied.len() as u64)
    }

    /// Calls `visit` with the bytes and the tag of every key, in the order of their hashes.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8], u64)) -> Result<(), M::Error> {
        self.map.visit(0..=u64::MAX, &mut |row| {
            visit(row.key, tag_of(row.value));
            ControlFlow::Continue(())
        })
    }

    /// Checks the filter, that every key of the map has a fingerprint with its tag, and that every
    /// fingerprint has a key. Reads everything. `Ok(Err(what))` says what is wrong.
    pub fn validate(&self) -> Result<Result<(), String>, M::Error> {
        if let Err(what) = self.filter.validate() {
            return Ok(Err(what));
        }
        let (mut wrong, mut len, mut met) = (None, 0, HashSet::new());
        self.for_each_entry(|row, entry| {
            len += 1;
            match entry {
                Some(entry) => {
                    met.insert(entry.start);
                    let (tag, found) =
                        (tag_of(row.value), self.filter.strings().tag(&self.filter.table, &entry));
                    if tag != found {
                        wrong = Some(format!("key {:?} has tag {tag}, its fingerprint {found}", row.key));
                    }
                }
                None => wrong = Some(format!("key {:?} has no fingerprint", row.key)),
            }
            if wrong.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        if met.len() as u64 != self.filter.entries {
            return Ok(Err(format!("{} of {} fingerprints have a key", met.len(), self.filter.entries)));
        }
        if len != self.len() {
            return Ok(Err(format!("the map has {len} keys, expected {}", self.len())));
        }
        Ok(Ok(()))
    }

    /// Carries out an operation that fails without a trace, on a larger filter if there is no room. The
    /// larger filter is taken over only if the operation works there.
    fn edit<T>(
        &mut self,
        mut operation: impl FnMut(&mut AdaptiveFilter, &mut M) -> Result<T, Stop<M::Error>>,
    ) -> Result<T, SetError<M::Error>> {
        let mut larger = match operation(&mut self.filter, &mut self.map) {
            Ok(done) => return Ok(done),
            Err(stop) => self.larger(&self.filter, stop)?,
        };
        loop {
            match operation(&mut larger, &mut self.map) {
                Ok(done) => {
                    self.filter = larger;
                    return Ok(done);
                }
                Err(stop) => larger = self.larger(&larger, stop)?,
            }
        }
    }

    /// A filter with the room that an operation lacks.
    fn larger(
        &self,
        filter: &AdaptiveFilter,
        stop: Stop<M::Error>,
    ) -> Result<AdaptiveFilter, SetError<M::Error>> {
        match stop {
            Stop::NeedsExtension(why) => Ok(filter.with_table(filter.extended_table(why)?)),
            Stop::NeedsGrow => grown(filter, &self.map),
            Stop::Error(error) => Err(error),
        }
    }
}

/// Why an operation stopped.
enum Stop<E> {
    NeedsExtension(Full),
    NeedsGrow,
    Error(SetError<E>),
}

impl<E> Stop<E> {
    fn unless_enough(room: Room) -> Result<(), Self> {
        match room {
            Room::Enough | Room::Covered(_) => Ok(()),
            Room::NeedsExtension(why) => Err(Self::NeedsExtension(why)),
            Room::NeedsGrow => Err(Self::NeedsGrow),
        }
    }
}

impl<E> From<SetError<E>> for Stop<E> {
    fn from(error: SetError<E>) -> Self {
        Self::Error(error)
    }
}

impl<E> From<Indistinguishable> for Stop<E> {
    fn from(error: Indistinguishable) -> Self {
        Self::Error(error.into())
    }
}

impl<E> From<InsertError> for Stop<E> {
    fn from(error: InsertError) -> Self {
        match error {
            InsertError::Full { used, slots } => Self::Error(SetError::Full { used, slots }),
            InsertError::Indistinguishable(error) => Self::Error(error.into()),
            InsertError::Memory(error) => Self::Error(error.into()),
            InsertError::NeedsGrow { .. } | InsertError::TooManyCopies => Self::NeedsGrow,
        }
    }
}

impl<E> From<AdaptError> for Stop<E> {
    fn from(error: AdaptError) -> Self {
        match error {
            AdaptError::NeedsGrow { .. } => Self::NeedsGrow,
            other => Self::Error(other.into()),
        }
    }
}

impl<E> From<AdaptError> for SetError<E> {
    fn from(error: AdaptError) -> Self {
        match error {
            AdaptError::NeedsGrow { used, slots } | AdaptError::Full { used, slots } => {
                Self::Full { used, slots }
            }
            AdaptError::Indistinguishable(error) => error.into(),
            AdaptError::Memory(error) => error.into(),
            AdaptError::Stale(_) => unreachable!("a set changes its filter only by its own operations"),
        }
    }
}

fn set_error<E, B: AsRef<[u8]>>(error: RebuildError<E>, filter: &AdaptiveFilter<B>) -> SetError<E> {
    match error {
        RebuildError::Lookup(error) => SetError::Map(error),
        RebuildError::DifferentHash => SetError::DifferentHash,
        RebuildError::Unsorted { index } => SetError::Unsorted { index },
        RebuildError::Indistinguishable(error) => error.into(),
        RebuildError::Memory(error) => error.into(),
        RebuildError::Full { .. } | RebuildError::Capacity { .. } | RebuildError::Build(_) => {
            SetError::Full { used: filter.used_slots(), slots: filter.slots() }
        }
    }
}

/// The filter in the next larger size.
fn grown<M: ReverseMap>(filter: &AdaptiveFilter, map: &M) -> Result<AdaptiveFilter, SetError<M::Error>> {
    let hasher = filter.hasher.clone();
    let grown = filter
        .larger_table(|_, prefix| rows_under(map, &hasher, prefix))
        .map_err(|error| set_error(error, filter))?;
    Ok(filter.with_grown(grown))
}

/// What is done with every row; `Break` ends it.
type Visit<'a> = &'a mut dyn FnMut(Row<'_>) -> ControlFlow<()>;

/// A filter with fresh fingerprints for all rows that `visit_all` gives, in order, every time it is called.
fn rebuilt<B: AsRef<[u8]>, E>(
    old: &AdaptiveFilter<B>,
    apart: &[Prefix],
    visit_all: impl Fn(Visit<'_>) -> Result<(), E>,
) -> Result<AdaptiveFilter, SetError<E>> {
    // How many keys it counts may be wrong after a crash; keys that share a fingerprint are few.
    let (mut keys, mut quotient_bits) = (old.entries, 1);
    loop {
        let empty = old.empty_for(keys, quotient_bits).map_err(|error| set_error(error, old))?;
        quotient_bits = empty.quotient_bits() + 1;
        match filled(empty, old, apart, &visit_all) {
            // There is far more to store than the filter knew, and what was written first has run out of bits.
            Err(RebuildError::Capacity { .. }) => {
                keys = 0;
                let count = &mut |_: Row<'_>| {
                    keys += 1;
                    ControlFlow::Continue(())
                };
                visit_all(count).map_err(SetError::Map)?;
            }
            done => return done.map_err(|error| set_error(error, old)),
        }
    }
}

/// An empty filter, filled with all rows.
fn filled<B: AsRef<[u8]>, E>(
    empty: AdaptiveFilter,
    old: &AdaptiveFilter<B>,
    apart: &[Prefix],
    visit_all: impl Fn(Visit<'_>) -> Result<(), E>,
) -> Result<AdaptiveFilter, RebuildError<E>> {
    let hasher = empty.hasher.clone();
    let mut filling = Filling::new(empty, Some(old), apart)?;
    let mut failed = None;
    visit_all(&mut |row| {
        let words = KeyWords::with_first(&hasher, row.key.to_vec(), row.hash);
        match filling.add(words, tag_of(row.value)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })
    .map_err(RebuildError::Lookup)?;
    match failed {
        Some(error) => Err(error),
        None => filling.finish(),
    }
}

/// About as many rows of two maps are in memory at a time.
const ROWS_AT_ONCE: u64 = 4096;

/// Visits the rows of two maps in the order of their hashes, in about so many parts. Where both have a key, the first
/// counts.
fn visit_union<M: ReverseMap, N: ReverseMap<Error = M::Error>>(
    mine: &M,
    theirs: &N,
    parts: u64,
    visit: Visit<'_>,
) -> Result<(), M::Error> {
    let last_of_part = u64::MAX >> (64 - parts.max(1).leading_zeros()).min(63);
    let mut first = 0;
    loop {
        let range = first..=first | last_of_part;
        let mut rows: Vec<(u64, Vec<u8>, Vec<u8>)> = Vec::new();
        let collect = &mut |row: Row<'_>| {
            rows.push((row.hash, row.key.to_vec(), row.value.to_vec()));
            ControlFlow::Continue(())
        };
        mine.visit(range.clone(), collect)?;
        theirs.visit(range, collect)?;
        // Equal keys stay in order: mine, then theirs.
        rows.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        rows.dedup_by(|later, earlier| later.1 == earlier.1);
        for (hash, key, value) in &rows {
            if visit(Row { hash: *hash, key, value }).is_break() {
                return Ok(());
            }
        }
        match (first | last_of_part).checked_add(1) {
            Some(next) => first = next,
            None => return Ok(()),
        }
    }
}

/// The keys of a map under a prefix.
fn keys_under<M: ReverseMap>(map: &M, hasher: &Hasher, prefix: &Prefix) -> Result<Vec<Vec<u8>>, M::Error> {
    Ok(rows_under(map, hasher, prefix)?.into_iter().map(KeyWords::into_key).collect())
}

/// The keys of a map under a prefix, with their hashes.
fn rows_under<'a, M: ReverseMap>(
    map: &M,
    hasher: &'a Hasher,
    prefix: &Prefix,
) -> Result<Vec<KeyWords<'a, Vec<u8>>>, M::Error> {
    let mut rows = Vec::new();
    map.visit(prefix.first_words(), &mut |row| {
        let words = KeyWords::with_first(hasher, row.key, row.hash);
        if prefix.is_prefix_of(&words) {
            rows.push(KeyWords::with_first(hasher, row.key.to_vec(), row.hash));
        }
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

/// The bytes of a key, and its tag.
type TaggedKey = (Vec<u8>, u64);

/// The keys of a map with this hash, and their tags.
fn keys_with_hash<M: ReverseMap>(map: &M, hash: u64) -> Result<Vec<TaggedKey>, M::Error> {
    let mut keys = Vec::new();
    map.visit(hash..=hash, &mut |row| {
        keys.push((row.key.to_vec(), tag_of(row.value)));
        ControlFlow::Continue(())
    })?;
    Ok(keys)
}

/// A tag as the value of a row: its bytes from the lowest to the highest that is not 0.
fn value_of(tag: u64) -> Vec<u8> {
    tag.to_le_bytes()[..8 - tag.leading_zeros() as usize / 8].to_vec()
}

/// The tag in the value of a row.
fn tag_of(value: &[u8]) -> u64 {
    value.iter().take(8).rev().fold(0, |tag, &byte| tag << 8 | u64::from(byte))
}
