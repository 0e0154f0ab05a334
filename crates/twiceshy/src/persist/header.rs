//! The 128 bytes before every filter and list.

use std::io::Read;

use super::{ReadError, check_sum, checksum};
use crate::hash::{HashKind, Hasher, Turn};
use crate::table::{Layout, Shape, Size, Table};

/// How every filter begins.
const MAGIC: [u8; 8] = *b"twiceshy";

/// The version that is written. All versions up to it can be read.
const VERSION: u16 = 2;

// Where the fields are; docs/format.md draws them.
const VERSION_AT: usize = 8;
const KIND_AT: usize = VERSION_AT + 2;
const HASH_AT: usize = KIND_AT + 1;
const SHAPE_AT: usize = HASH_AT + 1;
const MAX_QUOTIENT_BITS_AT: usize = SHAPE_AT + SHAPE_BYTES;
const SECRET_AT: usize = MAX_QUOTIENT_BITS_AT + 4;
const SIZE_AT: usize = SECRET_AT + 16;
const LEN_AT: usize = SIZE_AT + 8;
const DISTINCT_AT: usize = LEN_AT + 8;
const BODY_BYTES_AT: usize = DISTINCT_AT + 8;
const BODY_SUM_AT: usize = BODY_BYTES_AT + 8;
const OWN_AT: usize = BODY_SUM_AT + 4;
const TURN_AT: usize = OWN_AT + OWN_BYTES;
const RESERVED_AT: usize = TURN_AT + TURN_BYTES;
const SUM_AT: usize = HEADER_BYTES - 4;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 128;

/// Bytes of a shape: quotient bits, slot bits, flags, the largest offset, and the spill slots.
const SHAPE_BYTES: usize = 8;

/// Bytes of a turn: epoch, bits that stay in the old and in the new one, frontier.
const TURN_BYTES: usize = 14;

/// Bytes for what only one kind of filter has.
const OWN_BYTES: usize = 16;

/// What only one kind of filter has.
pub(crate) type Own = [u8; OWN_BYTES];

/// The flag for blocks with an extension word, and those that say how many slots a block has less than quotients.
const EXTENSIONS: u8 = 1;
const FEWER_SLOTS: u8 = 0b11_1000;

/// What the header says of a filter as a whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub(crate) hasher: Hasher,
    /// The size up to which the filter grows by itself.
    pub(crate) max_quotient_bits: u32,
    /// Copies of all fingerprints, or keys.
    pub(crate) len: u64,
    /// Different fingerprints; 0 for kinds that do not count them.
    pub(crate) distinct: u64,
    /// What only this kind has; all 0 if it has nothing.
    pub(crate) own: Own,
}

