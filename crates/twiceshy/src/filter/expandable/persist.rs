//! Expandable filters as bytes: written, read, and viewed in place.
//!
//! Behind the header is a directory of all tables, then the tables. A filter on its way to a larger table is
//! stored with both, and goes on from there. The format is drawn in `docs/format.md`.

use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

use super::ExpandableFilter;
use super::lengths::{Lengths, Mode};
use super::level::{Level, Old};
use super::place::Settings;
use crate::error::{ReadError, SaveError};
use crate::persist::{
    self, FilterKind, Header, Own, SHAPE_BYTES, expect, expect_zeros, read_body, read_first,
};
use crate::persist::{shape_from_bytes, shape_to_bytes};
use crate::table::{Shape, Table};

/// Bytes of the directory's record of a table.
const RECORD_BYTES: usize = 32;

// Where its fields are.
const USED_AT: usize = SHAPE_BYTES;
const MOVED_AT: usize = USED_AT + 8;
const ROLE_AT: usize = MOVED_AT + 8;

/// More tables than any filter has: quotient bits fall along the chain, and each table may have an old one.
const MOST_TABLES: usize = 2 * Shape::MAX_QUOTIENT_BITS as usize;

/// What a table is, as stored.
const ROLE_TABLE: u8 = 0;
const ROLE_OLD: u8 = 1;

/// A table as the directory describes it.
#[derive(Clone, Copy)]
struct Record {
    shape: Shape,
    used: u64,
    /// The border of a table whose entries are on their way; `None` for one where new entries go.
    moved: Option<u64>,
}

impl Record {
    fn of<B: AsRef<[u8]>>(table: &Table<B>, moved: Option<u64>) -> Self {
        Self { shape: *table.shape(), used: table.used(), moved }
    }

    fn to_bytes(self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..USED_AT].copy_from_slice(&shape_to_bytes(&self.shape));
        bytes[USED_AT..MOVED_AT].copy_from_slice(&self.used.to_le_bytes());
        bytes[MOVED_AT..ROLE_AT].copy_from_slice(&self.moved.unwrap_or(0).to_le_bytes());
        bytes[ROLE_AT] = if self.moved.is_some() { ROLE_OLD } else { ROLE_TABLE };
        bytes
    }

    fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Result<Self, ReadError> {
        let number = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("inside the record"));
        let shape =
            shape_from_bytes(bytes.first_chunk().expect("inside the record"), FilterKind::Expandable)?;
        let (used, moved, role) = (number(USED_AT), number(MOVED_AT), bytes[ROLE_AT]);
        let total = shape.total_slots();
        expect("slot bits", shape.slot_bits() >= 2, "at least 2", shape.slot_bits())?;
        expect("used slots", used <= total, format!("at most {total}"), used)?;
        expect("role of a table", role <= ROLE_OLD, "0 or 1", role)?;
        let most = if role == ROLE_OLD { shape.quotients() } else { 0 };
        expect("moved quotients", moved <= most, format!("at most {most}"), moved)?;
        expect_zeros(&bytes[ROLE_AT + 1..])?;
        Ok(Self { shape, used, moved: (role == ROLE_OLD).then_some(moved) })
    }

    fn table_bytes(&self) -> Result<usize, ReadError> {
        let too_large = ReadError::Inconsistent("a table is larger than can be addressed".into());
        self.shape.body_bytes().ok_or(too_large)
    }
}

impl Settings {
    fn to_own(self, tables: usize) -> Own {
        let mut own = Own::default();
        let mode = match self.lengths.mode {
            Mode::Growing => 0,
            Mode::Chained => 1,
            Mode::Basic => 2,
        };
        own[0] = mode;
        own[1] = self.max_load as u8;
        own[2..4].copy_from_slice(&self.lengths.base.to_le_bytes());
        own[4] = self.lengths.least_bits as u8;
        own[5] = self.least_quotient_bits as u8;
        own[6] = u8::from(self.spread_growth);
        own[7] = self.block_bits as u8;
        own[8] = tables as u8;
        own
    }

    /// The settings of a header, and how many tables there are.
    fn from_header(header: &Header) -> Result<(Self, usize), ReadError> {
        let [mode, max_load, base0, base1, least_bits, least, spread, block_bits, tables, zeros @ ..] =
            &header.own;
        let mode = match mode {
            0 => Mode::Growing,
            1 => Mode::Chained,
            2 => Mode::Basic,
            other => {
                let (field, expected) = ("mode", "0 (growing), 1 (chained) or 2 (basic)".into());
                return Err(ReadError::Field { field, expected, found: u64::from(*other) });
            }
        };
        expect("load limit", (50..=95).contains(max_load), "50..=95", *max_load)?;
        expect("spread growth", *spread <= 1, "0 or 1", *spread)?;
        let most = header.shape.quotient_bits();
        let allowed = (1..=most).contains(&u32::from(*least));
        expect("least quotient bits", allowed, format!("1..={most}"), *least)?;
        expect("bits of a hash word", (1..=64).contains(block_bits), "1..=64", *block_bits)?;
        let allowed = (1..=MOST_TABLES).contains(&usize::from(*tables));
        expect("tables", allowed, format!("1..={MOST_TABLES}"), *tables)?;
        expect_zeros(zeros)?;
        let base = i16::from_le_bytes([*base0, *base1]);
        let least_bits = u32::from(*least_bits);
        let settings = Self {
            lengths: Lengths { mode, base, least_bits },
            max_load: u32::from(*max_load),
            spread_growth: *spread == 1,
            least_quotient_bits: u32::from(*least),
            block_bits: u32::from(*block_bits),
            template: header.shape.template(),
        };
        Ok((settings, usize::from(*tables)))
    }
}

