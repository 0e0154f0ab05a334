//! What is damaged is refused, and queries on it end.

use super::*;

for_every_kind! {
    every_truncation_is_refused
    no_input_and_nothing_but_a_header
    every_flipped_bit_is_refused_and_queries_on_it_end
    every_flipped_bit_is_a_filter_or_refused_without_the_checksums
    any_bytes_are_a_filter_or_refused_and_queries_on_them_end
    what_follows_the_filter_is_refused_unless_it_is_a_stream
    other_files_are_refused
    other_versions_are_refused
    other_kinds_are_refused
    the_kind_of_a_file_is_told_from_its_header
    every_common_field_out_of_range_is_named
    checksum_errors_tell_both_sums
}

fn every_truncation_is_refused<S: Subject>() {
    for bytes in S::files() {
        for len in 0..bytes.len() {
            let error = refused::<S>(&bytes[..len]);
            let ReadError::Length { expected, found } = error else { panic!("{len} bytes: {error}") };
            assert_eq!(expected, if len < BODY { BODY } else { bytes.len() } as u64);
            assert_eq!(found, len as u64);
            let error = S::read_from(&bytes[..len]).err().unwrap();
            let ReadError::Length { expected: also, found } = error else { panic!("{len} bytes: {error}") };
            assert_eq!((also, found), (expected, len as u64));
        }
    }
}

fn no_input_and_nothing_but_a_header<S: Subject>() {
    for bytes in S::files() {
        for len in [0, 127, 128] {
            let error = refused::<S>(&bytes[..len]).to_string();
            assert!(error.contains(&format!("found {len}")), "{error}");
            let error = refused::<S>(&vec![0; len]);
            assert!(matches!(error, ReadError::Length { .. } | ReadError::NotAFilter { .. }), "{error}");
        }
    }
}

