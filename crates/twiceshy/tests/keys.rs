//! Which values are one key, and which are not.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use proptest::prelude::*;
use twiceshy::hash::HashKey;
use twiceshy::key::KeyBuffer;
use twiceshy::{Hasher, Key};

fn bytes<K: Key + ?Sized>(key: &K) -> Vec<u8> {
    key.key_bytes().as_ref().to_vec()
}

fn hashers() -> [Hasher; 3] {
    let key = HashKey::from_bytes([7; 16]);
    [Hasher::aes(key.clone()), Hasher::siphash(key), Hasher::fast()]
}

#[test]
fn equal_bytes_are_one_key() {
    let text = "cat";
    let mut owned = String::from(text);
    let same: Vec<Vec<u8>> = vec![
        bytes(text),
        bytes(&text),
        bytes(&&text),
        bytes(&&mut owned),
        bytes(text.as_bytes()),
        bytes(b"cat"),
        bytes(&b"cat"[..]),
        bytes(&owned),
        bytes(&text.as_bytes().to_vec()),
        bytes(&Box::<str>::from(text)),
        bytes(&Box::<[u8]>::from(text.as_bytes())),
        bytes(&Rc::<str>::from(text)),
        bytes(&Arc::new(owned.clone())),
        bytes(&Cow::Borrowed(text)),
        bytes(&Cow::<str>::Owned(owned.clone())),
        bytes(&Cow::Borrowed(text.as_bytes())),
    ];
    for key in &same {
        assert_eq!(key, b"cat");
    }
    for hasher in hashers() {
        assert_eq!(hasher.hash(text), hasher.hash(b"cat"));
        assert_eq!(hasher.hash(&text), hasher.hash(&owned));
        assert_eq!(hasher.word(text, 3), hasher.word(&Box::new(*b"cat"), 3));
    }
}

#[test]
fn integers_are_little_endian_and_as_wide_as_their_type() {
    assert_eq!(bytes(&1u8), [1]);
    assert_eq!(bytes(&0x0102u16), [2, 1]);
    assert_eq!(bytes(&0x0102_0304u32), [4, 3, 2, 1]);
    assert_eq!(bytes(&1u64), [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(&(1u128 << 120)), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(bytes(&-1i8), [0xff]);
    assert_eq!(bytes(&-2i16), [0xfe, 0xff]);
    assert_eq!(bytes(&-1i32), [0xff; 4]);
    assert_eq!(bytes(&-1i64), [0xff; 8]);
    assert_eq!(bytes(&-1i128), [0xff; 16]);
    for hasher in hashers() {
        assert_ne!(hasher.hash(&1u32), hasher.hash(&1u64));
    }
}

#[test]
fn usize_and_isize_are_64_bits_wide() {
    assert_eq!(bytes(&7usize), bytes(&7u64));
    assert_eq!(bytes(&usize::MAX), bytes(&(usize::MAX as u64)));
    assert_eq!(bytes(&-7isize), bytes(&-7i64));
}

#[test]
fn bool_is_one_byte_and_char_a_u32() {
    assert_eq!(bytes(&false), [0]);
    assert_eq!(bytes(&true), [1]);
    assert_eq!(bytes(&'a'), bytes(&97u32));
    assert_eq!(bytes(&'\u{1f980}'), bytes(&0x1f980u32));
}

#[test]
fn tuples_are_self_delimiting() {
    assert_eq!(bytes(&("a", "bc")), b"\x01a\x02bc");
    assert_ne!(bytes(&("a", "bc")), bytes(&("ab", "c")));
    assert_eq!(bytes(&("a",)), b"\x01a");
    assert_ne!(bytes(&("a",)), bytes("a"));
    assert_eq!(bytes(&(1u8, 2u8, 3u8, 4u8, 5u8, 6u8)), [1, 1, 1, 2, 1, 3, 1, 4, 1, 5, 1, 6]);
}

#[test]
fn empty_components_count() {
    let all = [
        bytes(""),
        bytes(&("",)),
        bytes(&("", "")),
        bytes(&("", "", "")),
        bytes(&("", "a")),
        bytes(&("a", "")),
        bytes(&("", "a", "")),
    ];
    for (i, left) in all.iter().enumerate() {
        for right in &all[..i] {
            assert_ne!(left, right);
        }
    }
}

#[test]
fn nested_tuples_differ_from_flat_ones() {
    let all = [
        bytes(&("a", "b", "c")),
        bytes(&(("a", "b"), "c")),
        bytes(&("a", ("b", "c"))),
        bytes(&(("a", "b", "c"),)),
        bytes(&((("a", "b"), "c"),)),
    ];
    assert_eq!(all[1], b"\x04\x01a\x01b\x01c");
    for (i, left) in all.iter().enumerate() {
        for right in &all[..i] {
            assert_ne!(left, right);
        }
    }
}

#[test]
fn components_may_be_unsized_behind_a_reference() {
    let slice: &[u8] = b"bc";
    assert_eq!(bytes(&(&"a", slice)), bytes(&(String::from("a"), "bc")));
}

/// What [`KeyBuffer`] must hold: the definition, without an inline buffer.
fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        let mut len = part.len();
        loop {
            let (low, rest) = (len as u8 & 0x7f, len >> 7);
            all.push(low | if rest > 0 { 0x80 } else { 0 });
            len = rest;
            if len == 0 {
                break;
            }
        }
        all.extend(part);
    }
    all
}

/// The buffer holds 64 bytes before it spills: every total length around that, in every split.
#[test]
fn long_tuples_spill_without_a_change() {
    let pattern: Vec<u8> = (0..200).collect();
    for first in 0..140 {
        for second in 0..140 {
            let parts = [pattern[..first].to_vec(), pattern[..second].to_vec()];
            let pair = (&parts[0], &parts[1]);
            assert_eq!(bytes(&pair), joined(&parts), "{first} + {second} bytes");
        }
    }
}

