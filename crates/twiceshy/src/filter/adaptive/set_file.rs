//! A set in memory as a file: the bytes of its filter, and all rows of its map after them.
//!
//! | byte after the filter | size | |
//! |---|---|---|
//! | 0 | 8 | the letters `twsyrows` |
//! | 8 | 8 | how many rows there are |
//! | 16 | 8 | how many bytes they have |
//! | 24 | 4 | their checksum |
//! | 28 | 4 | the checksum of the 28 bytes before |
//! | 32 | | the rows, in the order of their hashes and, where these are equal, of the keys |
//!
//! A row is the length of the key, the key, the length of its value, the value. A length has seven bits in each byte, the
//! lowest first, and in the highest bit of a byte whether another follows. The value has what a row's value has: nothing, or
//! the tag and what the user stored with the key. In a list it says which list the key is on.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use super::{AdaptiveSet, Filter, Set};
use crate::error::{ReadError, SetError};
use crate::filter::protocol::Keys;
use crate::mem::Memory;
use crate::persist::{self, Stored, check_sum, checksum, expect};
use crate::reverse_map::{MemoryMap, ReverseMap, Row};

const MAGIC: [u8; 8] = *b"twsyrows";
const HEAD_BYTES: usize = 32;

/// Gives a set in memory its methods for bytes and files: lines of an example that make a `set`, one that inserts, and a query
/// that it answers with `Ok(true)`.
macro_rules! stored_set {
    (
        $set:ident$(<$key:ident: $bound:ident>)?,
        $make:literal, $insert:literal => $named:literal, $query:literal
    ) => {
        impl$(<$key: $bound + ?Sized>)? $set<$($key,)? $crate::reverse_map::MemoryMap> {
            /// Writes filter and keys, in the format of `docs/format.md`, with the hash key: treat the bytes as a secret.
            pub fn write_to(&self, writer: impl std::io::Write) -> std::io::Result<()> {
                $crate::filter::adaptive::set_file::write(self, writer)
            }

            /// Saves filter and keys to a file that only its owner can read. The file is complete or the old one of the same
            /// name is untouched, whatever happens on the way.
            ///
            /// ```
            /// # use twiceshy::*;
            /// # use twiceshy::reverse_map::MemoryMap;
            /// # let folder = tempfile::tempdir()?;
            /// # let path = folder.path().join("seen.set");
            #[doc = concat!("let mut set = match ", $named, "::load(&path) {")]
            #[doc = concat!("    Err(error) if error.is_not_found() => ", $make, ",")]
            ///     loaded => loaded?,
            /// };
            #[doc = $insert]
            /// set.save(&path)?;
            #[doc = concat!("assert!(", $named, "::load(&path)?.", $query, "?);")]
            /// # Ok::<(), Box<dyn std::error::Error>>(())
            /// ```
            pub fn save(
                &self,
                path: impl AsRef<std::path::Path>,
            ) -> Result<(), $crate::error::SaveError> {
                $crate::persist::file::save(path.as_ref(), |file| self.write_to(file))
            }

            /// Reads a set and checks it completely. Reads no byte after its end.
            pub fn read_from(reader: impl std::io::Read) -> Result<Self, $crate::error::ReadError> {
                $crate::filter::adaptive::set_file::read(reader)
            }

            /// Reads a file written by [`save`](Self::save).
            pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, $crate::error::ReadError> {
                $crate::persist::file::load(path.as_ref(), |reader| Self::read_from(reader))
            }
        }
    };
}

pub(crate) use stored_set;

stored_set! {
    AdaptiveSet,
    "AdaptiveSet::builder().build_set(MemoryMap::new())?",
    r#"set.insert("moth")?;"# => "AdaptiveSet", r#"contains_exactly("moth")"#
}

/// Writes the filter, and all rows after it.
pub(crate) fn write<R: Keys>(set: &Set<R, MemoryMap>, writer: impl Write) -> io::Result<()>
where
    Filter<R>: Stored,
{
    let mut writer = BufWriter::new(writer);
    persist::write(set.filter(), &mut writer)?;
    let (mut sum, mut bytes, mut row) = (crc32fast::Hasher::new(), 0, Vec::new());
    for each in set.map().iter() {
        encode(each, &mut row);
        sum.update(&row);
        bytes += row.len() as u64;
    }
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend(MAGIC);
    head.extend((set.map().len() as u64).to_le_bytes());
    head.extend(bytes.to_le_bytes());
    head.extend(sum.finalize().to_le_bytes());
    head.extend(checksum(&head).to_le_bytes());
    writer.write_all(&head)?;
    for each in set.map().iter() {
        encode(each, &mut row);
        writer.write_all(&row)?;
    }
    writer.flush()
}

