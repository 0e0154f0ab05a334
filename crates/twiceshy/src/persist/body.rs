//! Reading a table of unknown honesty.

use std::io::Read;

use super::ReadError;
use crate::mem::{Memory, OutOfMemory};

/// Memory that is set aside before the first byte has arrived.
const FIRST_PIECE: usize = 1 << 20;

/// Reads exactly `len` bytes, which follow `before` others. Memory grows with what arrives, so that a
/// header which claims a huge table costs nothing.
pub(crate) fn read_body(mut reader: impl Read, before: usize, len: usize) -> Result<Memory, ReadError> {
    let mut bytes = Vec::new();
    while bytes.len() < len {
        let piece = (len - bytes.len()).min(bytes.len().max(FIRST_PIECE));
        bytes.try_reserve_exact(piece).map_err(|error| OutOfMemory::new(bytes.len() + piece, error))?;
        let read = reader.by_ref().take(piece as u64).read_to_end(&mut bytes)?;
        if read < piece {
            let (expected, found) = (before as u64 + len as u64, (before + bytes.len()) as u64);
            return Err(ReadError::Length { expected, found });
        }
    }
    Ok(Memory::from_vec(bytes)?)
}
