//! What a kind of filter has to say of itself, and what follows from it for all of them.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use super::body::{Body, InPlace, Source, Stream};
use super::header::{Described, First, Front, HEADER_BYTES, Header};
use super::{ReadError, SaveError, file};
use crate::mem::Memory;
use crate::table::{Layout, Table};

/// A kind of filter, with its bytes in a [`Bytes`](Self::Bytes). Writing, reading, files, views and `serde`
/// follow from it: see [`Stored`] and the macro `stored!`.
pub(crate) trait Kind: Sized {
    /// Where the bytes of its tables live.
    type Bytes: AsRef<[u8]>;
    /// The layout of their blocks.
    type Layout: Layout;

    /// Its number in a header, which is part of the format.
    const NUMBER: u8;
    /// Its name in one word.
    const NAME: &'static str;

    /// What the header says of the filter as a whole.
    fn header(&self) -> Header;

    /// The tables, at least one, in the order in which they are stored. The header describes the first.
    fn tables(&self) -> impl Iterator<Item = &Table<Self::Bytes, Self::Layout>>;

    /// What lies between the header and the tables: the description of all of them, if there may be several.
    fn directory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The filter of a header and of what follows it. What all kinds have in common was checked; this checks the
    /// rest of the header, and takes directory and tables. They may hold anything.
    fn read(header: Header, body: Body<impl Source<Bytes = Self::Bytes>>) -> Result<Self, ReadError>;

    /// Checks the entries and what the header says of them; says what is wrong. The tables themselves are valid.
    fn check(&self) -> Result<(), String>;
}

/// What can be written and read: a filter of one kind, or of any.
pub(crate) trait Stored: Sized {
    /// Where the bytes of its tables live.
    type Bytes: AsRef<[u8]>;

    /// The filter of a header and of what follows it. Only the header and the directory are checked.
    fn read(first: &First, source: impl Source<Bytes = Self::Bytes>) -> Result<Self, ReadError>;

    /// All its bytes.
    fn parts(&self) -> Parts<'_>;

    /// Checks every invariant; says what is wrong.
    fn validate(&self) -> Result<(), String>;
}

impl<F: Kind> Stored for F {
    type Bytes = F::Bytes;

    fn read(first: &First, source: impl Source<Bytes = F::Bytes>) -> Result<F, ReadError> {
        first.expect_kind(F::NUMBER)?;
        let (header, table) = first.header::<F::Layout>()?;
        Kind::read(header, Body::new(source, table, first))
    }

    fn parts(&self) -> Parts<'_> {
        let first = self.tables().next().expect("a filter has a table");
        let front = Front::Table(Described::of(first));
        Parts::new(
            F::NUMBER,
            &self.header(),
            front,
            self.directory(),
            self.tables().map(Table::bytes).collect(),
        )
    }

    fn validate(&self) -> Result<(), String> {
        for (number, table) in self.tables().enumerate() {
            table.validate().map_err(|invalid| match number {
                0 => invalid.to_string(),
                _ => format!("table {number}: {invalid}"),
            })?;
        }
        self.check()
    }
}

/// The bytes of a filter.
pub(crate) struct Parts<'a> {
    header: [u8; HEADER_BYTES],
    directory: Vec<u8>,
    tables: Vec<&'a [u8]>,
    /// The checksum of directory and tables.
    sum: u32,
}

impl<'a> Parts<'a> {
    /// The bytes of a filter of this kind that has these tables, or whatever it has in their place.
    pub(crate) fn new(
        kind: u8,
        header: &Header,
        front: Front,
        directory: Vec<u8>,
        tables: Vec<&'a [u8]>,
    ) -> Self {
        let (mut bytes, mut sum) = (0, crc32fast::Hasher::new());
        for part in [&directory[..]].iter().chain(&tables) {
            bytes += part.len() as u64;
            sum.update(part);
        }
        let sum = sum.finalize();
        Self { header: header.to_bytes(kind, front, (bytes, sum)), directory, tables, sum }
    }

    /// In order.
    fn all(&self) -> impl Iterator<Item = &[u8]> {
        [&self.header[..], &self.directory].into_iter().chain(self.tables.iter().copied())
    }
}

pub(crate) fn to_bytes<F: Stored>(filter: &F) -> Vec<u8> {
    filter.parts().all().collect::<Vec<_>>().concat()
}

pub(crate) fn write<F: Stored>(filter: &F, mut writer: impl Write) -> io::Result<()> {
    filter.parts().all().try_for_each(|part| writer.write_all(part))?;
    writer.flush()
}

pub(crate) fn save<F: Stored>(filter: &F, path: &Path) -> Result<(), SaveError> {
    file::save(path, |file| write(filter, file))
}

/// Reads a filter and checks it completely. Reads no byte after its end.
pub(crate) fn read<F: Stored<Bytes = Memory>>(mut reader: impl Read) -> Result<F, ReadError> {
    let first = First::read(&mut reader)?;
    checked(F::read(&first, Stream::new(reader))?, first.body_sum())
}

/// A copy of the filter in some bytes, checked completely. It is the copy that is checked: the bytes may change
/// meanwhile, for example in a mapped file.
pub(crate) fn from_bytes<F: Stored<Bytes = Memory>>(bytes: &[u8]) -> Result<F, ReadError> {
    let first = First::read(bytes)?;
    checked(F::read(&first, InPlace::<false, _>::new(bytes, Memory::copy_of))?, first.body_sum())
}

pub(crate) fn load<F: Stored<Bytes = Memory>>(path: &Path) -> Result<F, ReadError> {
    file::load(path, |reader: &mut BufReader<File>| read(reader))
}

/// A filter over bytes in place, and the checksum that its tables should have. Only the header and the directory are
/// checked.
pub(crate) fn view<'a, F: Stored<Bytes = &'a [u8]>>(bytes: &'a [u8]) -> Result<(F, u32), ReadError> {
    let first = First::read(bytes)?;
    Ok((F::read(&first, InPlace::<true, _>::new(bytes, Ok))?, first.body_sum()))
}

/// Checks directory and tables against their checksum, and all invariants.
pub(crate) fn validate<F: Stored>(filter: &F, expected: u32) -> Result<(), ReadError> {
    let found = filter.parts().sum;
    if found != expected {
        return Err(ReadError::Checksum { part: "table", expected, found });
    }
    filter.validate().map_err(ReadError::Inconsistent)
}

fn checked<F: Stored>(filter: F, sum: u32) -> Result<F, ReadError> {
    validate(&filter, sum)?;
    Ok(filter)
}
