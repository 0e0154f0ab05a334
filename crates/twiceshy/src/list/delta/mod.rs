//! Deltas: the next list from the present one and far fewer bytes than a new one has.
//!
//! # The idea
//!
//! A list has no keys, and one that is built anew shares no bytes with it. But whoever makes the next list has its keys, and can ask
//! the present list for each of them. The delta is a [sieve](crate::list::sieve) of those that it answers wrongly, which no key that it
//! answers rightly passes: applied, it turns the answer of whatever passes it.
//!
//! A new YES key is answered wrongly nearly always, a new NO key only at the error rate, and a key that was removed from the YES list
//! always: it was made to be a Yes. The maker of the delta says which those are, if they know; they are treated like NO keys.
//!
//! # The rate
//!
//! A key of no list that passes the sieve changes its answer, too. A list is built for 127/128 of its error rate `ε`, and each delta
//! uses up a sixteenth of what is left of it: the first `ε/2048`, the twentieth `ε/6900`. So the rate never gets higher than `ε`, and a
//! delta costs `log2(1/ε) + 11` bits per wrong key at first, and a bit more after every eleven deltas.
//!
//! # Cost
//!
//! With 0.1 % of the keys on either list replaced by others: 0.4 to 0.6 % of the list, from 100 kB on (below, header and directory
//! begin to count: `docs/lists.md`). Every delta costs a query some 130 instructions, where one without
//! deltas takes 110; the first one 60 more. A new list is worth it when its deltas are a
//! quarter of it, or when there are more than ten.

mod persist;

pub use persist::View;

use super::YesNoList;
use super::frozen::{FrozenYesNoList, either};
use super::keys::ListKeys;
use super::name::name_after;
use super::progress::{Phase, Progress, Watch};
use super::sieve::Sieve;
use crate::error::{ApplyError, FreezeError, ListError};
use crate::filter::macros::{cloned, shown};
use crate::hash::Hasher;
use crate::key::Key;
use crate::mem::{Memory, OutOfMemory};
use crate::reverse_map::ReverseMap;

/// What a delta uses of the part of the error rate that is left.
const PART_OF_REST: f64 = 1.0 / 16.0;

/// The most deltas of a list.
pub(super) const MOST_DELTAS: usize = 254;

/// What makes the next [`FrozenYesNoList`] of the present one. Made by [`FrozenYesNoList::delta`], for
/// [`FrozenYesNoList::apply`].
///
/// It is for one list only, by its [name](FrozenYesNoList::name): another one refuses it.
///
/// ```
/// use twiceshy::FrozenYesNoList;
/// use twiceshy::list::Delta;
///
/// let mut shipped = FrozenYesNoList::new(["worm", "virus"], ["moth"], 0.01)?;
/// let delta = shipped.delta(["worm", "virus", "trojan"], ["moth", "bat"])?;
///
/// shipped.apply(Delta::from_bytes(&delta.to_bytes())?)?;
/// assert!(shipped.query("trojan").is_yes());
/// assert!(shipped.query("bat").is_no());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Delta<B = Memory> {
    hasher: Hasher,
    /// The name of the list that it is for, and of the one that it makes.
    before: u64,
    after: u64,
    /// Keys on either list then.
    yes: u64,
    no: u64,
    sieve: Sieve<B>,
}

impl Delta {
    /// A copy, or an error if there is no memory for it.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let Self { ref hasher, before, after, yes, no, ref sieve } = *self;
        let sieve = sieve.over(Memory::copy_of(sieve.bytes())?);
        Ok(Self { hasher: hasher.clone(), before, after, yes, no, sieve })
    }
}

cloned!(Delta);
shown!([B: AsRef<[u8]>] Delta<B>: before, after, yes_keys, no_keys, size_in_bytes);

impl<B: AsRef<[u8]>> Delta<B> {
    /// The name of the list that it is for.
    pub fn before(&self) -> u64 {
        self.before
    }

    /// The name of the list that it makes.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// How many different keys are on the YES list then.
    pub fn yes_keys(&self) -> u64 {
        self.yes
    }

    /// How many different keys are on the NO list then.
    pub fn no_keys(&self) -> u64 {
        self.no
    }

    /// The bytes of the delta, without header and directory.
    pub fn size_in_bytes(&self) -> usize {
        self.sieve.bytes().as_ref().len()
    }
}

