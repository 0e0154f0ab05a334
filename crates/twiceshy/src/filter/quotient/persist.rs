//! Quotient filters as bytes: written, read, and viewed in place.

use std::io::{self, Read, Write};
use std::ops::Deref;
use std::path::Path;

use super::QuotientFilter;
use crate::error::{ReadError, SaveError};
use crate::persist::{self, FilterKind, Header, Stored};
use crate::table::Table;

impl<B: AsRef<[u8]>> QuotientFilter<B> {
    /// Writes the filter in the format of `docs/format.md`, with its hash key: treat the bytes as a
    /// secret.
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

impl<B: AsRef<[u8]>> Stored<B> for QuotientFilter<B> {
    fn read_header(bytes: &[u8; Header::BYTES]) -> Result<Header, ReadError> {
        let header = Header::from_bytes(bytes, FilterKind::Quotient)?;
        let (quotient_bits, slot_bits) = (header.shape.quotient_bits(), header.shape.slot_bits());
        if quotient_bits + slot_bits > 64 {
            let (field, expected) = ("slot bits", format!("at most {}", 64 - quotient_bits));
            return Err(ReadError::Field { field, expected, found: slot_bits.into() });
        }
        header.expect_no_own()?;
        Ok(header)
    }

    fn header(&self) -> Header {
        Header {
            kind: FilterKind::Quotient,
            hasher: self.hasher.clone(),
            shape: *self.table.shape(),
            max_quotient_bits: self.max_quotient_bits,
            used: self.table.used(),
            len: self.len,
            distinct: self.distinct,
            body_bytes: self.table.bytes().len() as u64,
            body_sum: persist::checksum(self.table.bytes()),
            own: Default::default(),
        }
    }

    fn body(&self) -> &[u8] {
        self.table.bytes()
    }

    fn from_parts(header: Header, body: B) -> Result<Self, ReadError> {
        let (expected, found) = (header.body_bytes, body.as_ref().len() as u64);
        let table = Table::from_bytes(body, header.shape, header.used);
        Ok(Self {
            table: table.ok_or(ReadError::Length { expected, found })?,
            hasher: header.hasher,
            len: header.len,
            distinct: header.distinct,
            max_quotient_bits: header.max_quotient_bits,
        })
    }

    fn check(&self) -> Result<(), String> {
        self.validate()
    }
}

impl QuotientFilter {
    /// Reads a filter and checks it completely. Reads no byte behind its end.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// let mut filter = QuotientFilter::new(100, 0.01)?;
    /// filter.insert("ant")?;
    /// let mut bytes = Vec::new();
    /// filter.write_to(&mut bytes)?;
    /// let copy = QuotientFilter::read_from(bytes.as_slice())?;
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

    /// Reads a file written by [`save`](QuotientFilter::save).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        persist::load(path.as_ref(), |reader| Self::read_from(reader))
    }

    /// A read-only filter over bytes in place, for example a mapped file. Takes no time, whatever the
    /// size: only the header is checked. The bytes need no alignment.
    ///
    /// ```
    /// # use twiceshy::QuotientFilter;
    /// # let mut filter = QuotientFilter::new(100, 0.01)?;
    /// # filter.insert("ant")?;
    /// let bytes = filter.to_bytes();
    /// let view = QuotientFilter::view(&bytes)?;
    /// view.verify()?;
    /// assert!(view.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(bytes: &[u8]) -> Result<QuotientFilterView<'_>, ReadError> {
        let (filter, body_sum) = persist::view(bytes)?;
        Ok(QuotientFilterView { filter, body_sum })
    }
}

/// A read-only [`QuotientFilter`] over bytes that lie elsewhere. Made by [`QuotientFilter::view`].
///
/// Until [`verify`](Self::verify) was called, the table may be anything: queries end without a panic,
/// but their answers are worth as much as the bytes, and they may take as long as reading the table.
pub struct QuotientFilterView<'a> {
    filter: QuotientFilter<&'a [u8]>,
    body_sum: u32,
}

impl QuotientFilterView<'_> {
    /// Checks the table against its checksum and all its invariants. Reads all of it.
    pub fn verify(&self) -> Result<(), ReadError> {
        persist::check_body(&self.filter, self.body_sum)
    }

    /// A verified copy that can be changed.
    pub fn to_filter(&self) -> Result<QuotientFilter, ReadError> {
        // The copy is what is checked: the bytes of the view may change, for example in a mapped file.
        let filter = self.filter.with_table(self.filter.table.try_clone()?);
        persist::check_body(&filter, self.body_sum)?;
        Ok(filter)
    }
}

impl<'a> Deref for QuotientFilterView<'a> {
    type Target = QuotientFilter<&'a [u8]>;
    fn deref(&self) -> &Self::Target {
        &self.filter
    }
}

impl std::fmt::Debug for QuotientFilterView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.filter.fmt(f)
    }
}
