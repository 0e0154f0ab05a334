//! Building a frozen list.

use super::FrozenYesNoList;
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::error::{FreezeError, ListError};
use crate::filter::settings::{DEFAULT_ERROR_RATE, check_rate, hasher_or_random};
use crate::hash::Hasher;
use crate::key::Key;
use crate::list::YesNoList;
use crate::list::keys::{ListKeys, Pair};
use crate::list::name::name_after;
use crate::list::progress::{Phase, Progress, Watch, Watched};
use crate::list::sieve::Sieve;
use crate::reverse_map::ReverseMap;

/// The smallest error rate: a ribbon has 64 columns at most, and deltas need some more than the list.
pub(super) const LEAST_RATE: f64 = 1.0 / (1u64 << 40) as f64;

/// The share of the error rate that is left to deltas.
const LEFT_TO_DELTAS: f64 = 1.0 / 128.0;

/// Settings for a [`FrozenYesNoList`].
///
/// ```
/// use twiceshy::hash::HashKey;
/// use twiceshy::{FrozenYesNoList, Hasher};
///
/// let hasher = Hasher::keyed(HashKey::from_bytes(*b"sixteen secret b"));
/// let builder = FrozenYesNoList::builder().error_rate(0.01).hasher(hasher);
/// let list = builder.clone().build(["bad"], ["good", "fine"])?;
/// let again = builder.build(["bad", "bad"], ["fine", "good"])?;
/// assert_eq!(list.to_bytes(), again.to_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct Builder {
    error_rate: Option<f64>,
    hasher: Option<Hasher>,
}

impl Builder {
    /// The highest probability that a key on neither list answers Yes. The default is 0.001, the smallest is 2^-40.
    ///
    /// It holds after any number of deltas, too. So that they have something to use up, the list itself is built for 127/128
    /// of it, which costs 0.02 bits per YES key.
    pub fn error_rate(mut self, rate: f64) -> Self {
        self.error_rate = Some(rate);
        self
    }

    /// How to hash keys. The default is a keyed hash with a fresh random key.
    pub fn hasher(mut self, hasher: Hasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// The list of these YES keys and NO keys. They may come in any order and more than once.
    ///
    /// ```
    /// use twiceshy::FrozenYesNoList;
    /// use twiceshy::error::ListError;
    ///
    /// let both = FrozenYesNoList::builder().build(["a", "b"], ["c", "d", "b"]);
    /// assert!(matches!(both, Err(ListError::OnBothLists { yes: 1, no: 2 })));
    /// ```
    pub fn build<Y: Key, N: Key>(
        self,
        yes: impl IntoIterator<Item = Y>,
        no: impl IntoIterator<Item = N>,
    ) -> Result<FrozenYesNoList, ListError> {
        let mut keys = ListKeys::new(hasher_or_random(self.hasher.clone())?);
        yes.into_iter().for_each(|key| keys.yes(&key));
        no.into_iter().for_each(|key| keys.no(&key));
        self.build_keys(&keys, |_| ())
    }

    /// A snapshot of a list that changes: of the keys in its map.
    ///
    /// It gets a hash key of its own, so that whoever has the snapshot does not know that of the list.
    ///
    /// ```
    /// use twiceshy::{FrozenYesNoList, YesNoList};
    ///
    /// let mut list = YesNoList::builder().from_lists(["worm", "virus"], ["moth"])?;
    /// let mut shipped = FrozenYesNoList::builder().error_rate(0.01).freeze(&list)?;
    /// assert!(shipped.query("virus").is_yes());
    ///
    /// list.move_to_no("virus")?;
    /// shipped.apply(shipped.delta_to(&list)?)?;
    /// assert!(shipped.query("virus").is_no());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn freeze<M: ReverseMap>(
        self,
        list: &YesNoList<M>,
    ) -> Result<FrozenYesNoList, FreezeError<M::Error>> {
        let mut keys = ListKeys::new(hasher_or_random(self.hasher.clone()).map_err(ListError::from)?);
        keys.add_list(list).map_err(FreezeError::Map)?;
        Ok(self.build_keys(&keys, |_| ())?)
    }

    /// The list of these keys, hashed as they are; another hasher in the settings does not count. `progress` hears how far it is,
    /// every 65,536 keys.
    ///
    /// Keys that were [removed](ListKeys::removed) do not matter.
    pub fn build_keys(
        self,
        keys: &ListKeys,
        mut progress: impl FnMut(Progress),
    ) -> Result<FrozenYesNoList, ListError> {
        let error_rate = check_rate(self.error_rate.unwrap_or(DEFAULT_ERROR_RATE))?;
        if error_rate < LEAST_RATE {
            return Err(ListError::ErrorRate { least: LEAST_RATE, found: error_rate });
        }
        let lists = keys.sorted()?;
        let mut watch = Watch(&mut progress);
        let base = Sieve::build(&lists.yes, &lists.no, error_rate * (1.0 - LEFT_TO_DELTAS), &mut watch)?;
        let list = FrozenYesNoList {
            hasher: keys.hasher().clone(),
            name: name_after(0, &base),
            base,
            deltas: Vec::new(),
            error_rate,
            yes: lists.yes.len() as u64,
            no: lists.no.len() as u64,
        };
        list.verify(&[(&lists.yes, true), (&lists.no, false)], &mut watch)?;
        Ok(list)
    }
}

impl<B: AsRef<[u8]>> FrozenYesNoList<B> {
    /// Checks what the list says of all these keys.
    pub(in crate::list) fn verify(
        &self,
        keys: &[(&[Pair], bool)],
        watch: &mut Watch<'_>,
    ) -> Result<(), ListError> {
        let mut watched = watch.phase(Phase::Verify, keys.iter().map(|(keys, _)| keys.len()).sum());
        let wrong: usize =
            keys.iter().map(|&(keys, yes)| self.told_apart(keys, yes, &mut watched).1.len()).sum();
        if wrong == 0 { Ok(()) } else { Err(ListError::Unverified { wrong: wrong as u64 }) }
    }

    /// Those keys of which the list says this, and those of which it does not.
    pub(in crate::list) fn told_apart(
        &self,
        keys: &[Pair],
        yes: bool,
        watched: &mut Watched<'_>,
    ) -> (Vec<Pair>, Vec<Pair>) {
        dispatch(ToldApart { list: self, keys, yes, watched })
    }
}

struct ToldApart<'a, 'w, B> {
    list: &'a FrozenYesNoList<B>,
    keys: &'a [Pair],
    yes: bool,
    watched: &'a mut Watched<'w>,
}

impl<B: AsRef<[u8]>> Kernel for ToldApart<'_, '_, B> {
    type Output = (Vec<Pair>, Vec<Pair>);
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Self::Output {
        let Self { list, keys, yes, watched } = self;
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for words in keys {
            watched.add(1);
            if list.says(cpu, words) == yes { good.push(*words) } else { bad.push(*words) }
        }
        (good, bad)
    }
}