fn every_flipped_bit_is_refused_and_queries_on_it_end<S: Subject>() {
    for mut bytes in S::files() {
        let tables_at = tables_at::<S>(&bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            refused::<S>(&bytes);
            // A view looks at nothing behind the directory, and so far at all.
            let viewed = S::viewed(&bytes).is_ok();
            assert!(if viewed { bit / 8 >= BODY } else { bit / 8 < tables_at }, "bit {bit}");
            S::interrogate(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        S::from_bytes(&bytes).unwrap();
    }
}

fn every_flipped_bit_is_a_filter_or_refused_without_the_checksums<S: Subject>() {
    flips_without_checksums::<S>(0);
}

/// Flips every bit from a byte on, with right checksums. Tells how often it was a filter all the same (another bit of a
/// fingerprint: a valid filter, of other keys), and how often there was a bit to flip.
pub(super) fn flips_without_checksums<S: Subject>(from: usize) -> (u32, u32) {
    let (mut accepted, mut all) = (0, 0);
    for good in S::files() {
        for bit in from * 8..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            reseal(&mut bytes);
            all += 1;
            accepted += u32::from(is_filter::<S>(&bytes, bit / 8 < tables_at::<S>(&good)));
        }
    }
    (accepted, all)
}

/// Whether bytes with right checksums are a filter; all ways to read them must agree, and it must be a good one. Only
/// what is in tables may contradict itself, unless the rest `may_be_wrong`, too.
pub(super) fn is_filter<S: Subject>(bytes: &[u8], may_be_wrong: bool) -> bool {
    S::interrogate(bytes);
    match S::from_bytes(bytes) {
        Ok(filter) => {
            filter.validate().unwrap();
            assert_eq!(filter.to_bytes(), bytes);
            for also in [S::read_from(bytes), S::copied(bytes)] {
                assert_eq!(also.unwrap().to_bytes(), bytes);
            }
            S::verified(bytes).unwrap();
            assert_eq!(AnyFilter::from_bytes(bytes).unwrap().to_bytes(), bytes);
            true
        }
        Err(_) => {
            let error = refused::<S>(bytes);
            assert!(may_be_wrong || matches!(error, ReadError::Inconsistent(_)), "{error}");
            false
        }
    }
}

fn any_bytes_are_a_filter_or_refused_and_queries_on_them_end<S: Subject>() {
    any_bytes::<S>();
}

/// All ones, all zeros, much noise and little of it until these rounds, then noise in a good table.
pub(super) fn spoil(bytes: &mut [u8], round: u32, [much, little]: [u32; 2], random: &mut Random) {
    match round {
        0 => bytes.fill(0xFF),
        1 => bytes.fill(0),
        _ if round < much => bytes.fill_with(|| random.next() as u8),
        _ if round < little => bytes.fill_with(|| (random.next() & random.next()) as u8),
        _ => (0..8).for_each(|_| {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }),
    }
}

/// Writes all kinds of nonsense into tables, and tells how often that was a filter.
pub(super) fn any_bytes<S: Subject>() -> u32 {
    let (mut random, mut accepted) = (Random(1), 0);
    for good in S::files() {
        let tables_at = tables_at::<S>(&good);
        for round in 0..600 {
            // Noise also in the directory, if there is one.
            let from = if round % 8 == 7 { BODY } else { tables_at };
            let mut bytes = good.clone();
            spoil(&mut bytes[from..], round, [150, 300], &mut random);
            if bytes == good {
                continue;
            }
            S::interrogate(&bytes);
            // Also with a checksum that says that all is well.
            reseal(&mut bytes);
            accepted += u32::from(is_filter::<S>(&bytes, from < tables_at));
        }
    }
    accepted
}

fn what_follows_the_filter_is_refused_unless_it_is_a_stream<S: Subject>() {
    for bytes in S::files() {
        for extra in [1, 7, 8, 100, 5000] {
            let long = [bytes.clone(), vec![0; extra]].concat();
            for error in [
                S::from_bytes(&long).err().unwrap(),
                S::viewed(&long).err().unwrap(),
                files::loaded::<S>(&long).err().unwrap(),
                AnyFilter::from_bytes(&long).err().unwrap(),
                AnyFilter::view(&long).err().unwrap(),
            ] {
                let ReadError::Length { expected, found } = error else { panic!("{error}") };
                assert_eq!((expected, found), (bytes.len() as u64, long.len() as u64));
            }
            assert_eq!(S::read_from(long.as_slice()).unwrap().to_bytes(), bytes);
            assert_eq!(AnyFilter::read_from(long.as_slice()).unwrap().to_bytes(), bytes);
        }
    }
}

fn other_files_are_refused<S: Subject>() {
    for mut bytes in S::files() {
        bytes[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x00");
        let error = refused::<S>(&bytes);
        assert!(matches!(error, ReadError::NotAFilter { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{:?}", b"twiceshy")) && text.contains(&format!("{:?}", &bytes[..8])));
    }
}

fn other_versions_are_refused<S: Subject>() {
    for good in S::files() {
        // A newer version may have another checksum, so it is told even if the checksum is wrong.
        for version in [3u16, 4, 256, u16::MAX] {
            let mut bytes = good.clone();
            put(&mut bytes, VERSION, &version.to_le_bytes());
            for _ in 0..2 {
                let error = refused::<S>(&bytes);
                let ReadError::NewerVersion { supported: 2, found } = error else { panic!("{error}") };
                assert_eq!(found, version);
                let text = error.to_string();
                assert!(text.contains(&format!("version {version}")) && text.contains("up to 2"), "{text}");
                reseal(&mut bytes);
            }
        }
        for version in [0, 1] {
            let error = refused::<S>(&with_field(good.clone(), VERSION, &[version, 0]));
            let ReadError::OlderVersion { supported: 2, found } = error else { panic!("{error}") };
            assert_eq!(found, u16::from(version));
            assert!(error.to_string().contains("build the filter anew"), "{error}");
        }
    }
}

fn other_kinds_are_refused<S: Subject>() {
    let own = S::KIND as u8;
    let others = FilterKind::ALL.iter().map(|&kind| kind as u8).filter(|&kind| kind != own);
    for kind in others.chain(unknown_kinds()) {
        let error = refused::<S>(&with_field(S::files().remove(0), KIND, &[kind]));
        let ReadError::WrongKind { expected, found } = error else { panic!("{error}") };
        assert_eq!((expected, found), (own, kind));
        let text = error.to_string();
        assert!(text.contains(&format!("expected a filter of kind {own}")), "{text}");
        assert!(text.contains(&format!("found kind {kind}")), "{text}");
    }
    // Good files of other kinds.
    for (kind, files) in for_every_kind!(array files_of) {
        for bytes in files.iter().filter(|_| kind != S::KIND) {
            let error = S::from_bytes(bytes).err().unwrap();
            let ReadError::WrongKind { expected, found } = error else { panic!("{error}") };
            assert_eq!((expected, found), (own, kind as u8));
        }
    }
}

/// Numbers of kinds that there are not.
fn unknown_kinds() -> [u8; 3] {
    [0, FilterKind::ALL.len() as u8 + 1, 255]
}

fn files_of<S: Subject>() -> (FilterKind, Vec<Vec<u8>>) {
    (S::KIND, S::files())
}

#[test]
fn no_kind_is_left_out() {
    assert_eq!(for_every_kind!(array files_of).map(|(kind, _)| kind), FilterKind::POINTS);
    let numbers: Vec<_> = FilterKind::ALL.iter().map(|&kind| (kind as u8, kind.name())).collect();
    let points = [(1, "quotient"), (2, "adaptive"), (3, "expandable")];
    assert_eq!(
        numbers,
        [
            &points[..],
            &[(4, "adaptive-range"), (5, "range")],
            &[(6, "frozen-list"), (7, "list-delta"), (8, "list")],
            &[(9, "bloom-cascade"), (10, "quotient-cascade")]
        ]
        .concat()
    );
}

fn the_kind_of_a_file_is_told_from_its_header<S: Subject>() {
    for bytes in S::files() {
        let identity = identify(&bytes[..BODY]).unwrap();
        assert_eq!((identity.kind, identity.version), (S::KIND, 2));
        let error = identify(&bytes[..BODY - 1]).unwrap_err();
        assert!(matches!(error, ReadError::Length { expected: 128, found: 127 }), "{error}");
        let mut damaged = bytes.clone();
        damaged[KIND] ^= 1;
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::Checksum { .. })));
        damaged[VERSION] = 3;
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::NewerVersion { .. })));
        damaged[0] = b'x';
        assert!(matches!(identify(damaged.as_slice()), Err(ReadError::NotAFilter { .. })));
        for unknown in unknown_kinds() {
            let unknown = with_field(bytes.clone(), KIND, &[unknown]);
            for error in
                [identify(unknown.as_slice()).unwrap_err(), AnyFilter::from_bytes(&unknown).unwrap_err()]
            {
                assert!(matches!(error, ReadError::Field { field: "kind", .. }), "{error}");
                let known =
                    FilterKind::POINTS.iter().map(|&kind| format!("{} ({})", kind as u8, kind.name()));
                let known = known.collect::<Vec<_>>().join(" or ");
                assert!(error.to_string().contains(&known), "{error} does not name {known}");
            }
        }
    }
}