/// What a header and a directory say.
struct Plan {
    header: Header,
    settings: Settings,
    records: Vec<Record>,
}

impl Plan {
    /// How many tables there are, from the header alone.
    fn tables(header: &Header) -> Result<usize, ReadError> {
        Ok(Settings::from_header(header)?.1)
    }

    fn new(header: Header, directory: &[u8]) -> Result<Self, ReadError> {
        let settings = Settings::from_header(&header)?.0;
        let (chunks, _) = directory.as_chunks();
        let records = chunks.iter().map(Record::from_bytes).collect::<Result<Vec<_>, _>>()?;
        let mut bytes = directory.len() as u64;
        for record in &records {
            bytes = bytes.saturating_add(record.table_bytes()? as u64);
        }
        expect("table bytes", bytes == header.body_bytes, bytes, header.body_bytes)?;
        let first = records.first().filter(|first| first.moved.is_none());
        let agree = first.is_some_and(|first| (first.shape, first.used) == (header.shape, header.used));
        if !agree {
            return Err(ReadError::Inconsistent("the first table is not the one of the header".into()));
        }
        Ok(Self { header, settings, records })
    }

    /// The filter over the tables' bytes.
    fn filter<B: AsRef<[u8]>>(
        self,
        bodies: impl Iterator<Item = Result<B, ReadError>>,
    ) -> Result<ExpandableFilter<B>, ReadError> {
        let mut levels: Vec<Level<B>> = Vec::new();
        for (record, body) in self.records.iter().zip(bodies) {
            let (body, expected) = (body?, record.table_bytes()? as u64);
            let found = body.as_ref().len() as u64;
            let table = Table::from_bytes(body, record.shape, record.used);
            let table = table.ok_or(ReadError::Length { expected, found })?;
            match (record.moved, levels.last_mut()) {
                (None, _) => {
                    let limit = self.settings.slot_limit(&record.shape);
                    levels.push(Level { table, limit, old: None });
                }
                (Some(moved), Some(level)) if level.old.is_none() => level.old = Some(Old { table, moved }),
                (Some(_), _) => {
                    return Err(ReadError::Inconsistent("two tables move to the same one".into()));
                }
            }
        }
        Ok(ExpandableFilter::from_levels(levels, self.header.hasher, self.settings, self.header.len))
    }
}

impl<B: AsRef<[u8]>> ExpandableFilter<B> {
    /// Writes the filter in the format of `docs/format.md`, with its hash key: treat the bytes as a secret. A
    /// filter whose growth is going on is written as it is.
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        writer.write_all(&self.header().to_bytes())?;
        for part in self.parts() {
            writer.write_all(part.as_ref())?;
        }
        writer.flush()
    }

    /// The bytes that [`write_to`](Self::write_to) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.header().to_bytes().to_vec();
        for part in self.parts() {
            bytes.extend_from_slice(part.as_ref());
        }
        bytes
    }

    /// Saves the filter to a file that only its owner can read. The file is complete or the old one of the same
    /// name is untouched, whatever happens on the way.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        persist::save(path.as_ref(), |file| self.write_to(io::BufWriter::new(file)))
    }

    /// All tables in the order of the directory.
    fn tables(&self) -> impl Iterator<Item = (&Table<B>, Option<u64>)> {
        self.levels.iter().flat_map(Level::tables)
    }

    /// What follows the header.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let directory = self.tables().map(|(table, moved)| Part::Record(Record::of(table, moved).to_bytes()));
        directory.chain(self.tables().map(|(table, _)| Part::Table(table.bytes())))
    }

    fn header(&self) -> Header {
        let mut sum = crc32fast::Hasher::new();
        let mut body_bytes = 0;
        for part in self.parts() {
            sum.update(part.as_ref());
            body_bytes += part.as_ref().len() as u64;
        }
        let active = &self.levels[0].table;
        Header {
            kind: FilterKind::Expandable,
            hasher: self.hasher.clone(),
            shape: *active.shape(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            used: active.used(),
            len: self.len,
            distinct: 0,
            body_bytes,
            body_sum: sum.finalize(),
            own: self.settings.to_own(self.tables().count()),
        }
    }

    /// Checks everything against the checksum and all invariants.
    fn check_body(&self, sum: u32) -> Result<(), ReadError> {
        let found = self.header().body_sum;
        if found != sum {
            return Err(ReadError::Checksum { part: "tables", expected: sum, found });
        }
        self.validate().map_err(ReadError::Inconsistent)
    }
}