/// Reads a filter, and the rows after it.
pub(crate) fn read<R: Keys>(mut reader: impl Read) -> Result<Set<R, MemoryMap>, ReadError>
where
    Filter<R>: Stored<Bytes = Memory>,
{
    let filter: Filter<R> = persist::read(&mut reader)?;
    let Head { count, bytes, sum: expected } = Head::read(&mut reader)?;
    // Of a list there are rows of both lists, which is checked below.
    expect("rows", count == filter.len() || R::BARS, filter.len(), count)?;

    let mut rows = Summed { reader: reader.take(bytes), sum: crc32fast::Hasher::new(), came: 0 };
    let mut map = MemoryMap::new();
    let mut last: Option<(u64, Vec<u8>)> = None;
    for _ in 0..count {
        let (key, value) = (rows.field(bytes)?, rows.field(bytes)?);
        let no_key = || ReadError::Inconsistent(format!("a row has {} bytes that are no key", key.len()));
        let hash = filter.reader.row_hash(&key).ok_or_else(no_key)?;
        let Ok(_) = map.insert(hash, &key, &value);
        let this = (hash, key);
        if last.as_ref().is_some_and(|last| *last >= this) {
            return Err(ReadError::Inconsistent("the rows are not in order".into()));
        }
        last = Some(this);
    }
    expect("bytes of the rows", rows.came == bytes, rows.came, bytes)?;
    let found = rows.sum.finalize();
    if found != expected {
        return Err(ReadError::Checksum { part: "rows", expected, found });
    }
    let set = Set::from_parts(filter, map);
    match set.validate() {
        Ok(()) => Ok(set),
        Err(SetError::Inconsistent(what)) => Err(ReadError::Inconsistent(what)),
        Err(error) => Err(ReadError::Inconsistent(error.to_string())),
    }
}

/// Reads the filter only. The rows after it are there, but not looked at.
pub(crate) fn read_filter<R: Keys>(file: &mut BufReader<File>) -> Result<Filter<R>, ReadError>
where
    Filter<R>: Stored<Bytes = Memory>,
{
    let filter = persist::read(&mut *file)?;
    let rows = Head::read(&mut *file)?.bytes;
    let expected = file.stream_position()?.saturating_add(rows);
    let found = file.get_ref().metadata()?.len();
    if found < expected {
        return Err(ReadError::Length { expected, found });
    }
    file.seek(io::SeekFrom::Start(expected))?;
    Ok(filter)
}

/// What comes before the rows.
struct Head {
    count: u64,
    bytes: u64,
    sum: u32,
}

impl Head {
    fn read(reader: &mut impl Read) -> Result<Self, ReadError> {
        let head = piece(reader, HEAD_BYTES as u64, (0, HEAD_BYTES as u64))?;
        if head[..8] != MAGIC {
            let found = head[..8].try_into().expect("eight bytes");
            return Err(ReadError::NotAFilter { expected: MAGIC, found });
        }
        let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let sum = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        check_sum("head of the rows", &head[..28], sum(28))?;
        Ok(Self { count: word(8), bytes: word(16), sum: sum(24) })
    }
}

/// The bytes of a row.
fn encode(row: Row<'_>, bytes: &mut Vec<u8>) {
    bytes.clear();
    for field in [row.key, row.value] {
        let mut rest = field.len();
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        bytes.extend_from_slice(field);
    }
}

/// Rows that are being read, and the checksum of what has come.
struct Summed<R> {
    reader: io::Take<R>,
    sum: crc32fast::Hasher,
    came: u64,
}

impl<R: Read> Summed<R> {
    /// The next field of rows that have so many bytes.
    fn field(&mut self, total: u64) -> Result<Vec<u8>, ReadError> {
        let mut len = 0u64;
        for shift in (0..63).step_by(7) {
            let byte = self.take(1, total)?[0];
            len |= u64::from(byte & 0x7f) << shift;
            match byte {
                0 if shift > 0 => break,
                0x80.. => {}
                _ => return self.take(len, total),
            }
        }
        Err(ReadError::Inconsistent("a length in more bytes than it needs".into()))
    }

    fn take(&mut self, len: u64, total: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = piece(&mut self.reader, len, (self.came, total))?;
        self.came += len;
        self.sum.update(&bytes);
        Ok(bytes)
    }
}

/// The next `len` bytes, of a total and after those that have come. Memory grows with what arrives.
fn piece(reader: &mut impl Read, len: u64, (came, total): (u64, u64)) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    let more = reader.take(len).read_to_end(&mut bytes)? as u64;
    if more < len { Err(ReadError::Length { expected: total, found: came + more }) } else { Ok(bytes) }
}