fn every_common_field_out_of_range_is_named<S: Subject>() {
    for good in S::files() {
        let flags = good[FLAGS];
        named::<S>(
            &good,
            &[
                ("hash", HASH, vec![0]),
                ("hash", HASH, vec![4]),
                ("quotient bits", QUOTIENT_BITS, vec![0]),
                ("quotient bits", QUOTIENT_BITS, vec![49]),
                ("quotient bits", QUOTIENT_BITS, vec![255]),
                ("slot bits", SLOT_BITS, vec![0]),
                ("slot bits", SLOT_BITS, vec![65]),
                ("slot bits", SLOT_BITS, vec![255]),
                ("flags", FLAGS, vec![flags ^ 1]),
                ("flags", FLAGS, vec![flags | 2]),
                ("flags", FLAGS, vec![flags | 128]),
                ("largest offset", OFFSET_MAX, vec![0]),
                ("table bytes", BODY_BYTES, long(0)),
                ("table bytes", BODY_BYTES, long(get(&good, BODY_BYTES) - 1)),
                ("table bytes", BODY_BYTES, long(get(&good, BODY_BYTES) + 1)),
                ("table bytes", BODY_BYTES, long(u64::MAX)),
                ("largest quotient bits", MAX_QUOTIENT_BITS, vec![0]),
                ("largest quotient bits", MAX_QUOTIENT_BITS, vec![49]),
                ("reserved bytes", RESERVED, vec![1]),
                ("reserved bytes", SECRET - 1, vec![0x80]),
                ("reserved bytes", MORE_RESERVED, vec![1]),
                ("reserved bytes", HEADER_SUM - 1, vec![1]),
                ("used slots", USED, long((1 << good[QUOTIENT_BITS]) + get(&good, SPILL) % (1 << 32) + 1)),
                ("used slots", USED, long(u64::MAX)),
            ],
        );
    }
}

fn checksum_errors_tell_both_sums<S: Subject>() {
    for good in S::files() {
        for (at, part) in [(LEN, "header"), (tables_at::<S>(&good) + 5, "table")] {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            let error = refused::<S>(&bytes);
            let ReadError::Checksum { part: found_part, expected, found } = error else { panic!("{error}") };
            assert_eq!(found_part, part);
            let range = if part == "header" { 0..HEADER_SUM } else { BODY..good.len() };
            assert_eq!(expected, crc32fast::hash(&good[range.clone()]));
            assert_eq!(found, crc32fast::hash(&bytes[range]));
            let text = error.to_string();
            assert!(
                text.contains(&format!("{expected:08x}")) && text.contains(&format!("{found:08x}")),
                "{text}"
            );
        }
    }
}