/// A piece of what follows the header.
enum Part<'a> {
    Record([u8; RECORD_BYTES]),
    Table(&'a [u8]),
}

impl AsRef<[u8]> for Part<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Record(bytes) => bytes,
            Self::Table(bytes) => bytes,
        }
    }
}

impl ExpandableFilter {
    /// Reads a filter and checks it completely. Reads no byte behind its end.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// let filter: ExpandableFilter = (0..1_000u32).collect();
    /// let mut bytes = Vec::new();
    /// filter.write_to(&mut bytes)?;
    /// let mut copy = ExpandableFilter::read_from(bytes.as_slice())?;
    /// copy.extend(1_000..2_000u32);
    /// assert!((0..2_000u32).all(|number| copy.contains(&number)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_from(mut reader: impl Read) -> Result<Self, ReadError> {
        let header = read_header(&mut reader)?;
        let sum = header.body_sum;
        let mut before = Header::BYTES;
        let mut read = |len: usize| {
            let piece = read_body(&mut reader, before, len);
            before += len;
            piece
        };
        let directory = read(Plan::tables(&header)? * RECORD_BYTES)?;
        let plan = Plan::new(header, &directory)?;
        let sizes = plan.records.iter().map(Record::table_bytes).collect::<Result<Vec<_>, _>>()?;
        let filter = plan.filter(sizes.into_iter().map(read))?;
        filter.check_body(sum)?;
        Ok(filter)
    }

    /// Reads a filter from bytes that hold it and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::view(bytes)?.to_filter()
    }

    /// Reads a file written by [`save`](ExpandableFilter::save).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        persist::load(path.as_ref(), |reader| Self::read_from(reader))
    }

    /// A read-only filter over bytes in place, for example a mapped file. Takes no time, whatever the size:
    /// only the header and the directory are checked. The bytes need no alignment.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// let filter: ExpandableFilter = ["ant", "bee"].into_iter().collect();
    /// let bytes = filter.to_bytes();
    /// let view = ExpandableFilter::view(&bytes)?;
    /// view.verify()?;
    /// assert!(view.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(bytes: &[u8]) -> Result<ExpandableFilterView<'_>, ReadError> {
        let header = read_header(bytes)?;
        let body_sum = header.body_sum;
        let (expected, found) =
            ((Header::BYTES as u64).saturating_add(header.body_bytes), bytes.len() as u64);
        let length = || ReadError::Length { expected, found };
        if expected != found {
            return Err(length());
        }
        let body = &bytes[Header::BYTES..];
        let directory = Plan::tables(&header)? * RECORD_BYTES;
        let (directory, mut rest) = body.split_at_checked(directory).ok_or_else(length)?;
        let plan = Plan::new(header, directory)?;
        let sizes = plan.records.iter().map(Record::table_bytes).collect::<Result<Vec<_>, _>>()?;
        let filter = plan.filter(sizes.into_iter().map(|size| {
            let (table, behind) = rest.split_at_checked(size).ok_or_else(length)?;
            rest = behind;
            Ok(table)
        }))?;
        Ok(ExpandableFilterView { filter, body_sum })
    }
}

fn read_header(reader: impl Read) -> Result<Header, ReadError> {
    Header::from_bytes(&read_first(reader)?, FilterKind::Expandable)
}

/// A read-only [`ExpandableFilter`] over bytes that lie elsewhere. Made by [`ExpandableFilter::view`].
///
/// Until [`verify`](Self::verify) was called, the tables may be anything: queries end without a panic, but their
/// answers are worth as much as the bytes, and they may take as long as reading the tables.
pub struct ExpandableFilterView<'a> {
    filter: ExpandableFilter<&'a [u8]>,
    body_sum: u32,
}

impl ExpandableFilterView<'_> {
    /// Checks the tables against their checksum and all their invariants. Reads all of them.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.filter.check_body(self.body_sum)
    }

    /// A verified copy that can be changed.
    pub fn to_filter(&self) -> Result<ExpandableFilter, ReadError> {
        // The copy is what is checked: the bytes of the view may change, for example in a mapped file.
        let levels = self.filter.levels.iter().map(Level::try_clone).collect::<Result<_, _>>()?;
        let ExpandableFilter { hasher, settings, len, .. } = &self.filter;
        let filter = ExpandableFilter::from_levels(levels, hasher.clone(), *settings, *len);
        filter.check_body(self.body_sum)?;
        Ok(filter)
    }
}

impl<'a> Deref for ExpandableFilterView<'a> {
    type Target = ExpandableFilter<&'a [u8]>;
    fn deref(&self) -> &Self::Target {
        &self.filter
    }
}

impl std::fmt::Debug for ExpandableFilterView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.filter.fmt(f)
    }
}
