//! Adaptive filters as bytes: written, read, and viewed in place. What was learned is in the table.

use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

use super::stats::Counters;
use super::ticket::Versions;
use super::{AdaptiveFilter, Growth};
use crate::codec::string::Table;
use crate::error::{ReadError, SaveError};
use crate::persist::{self, FilterKind, Header, Stored, expect};
use crate::table::Shape;

// The bytes of the header that only this kind has; docs/format.md draws them.
const REMAINDER_BITS_AT: usize = 0;
const STOP_AT: usize = 1;
const GROWTH_AT: usize = 2;
const MAX_BYTES_AT: usize = 8;

/// The numbers of the kinds of growth.
const REFUSE: u8 = 0;
const GROW: u8 = 1;
const GROW_TO_MAX_BYTES: u8 = 2;

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// Writes the filter in the format of `docs/format.md`, with its hash key: treat the bytes as a
    /// secret. Statistics are not written.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        persist::write(self, writer)
    }

    /// The bytes that [`write_to`](Self::write_to) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.header().to_bytes(), self.table.bytes()].concat()
    }

    /// Saves the filter to a file that only its owner can read. The file is complete or the old one of
    /// the same name is untouched, whatever happens on the way.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        persist::save(path.as_ref(), |file| self.write_to(file))
    }
}

impl<B: AsRef<[u8]>> Stored<B> for AdaptiveFilter<B> {
    fn read_header(bytes: &[u8; Header::BYTES]) -> Result<Header, ReadError> {
        let header = Header::from_bytes(bytes, FilterKind::Adaptive)?;
        let own = &header.own;
        // How far the filter grows is said by its own bytes.
        let (most, found) = (Shape::MAX_QUOTIENT_BITS, header.max_quotient_bits);
        expect("largest quotient bits", found == most, most, found)?;
        expect(
            "remainder bits",
            (1..=60).contains(&own[REMAINDER_BITS_AT]),
            "1..=60",
            own[REMAINDER_BITS_AT],
        )?;
        expect("stop bits", own[STOP_AT] <= 1, "0 or 1", own[STOP_AT])?;
        expect("growth", own[GROWTH_AT] <= GROW_TO_MAX_BYTES, "0, 1 or 2", own[GROWTH_AT])?;
        let limited = own[GROWTH_AT] == GROW_TO_MAX_BYTES;
        let zeros = if limited { &own[GROWTH_AT + 1..MAX_BYTES_AT] } else { &own[GROWTH_AT + 1..] };
        expect("reserved bytes", zeros.iter().all(|&byte| byte == 0), 0, 1u64)?;
        let bits = header.shape.slot_bits() - u32::from(own[STOP_AT]);
        let enough = bits >= u32::from(own[REMAINDER_BITS_AT]);
        expect("slot bits", enough, "room for the remainder", header.shape.slot_bits())?;
        Ok(header)
    }

    fn header(&self) -> Header {
        let mut own = [0; 16];
        own[REMAINDER_BITS_AT] = self.remainder_bits as u8;
        own[STOP_AT] = u8::from(self.has_stop);
        own[GROWTH_AT] = match self.growth {
            Growth::Refuse => REFUSE,
            Growth::Grow { max_bytes: None } => GROW,
            Growth::Grow { max_bytes: Some(bytes) } => {
                own[MAX_BYTES_AT..].copy_from_slice(&bytes.to_le_bytes());
                GROW_TO_MAX_BYTES
            }
        };
        Header {
            kind: FilterKind::Adaptive,
            hasher: self.hasher.clone(),
            shape: *self.table.shape(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            used: self.table.used(),
            len: self.len,
            distinct: self.entries,
            body_bytes: self.table.bytes().len() as u64,
            body_sum: persist::checksum(self.table.bytes()),
            own,
        }
    }

    fn body(&self) -> &[u8] {
        self.table.bytes()
    }

    fn from_parts(header: Header, body: B) -> Result<Self, ReadError> {
        let (expected, found) = (header.body_bytes, body.as_ref().len() as u64);
        let table = Table::from_bytes(body, header.shape, header.used);
        let own = &header.own;
        let max_bytes = own.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Ok(Self {
            table: table.ok_or(ReadError::Length { expected, found })?,
            has_stop: own[STOP_AT] == 1,
            hasher: header.hasher,
            len: header.len,
            entries: header.distinct,
            remainder_bits: own[REMAINDER_BITS_AT].into(),
            growth: match own[GROWTH_AT] {
                REFUSE => Growth::Refuse,
                GROW => Growth::Grow { max_bytes: None },
                _ => Growth::Grow { max_bytes: Some(max_bytes) },
            },
            versions: Versions::new(),
            counters: Counters::default(),
        })
    }

    fn check(&self) -> Result<(), String> {
        self.validate()
    }
}

impl AdaptiveFilter {
    /// Reads a filter and checks it completely. Reads no byte behind its end.
    ///
    /// ```
    /// # use twiceshy::AdaptiveFilter;
    /// let mut filter = AdaptiveFilter::new(0.01)?;
    /// let _ = filter.insert("ant")?;
    /// let copy = AdaptiveFilter::read_from(filter.to_bytes().as_slice())?;
    /// assert!(copy.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_from(reader: impl Read) -> Result<Self, ReadError> {
        persist::read(reader)
    }

    /// Reads a filter from bytes that hold it and nothing else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::view(bytes)?.to_filter()
    }

    /// Reads a file written by [`save`](AdaptiveFilter::save).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        persist::load(path.as_ref(), |reader| Self::read_from(reader))
    }

    /// A read-only filter over bytes in place, for example a mapped file. Takes no time, whatever the
    /// size: only the header is checked. The bytes need no alignment.
    pub fn view(bytes: &[u8]) -> Result<AdaptiveFilterView<'_>, ReadError> {
        let (filter, body_sum) = persist::view(bytes)?;
        Ok(AdaptiveFilterView { filter, body_sum })
    }
}

/// A read-only [`AdaptiveFilter`] over bytes that lie elsewhere. Made by [`AdaptiveFilter::view`].
///
/// Until [`verify`](Self::verify) was called, the table may be anything: queries end without a panic,
/// but their answers are worth as much as the bytes, and they may take as long as reading the table.
pub struct AdaptiveFilterView<'a> {
    filter: AdaptiveFilter<&'a [u8]>,
    body_sum: u32,
}

impl AdaptiveFilterView<'_> {
    /// Checks the table against its checksum and all its invariants. Reads all of it.
    pub fn verify(&self) -> Result<(), ReadError> {
        persist::check_body(&self.filter, self.body_sum)
    }

    /// A verified copy that can be changed.
    pub fn to_filter(&self) -> Result<AdaptiveFilter, ReadError> {
        // The copy is what is checked: the bytes of the view may change, for example in a mapped file.
        let filter = self.filter.with_table(self.filter.table.try_clone()?);
        persist::check_body(&filter, self.body_sum)?;
        Ok(filter)
    }
}

impl<'a> Deref for AdaptiveFilterView<'a> {
    type Target = AdaptiveFilter<&'a [u8]>;
    fn deref(&self) -> &Self::Target {
        &self.filter
    }
}

impl std::fmt::Debug for AdaptiveFilterView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.filter.fmt(f)
    }
}
