//! What lists promise, with good hashes and with weak ones.
//!
//! | file | what it tries |
//! |---|---|
//! | `small.rs` | all pairs of lists of a few keys, and all deltas between them, under every weak hash |
//! | `sizes.rs` | lists of every size around the limits of ribbons, of random sizes and of large ones; what does not matter to them |
//! | `rates.rs` | keys of no list: how often they are a Yes, everywhere and after deltas |
//! | `sieves.rs` | plans, hashes that collide, ribbons and stages |

mod rates;
mod sieves;
mod sizes;
mod small;

use twiceshy_testkit::weak::{Word, good};

use super::keys::ListKeys;
use super::{Answer, FrozenYesNoList};
use crate::bits::cpu::Portable;
use crate::error::ListError;
use crate::hash::{Hasher, KeyWords};
use crate::key::Key;

/// A list of the keys with these numbers.
fn list_of(
    word: Word,
    error_rate: f64,
    yes: impl IntoIterator<Item = u64>,
    no: impl IntoIterator<Item = u64>,
) -> Result<FrozenYesNoList, ListError> {
    FrozenYesNoList::builder().error_rate(error_rate).hasher(Hasher::chosen(word)).build(yes, no)
}

/// What every way to ask says of some keys.
#[track_caller]
fn answers<K: Key>(list: &FrozenYesNoList<impl AsRef<[u8]>>, keys: &[K]) -> Vec<bool> {
    let mut batch = vec![Answer::No; keys.len()];
    list.query_batch(keys, &mut batch);
    let each = keys.iter().zip(&batch).map(|(key, &batched)| {
        let answer = list.query(key);
        assert_eq!(batched, answer, "a batch and a query");
        let portable = list.says(Portable, &KeyWords::new(list.hasher(), key));
        assert_eq!(portable, answer.is_yes(), "this CPU and any");
        portable
    });
    each.collect()
}

/// Checks that a list is right about all of its keys, in every way to ask, and after reading it in every way.
#[track_caller]
fn check<K: Key>(list: &FrozenYesNoList, yes: &[K], no: &[K]) {
    assert!(answers(list, yes).iter().all(|&yes| yes), "a YES key is a No: {list:?}");
    assert!(!answers(list, no).iter().any(|&yes| yes), "a NO key is a Yes: {list:?}");
    list.validate().unwrap();
    assert!(list.expected_error_rate() <= list.error_rate());
}
