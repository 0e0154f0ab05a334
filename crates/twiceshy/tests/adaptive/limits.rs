//! Sets that must not grow, or only so far: they say so, stay as they are, and keep their size.

use twiceshy::error::SetError;

use super::*;

/// Inserts until the set is full; tells how many keys that were.
fn fill_up(set: &mut AdaptiveSet<MemoryMap>, numbers: &mut Numbers) -> u64 {
    let before = set.len();
    loop {
        let (bytes, rows, key) = (set.filter().to_bytes(), set.map().len(), member(numbers));
        match set.insert(&key) {
            Ok(new) => assert!(new),
            Err(SetError::Full { .. }) => {
                assert_eq!(set.filter().to_bytes(), bytes, "an error changes nothing");
                assert_eq!(set.map().len(), rows, "a full table is noticed before the map is written");
                return set.len() - before;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn rebuilding_keeps_the_size_of_a_set_that_must_not_grow() {
    let mut numbers = Numbers(21);
    let mut set = fixed(10, 6).build_set(MemoryMap::new()).unwrap();
    fill(&mut set, &mut numbers, 20);
    // Few keys: the rest of the room is still theirs.
    set.rejuvenate().unwrap();
    assert_eq!(set.filter().slots(), 1024);
    set = AdaptiveSet::recover(&set.filter().clone(), set.map().clone(), []).unwrap();
    assert_eq!(set.filter().slots(), 1024);
    assert!(fill_up(&mut set, &mut numbers) > 900);
    // Full: there is no more.
    let before = set.filter().to_bytes();
    set.rejuvenate().unwrap();
    assert_eq!(set.filter().to_bytes(), before, "all were fresh");
    set.validate().unwrap();
    // It could not come back to its size, so it is not shrunk, unless it may grow.
    let keys: Vec<u64> =
        set.map().iter().map(|row| u64::from_le_bytes(row.key.try_into().unwrap())).collect();
    keys[100..].iter().for_each(|key| assert!(set.remove(key).unwrap()));
    let before = set.filter().to_bytes();
    set.shrink_to_fit().unwrap();
    assert_eq!(set.filter().to_bytes(), before);
    let (mut filter, map) = set.into_parts();
    filter.set_growth(Growth::Grow { max_bytes: None });
    filter.shrink_to_fit().unwrap();
    filter.set_growth(Growth::Refuse);
    let slots = filter.slots();
    assert!(slots <= 128);
    let mut set = AdaptiveSet::from_parts(filter, map);
    set.rejuvenate().unwrap();
    assert_eq!(set.filter().slots(), slots);
    set.validate().unwrap();
}

#[test]
fn a_set_that_must_not_grow_has_its_room_after_shrinking_too() {
    let mut set = fixed(12, 9).build_set(MemoryMap::new()).unwrap();
    let mut numbers = Numbers(23);
    fill(&mut set, &mut numbers, 1);
    set.shrink_to_fit().unwrap();
    assert!(fill_up(&mut set, &mut numbers) > 3_800);
}

#[test]
fn a_limit_in_bytes_holds_through_growth_and_rebuilding() {
    const LIMIT: u64 = 10_000;
    let mut numbers = Numbers(22);
    let mut set = builder().error_rate(0.01).max_bytes(LIMIT).build_set(MemoryMap::new()).unwrap();
    let keys = fill_up(&mut set, &mut numbers);
    let bytes = set.filter().size_in_bytes() as u64;
    println!("{keys} keys in {bytes} of {LIMIT} bytes");
    assert!(bytes <= LIMIT && 2 * bytes > LIMIT && keys > 3_000);
    // Learning needs room too, and says so.
    let full = (0..10_000).find_map(|_| set.contains_exactly(&stranger(&mut numbers)).err());
    assert!(matches!(full, Some(SetError::Full { .. })));
    assert!(matches!(set.grow(), Err(SetError::Full { .. })));
    set.validate().unwrap();
    let some: Vec<u64> =
        set.map().iter().map(|row| u64::from_le_bytes(row.key.try_into().unwrap())).collect();
    some[..300].iter().for_each(|key| assert!(set.remove(key).unwrap()));
    set.rejuvenate().unwrap();
    assert!(set.filter().size_in_bytes() as u64 <= LIMIT);
    set = AdaptiveSet::recover(&set.filter().clone(), set.map().clone(), []).unwrap();
    assert!(set.filter().size_in_bytes() as u64 <= LIMIT);
    assert!(some[300..].iter().all(|key| set.contains(key)));
    set.validate().unwrap();
}
