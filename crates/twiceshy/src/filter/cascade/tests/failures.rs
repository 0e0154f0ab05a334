//! Maps that fail at every call.

use std::ops::RangeInclusive;

use super::*;
use crate::reverse_map::{Lookup, Visit};

#[derive(Debug, thiserror::Error)]
#[error("it failed")]
struct Failed;

/// A map that works so many times.
#[derive(Clone)]
struct Failing {
    map: MemoryMap,
    calls: std::cell::Cell<u64>,
}

impl Failing {
    fn call(&self) -> Result<(), Failed> {
        let left = self.calls.get();
        self.calls.set(left.saturating_sub(1));
        if left == 0 { Err(Failed) } else { Ok(()) }
    }
}

fn fine<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(done) => done,
        Err(never) => match never {},
    }
}

impl Lookup for Failing {
    type Error = Failed;

    fn visit(&self, hashes: RangeInclusive<u64>, visit: Visit<'_>) -> Result<(), Failed> {
        self.call()?;
        fine(self.map.visit(hashes, visit));
        Ok(())
    }
}

impl ReverseMap for Failing {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        self.call()?;
        Ok(fine(self.map.insert(hash, key, value)))
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Failed> {
        self.call()?;
        Ok(fine(self.map.remove(hash, key)))
    }
}

fn a_map_that_fails_changes_nothing<L: Layer>() {
    let builder =
        Cascade::<L>::builder().capacity(20).error_rate(0.4).hasher(Hasher::chosen(weak::eight_bits));
    let map = Failing { map: MemoryMap::new(), calls: u64::MAX.into() };
    let mut set = builder.build_set(map).unwrap();
    let mut random = Random(5);
    let (mut failed, mut members) = (0, BTreeSet::new());
    for _ in 0..1_500 {
        let key = random.below(60) as u16;
        let operation = random.below(4);
        let apply = |set: &mut CascadeSet<L, Failing>| match operation {
            0 => set.insert(&key).map(drop),
            1 => set.remove(&key).map(drop),
            2 => set.contains_exactly(&key).map(drop),
            _ => set.adapt(&key).map(drop),
        };
        let bytes = |set: &CascadeSet<L, Failing>| {
            let filter = set.filter();
            let layers: Vec<_> = filter.layers.iter().map(|own| (own.keys, own.layer.to_bytes())).collect();
            (filter.len, filter.epoch, layers)
        };
        for calls in 0.. {
            let before = bytes(&set);
            set.map().calls.set(calls);
            let done = apply(&mut set);
            set.map().calls.set(u64::MAX);
            match done {
                Err(CascadeError::Map(_)) => failed += 1,
                Err(CascadeError::NeedsRebuild { .. } | CascadeError::Indistinguishable(_)) => {}
                Err(error) => panic!("{error}"),
                Ok(()) => {
                    match operation {
                        0 => drop(members.insert(key)),
                        1 => drop(members.remove(&key)),
                        _ => {}
                    }
                    break;
                }
            }
            assert!(bytes(&set) == before, "an error has changed something");
            assert!(calls < 10);
        }
        set.filter().check(members.iter().map(|key| key.to_le_bytes().to_vec()));
        assert!(set.len() == members.len() as u64 && set.map().map.len() == members.len());
    }
    assert!(failed > 500, "{failed}");
}

#[test]
fn a_map_that_fails_changes_nothing_in_bloom_filters() {
    a_map_that_fails_changes_nothing::<BloomLayer>();
}

#[test]
fn a_map_that_fails_changes_nothing_in_quotient_filters() {
    a_map_that_fails_changes_nothing::<QuotientLayer>();
}
