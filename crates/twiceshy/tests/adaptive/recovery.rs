//! Recovery from a map and a journal, with remainders so short that a rebuild outgrows its table several times.

use twiceshy::AdaptiveFilter;
use twiceshy::adaptive::Adapted;

use super::*;

/// Inserts keys, learns from some queries, and recovers from the map and the records alone. The empty filter knows of no key,
/// so the rebuild starts with two slots; tells how often it doubled and one more.
fn recover(seed: u64, remainder_bits: u32, tags: u64) -> u32 {
    let hasher = Hasher::fast_with_seed(seed);
    let builder = AdaptiveFilter::builder().remainder_bits(remainder_bits).hasher(hasher);
    let mut set = builder.build_set(MemoryMap::new()).unwrap();
    let (empty, mut journal, mut fixed) = (set.filter().clone(), Vec::new(), Vec::new());
    let keys = 1 + (seed % 40) as u32;
    for key in 0..keys {
        assert!(set.insert_tagged(&key, u64::from(key) % tags).unwrap());
    }
    for query in 1000..1060u32 {
        if let Adapted::Fixed { .. } = set.adapt(&query).unwrap() {
            journal.extend(set.filter().separate_record(&query));
            fixed.push(query);
        }
    }
    let recovered = AdaptiveSet::recover(&empty, set.map().clone(), journal).unwrap();
    let context = format!("seed {seed}, {remainder_bits} bits, {tags} tags");
    recovered.validate().unwrap_or_else(|what| panic!("{context}: {what}"));
    assert!((0..keys).all(|key| recovered.contains(&key)), "{context}: a key is missing");
    assert!(!fixed.iter().any(|query| recovered.contains(query)), "{context}: a mistake is repeated");
    recovered.filter().quotient_bits()
}

#[test]
fn a_rebuild_that_outgrows_its_table_loses_nothing() {
    let mut most = 0;
    for remainder_bits in 1..=4 {
        for seed in 0..400 {
            most = most.max(recover(seed, remainder_bits, 1)).max(recover(seed, remainder_bits, 5));
        }
    }
    recover(2461, 1, 1);
    assert!(most >= 6, "a rebuild that doubles again and again was never needed: {most}");
}

#[test]
fn a_query_that_growth_has_fixed_was_fixed() {
    // As short as can be, so that growing often gives fresh length to the fingerprint in question.
    let mut by_growth = 0;
    for seed in 0..200 {
        let builder = AdaptiveSet::builder().remainder_bits(1).hasher(Hasher::fast_with_seed(seed));
        let mut set = builder.build_set(MemoryMap::new()).unwrap();
        let empty = set.filter().clone();
        let (mut journal, mut fixed) = (Vec::new(), Vec::new());
        for key in 0..40u32 {
            set.insert(&key).unwrap();
        }
        for query in 1000..1200u32 {
            let (before, slots) = (set.contains(&query), set.filter().slots());
            let adapted = set.adapt(&query).unwrap();
            assert_eq!(matches!(adapted, Adapted::Fixed { .. }), before, "{adapted:?}");
            if before {
                by_growth +=
                    u64::from(adapted == Adapted::Fixed { slots: 0 } && set.filter().slots() > slots);
                journal.extend(set.filter().separate_record(&query));
                fixed.push(query);
            }
        }
        let recovered = AdaptiveSet::recover(&empty, set.map().clone(), journal).unwrap();
        assert!(!fixed.iter().any(|query| recovered.contains(query)), "seed {seed}");
        assert_eq!(set.filter().stats().fixed, fixed.len() as u64);
    }
    assert!(by_growth > 0, "growth alone never fixed a query");
}
