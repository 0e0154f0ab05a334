//! The filter as a file, with the place in the journal up to which it knows everything.
//!
//! | byte | size | |
//! |---|---|---|
//! | 0 | 8 | `twiceshS` |
//! | 8 | 4 | version of this layout, 2 |
//! | 12 | 4 | CRC-32 of bytes 16 to 63 and of bytes 0 to 11 |
//! | 16 | 16 | the store that it belongs to |
//! | 32 | 16 | the [history](super::journal::History) of the last batch that the filter knows |
//! | 48 | 8 | number of that batch |
//! | 56 | 8 | keys in the store after it |
//! | 64 | | the filter, in its own format with its own checksums |
//!
//! All numbers are little-endian. A snapshot is written when everything that it knows is safe in the engine, so an
//! engine that lost the end of its writes in a power cut never meets a filter that is ahead of it.
//!
//! It is taken only if the engine has, or had when its journal was cleared, the very batch that it names, and all that came
//! after it is in the journal. A snapshot that is ahead of the rows (they come from a backup), or comes from a copy of the
//! store that has gone its own way, is not taken: it may have forgotten keys that are there. But the lengths of its
//! fingerprints say what was learned.

use std::io::{self, Read};

use twiceshy::error::ReadError;

use super::journal::{History, Mark};
use super::{Kept, StoreId};
use crate::files::{self, Files};

/// The name of the file.
pub(super) const NAME: &str = "filter.snapshot";
/// What a snapshot of a newer version is renamed to.
const SET_ASIDE: &str = "filter.snapshot.of-newer-version";

const MAGIC: &[u8; 8] = b"twiceshS";
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 64;
const SUM_AT: usize = 12;
const ID_AT: usize = 16;
const HISTORY_AT: usize = 32;
const NUMBER_AT: usize = 48;
const KEYS_AT: usize = 56;

/// Why there is no filter from a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unusable {
    Missing,
    Newer { set_aside: String },
    OtherStore,
    Damaged(String),
}

/// Writes a snapshot in place of the last one.
pub(super) fn write(files: &dyn Files, id: &StoreId, mark: Mark, filter: &impl Kept) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..SUM_AT].copy_from_slice(&VERSION.to_le_bytes());
    header[ID_AT..HISTORY_AT].copy_from_slice(id);
    header[HISTORY_AT..NUMBER_AT].copy_from_slice(&mark.history);
    header[NUMBER_AT..KEYS_AT].copy_from_slice(&mark.number.to_le_bytes());
    header[KEYS_AT..].copy_from_slice(&mark.keys.to_le_bytes());
    let sum = sum(&header);
    header[SUM_AT..ID_AT].copy_from_slice(&sum.to_le_bytes());
    files::replace(files, NAME, |file| {
        file.write_all(&header)?;
        filter.write_to(file)
    })
}

fn sum(header: &[u8; HEADER_BYTES]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[ID_AT..]);
    hasher.update(&header[..SUM_AT]);
    hasher.finalize()
}

/// Reads the snapshot of a store. The outer error is one of the folder: whether there is a snapshot is not known.
pub(super) fn read<F: Kept>(files: &dyn Files, id: &StoreId) -> io::Result<Result<(F, Mark), Unusable>> {
    let Some(mut file) = files.open(NAME)? else { return Ok(Err(Unusable::Missing)) };
    let found = read_file(&mut *file, id);
    drop(file);
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Problem::Io(error)) => Err(error),
        Err(Problem::Newer) => {
            let set_aside = free_name(files)?;
            files.rename(NAME, &set_aside)?;
            files.sync_folder()?;
            Ok(Err(Unusable::Newer { set_aside }))
        }
        Err(Problem::Unusable(why)) => Ok(Err(why)),
    }
}

/// A name for a snapshot that is set aside: earlier ones stay, too.
fn free_name(files: &dyn Files) -> io::Result<String> {
    let names = files.names()?;
    let mut candidates = (1..).map(|number| match number {
        1 => SET_ASIDE.to_owned(),
        number => format!("{SET_ASIDE}-{number}"),
    });
    Ok(candidates.find(|name| !names.contains(name)).unwrap_or_default())
}

enum Problem {
    Io(io::Error),
    Newer,
    Unusable(Unusable),
}

fn damaged(what: impl Into<String>) -> Problem {
    Problem::Unusable(Unusable::Damaged(what.into()))
}

/// A file that may not be read is a mistake that someone can mend; one that cannot be read is lost.
fn unreadable(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::PermissionDenied => Problem::Io(error),
        _ => damaged(error.to_string()),
    }
}

fn read_file<F: Kept>(file: &mut dyn Read, id: &StoreId) -> Result<(F, Mark), Problem> {
    let mut header = [0; HEADER_BYTES];
    if let Err(error) = file.read_exact(&mut header) {
        return Err(match error.kind() {
            io::ErrorKind::UnexpectedEof => damaged("it is cut off"),
            _ => unreadable(error),
        });
    }
    if &header[..8] != MAGIC {
        return Err(damaged("it does not begin like a snapshot"));
    }
    match number(&header, 8) as u32 {
        VERSION => (),
        older @ ..VERSION => return Err(damaged(format!("it has version {older}, which is too old"))),
        _ => return Err(Problem::Newer),
    }
    if number(&header, SUM_AT) as u32 != sum(&header) {
        return Err(damaged("the checksum of its header is wrong"));
    }
    if header[ID_AT..HISTORY_AT] != *id {
        return Err(Problem::Unusable(Unusable::OtherStore));
    }
    let filter = F::read_from(file).map_err(|error| match error {
        ReadError::Io(error) => unreadable(error),
        ReadError::NewerVersion { .. } => Problem::Newer,
        error => damaged(error.to_string()),
    })?;
    if file.read(&mut [0]).map_err(unreadable)? != 0 {
        return Err(damaged("something follows the filter"));
    }
    let mut history = History::default();
    history.copy_from_slice(&header[HISTORY_AT..NUMBER_AT]);
    Ok((filter, Mark { number: number(&header, NUMBER_AT), history, keys: number(&header, KEYS_AT) }))
}

/// A number of up to eight bytes; those that a number of four does not have are cut off by the caller.
fn number(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