#[test]
fn lengths_are_leb128() {
    for len in [0, 1, 127, 128, 129, 16_383, 16_384, 2_097_152] {
        let part = vec![b'x'; len];
        assert_eq!(bytes(&(&part,)), joined(&[part]), "length {len}");
    }
    assert_eq!(bytes(&(vec![0; 300],))[..2], [0xac, 0x02]);
}

struct Account {
    tenant: String,
    number: u64,
}

impl Key for Account {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let mut bytes = KeyBuffer::new();
        bytes.push(&self.tenant);
        bytes.push(&self.number);
        bytes
    }
}

struct Id([u8; 4]);

impl Key for Id {
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.0
    }
}

#[test]
fn own_types_can_be_keys() {
    let account = Account { tenant: "acme".into(), number: 7 };
    assert_eq!(bytes(&account), bytes(&("acme", 7u64)));
    assert_eq!(bytes(&(&account, Id(*b"1234"))), b"\x0e\x04acme\x08\x07\0\0\0\0\0\0\0\x041234");
    for hasher in hashers() {
        assert_eq!(hasher.hash(&account), hasher.hash(&("acme", 7u64)));
        assert_eq!(hasher.hash(&Id(*b"1234")), hasher.hash("1234"));
    }
}

#[test]
fn a_key_buffer_is_a_key() {
    let mut buffer = KeyBuffer::default();
    assert!(buffer.as_ref().is_empty());
    buffer.push("a");
    assert_eq!(bytes(&buffer), bytes(&("a",)));
    assert_eq!(bytes(&buffer.clone()), bytes(&buffer));
}

#[test]
fn the_empty_key_and_a_huge_one_hash() {
    let huge = vec![0xa5; 10 << 20];
    for hasher in hashers() {
        for index in 0..6 {
            let empty = hasher.word("", index);
            let long = hasher.word(&huge, index);
            assert_ne!(empty, long);
            assert_ne!(long, hasher.word(&huge[1..], index));
        }
        assert_ne!(hasher.hash(&(&huge,)), hasher.hash(&huge));
    }
}

#[test]
fn another_hash_key_or_seed_gives_other_hashes() {
    let mut hashers: Vec<Hasher> = (0..64).map(Hasher::fast_with_seed).collect();
    hashers.extend((0..16).flat_map(|at| {
        let mut key = [0; 16];
        key[at] = 1;
        let key = HashKey::from_bytes(key);
        [Hasher::aes(key.clone()), Hasher::siphash(key)]
    }));
    hashers.extend([Hasher::random().unwrap(), Hasher::random().unwrap()]);
    for (i, left) in hashers.iter().enumerate() {
        assert_eq!(left, &left.clone());
        for right in &hashers[..i] {
            assert_ne!(left, right);
            assert_ne!(left.hash("cat"), right.hash("cat"));
        }
    }
}

#[test]
fn debug_never_shows_the_hash_key() {
    let secret: [u8; 16] = std::array::from_fn(|i| 0xa7 + i as u8);
    let key = HashKey::from_bytes(secret);
    assert_eq!(key.expose(), &secret);
    assert_eq!(format!("{key:?}"), "HashKey(secret)");
    assert_eq!(format!("{key:#?}"), "HashKey(secret)");

    let (aes, sip) = (Hasher::aes(key.clone()), Hasher::siphash(key));
    assert_eq!(format!("{aes:?}"), "Hasher { kind: Aes }");
    assert_eq!(format!("{sip:?}"), "Hasher { kind: Sip }");
    assert_eq!(format!("{:?}", Hasher::fast_with_seed(5)), "Hasher { kind: Fast, seed: 5 }");
    let texts =
        [aes, sip].map(|hasher| [format!("{hasher:?}"), format!("{hasher:#?}"), format!("{hasher:x?}")]);
    for text in texts.concat() {
        for byte in secret {
            assert!(!text.contains(&byte.to_string()), "{text}");
            assert!(!text.contains(&format!("{byte:02x}")), "{text}");
        }
    }
}

/// Short strings over two letters, so that different pairs often have equal concatenations.
fn part() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(0u8..3, 0..5), prop::collection::vec(any::<u8>(), 0..200),]
}

proptest! {
    #[test]
    fn distinct_pairs_have_distinct_bytes(a in (part(), part()), b in (part(), part())) {
        prop_assert_eq!(a == b, bytes(&a) == bytes(&b));
    }

    #[test]
    fn moving_the_border_changes_the_key(text in part(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(text.len() + 1);
        let pair = (&text[..cut], &text[cut..]);
        for other in 0..=text.len() {
            let moved = (&text[..other], &text[other..]);
            prop_assert_eq!(other == cut, bytes(&pair) == bytes(&moved));
        }
    }

    #[test]
    fn a_buffer_holds_its_parts(parts in prop::collection::vec(part(), 0..8)) {
        let mut buffer = KeyBuffer::new();
        for part in &parts {
            buffer.push(part);
        }
        prop_assert_eq!(buffer.as_ref(), joined(&parts));
    }

    #[test]
    fn a_hash_depends_on_the_bytes_alone(text in ".{0,40}", index in any::<u32>()) {
        for hasher in hashers() {
            let word = hasher.word(text.as_str(), index);
            prop_assert_eq!(word, hasher.word(&text.clone().into_bytes(), index));
            prop_assert_eq!(word, hasher.word_bytes(text.as_bytes(), index));
        }
    }
}
