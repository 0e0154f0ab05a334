//! What is written comes back.

use super::*;

#[test]
fn every_width_and_load_comes_back() {
    for quotient_bits in [1, 2, 3, 4, 5, 6, 7, 9] {
        for remainder_bits in (1..=20).chain([31, 32, 33, 47, 48, 54, 55, 56, 57, 58, 59, 62, 63]) {
            if quotient_bits + remainder_bits > 64 {
                continue;
            }
            for load in [0.0, 0.5, 1.0] {
                let filter = filled(quotient_bits, remainder_bits, load);
                comes_back(&filter, &format!("2^{quotient_bits} slots of {remainder_bits} bits at {load}"));
            }
        }
    }
}

fn comes_back(filter: &QuotientFilter, what: &str) {
    let bytes = filter.to_bytes();
    let mut written = Vec::new();
    filter.write_to(&mut written).unwrap();
    assert_eq!(written, bytes, "{what}");
    assert_eq!(bytes.len(), BODY + filter.size_in_bytes(), "{what}");
    let view = QuotientFilter::view(&bytes).unwrap();
    view.verify().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(view.to_bytes(), bytes, "{what}");
    assert_eq!(view.hasher(), filter.hasher(), "{what}");
    let copies =
        [QuotientFilter::read_from(bytes.as_slice()), QuotientFilter::from_bytes(&bytes), view.to_filter()];
    for copy in copies {
        let mut copy = copy.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(copy.to_bytes(), bytes, "{what}");
        assert_eq!(copy.hasher(), filter.hasher(), "{what}");
        assert_eq!((copy.len(), copy.distinct()), (filter.len(), filter.distinct()), "{what}");
        assert_eq!(copy.used_slots(), filter.used_slots(), "{what}");
        assert!(copy.iter().eq(filter.iter()) && view.iter().eq(filter.iter()), "{what}");
        for entry in filter {
            let hash = entry.fingerprint << (64 - filter.fingerprint_bits());
            assert_eq!(copy.count_hash(hash), entry.count, "{what}");
            assert_eq!(view.count_hash(hash), entry.count, "{what}");
            assert!(copy.contains_hash(hash) && view.contains_hash(hash), "{what}");
        }
        // It can be changed, and the change undone.
        if copy.insert_hash(0x0123_4567_89ab_cdef).is_ok() {
            assert_ne!(copy.to_bytes(), bytes, "{what}");
            assert!(copy.remove_hash(0x0123_4567_89ab_cdef));
        }
        assert_eq!(copy.to_bytes(), bytes, "{what}");
    }
}

#[test]
fn large_tables_come_back_too() {
    // Above 4 MiB tables lie in other memory, and reading them takes several pieces.
    let mut filter = empty(20, 40);
    assert!(filter.size_in_bytes() > 5 << 20);
    for key in 0..1000u64 {
        filter.insert_many(&key, key + 1).unwrap();
    }
    let bytes = filter.to_bytes();
    let copy = QuotientFilter::read_from(bytes.as_slice()).unwrap();
    assert!(copy.to_bytes() == bytes && QuotientFilter::from_bytes(&bytes).unwrap().to_bytes() == bytes);
    assert!((0..1000u64).all(|key| copy.count(&key) == key + 1));
    let error = QuotientFilter::read_from(&bytes[..bytes.len() - 1]).unwrap_err();
    assert!(matches!(error, ReadError::Length { .. }), "{error}");
}

#[test]
fn growth_is_kept() {
    let mut filter = QuotientFilter::builder()
        .capacity(10)
        .grow_to(1000)
        .error_rate(0.01)
        .hasher(hasher())
        .build()
        .unwrap();
    let mut copy = QuotientFilter::from_bytes(&filter.to_bytes()).unwrap();
    for key in 0..1000u64 {
        filter.insert(&key).unwrap();
        copy.insert(&key).unwrap();
    }
    assert_eq!(copy.to_bytes(), filter.to_bytes());
    comes_back(&filter, "grown");
}

#[test]
fn a_view_needs_no_alignment() {
    for (quotient_bits, remainder_bits) in [(3, 1), (6, 9), (7, 33), (5, 59)] {
        let bytes = small(quotient_bits, remainder_bits);
        for shift in 0..8 {
            let mut buffer = vec![0xAA; shift];
            buffer.extend_from_slice(&bytes);
            let view = QuotientFilter::view(&buffer[shift..]).unwrap();
            view.verify().unwrap();
            let filter = QuotientFilter::from_bytes(&bytes).unwrap();
            assert!(view.iter().eq(filter.iter()));
            for entry in &filter {
                let hash = entry.fingerprint << (64 - filter.fingerprint_bits());
                assert_eq!(view.count_hash(hash), entry.count);
            }
            assert_eq!(view.to_filter().unwrap().to_bytes(), bytes);
        }
    }
}
