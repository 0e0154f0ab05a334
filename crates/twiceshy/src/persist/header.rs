//! The 128 bytes before every table.

use std::io::Read;

use super::{ReadError, check_sum, checksum};
use crate::hash::{HashKind, Hasher};
use crate::table::{Extended, Shape};

/// How every filter begins.
const MAGIC: [u8; 8] = *b"twiceshy";

/// The version that is written. All versions up to it can be read.
const VERSION: u16 = 1;

// Where the fields are; docs/format.md draws them.
const VERSION_AT: usize = 8;
const KIND_AT: usize = VERSION_AT + 2;
const HASH_AT: usize = KIND_AT + 1;
const QUOTIENT_BITS_AT: usize = HASH_AT + 1;
const SLOT_BITS_AT: usize = QUOTIENT_BITS_AT + 1;
const FLAGS_AT: usize = SLOT_BITS_AT + 1;
const OFFSET_MAX_AT: usize = FLAGS_AT + 1;
const SPILL_AT: usize = OFFSET_MAX_AT + 1;
const MAX_QUOTIENT_BITS_AT: usize = SPILL_AT + 4;
const SECRET_AT: usize = MAX_QUOTIENT_BITS_AT + 4;
const USED_AT: usize = SECRET_AT + 16;
const LEN_AT: usize = USED_AT + 8;
const DISTINCT_AT: usize = LEN_AT + 8;
const BODY_BYTES_AT: usize = DISTINCT_AT + 8;
const BODY_SUM_AT: usize = BODY_BYTES_AT + 8;
const OWN_AT: usize = BODY_SUM_AT + 4;
const RESERVED_AT: usize = OWN_AT + OWN_BYTES;
const SUM_AT: usize = Header::BYTES - 4;

/// Bytes for what only one kind of filter has.
const OWN_BYTES: usize = 16;

/// What only one kind of filter has.
pub(crate) type Own = [u8; OWN_BYTES];

/// The flag for blocks with an extension word.
const EXTENSIONS: u8 = 1;

/// Kinds of filters. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum FilterKind {
    /// A [`QuotientFilter`](crate::QuotientFilter).
    Quotient = 1,
    /// An [`AdaptiveFilter`](crate::AdaptiveFilter).
    Adaptive = 2,
    /// An [`ExpandableFilter`](crate::ExpandableFilter).
    Expandable = 3,
}

impl FilterKind {
    const ALL: [Self; 3] = [Self::Quotient, Self::Adaptive, Self::Expandable];

    /// Its name in one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quotient => "quotient",
            Self::Adaptive => "adaptive",
            Self::Expandable => "expandable",
        }
    }

    /// Whether the blocks of such a filter have an extension word.
    fn has_extensions(self) -> bool {
        self == Self::Adaptive
    }
}

/// What a header says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: FilterKind,
    pub(crate) hasher: Hasher,
    pub(crate) shape: Shape,
    pub(crate) max_quotient_bits: u32,
    pub(crate) used: u64,
    pub(crate) len: u64,
    /// 0 for expandable filters, which do not count them.
    pub(crate) distinct: u64,
    /// Bytes of what follows: the table, or all tables of a filter with several.
    pub(crate) body_bytes: u64,
    pub(crate) body_sum: u32,
    /// What only this kind has; all 0 if it has nothing.
    pub(crate) own: Own,
}

impl Header {
    pub(crate) const BYTES: usize = 128;

