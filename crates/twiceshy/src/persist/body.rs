//! What follows a header, from a stream or from bytes in place, of unknown honesty.

use std::io::Read;

use super::header::{Described, First, HEADER_BYTES};
use super::{ReadError, expect};
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Layout, Table};

/// Memory that is set aside before the first byte has arrived.
const FIRST_PIECE: usize = 1 << 20;

/// Where the bytes after a header come from.
pub(crate) trait Source {
    /// What a piece of them is.
    type Bytes: AsRef<[u8]>;

    /// Whether the filter stays where its bytes are, and is not checked as a whole.
    const IS_VIEW: bool;

    /// `Err` if it is known that a filter of `total` bytes is not all there is.
    fn expect_total(&self, total: u64) -> Result<(), ReadError>;

    /// The next `len` bytes of a filter of `total` bytes.
    fn take(&mut self, len: usize, total: u64) -> Result<Self::Bytes, ReadError>;
}

/// A stream, of which nothing is known beforehand and something else may follow.
pub(super) struct Stream<R> {
    reader: R,
    /// Bytes that have come, with the header.
    came: u64,
}

impl<R> Stream<R> {
    /// What follows a header.
    pub(super) fn new(reader: R) -> Self {
        Self { reader, came: HEADER_BYTES as u64 }
    }
}

impl<R: Read> Source for Stream<R> {
    type Bytes = Memory;
    const IS_VIEW: bool = false;

    fn expect_total(&self, _: u64) -> Result<(), ReadError> {
        Ok(())
    }

    /// Memory grows with what arrives, so that a header which claims a huge table costs nothing.
    fn take(&mut self, len: usize, total: u64) -> Result<Memory, ReadError> {
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let piece = (len - bytes.len()).min(bytes.len().max(FIRST_PIECE));
            bytes.try_reserve_exact(piece).map_err(|error| OutOfMemory::new(bytes.len() + piece, error))?;
            let read = self.reader.by_ref().take(piece as u64).read_to_end(&mut bytes)?;
            self.came += read as u64;
            if read < piece {
                return Err(ReadError::Length { expected: total, found: self.came });
            }
        }
        Ok(Memory::from_vec(bytes)?)
    }
}

/// The bytes of a filter and nothing else.
pub(super) struct InPlace<'a, const IS_VIEW: bool, F> {
    bytes: &'a [u8],
    /// What has not been taken yet.
    rest: &'a [u8],
    /// Makes of a piece what is wanted: the piece itself, or a copy.
    make: F,
}

impl<'a, const IS_VIEW: bool, F> InPlace<'a, IS_VIEW, F> {
    /// What follows a header.
    pub(super) fn new(bytes: &'a [u8], make: F) -> Self {
        Self { bytes, rest: bytes.get(HEADER_BYTES..).unwrap_or_default(), make }
    }
}

impl<'a, const IS_VIEW: bool, B, F> Source for InPlace<'a, IS_VIEW, F>
where
    B: AsRef<[u8]>,
    F: Fn(&'a [u8]) -> Result<B, OutOfMemory>,
{
    type Bytes = B;
    const IS_VIEW: bool = IS_VIEW;

    fn expect_total(&self, total: u64) -> Result<(), ReadError> {
        let found = self.bytes.len() as u64;
        if total == found { Ok(()) } else { Err(ReadError::Length { expected: total, found }) }
    }

    fn take(&mut self, len: usize, total: u64) -> Result<B, ReadError> {
        let short = ReadError::Length { expected: total, found: self.bytes.len() as u64 };
        let (piece, rest) = self.rest.split_at_checked(len).ok_or(short)?;
        self.rest = rest;
        Ok((self.make)(piece)?)
    }
}

/// What follows a header of a kind without a table: one piece after the other.
pub(crate) struct Pieces<S> {
    source: S,
    /// Bytes that were not taken yet, as the header says.
    left: u64,
    /// Bytes of the whole file.
    total: u64,
}

impl<S: Source> Pieces<S> {
    /// What follows this header.
    pub(crate) fn new(source: S, header: &First) -> Self {
        let left = header.body_bytes();
        Self { source, left, total: left.saturating_add(HEADER_BYTES as u64) }
    }

    /// The next `len` bytes, of which there is no more than the header says.
    pub(crate) fn take(&mut self, len: usize) -> Result<S::Bytes, ReadError> {
        let left = self.left.checked_sub(len as u64);
        self.left = left.ok_or_else(|| ReadError::Field {
            field: "table bytes",
            expected: format!("at least {len}, as the directory says"),
            found: self.left,
        })?;
        self.source.take(len, self.total)
    }

    /// `Err` unless so many bytes are left.
    pub(crate) fn expect_left(&self, expected: u64) -> Result<(), ReadError> {
        expect("table bytes", self.left == expected, expected, self.left)?;
        self.source.expect_total(self.total)
    }
}

/// What follows a header: a directory, if the kind has one, and the tables.
pub(crate) struct Body<S> {
    source: S,
    /// The first table.
    first: Described,
    /// Bytes, as the header says.
    bytes: u64,
    /// Bytes of the directory.
    directory: u64,
}

impl<S: Source> Body<S> {
    pub(super) fn new(source: S, first: Described, header: &First) -> Self {
        Self { source, first, bytes: header.body_bytes(), directory: 0 }
    }

    /// The first table, as the header describes it.
    pub(crate) fn first(&self) -> Described {
        self.first
    }

    /// So many bytes in front of the tables.
    pub(crate) fn directory(&mut self, len: usize) -> Result<S::Bytes, ReadError> {
        self.directory += len as u64;
        self.source.take(len, self.total())
    }

    /// The one table of the header.
    pub(crate) fn table<L: Layout>(self) -> Result<Table<S::Bytes, L>, ReadError> {
        let first = self.first;
        Ok(self.tables(&[first])?.swap_remove(0))
    }

    /// The tables: these and nothing else.
    pub(crate) fn tables<L: Layout>(
        mut self,
        tables: &[Described],
    ) -> Result<Vec<Table<S::Bytes, L>>, ReadError> {
        let sizes: Option<Vec<_>> = tables.iter().map(|table| table.shape.body_bytes()).collect();
        let sizes = sizes.ok_or_else(|| ReadError::Field {
            field: "table bytes",
            expected: "no more than can be addressed".into(),
            found: self.bytes,
        })?;
        let sum = sizes.iter().fold(self.directory, |sum, &size| sum.saturating_add(size as u64));
        expect("table bytes", sum == self.bytes, sum, self.bytes)?;
        let total = self.total();
        self.source.expect_total(total)?;
        let bodies = tables.iter().zip(sizes).map(|(table, size)| {
            let body = self.source.take(size, total)?;
            let short = ReadError::Length { expected: size as u64, found: body.as_ref().len() as u64 };
            let table = Table::from_bytes(body, table.shape, table.used).ok_or(short)?;
            Ok(table.viewed(S::IS_VIEW))
        });
        bodies.collect()
    }

    /// Bytes of the whole filter.
    fn total(&self) -> u64 {
        self.bytes.saturating_add(HEADER_BYTES as u64)
    }
}
