//! Frozen lists of a few keys with badly distributed hashes, and deltas from one to the next. Every listed key is right after every
//! step, and so is every key that was removed; what makes the next list comes as bytes, which may be damaged, belong to another
//! list, or come twice: then nothing changes.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use twiceshy::error::ListError;
use twiceshy::list::{Answer, Delta, ListKeys};
use twiceshy::{FrozenYesNoList, Hasher};
use twiceshy_testkit::file::reseal;
use twiceshy_testkit::{scatter, weak};

const MAX_STEPS: usize = 12;

#[derive(Arbitrary, Debug)]
struct Case {
    /// Which of the hash functions of [`weak::WORDS`].
    hash: u8,
    /// The error rate, in eighths of a bit.
    bits: u8,
    /// Many more keys, so that there are several ribbons: of either list, in steps of 32.
    more: (u8, u8),
    first: Vec<(u8, bool)>,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
struct Step {
    changes: Vec<(u8, Change)>,
    damage: Option<Damage>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Change {
    Yes,
    No,
    Removed,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Damage {
    /// A byte is another one; the checksums are wrong or right.
    Byte { at: u16, value: u8, reseal: bool },
    /// It ends early.
    Cut(u16),
    /// It comes twice.
    Twice,
    /// It goes to the list from the start.
    Late,
}

struct Lists {
    keys: BTreeMap<u64, Answer>,
    hasher: Hasher,
}

impl Lists {
    fn put(&mut self, key: u8, list: Answer) {
        self.keys.insert(key.into(), list);
    }

    fn collected(&self) -> ListKeys {
        let mut keys = ListKeys::new(self.hasher.clone());
        self.keys.iter().for_each(|(key, list)| if list.is_yes() { keys.yes(key) } else { keys.no(key) });
        keys
    }

    fn check(&self, list: &FrozenYesNoList) {
        list.validate().expect("a valid list");
        assert!(list.expected_error_rate() <= list.error_rate());
        let all: Vec<u64> = self.keys.keys().copied().collect();
        let mut answers = vec![Answer::No; all.len()];
        list.query_batch(&all, &mut answers);
        for (key, answer) in all.iter().zip(answers) {
            assert_eq!((answer, list.query(key)), (self.keys[key], self.keys[key]), "{key} is listed");
        }
        let bytes = list.to_bytes();
        assert_eq!(FrozenYesNoList::view(&bytes).expect("what was written").to_bytes(), bytes);
    }
}

/// Whether keys of different lists have the same words of a hash.
fn collide(error: &ListError) -> bool {
    matches!(error, ListError::OnBothLists { .. } | ListError::Indistinguishable(_))
}

fuzz_target!(|case: Case| {
    let (name, word) = weak::WORDS[usize::from(case.hash) % weak::WORDS.len()];
    let mut lists = Lists { keys: BTreeMap::new(), hasher: Hasher::chosen(word) };
    case.first.iter().for_each(|&(key, yes)| lists.put(key, Answer::from(yes)));
    let more = |of: u8, list: Answer| {
        (0..32 * u64::from(of)).map(move |key| (1_000 + 2 * key + u64::from(list.is_yes()), list))
    };
    lists.keys.extend(more(case.more.0, Answer::Yes).chain(more(case.more.1, Answer::No)));
    let rate = 0.5f64.powf(0.1 + f64::from(case.bits) / 8.0);
    let built = FrozenYesNoList::builder().error_rate(rate).build_keys(&lists.collected(), |_| ());
    let mut list = match built {
        Ok(list) => list,
        Err(error) => return assert!(collide(&error) && name == "identity", "{name}: {error}"),
    };
    lists.check(&list);
    let start = list.to_bytes();
    for (number, step) in case.steps.iter().take(MAX_STEPS).enumerate() {
        let mut removed = Vec::new();
        for &(key, change) in &step.changes {
            match change {
                Change::Yes => lists.put(key, Answer::Yes),
                Change::No => lists.put(key, Answer::No),
                Change::Removed => {
                    lists.keys.remove(&u64::from(key));
                    removed.push(u64::from(key));
                }
            }
        }
        let mut keys = lists.collected();
        removed.iter().for_each(|key| keys.removed(key));
        let delta = match list.delta_of(&keys, |_| ()) {
            Ok(delta) => delta,
            Err(ListError::RateSpent) => return,
            Err(error) => return assert!(collide(&error), "{name}: {error}"),
        };
        if let Some(damage) = step.damage {
            spoil(&list.to_bytes(), &delta.to_bytes(), damage, &start, number);
        }
        list.apply(delta).expect("a delta for this list");
        lists.check(&list);
        removed.retain(|key| !lists.keys.contains_key(key));
        assert!(removed.iter().all(|key| list.query(key).is_no()), "removed and a Yes");
    }
});

/// What is not the delta for a list is refused, and queries after it end. All of it as bytes, which do not know a chosen hash.
fn spoil(list: &[u8], delta: &[u8], damage: Damage, start: &[u8], number: usize) {
    let mut bytes = delta.to_vec();
    let mut next = FrozenYesNoList::from_bytes(list).expect("what was written");
    match damage {
        Damage::Byte { at, value, reseal: sealed } => {
            let at = usize::from(at) % bytes.len();
            bytes[at] = value;
            if sealed {
                reseal(&mut bytes);
            }
        }
        Damage::Cut(at) => bytes.truncate(usize::from(at) % bytes.len()),
        Damage::Twice => {
            next.apply(Delta::from_bytes(delta).expect("what was written")).expect("a delta for this list");
        }
        Damage::Late => next = FrozenYesNoList::from_bytes(start).expect("what was written"),
    }
    let was = next.to_bytes();
    let Ok(view) = Delta::view(&bytes) else { return };
    let mut in_place = FrozenYesNoList::view(&was).expect("what was written").into_list();
    let applied = in_place.apply(view.into_delta());
    let _ = (0..40).filter(|key| in_place.query_hash(scatter(*key)).is_yes()).count();
    // A byte may be what it was, or one of a count of keys; and the first delta is for the list from the start.
    let may_be_right = match damage {
        Damage::Byte { .. } => true,
        Damage::Cut(_) | Damage::Twice => false,
        Damage::Late => number == 0,
    };
    assert!(applied.is_err() || may_be_right, "{damage:?}");
    if applied.is_err() {
        assert_eq!(in_place.to_bytes(), was, "an error left a trace");
    }
}