    pub(crate) fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(VERSION_AT, &VERSION.to_le_bytes());
        put(KIND_AT, &[self.kind as u8]);
        put(HASH_AT, &[self.hasher.kind() as u8]);
        put(QUOTIENT_BITS_AT, &shape_to_bytes(&self.shape));
        put(MAX_QUOTIENT_BITS_AT, &[self.max_quotient_bits as u8]);
        put(SECRET_AT, &self.hasher.secret());
        put(USED_AT, &self.used.to_le_bytes());
        put(LEN_AT, &self.len.to_le_bytes());
        put(DISTINCT_AT, &self.distinct.to_le_bytes());
        put(BODY_BYTES_AT, &self.body_bytes.to_le_bytes());
        put(BODY_SUM_AT, &self.body_sum.to_le_bytes());
        put(OWN_AT, &self.own);
        let sum = checksum(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads and checks a header of the given kind.
    pub(crate) fn from_bytes(bytes: &[u8; Self::BYTES], kind: FilterKind) -> Result<Self, ReadError> {
        check_first_fields(bytes)?;
        if bytes[KIND_AT] != kind as u8 {
            return Err(ReadError::WrongKind { expected: kind as u8, found: bytes[KIND_AT] });
        }
        let header = Self {
            kind,
            hasher: read_hasher(bytes)?,
            shape: shape_from_bytes(&field(bytes, QUOTIENT_BITS_AT), kind)?,
            max_quotient_bits: bytes[MAX_QUOTIENT_BITS_AT].into(),
            used: u64::from_le_bytes(field(bytes, USED_AT)),
            len: u64::from_le_bytes(field(bytes, LEN_AT)),
            distinct: u64::from_le_bytes(field(bytes, DISTINCT_AT)),
            body_bytes: u64::from_le_bytes(field(bytes, BODY_BYTES_AT)),
            body_sum: u32::from_le_bytes(field(bytes, BODY_SUM_AT)),
            own: field(bytes, OWN_AT),
        };
        header.check_numbers(bytes)?;
        Ok(header)
    }

    /// `Err` unless the bytes for what only one kind has are 0.
    pub(crate) fn expect_no_own(&self) -> Result<(), ReadError> {
        expect_zeros(&self.own)
    }

    fn check_numbers(&self, bytes: &[u8; Self::BYTES]) -> Result<(), ReadError> {
        let Self { shape, used, max_quotient_bits, .. } = self;
        let total = shape.total_slots();
        expect("used slots", *used <= total, format!("at most {total}"), *used)?;
        match self.kind {
            FilterKind::Quotient | FilterKind::Adaptive => self.check_one_table()?,
            FilterKind::Expandable => expect("fingerprints", self.distinct == 0, 0, self.distinct)?,
        }
        let range = 1..=Shape::MAX_QUOTIENT_BITS;
        let allowed = range.contains(max_quotient_bits);
        expect("largest quotient bits", allowed, format!("{range:?}"), *max_quotient_bits)?;
        expect_zeros(&bytes[MAX_QUOTIENT_BITS_AT + 1..SECRET_AT])?;
        expect_zeros(&bytes[RESERVED_AT..SUM_AT])
    }

    /// What a filter of one table has to say about it.
    fn check_one_table(&self) -> Result<(), ReadError> {
        let Self { shape, used, len, distinct, body_bytes, .. } = self;
        let expected = shape.body_bytes().map_or(0, |bytes| bytes as u64);
        expect("table bytes", expected == *body_bytes && expected > 0, expected, *body_bytes)?;
        expect("fingerprints", distinct <= used, format!("at most {used}"), *distinct)?;
        let plausible = if *distinct == 0 { *len == 0 } else { len >= distinct };
        let wanted = if *distinct == 0 {
            "0, as there are no fingerprints".into()
        } else {
            format!("at least {distinct}")
        };
        expect("keys", plausible, wanted, *len)
    }
}

/// What the first bytes of a filter say, whatever its kind. Made by [`identify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Identity {
    /// Which type reads it.
    pub kind: FilterKind,
    /// The version of its format.
    pub version: u16,
}

/// Tells what kind of filter a file holds, from its first 128 bytes. The table is not read.
///
/// ```
/// use twiceshy::{FilterKind, QuotientFilter, identify};
///
/// let bytes = QuotientFilter::new(1_000, 0.01)?.to_bytes();
/// assert_eq!(identify(bytes.as_slice())?.kind, FilterKind::Quotient);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn identify(reader: impl Read) -> Result<Identity, ReadError> {
    let bytes = &read_first(reader)?;
    let version = check_first_fields(bytes)?;
    let found = bytes[KIND_AT];
    match FilterKind::ALL.into_iter().find(|&kind| kind as u8 == found) {
        Some(kind) => Ok(Identity { kind, version }),
        None => {
            let names = FilterKind::ALL.map(|kind| format!("{} ({})", kind as u8, kind.name()));
            Err(ReadError::Field { field: "kind", expected: names.join(" or "), found: found.into() })
        }
    }
}

