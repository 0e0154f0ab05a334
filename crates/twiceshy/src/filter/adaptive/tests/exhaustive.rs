//! All short sequences of operations on four keys with all hashes of three bits.

use super::*;

/// The hashes of the four keys, three bits each, in the key bytes themselves.
fn hasher() -> Hasher {
    Hasher::chosen(|bytes, index| match index {
        0 => u64::from(bytes[0]) << 56,
        // Keys of equal first words differ later on.
        _ => u64::from(bytes[1]) << (56 - index.min(40)),
    })
}

/// Inserts, removes or asks for one of four keys.
fn apply(checked: &mut Small, operation: usize) {
    let (key, hash) = (operation % 4, checked.hashes[operation % 4]);
    let bytes = [hash << 5, key as u8];
    let set = &mut checked.set;
    match operation / 4 {
        0 => {
            assert_eq!(set.insert(&bytes).unwrap(), !checked.members[key]);
            checked.members[key] = true;
        }
        1 => {
            assert_eq!(set.remove(&bytes).unwrap(), checked.members[key]);
            checked.members[key] = false;
            checked.fixed.iter_mut().for_each(|row| row[key] = false);
        }
        _ => {
            let was_positive = set.contains(&bytes);
            assert_eq!(set.contains_exactly(&bytes).unwrap(), checked.members[key]);
            if was_positive && !checked.members[key] {
                checked.fixed[key] = checked.members;
            }
            assert_eq!(set.contains(&bytes), checked.members[key]);
        }
    }
    let filter = checked.set.filter();
    filter.validate().unwrap();
    for (query, &query_hash) in checked.hashes.iter().enumerate() {
        let query_bytes = [query_hash << 5, query as u8];
        match filter.query(&query_bytes) {
            Query::Absent => assert!(!checked.members[query], "lost"),
            Query::Maybe(_) if checked.members[query] => {}
            Query::Maybe(ticket) => {
                for (member, &member_hash) in checked.hashes.iter().enumerate() {
                    let met = ticket.prefix().covers(filter.hasher(), &[member_hash << 5, member as u8]);
                    let promised = checked.members[member] && checked.fixed[query][member];
                    assert!(!(met && promised), "the same mistake twice");
                }
            }
        }
    }
}

#[derive(Clone)]
struct Small {
    set: Set,
    hashes: [u8; 4],
    members: [bool; 4],
    /// `fixed[query][member]`
    fixed: [[bool; 4]; 4],
}

/// All sequences of `depth` more operations.
fn all_sequences(checked: &Small, depth: u32) {
    if depth == 0 {
        return;
    }
    for operation in 0..12 {
        let mut next = checked.clone();
        apply(&mut next, operation);
        all_sequences(&next, depth - 1);
    }
}

#[test]
fn all_sequences_of_operations_over_four_keys() {
    // Up to the order of the keys; the first hash up to complement.
    for first in 0..4u8 {
        for second in first..8 {
            for third in second..8 {
                for fourth in third..8 {
                    let builder = AdaptiveFilter::builder().hasher(hasher()).quotient_bits(1);
                    let set = builder.remainder_bits(1).limits(2, 4).build_set(MemoryMap::new()).unwrap();
                    let hashes = [first, second, third, fourth];
                    let depth = if hashes == [0; 4] || hashes == [0, 0, 1, 1] { 4 } else { 3 };
                    all_sequences(&Small { set, hashes, members: [false; 4], fixed: [[false; 4]; 4] }, depth);
                }
            }
        }
    }
}
