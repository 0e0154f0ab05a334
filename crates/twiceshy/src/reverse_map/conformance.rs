//! A test suite for implementations of [`ReverseMap`].
//!
//! Call [`check`] from a test of your own:
//!
//! ```
//! use twiceshy::reverse_map::MemoryMap;
//! use twiceshy::reverse_map::conformance;
//!
//! conformance::check(MemoryMap::new);
//! ```

use std::collections::BTreeMap;
use std::ops::{ControlFlow, RangeInclusive};

use super::{ReverseMap, Row};

/// A row as the suite keeps it.
type Owned = (u64, Vec<u8>, Vec<u8>);

/// Runs the suite against maps made by `make`, each of which must be empty.
///
/// # Panics
///
/// With the name of the rule that does not hold.
pub fn check<M: ReverseMap>(mut make: impl FnMut() -> M) {
    an_empty_map_has_nothing(make());
    rows_come_and_go(make());
    values_are_replaced(make());
    keys_may_share_a_hash_or_bytes(make());
    every_key_is_possible(make());
    ranges_have_both_ends(make());
    a_visit_can_be_broken_off(make());
    random_operations_agree_with_a_model(make());
}

fn rows<M: ReverseMap>(map: &M, hashes: RangeInclusive<u64>) -> Vec<Owned> {
    let mut rows = Vec::new();
    map.visit(hashes, &mut |Row { hash, key, value }| {
        rows.push((hash, key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })
    .expect("visit works");
    assert!(rows.is_sorted_by_key(|row| row.0), "rows come in the order of their hashes");
    // The order of rows with equal hashes is the map's own business.
    rows.sort();
    rows
}

fn insert<M: ReverseMap>(map: &mut M, hash: u64, key: &[u8], value: &[u8]) -> bool {
    map.insert(hash, key, value).expect("insert works")
}

fn remove<M: ReverseMap>(map: &mut M, hash: u64, key: &[u8]) -> bool {
    map.remove(hash, key).expect("remove works")
}

fn contains<M: ReverseMap>(map: &M, hash: u64, key: &[u8]) -> bool {
    map.contains(hash, key).expect("contains works")
}

fn an_empty_map_has_nothing<M: ReverseMap>(mut map: M) {
    assert!(rows(&map, 0..=u64::MAX).is_empty(), "an empty map has no rows: is it really empty?");
    assert!(!contains(&map, 0, b""), "an empty map contains nothing");
    assert!(!remove(&mut map, 5, b"x"), "removing what is not there says false");
}

fn rows_come_and_go<M: ReverseMap>(mut map: M) {
    assert!(insert(&mut map, 9, b"nine", b"v"), "a new key says true");
    assert!(contains(&map, 9, b"nine"), "an inserted key is there");
    assert!(!contains(&map, 8, b"nine") && !contains(&map, 9, b"nin"), "other keys are not");
    assert!(!remove(&mut map, 9, b"nines"), "another key cannot be removed");
    assert_eq!(rows(&map, 0..=u64::MAX), [(9, b"nine".to_vec(), b"v".to_vec())]);
    assert!(remove(&mut map, 9, b"nine"), "removing a key says true");
    assert!(!contains(&map, 9, b"nine") && !remove(&mut map, 9, b"nine"), "a removed key is gone");
    assert!(insert(&mut map, 9, b"nine", b""), "a removed key is new again");
}

fn values_are_replaced<M: ReverseMap>(mut map: M) {
    insert(&mut map, 1, b"key", b"old, and longer than the new one");
    assert!(!insert(&mut map, 1, b"key", b"new"), "a key that is there says false");
    assert_eq!(rows(&map, 1..=1), [(1, b"key".to_vec(), b"new".to_vec())], "the new value counts");
    insert(&mut map, 1, b"key", b"");
    assert_eq!(rows(&map, 1..=1), [(1, b"key".to_vec(), Vec::new())], "a value may be empty");
}

fn keys_may_share_a_hash_or_bytes<M: ReverseMap>(mut map: M) {
    let keys: [&[u8]; 5] = [b"", b"\0", b"\0\0", b"a", b"a\0"];
    for (i, key) in keys.iter().enumerate() {
        assert!(insert(&mut map, 77, key, &[i as u8]), "keys of equal hash are different rows: {key:?}");
    }
    assert_eq!(rows(&map, 77..=77).len(), keys.len());
    for (i, key) in keys.iter().enumerate() {
        assert!(contains(&map, 77, key));
        assert!(remove(&mut map, 77, key));
        assert_eq!(rows(&map, 77..=77).len(), keys.len() - 1 - i, "only {key:?} goes");
    }
    insert(&mut map, 1, b"same", b"");
    insert(&mut map, 2, b"same", b"");
    assert!(remove(&mut map, 1, b"same") && contains(&map, 2, b"same"), "a row is hash and key together");
}

fn every_key_is_possible<M: ReverseMap>(mut map: M) {
    let long = vec![0xff; 4096];
    let keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).chain([Vec::new(), long]).collect();
    for (hash, key) in (0..).zip(&keys) {
        assert!(insert(&mut map, hash << 50, key, key), "a key of {} bytes", key.len());
    }
    for (hash, key) in (0..).zip(&keys) {
        let hash = hash << 50;
        assert_eq!(rows(&map, hash..=hash), [(hash, key.clone(), key.clone())]);
    }
}

fn ranges_have_both_ends<M: ReverseMap>(mut map: M) {
    let hashes = [0, 1, 255, 256, (1 << 32) - 1, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
    for hash in hashes {
        insert(&mut map, hash, b"k", b"");
    }
    for (i, &first) in hashes.iter().enumerate() {
        for (j, &last) in hashes.iter().enumerate().skip(i) {
            let found: Vec<u64> = rows(&map, first..=last).iter().map(|row| row.0).collect();
            assert_eq!(found, hashes[i..=j], "the rows of {first}..={last}");
        }
    }
    assert!(rows(&map, 2..=254).is_empty(), "a range without rows");
    #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
    let backwards = 256..=255;
    assert!(rows(&map, backwards).is_empty(), "a range that ends before it begins");
}

fn a_visit_can_be_broken_off<M: ReverseMap>(mut map: M) {
    for hash in 0..10 {
        insert(&mut map, hash, b"k", b"");
    }
    let mut seen = Vec::new();
    map.visit(3..=9, &mut |row| {
        seen.push(row.hash);
        if row.hash == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .expect("a visit that is broken off is no error");
    assert_eq!(seen, [3, 4, 5], "nothing is visited after Break");
}

fn random_operations_agree_with_a_model<M: ReverseMap>(mut map: M) {
    let mut model = BTreeMap::new();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        // Xorshift: any sequence will do, as long as it is the same every time.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for step in 0..2000u32 {
        let hash = random(32).wrapping_mul(0x0842_1084_2108_4211);
        let key = vec![b'k'; random(3) as usize];
        match random(3) {
            0 => {
                let value = step.to_le_bytes().to_vec();
                let new = model.insert((hash, key.clone()), value.clone()).is_none();
                assert_eq!(insert(&mut map, hash, &key, &value), new, "insert at step {step}");
            }
            1 => {
                let was = model.remove(&(hash, key.clone())).is_some();
                assert_eq!(remove(&mut map, hash, &key), was, "remove at step {step}");
            }
            _ => {
                let is = model.contains_key(&(hash, key.clone()));
                assert_eq!(contains(&map, hash, &key), is, "contains at step {step}");
            }
        }
        let last = hash.saturating_add(random(u64::MAX));
        let expected: Vec<Owned> = model
            .range((hash, Vec::new())..)
            .take_while(|((hash, _), _)| *hash <= last)
            .map(|((hash, key), value)| (*hash, key.clone(), value.clone()))
            .collect();
        assert_eq!(rows(&map, hash..=last), expected, "the rows of {hash}..={last} at step {step}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reverse_map::Lookup;
    use crate::reverse_map::MemoryMap;

    #[test]
    fn the_map_in_memory_conforms() {
        check(MemoryMap::new);
    }

    /// A map that breaks one rule.
    struct Broken(MemoryMap, &'static str);

    impl Lookup for Broken {
        type Error = std::convert::Infallible;

        fn visit(
            &self,
            hashes: RangeInclusive<u64>,
            visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
        ) -> Result<(), Self::Error> {
            let (first, last) = hashes.into_inner();
            match self.1 {
                "excludes the end" if last < u64::MAX => {
                    self.0.visit(first..=last.saturating_sub(1).max(first), visit)
                }
                "forgets the break" => self.0.visit(first..=last, &mut |row| {
                    let _ = visit(row);
                    ControlFlow::Continue(())
                }),
                "descending" => {
                    for row in self
                        .0
                        .iter()
                        .filter(|row| (first..=last).contains(&row.hash))
                        .collect::<Vec<_>>()
                        .into_iter()
                        .rev()
                    {
                        if visit(row).is_break() {
                            break;
                        }
                    }
                    Ok(())
                }
                _ => self.0.visit(first..=last, visit),
            }
        }
    }

    impl ReverseMap for Broken {
        fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Self::Error> {
            match self.1 {
                "always new" => self.0.insert(hash, key, value).map(|_| true),
                "keeps the old value" if self.0.contains(hash, key)? => Ok(false),
                "one key per hash" => {
                    let others: Vec<Vec<u8>> =
                        rows(&self.0, hash..=hash).into_iter().map(|row| row.1).collect();
                    for other in others.iter().filter(|other| *other != key) {
                        self.0.remove(hash, other)?;
                    }
                    self.0.insert(hash, key, value)
                }
                _ => self.0.insert(hash, key, value),
            }
        }

        fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Self::Error> {
            if self.1 == "never removes" { Ok(true) } else { self.0.remove(hash, key) }
        }
    }

    #[test]
    fn broken_maps_are_found_out() {
        let rules = [
            "always new",
            "keeps the old value",
            "one key per hash",
            "never removes",
            "excludes the end",
            "forgets the break",
            "descending",
        ];
        for rule in rules {
            let outcome = std::panic::catch_unwind(|| check(|| Broken(MemoryMap::new(), rule)));
            assert!(outcome.is_err(), "a map that {rule} passed");
        }
        check(|| Broken(MemoryMap::new(), "keeps all rules"));
    }
}
