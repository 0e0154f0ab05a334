//! Keys of every size.

use super::*;

#[test]
fn keys_of_no_bytes_and_of_ten_million() {
    let mut set = builder().quotient_bits(2).remainder_bits(1).build_set(MemoryMap::new()).unwrap();
    let large = vec![7u8; 10_000_000];
    let mut larger = large.clone();
    larger.push(0);
    let keys: [&[u8]; 5] = [b"", b"\0", b"\0\0", &large, &larger];
    for (i, key) in keys.into_iter().enumerate() {
        assert!(set.insert(key).unwrap());
        assert!(!set.insert(key).unwrap());
        // Every other key is told apart, whatever it takes.
        for (j, other) in keys.into_iter().enumerate() {
            assert_eq!(set.contains_exactly(other).unwrap(), j <= i);
        }
        set.validate().unwrap();
    }
    set.rejuvenate().unwrap();
    for key in keys {
        assert!(set.contains(key) && set.remove(key).unwrap() && !set.contains(key));
    }
    assert!(set.is_empty() && set.filter().used_slots() == 0);
}
