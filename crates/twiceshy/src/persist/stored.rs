//! A header and a table as one string of bytes: what reading and writing is the same for all filters.

use std::io::{self, Read, Write};

use super::{Header, ReadError, check_sum, read_body, read_first};
use crate::mem::Memory;

/// A filter whose bytes live in a `B`, as it is stored.
pub(crate) trait Stored<B>: Sized {
    /// Reads a header of this kind of filter.
    fn read_header(bytes: &[u8; Header::BYTES]) -> Result<Header, ReadError>;
    /// The header of the filter.
    fn header(&self) -> Header;
    /// The bytes of its table.
    fn body(&self) -> &[u8];
    /// The filter that a header describes, over bytes as long as it says.
    fn from_parts(header: Header, body: B) -> Result<Self, ReadError>;
    /// Checks every invariant; says what is wrong.
    fn check(&self) -> Result<(), String>;
}

/// Writes a filter.
pub(crate) fn write<B, F: Stored<B>>(filter: &F, mut writer: impl Write) -> io::Result<()> {
    writer.write_all(&filter.header().to_bytes())?;
    writer.write_all(filter.body())?;
    writer.flush()
}

/// Reads a filter and checks it completely. Reads no byte behind its end.
pub(crate) fn read<F: Stored<Memory>>(mut reader: impl Read) -> Result<F, ReadError> {
    let header = F::read_header(&read_first(&mut reader)?)?;
    let (len, sum) = (header.body_bytes as usize, header.body_sum);
    let filter = F::from_parts(header, read_body(reader, Header::BYTES, len)?)?;
    check_body(&filter, sum)?;
    Ok(filter)
}

/// A filter over bytes that hold it and nothing else, and the checksum that its table should have. Only the
/// header is checked.
pub(crate) fn view<'a, F: Stored<&'a [u8]>>(bytes: &'a [u8]) -> Result<(F, u32), ReadError> {
    let header = F::read_header(&read_first(bytes)?)?;
    let body_sum = header.body_sum;
    let (expected, found) = (Header::BYTES as u64 + header.body_bytes, bytes.len() as u64);
    if expected != found {
        return Err(ReadError::Length { expected, found });
    }
    Ok((F::from_parts(header, &bytes[Header::BYTES..])?, body_sum))
}

/// Checks the table against its checksum and all its invariants.
pub(crate) fn check_body<B, F: Stored<B>>(filter: &F, sum: u32) -> Result<(), ReadError> {
    check_sum("table", filter.body(), sum)?;
    filter.check().map_err(ReadError::Inconsistent)
}