impl<B: AsRef<[u8]>> FrozenYesNoList<B> {
    /// What makes of this list the one of these keys: all of the next lists, not only the new ones.
    ///
    /// A key that is on neither list any more may go on answering as it did; name those that were removed from the YES list with
    /// [`delta_of`](Self::delta_of) to have them answer No.
    pub fn delta<Y: Key, N: Key>(
        &self,
        yes: impl IntoIterator<Item = Y>,
        no: impl IntoIterator<Item = N>,
    ) -> Result<Delta, ListError> {
        let mut keys = ListKeys::new(self.hasher().clone());
        yes.into_iter().for_each(|key| keys.yes(&key));
        no.into_iter().for_each(|key| keys.no(&key));
        self.delta_of(&keys, |_| ())
    }

    /// What makes of this list a snapshot of a [`YesNoList`] as it is now: of the keys in its map. See
    /// [`freeze`](super::frozen::Builder::freeze).
    ///
    /// The list does not know which keys were removed from it, so this is [`delta`](Self::delta) in that respect. To name them,
    /// add the list to [`ListKeys`] and the removed keys after it.
    pub fn delta_to<M: ReverseMap>(&self, list: &YesNoList<M>) -> Result<Delta, FreezeError<M::Error>> {
        let mut keys = ListKeys::new(self.hasher().clone());
        keys.add_list(list).map_err(FreezeError::Map)?;
        Ok(self.delta_of(&keys, |_| ())?)
    }

    /// What makes of this list the one of these keys, of which those that were [removed](ListKeys::removed) answer No. `progress`
    /// hears how far it is, every 65,536 keys.
    ///
    /// ```
    /// use twiceshy::FrozenYesNoList;
    /// use twiceshy::list::ListKeys;
    ///
    /// let mut shipped = FrozenYesNoList::new(["worm", "virus"], ["moth"], 0.01)?;
    /// let mut keys = ListKeys::new(shipped.hasher().clone());
    /// keys.yes("worm");
    /// keys.no("moth");
    /// keys.removed("virus");
    /// shipped.apply(shipped.delta_of(&keys, |_| ())?)?;
    /// assert!(shipped.query("virus").is_no());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delta_of(&self, keys: &ListKeys, mut progress: impl FnMut(Progress)) -> Result<Delta, ListError> {
        if keys.hasher() != self.hasher() {
            return Err(ListError::DifferentHash);
        }
        if self.deltas() == MOST_DELTAS {
            return Err(ListError::TooManyDeltas { most: MOST_DELTAS });
        }
        let lists = keys.sorted()?;
        let all = [(&lists.yes[..], true), (&lists.no, false), (&lists.removed, false)];
        let mut watch = Watch(&mut progress);
        let mut watched = watch.phase(Phase::Compare, all.iter().map(|(keys, _)| keys.len()).sum());
        let (mut wrong, mut right) = (Vec::new(), Vec::new());
        for (keys, yes) in all {
            let (good, bad) = self.told_apart(keys, yes, &mut watched);
            right.extend(good);
            wrong.extend(bad);
        }
        let rate = (self.error_rate() - self.expected_error_rate()) * PART_OF_REST;
        let sieve = Sieve::build(&wrong, &right, rate, &mut watch)?;
        let delta = Delta {
            hasher: self.hasher().clone(),
            before: self.name(),
            after: name_after(self.name(), &sieve),
            yes: lists.yes.len() as u64,
            no: lists.no.len() as u64,
            sieve,
        };
        let mut next = self.borrowed();
        next.apply(delta.borrowed()).map_err(|_| ListError::RateSpent)?;
        next.verify(&all, &mut watch)?;
        Ok(delta)
    }

    /// Makes this the list that the delta was made for. An error changes nothing.
    ///
    /// Whatever is wrong with the bytes of a delta is noticed. Those of a list in place are what they are until
    /// [`validate`](super::frozen::View::validate) was called.
    pub fn apply(&mut self, delta: Delta<B>) -> Result<(), ApplyError> {
        if delta.before != self.name() {
            return Err(ApplyError::WrongList { expected: delta.before, found: self.name() });
        }
        if delta.hasher != *self.hasher() {
            return Err(ApplyError::DifferentHash);
        }
        if self.deltas() == MOST_DELTAS {
            return Err(ApplyError::TooMany { most: MOST_DELTAS });
        }
        if name_after(delta.before, &delta.sieve) != delta.after
            || either(self.expected_error_rate(), delta.sieve.rate()) > self.error_rate()
        {
            return Err(ApplyError::Damaged);
        }
        self.take_over(delta.sieve, delta.after, delta.yes, delta.no);
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Delta<B> {
    /// The same over borrowed bytes.
    fn borrowed(&self) -> Delta<&[u8]> {
        let Self { ref hasher, before, after, yes, no, ref sieve } = *self;
        Delta { hasher: hasher.clone(), before, after, yes, no, sieve: sieve.borrowed() }
    }
}
