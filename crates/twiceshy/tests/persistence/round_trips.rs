//! What is written comes back.

use super::*;

for_every_kind! { every_file_comes_back a_view_needs_no_alignment a_copy_is_as_good_as_the_filter }

fn every_file_comes_back<S: Subject>() {
    for (number, bytes) in S::files().iter().enumerate() {
        comes_back(&S::from_bytes(bytes).unwrap(), &format!("file {number}"));
        S::interrogate(bytes);
    }
}

/// Checks all ways to write a filter, and all ways to read what was written.
pub(super) fn comes_back<S: Subject>(filter: &S, what: &str) {
    let bytes = filter.to_bytes();
    let mut written = Vec::new();
    filter.write_to(&mut written).unwrap();
    assert_eq!(written, bytes, "{what}");
    assert_eq!(bytes.len(), tables_at::<S>(&bytes) + filter.table_bytes(), "{what}");
    S::verified(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(S::view_contents(&bytes), (filter.contents(), bytes.clone()), "{what}");
    let any = AnyFilter::read_from(bytes.as_slice()).unwrap();
    assert_eq!((any.kind(), any.to_bytes()), (S::KIND, bytes.clone()), "{what}");
    any.validate().unwrap();
    for copy in [
        S::read_from(bytes.as_slice()),
        S::from_bytes(&bytes),
        S::copied(&bytes),
        Ok(S::from_any(any).unwrap()),
        AnyFilter::from_bytes(&bytes).map(|any| S::from_any(any).unwrap()),
        AnyFilter::view(&bytes).and_then(|view| Ok(S::from_any(view.to_filter()?).unwrap())),
    ] {
        let copy = copy.unwrap_or_else(|error| panic!("{what}: {error}"));
        copy.validate().unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(copy.to_bytes(), bytes, "{what}");
        assert_eq!(copy.contents(), filter.contents(), "{what}");
    }
}

fn a_view_needs_no_alignment<S: Subject>() {
    for bytes in S::files() {
        let filter = S::from_bytes(&bytes).unwrap();
        for shift in 0..8 {
            let buffer = [vec![0xAA; shift], bytes.clone()].concat();
            S::verified(&buffer[shift..]).unwrap();
            assert_eq!(S::view_contents(&buffer[shift..]), (filter.contents(), bytes.clone()));
            assert_eq!(S::copied(&buffer[shift..]).unwrap().to_bytes(), bytes);
        }
    }
}

/// A filter that is of any kind, and a view of one, answer like the filter.
fn a_copy_is_as_good_as_the_filter<S: Subject>() {
    for bytes in S::files() {
        let any = S::from_bytes(&bytes).unwrap().into_any();
        let view = AnyFilter::view(&bytes).unwrap();
        view.validate().unwrap();
        assert_eq!((any.kind(), view.kind(), any.len()), (S::KIND, S::KIND, get(&bytes, LEN)));
        assert_eq!((view.len(), view.is_empty()), (any.len(), any.is_empty()));
        assert_eq!(any.is_empty(), get(&bytes, LEN) == 0);
        assert_eq!((view.slots(), view.used_slots()), (any.slots(), any.used_slots()));
        assert_eq!((any.slots(), any.hasher()), (Some(1 << bytes[QUOTIENT_BITS]), view.hasher()));
        assert_eq!((view.load_factor(), view.size_in_bytes()), (any.load_factor(), any.size_in_bytes()));
        assert_eq!(view.expected_error_rate(), any.expected_error_rate());
        assert_eq!(format!("{view:?}"), format!("{any:?}"));
        let keys: Vec<String> = (0..300).map(|key| format!("key {key}")).collect();
        let hashes: Vec<u64> = (0..300).map(|i| Random(i).next()).collect();
        let (mut found, mut by_hash) = (vec![false; 300], vec![false; 300]);
        any.contains_batch(&keys, &mut found);
        any.contains_hash_batch(&hashes, &mut by_hash);
        for (((key, &hash), found), by_hash) in keys.iter().zip(&hashes).zip(found).zip(by_hash) {
            assert_eq!((any.contains(key), view.contains(key)), (found, found));
            assert_eq!((any.contains_hash(hash), view.contains_hash(hash)), (by_hash, by_hash));
        }
    }
}
