//! The keys of both lists, as hashes: what a list or a delta is built from.

use super::YesNoList;
use super::sieve::first_in_both;
use crate::error::ListError;
use crate::hash::{Hasher, KeyWords, RawWords, Words};
use crate::key::Key;
use crate::reverse_map::ReverseMap;

/// The first 128 bits of a hash. Different keys have different ones.
pub(super) type Pair = [u64; 2];

/// The keys of a YES list and of a NO list, collected one by one to [build](super::frozen::Builder::build_keys) a list from, or a
/// [delta](super::frozen::FrozenYesNoList::delta_of).
///
/// Keys may come in any order and more than once; the lists that are built depend neither on the one nor on the other. Only 16
/// bytes of hash are kept of each.
///
/// ```
/// use twiceshy::list::ListKeys;
/// use twiceshy::{FrozenYesNoList, Hasher};
///
/// let mut keys = ListKeys::new(Hasher::random()?);
/// for line in "bad.example yes\ngood.example no\n".lines() {
///     match line.split_once(' ') {
///         Some((key, "yes")) => keys.yes(key),
///         Some((key, _)) => keys.no(key),
///         None => (),
///     }
/// }
/// let list = FrozenYesNoList::builder().build_keys(&keys, |_| ())?;
/// assert!(list.query("bad.example").is_yes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ListKeys {
    hasher: Hasher,
    yes: Vec<Pair>,
    no: Vec<Pair>,
    removed: Vec<Pair>,
}

impl ListKeys {
    /// No keys, for lists that hash in this way. The keys of a delta are hashed as those of the list that it changes:
    /// [`FrozenYesNoList::hasher`](super::frozen::FrozenYesNoList::hasher).
    pub fn new(hasher: Hasher) -> Self {
        Self { hasher, yes: Vec::new(), no: Vec::new(), removed: Vec::new() }
    }

    /// Puts a key on the YES list.
    pub fn yes<K: Key + ?Sized>(&mut self, key: &K) {
        self.yes.push(pair(&KeyWords::new(&self.hasher, key)));
    }

    /// Puts a key on the NO list.
    pub fn no<K: Key + ?Sized>(&mut self, key: &K) {
        self.no.push(pair(&KeyWords::new(&self.hasher, key)));
    }

    /// For a delta: a key that is on no list any more. It answers No from then on, as far as the delta is concerned. A key that is
    /// on one of the lists is not removed, whatever is said here; so all keys of an old list may be given.
    ///
    /// A key that was removed from the YES list and is not given may go on answering Yes, for ever.
    pub fn removed<K: Key + ?Sized>(&mut self, key: &K) {
        self.removed.push(pair(&KeyWords::new(&self.hasher, key)));
    }

    /// Puts every key of a [`YesNoList`] on the list that it is on there. Reads the whole map of it.
    ///
    /// How that list hashes does not matter: the keys themselves are at hand.
    pub fn add_list<M: ReverseMap>(&mut self, list: &YesNoList<M>) -> Result<(), M::Error> {
        list.for_each(|key, is_on| if is_on.is_yes() { self.yes(key) } else { self.no(key) })
    }

    /// [`yes`](Self::yes) for callers who hash themselves.
    pub fn yes_hash(&mut self, hash: u64) {
        self.yes.push(pair(&RawWords(hash)));
    }

    /// [`no`](Self::no) for callers who hash themselves.
    pub fn no_hash(&mut self, hash: u64) {
        self.no.push(pair(&RawWords(hash)));
    }

    /// [`removed`](Self::removed) for callers who hash themselves.
    pub fn removed_hash(&mut self, hash: u64) {
        self.removed.push(pair(&RawWords(hash)));
    }

    /// How they are hashed.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// All of them, in order and each once.
    pub(super) fn sorted(&self) -> Result<Lists, ListError> {
        let (yes, no) = (sorted(&self.yes), sorted(&self.no));
        if let Some(pair) = first_in_both(&yes, &no) {
            let number = |pairs: &[Pair]| pairs.iter().position(|other| other == pair).unwrap_or(0) as u64;
            return Err(ListError::OnBothLists { yes: number(&self.yes), no: number(&self.no) });
        }
        let mut removed = sorted(&self.removed);
        removed.retain(|pair| yes.binary_search(pair).is_err() && no.binary_search(pair).is_err());
        Ok(Lists { yes, no, removed })
    }
}

/// Different keys, in order. None is on two of them.
pub(super) struct Lists {
    pub(super) yes: Vec<Pair>,
    pub(super) no: Vec<Pair>,
    pub(super) removed: Vec<Pair>,
}

fn pair(words: &impl Words) -> Pair {
    [words.word(0), words.word(1)]
}

fn sorted(pairs: &[Pair]) -> Vec<Pair> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The words of a pair, which are all that lists ask for.
impl Words for Pair {
    #[inline(always)]
    fn word(&self, index: u32) -> u64 {
        self[index as usize % 2]
    }
}