impl Header {
    /// The bytes in front of a body that begins with this, and of which there are so many bytes with that sum.
    pub(super) fn to_bytes(&self, kind: u8, front: Front, body: (u64, u32)) -> [u8; HEADER_BYTES] {
        let (shape, size) = match front {
            Front::Table(first) => (shape_to_bytes(&first.shape), first.used),
            Front::Directory(bytes) => ([0; SHAPE_BYTES], bytes),
        };
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(VERSION_AT, &VERSION.to_le_bytes());
        put(KIND_AT, &[kind]);
        put(HASH_AT, &[self.hasher.kind() as u8]);
        put(SHAPE_AT, &shape);
        put(MAX_QUOTIENT_BITS_AT, &[self.max_quotient_bits as u8]);
        put(SECRET_AT, &self.hasher.secret());
        put(SIZE_AT, &size.to_le_bytes());
        put(LEN_AT, &self.len.to_le_bytes());
        put(DISTINCT_AT, &self.distinct.to_le_bytes());
        put(BODY_BYTES_AT, &body.0.to_le_bytes());
        put(BODY_SUM_AT, &body.1.to_le_bytes());
        put(OWN_AT, &self.own);
        put(TURN_AT, &turn_to_bytes(&self.hasher.turn()));
        let sum = checksum(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// `Err` unless there can be so many fingerprints of so many keys in a table.
    pub(crate) fn expect_counts(&self, table: Described) -> Result<(), ReadError> {
        let (distinct, used) = (self.distinct, table.used);
        expect("fingerprints", distinct <= used, format_args!("at most {used}"), distinct)?;
        if distinct == 0 {
            return expect("keys", self.len == 0, "0, as there are no fingerprints", self.len);
        }
        expect("keys", self.len >= distinct, format_args!("at least {distinct}"), self.len)
    }

    /// `Err` unless the filter may grow as far as any can: for kinds whose own bytes say how far.
    pub(crate) fn expect_no_largest_size(&self) -> Result<(), ReadError> {
        let (most, found) = (Shape::MAX_QUOTIENT_BITS, self.max_quotient_bits);
        expect("largest quotient bits", found == most, most, found)
    }
}

/// The bytes of a header that begins as it should and has the right checksum, whatever its kind.
pub(crate) struct First([u8; HEADER_BYTES]);

impl First {
    pub(crate) fn read(reader: impl Read) -> Result<Self, ReadError> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        reader.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        let begins = &bytes[..bytes.len().min(MAGIC.len())];
        if !MAGIC.starts_with(begins) {
            let mut found = [0; 8];
            found[..begins.len()].copy_from_slice(begins);
            return Err(ReadError::NotAFilter { expected: MAGIC, found });
        }
        let short = ReadError::Length { expected: HEADER_BYTES as u64, found: bytes.len() as u64 };
        let first = Self(bytes.try_into().map_err(|_| short)?);
        let version = first.version();
        if version > VERSION {
            return Err(ReadError::NewerVersion { supported: VERSION, found: version });
        }
        check_sum("header", &first.0[..SUM_AT], u32::from_le_bytes(first.field(SUM_AT)))?;
        if version < VERSION {
            return Err(ReadError::OlderVersion { supported: VERSION, found: version });
        }
        Ok(first)
    }

    pub(crate) fn version(&self) -> u16 {
        u16::from_le_bytes(self.field(VERSION_AT))
    }

    /// The number of the kind, which may be any.
    pub(crate) fn kind(&self) -> u8 {
        self.0[KIND_AT]
    }

    /// `Err` unless it is of this kind.
    pub(crate) fn expect_kind(&self, expected: u8) -> Result<(), ReadError> {
        let found = self.kind();
        if found == expected { Ok(()) } else { Err(ReadError::WrongKind { expected, found }) }
    }

    /// How many bytes follow.
    pub(super) fn body_bytes(&self) -> u64 {
        self.number(BODY_BYTES_AT)
    }

    /// The checksum of what follows.
    pub(super) fn body_sum(&self) -> u32 {
        u32::from_le_bytes(self.field(BODY_SUM_AT))
    }

    /// What is the same for all kinds without a table, checked, and how many bytes their directory has.
    pub(crate) fn without_table(&self) -> Result<(Header, u64), ReadError> {
        expect_zeros(&self.0[SHAPE_AT..=MAX_QUOTIENT_BITS_AT])?;
        Ok((self.common(false)?, self.number(SIZE_AT)))
    }

    /// What is the same for all kinds, checked; some may rotate.
    fn common(&self, may_rotate: bool) -> Result<Header, ReadError> {
        expect_zeros(&self.0[MAX_QUOTIENT_BITS_AT + 1..SECRET_AT])?;
        expect_zeros(&self.0[RESERVED_AT..SUM_AT])?;
        if !may_rotate {
            expect_zeros(&self.0[TURN_AT..RESERVED_AT])?;
        }
        Ok(Header {
            hasher: self.hasher()?.in_turn(turn_from_bytes(self.field(TURN_AT))?),
            max_quotient_bits: self.0[MAX_QUOTIENT_BITS_AT].into(),
            len: self.number(LEN_AT),
            distinct: self.number(DISTINCT_AT),
            own: self.field(OWN_AT),
        })
    }

    /// What is the same for all kinds with a table, checked, and the first table.
    pub(super) fn header<L: Layout>(&self) -> Result<(Header, Described), ReadError> {
        let header = self.common(L::EXTENDED)?;
        let shape = shape_from_bytes::<L>(self.field(SHAPE_AT))?;
        let table = Described::new(shape, self.number(SIZE_AT))?;
        let (range, found) = (1..=Shape::MAX_QUOTIENT_BITS, header.max_quotient_bits);
        expect("largest quotient bits", range.contains(&found), format_args!("{range:?}"), found)?;
        Ok((header, table))
    }

    fn hasher(&self) -> Result<Hasher, ReadError> {
        let kind = HashKind::try_from(self.0[HASH_AT]).ok();
        let hasher = kind.and_then(|kind| Hasher::from_parts(kind, self.field(SECRET_AT)));
        hasher.ok_or_else(|| ReadError::Field {
            field: "hash",
            expected: "1 (SipHash), 2 (fast, with a seed of 8 bytes) or 3 (AES)".into(),
            found: self.0[HASH_AT].into(),
        })
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.field(at))
    }

    /// The bytes of a field.
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.0[at..].first_chunk().expect("fields lie inside the header")
    }
}

/// What a body begins with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Front {
    /// A table, or a directory of tables of which this is the first.
    Table(Described),
    /// A directory of so many bytes, of a kind without a table.
    Directory(u64),
}

