//! Copies, files, and filters that begin anew.

use super::*;

for_every_filter! {
    whatever_can_be_written_can_be_read
    a_copy_answers_alike_and_goes_its_own_way
    clearing_leaves_an_empty_filter
    filters_of_different_hashes_do_not_merge
    the_hash_key_is_in_no_debug_output
    filters_can_be_sent_and_shared
}

fn whatever_can_be_written_can_be_read<F: Lawful>() {
    hold(&|case| {
        let kept = case.filled::<F>();
        comes_back(kept.filter.stored(), || format!("{case:?}"));
        comes_back(kept.filter.empty_like().stored(), || format!("{case:?}, empty"));
    });
}

fn a_copy_answers_alike_and_goes_its_own_way<F: Lawful>() {
    hold(&|case| {
        let kept = case.filled::<F>();
        let before = kept.filter.bytes();
        let mut copies = vec![kept.clone()];
        if case.is_good() {
            copies.push(Kept { filter: kept.filter.reread(), members: kept.members.clone() });
        }
        for mut copy in copies {
            assert!(copy.filter.bytes() == before, "other bytes");
            assert_eq!(copy.found(), kept.found());
            copy.check();
            copy.insert_all(&case.more);
            copy.check();
            copy.clear();
            copy.check();
            assert!(kept.filter.bytes() == before, "the original changes with its copy");
        }
        kept.check();
    });
}

fn clearing_leaves_an_empty_filter<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        if kept.filter.clear().is_none() {
            return;
        }
        kept.members.clear();
        kept.check();
        assert!(kept.found().is_empty() && kept.filter.entries().is_empty());
        assert!(kept.filter.bytes() == kept.filter.empty_like().bytes(), "a trace of what was there");
        // And it can be used again.
        kept.insert_all(&case.more);
        kept.check();
        // What never grew is as it was in the beginning.
        let mut roomy = case.empty::<F>(Size::Roomy);
        let before = roomy.filter.bytes();
        if roomy.insert_all(&case.keys) && case.is_good() {
            roomy.clear();
            assert!(roomy.filter.bytes() == before, "not as it was in the beginning");
        }
    });
}

fn filters_of_different_hashes_do_not_merge<F: Lawful>() {
    for size in [Size::Roomy, Size::Growing, Size::Cramped] {
        let mut one = Kept::new(F::make(size, 0, Hasher::fast_with_seed(1)));
        let mut other = Kept::new(F::make(size, 0, Hasher::fast_with_seed(2)));
        for keys in [&[][..], &[1, 2, 3]] {
            one.insert_all(keys);
            let Some(refused) = one.filter.clone().merge_from(&other.filter) else { return };
            assert!(refused.unwrap_err().contains("hash"), "the reason is named");
            assert!(!one.merge(&other));
            other.insert_all(&[3, 4]);
        }
        one.check();
        // One that is like it hashes like it.
        let mut third = Kept::new(one.filter.empty_like());
        assert!(third.merge(&one));
        third.check();
    }
}

fn the_hash_key_is_in_no_debug_output<F: Lawful>() {
    let key: [u8; 16] = std::array::from_fn(|i| 0xf0 + i as u8);
    let mut filter = F::make(Size::Roomy, 0, Hasher::keyed(HashKey::from_bytes(key)));
    filter.insert(b"a").unwrap();
    for text in
        [format!("{filter:?}"), format!("{filter:#?}"), format!("{filter:x?}"), format!("{filter:X?}")]
    {
        for secret in ["240", "241", "254", "f0", "F0", "f1", "F1"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    let text = format!("{filter:?}");
    assert!(text.contains("len: 1") && text.contains("quotient_bits"), "{text}");
}

fn filters_can_be_sent_and_shared<F: Lawful>() {
    fn check<T: Send + Sync + 'static>() {}
    check::<F>();
    check::<F::Stored>();
}