/// The bytes of a header.
pub(crate) fn read_first(reader: impl Read) -> Result<[u8; Header::BYTES], ReadError> {
    let mut bytes = Vec::with_capacity(Header::BYTES);
    reader.take(Header::BYTES as u64).read_to_end(&mut bytes)?;
    let short = ReadError::Length { expected: Header::BYTES as u64, found: bytes.len() as u64 };
    bytes.try_into().map_err(|_| short)
}

/// Checks what comes before the kind, and the header's checksum. Tells the version.
fn check_first_fields(bytes: &[u8; Header::BYTES]) -> Result<u16, ReadError> {
    let found = field(bytes, 0);
    if found != MAGIC {
        return Err(ReadError::NotAFilter { expected: MAGIC, found });
    }
    let version = u16::from_le_bytes(field(bytes, VERSION_AT));
    if version > VERSION {
        return Err(ReadError::NewerVersion { supported: VERSION, found: version });
    }
    check_sum("header", &bytes[..SUM_AT], u32::from_le_bytes(field(bytes, SUM_AT)))?;
    expect("version", version == VERSION, VERSION, version)?;
    Ok(version)
}

fn read_hasher(bytes: &[u8; Header::BYTES]) -> Result<Hasher, ReadError> {
    let kind = HashKind::try_from(bytes[HASH_AT]).ok();
    let hasher = kind.and_then(|kind| Hasher::from_parts(kind, field(bytes, SECRET_AT)));
    hasher.ok_or_else(|| ReadError::Field {
        field: "hash",
        expected: "1 (keyed) or 2 (fast, with a seed of 8 bytes)".into(),
        found: bytes[HASH_AT].into(),
    })
}

/// Bytes of a shape: all fields from the quotient bits to the spill slots.
pub(crate) const SHAPE_BYTES: usize = MAX_QUOTIENT_BITS_AT - QUOTIENT_BITS_AT;

/// A shape as it stands in a header.
pub(crate) fn shape_to_bytes(shape: &Shape) -> [u8; SHAPE_BYTES] {
    let [a, b, c, d] = shape.spill_slots().to_le_bytes();
    let (quotient_bits, slot_bits) = (shape.quotient_bits() as u8, shape.slot_bits() as u8);
    let flags = if shape.has_extensions() { EXTENSIONS } else { 0 };
    [quotient_bits, slot_bits, flags, shape.offset_max(), a, b, c, d]
}

/// Reads and checks the shape of a filter of the given kind.
pub(crate) fn shape_from_bytes(bytes: &[u8; SHAPE_BYTES], kind: FilterKind) -> Result<Shape, ReadError> {
    let [quotient_bits, slot_bits, flags, offset_max, spill @ ..] = *bytes;
    let (quotient_bits, slot_bits) = (u32::from(quotient_bits), u32::from(slot_bits));
    let most = Shape::MAX_QUOTIENT_BITS;
    expect("quotient bits", (1..=most).contains(&quotient_bits), format!("1..={most}"), quotient_bits)?;
    expect("slot bits", (1..=64).contains(&slot_bits), "1..=64", slot_bits)?;
    let expected = if kind.has_extensions() { EXTENSIONS } else { 0 };
    expect("flags", flags == expected, expected, flags)?;
    let shape = Shape::new(quotient_bits, slot_bits);
    let shape = if kind.has_extensions() { shape.with_layout::<Extended>() } else { shape };
    shape.with_limits(offset_max, u32::from_le_bytes(spill)).ok_or_else(|| ReadError::Field {
        field: "largest offset",
        expected: "at least 1".into(),
        found: offset_max.into(),
    })
}

/// The bytes of a field.
fn field<const N: usize>(bytes: &[u8; Header::BYTES], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("fields lie inside the header")
}

/// `Err` unless bytes without a meaning are 0.
pub(crate) fn expect_zeros(bytes: &[u8]) -> Result<(), ReadError> {
    let found = bytes.iter().fold(0, |all, byte| all | byte);
    expect("reserved bytes", found == 0, 0, found)
}

/// `Err` unless a field is as it should be.
pub(crate) fn expect(
    field: &'static str,
    holds: bool,
    expected: impl ToString,
    found: impl Into<u64>,
) -> Result<(), ReadError> {
    if holds {
        return Ok(());
    }
    Err(ReadError::Field { field, expected: expected.to_string(), found: found.into() })
}