/// A table as a header or a directory describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Described {
    pub(crate) shape: Shape,
    pub(crate) used: u64,
}

impl Described {
    pub(crate) const BYTES: usize = SHAPE_BYTES + 8;

    fn new(shape: Shape, used: u64) -> Result<Self, ReadError> {
        let total = shape.total_slots();
        expect("used slots", used <= total, format_args!("at most {total}"), used)?;
        Ok(Self { shape, used })
    }

    pub(crate) fn of<B: AsRef<[u8]>>(table: &Table<B, impl Layout>) -> Self {
        Self { shape: *table.shape(), used: table.used() }
    }

    /// As it stands in a directory.
    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..SHAPE_BYTES].copy_from_slice(&shape_to_bytes(&self.shape));
        bytes[SHAPE_BYTES..].copy_from_slice(&self.used.to_le_bytes());
        bytes
    }

    /// Reads and checks it.
    pub(crate) fn from_bytes<L: Layout>(bytes: &[u8; Self::BYTES]) -> Result<Self, ReadError> {
        let (shape, used) = bytes.split_first_chunk().expect("a shape and a number");
        let used = *used.first_chunk().expect("a shape and a number");
        Self::new(shape_from_bytes::<L>(*shape)?, u64::from_le_bytes(used))
    }
}

fn shape_to_bytes(shape: &Shape) -> [u8; SHAPE_BYTES] {
    let [a, b, c, d] = shape.spill_slots().to_le_bytes();
    let (quotient_bits, slot_bits) = (shape.quotient_bits() as u8, shape.slot_bits() as u8);
    let fewer = Size::MOST_BLOCK_SLOTS as u8 - shape.block_slots() as u8;
    let flags = fewer | if shape.has_extensions() { EXTENSIONS } else { 0 };
    [quotient_bits, slot_bits, flags, shape.offset_max(), a, b, c, d]
}

fn shape_from_bytes<L: Layout>(bytes: [u8; SHAPE_BYTES]) -> Result<Shape, ReadError> {
    let [quotient_bits, slot_bits, flags, offset_max, spill @ ..] = bytes;
    let (quotient_bits, slot_bits) = (u32::from(quotient_bits), u32::from(slot_bits));
    let most = Shape::MAX_QUOTIENT_BITS;
    expect("quotient bits", (1..=most).contains(&quotient_bits), format_args!("1..={most}"), quotient_bits)?;
    expect("slot bits", (1..=64).contains(&slot_bits), "1..=64", slot_bits)?;
    let expected = if L::EXTENDED { EXTENSIONS } else { 0 };
    let (fewer, other) = (flags & FEWER_SLOTS, flags & !FEWER_SLOTS);
    expect("flags", other == expected, expected, other)?;
    let size = Size::new(quotient_bits, Size::MOST_BLOCK_SLOTS - u32::from(fewer));
    let may_have_fewer = size.is_some() && (L::EXTENDED || fewer == 0);
    expect("slots that a block has less than 64", may_have_fewer, "0 in such a table", fewer)?;
    let size = size.unwrap_or(quotient_bits.into());
    let shape = Shape::new(size, slot_bits).with_layout::<L>();
    shape.with_limits(offset_max, u32::from_le_bytes(spill)).ok_or_else(|| ReadError::Field {
        field: "largest offset",
        expected: "at least 1".into(),
        found: offset_max.into(),
    })
}

/// All 0 before the first rotation.
fn turn_to_bytes(turn: &Turn) -> [u8; TURN_BYTES] {
    let (epoch, old_bits, new_bits, frontier) = if *turn == Turn::NONE { (0, 0, 0, 0) } else { turn.parts() };
    let mut bytes = [0; TURN_BYTES];
    bytes[..4].copy_from_slice(&epoch.to_le_bytes());
    (bytes[4], bytes[5]) = (old_bits as u8, new_bits as u8);
    bytes[6..].copy_from_slice(&frontier.to_le_bytes());
    bytes
}

fn turn_from_bytes(bytes: [u8; TURN_BYTES]) -> Result<Turn, ReadError> {
    if bytes == [0; TURN_BYTES] {
        return Ok(Turn::NONE);
    }
    let [a, b, c, d, old_bits, new_bits, frontier @ ..] = bytes;
    let (epoch, frontier) = (u32::from_le_bytes([a, b, c, d]), u64::from_le_bytes(frontier));
    let turn = Turn::from_parts(epoch, old_bits.into(), new_bits.into(), frontier);
    let turn = turn.filter(|turn| *turn != Turn::NONE);
    turn.ok_or_else(|| ReadError::Field {
        field: "frontier of the epoch",
        expected: "the start of a group of hashes".into(),
        found: frontier,
    })
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
