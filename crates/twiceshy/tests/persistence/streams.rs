//! Readers and writers that behave badly.

use super::quotient::filled;
use super::*;

for_every_kind! {
    a_header_that_claims_a_huge_table_costs_nothing
    a_reader_may_be_slow
    an_error_of_the_reader_comes_out
    filters_follow_each_other_in_a_stream
    an_error_of_the_writer_comes_out
}

/// Counts what it is asked for and what it gives.
struct Counting<R> {
    inner: R,
    given: usize,
    largest: usize,
}

impl<R> Counting<R> {
    fn new(inner: R) -> Self {
        Self { inner, given: 0, largest: 0 }
    }
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest = self.largest.max(buffer.len());
        let read = self.inner.read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

fn a_header_that_claims_a_huge_table_costs_nothing<S: Subject>() {
    for (quotient_bits, slot_bits) in [(48, 1), (48, 9), (48, 16), (40, 24), (33, 8)] {
        let (bytes, table) = claiming::<S>(quotient_bits, slot_bits, 256);
        let table = table.unwrap();
        let mut reader = Counting::new(bytes.as_slice());
        let started = std::time::Instant::now();
        let error = S::read_from(&mut reader).err().unwrap();
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
        let ReadError::Length { expected, found } = error else { panic!("{error}") };
        assert!(expected >= table && found <= bytes.len() as u64, "{error}");
        assert_eq!(reader.given, bytes.len());
        assert!(reader.largest <= 4 << 20, "asked for {} bytes at once", reader.largest);
        assert!(matches!(refused::<S>(&bytes), ReadError::Length { .. }));
    }
    // A table that cannot be addressed.
    let (bytes, table) = claiming::<S>(48, *S::SLOT_BITS.end(), u32::MAX);
    let bytes = if table.is_some() { with_field(bytes, BODY_BYTES, &long(u64::MAX)) } else { bytes };
    let error = refused::<S>(&bytes);
    assert!(matches!(error, ReadError::Field { field: "table bytes", found: u64::MAX, .. }), "{error}");
}

/// A file of one empty table that claims to be of this size, with the beginning of the table, and how many bytes such a
/// table has.
fn claiming<S: Subject>(quotient_bits: u8, slot_bits: u8, spill: u32) -> (Vec<u8>, Option<u64>) {
    let mut bytes = S::files().pop().unwrap();
    let tables_at = tables_at::<S>(&bytes);
    let slot_bits = slot_bits.max(*S::SLOT_BITS.start());
    let block = S::BLOCK_WORDS as u64 + 8 * u64::from(slot_bits);
    let table = ((1u64 << quotient_bits) + u64::from(spill)).div_ceil(64).checked_mul(block);
    let table = table.map(|bytes| bytes + 16);
    put(&mut bytes, QUOTIENT_BITS, &[quotient_bits, slot_bits]);
    put(&mut bytes, SPILL, &spill.to_le_bytes());
    S::claim(&mut bytes);
    let body = table.map_or(u64::MAX, |table| (tables_at - BODY) as u64 + table);
    put(&mut bytes, BODY_BYTES, &long(body));
    bytes.resize(tables_at + 1000, 0);
    reseal(&mut bytes);
    (bytes, table)
}

/// Gives one byte at a time, and is interrupted before each.
struct Trickle<R> {
    inner: R,
    interrupted: bool,
}

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupted = !self.interrupted;
        if self.interrupted {
            return Err(ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.inner.read(&mut buffer[..len])
    }
}

fn a_reader_may_be_slow<S: Subject>() {
    for bytes in S::files() {
        let trickle = Trickle { inner: bytes.as_slice(), interrupted: false };
        assert_eq!(S::read_from(trickle).unwrap().to_bytes(), bytes);
        let cut = Trickle { inner: &bytes[..bytes.len() - 1], interrupted: false };
        assert!(matches!(S::read_from(cut), Err(ReadError::Length { .. })));
    }
}

/// Gives some bytes and then an error.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("the cable was pulled")),
            read => Ok(read),
        }
    }
}

fn an_error_of_the_reader_comes_out<S: Subject>() {
    for bytes in S::files() {
        for len in 0..bytes.len() {
            let error = S::read_from(Failing(&bytes[..len])).err().unwrap();
            let ReadError::Io(ref cause) = error else { panic!("after {len} bytes: {error}") };
            assert_eq!(cause.to_string(), "the cable was pulled");
            assert!(error.to_string().contains("the cable was pulled"), "{error}");
            assert!(std::error::Error::source(&error).is_some());
        }
        // All bytes came, so the reader is not asked again.
        S::read_from(Failing(&bytes)).unwrap();
    }
}

fn filters_follow_each_other_in_a_stream<S: Subject>() {
    let files = S::files();
    let stream = [b"before", files.concat().as_slice(), b"behind"].concat();
    let (mut reader, mut of_any_kind) = (Cursor::new(&stream), Cursor::new(&stream));
    for reader in [&mut reader, &mut of_any_kind] {
        reader.set_position(6);
    }
    for bytes in files {
        assert_eq!(S::read_from(&mut reader).unwrap().to_bytes(), bytes);
        assert_eq!(AnyFilter::read_from(&mut of_any_kind).unwrap().to_bytes(), bytes);
    }
    for mut reader in [reader, of_any_kind] {
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "behind");
    }
}

/// Takes so many bytes and then has no room, or fails when it is flushed.
struct Narrow {
    room: usize,
    flushes: bool,
}

impl Write for Narrow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        if taken == 0 { Err(ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }
    fn flush(&mut self) -> io::Result<()> {
        if self.flushes { Ok(()) } else { Err(io::Error::other("nothing arrived")) }
    }
}

fn an_error_of_the_writer_comes_out<S: Subject>() {
    for bytes in S::files() {
        let (filter, len) = (S::from_bytes(&bytes).unwrap(), bytes.len());
        for room in 0..len {
            let error = filter.write_to(Narrow { room, flushes: true }).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        }
        filter.write_to(Narrow { room: len, flushes: true }).unwrap();
        assert!(filter.write_to(Narrow { room: len, flushes: false }).is_err());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = filled(6, 5, 0.9).write_to(full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}
