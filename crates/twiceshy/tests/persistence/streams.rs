//! Readers and writers that behave badly.

use super::*;

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

#[test]
fn a_header_that_claims_a_huge_table_costs_nothing() {
    for (quotient_bits, slot_bits) in [(48u32, 1), (48, 9), (48, 16), (40, 24), (33, 8)] {
        let mut bytes = empty(3, 4).to_bytes();
        let (total, block) = ((1u64 << quotient_bits) + 256, SLOTS as u64 + 8 * slot_bits);
        let table = total / 64 * block + 16;
        put(&mut bytes, QUOTIENT_BITS, &[quotient_bits as u8]);
        put(&mut bytes, SLOT_BITS, &[slot_bits as u8]);
        put(&mut bytes, MAX_QUOTIENT_BITS, &[quotient_bits as u8]);
        put(&mut bytes, SPILL, &256u32.to_le_bytes());
        put(&mut bytes, BODY_BYTES, &table.to_le_bytes());
        bytes.resize(BODY + 1000, 0);
        reseal(&mut bytes);
        let mut reader = Counting::new(bytes.as_slice());
        let started = std::time::Instant::now();
        let error = QuotientFilter::read_from(&mut reader).unwrap_err();
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
        let ReadError::Length { expected, found } = error else { panic!("{error}") };
        assert!(expected >= table && found <= bytes.len() as u64, "{error}");
        assert_eq!(reader.given, bytes.len());
        assert!(reader.largest <= 4 << 20, "asked for {} bytes at once", reader.largest);
        assert!(matches!(refused(&bytes), ReadError::Length { .. }));
    }
    // A table that cannot be addressed.
    let mut bytes = with_field(empty(3, 4).to_bytes(), QUOTIENT_BITS, &[48]);
    put(&mut bytes, SPILL, &u32::MAX.to_le_bytes());
    put(&mut bytes, BODY_BYTES, &u64::MAX.to_le_bytes());
    reseal(&mut bytes);
    assert!(matches!(refused(&bytes), ReadError::Field { field: "table bytes", found: u64::MAX, .. }));
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

#[test]
fn a_reader_may_be_slow() {
    for (quotient_bits, remainder_bits) in [(3, 1), (10, 9)] {
        let bytes = small(quotient_bits, remainder_bits);
        let trickle = Trickle { inner: bytes.as_slice(), interrupted: false };
        assert_eq!(QuotientFilter::read_from(trickle).unwrap().to_bytes(), bytes);
        let cut = Trickle { inner: &bytes[..bytes.len() - 1], interrupted: false };
        assert!(matches!(QuotientFilter::read_from(cut), Err(ReadError::Length { .. })));
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

#[test]
fn an_error_of_the_reader_comes_out() {
    let bytes = small(6, 5);
    for len in 0..bytes.len() {
        let error = QuotientFilter::read_from(Failing(&bytes[..len])).unwrap_err();
        let ReadError::Io(ref cause) = error else { panic!("after {len} bytes: {error}") };
        assert_eq!(cause.to_string(), "the cable was pulled");
        assert!(error.to_string().contains("the cable was pulled"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    // All bytes came, so the reader is not asked again.
    QuotientFilter::read_from(Failing(&bytes)).unwrap();
}

#[test]
fn filters_follow_each_other_in_a_stream() {
    let filters = [filled(3, 1, 0.9), filled(7, 9, 0.9), empty(5, 5), filled(2, 58, 0.9)];
    let mut stream = b"before".to_vec();
    for filter in &filters {
        filter.write_to(&mut stream).unwrap();
    }
    stream.extend_from_slice(b"behind");
    let mut reader = Cursor::new(&stream);
    reader.set_position(6);
    for filter in &filters {
        assert_eq!(QuotientFilter::read_from(&mut reader).unwrap().to_bytes(), filter.to_bytes());
    }
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "behind");
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

#[test]
fn an_error_of_the_writer_comes_out() {
    let filter = filled(6, 5, 0.9);
    let len = filter.to_bytes().len();
    for room in 0..len {
        let error = filter.write_to(Narrow { room, flushes: true }).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
    }
    filter.write_to(Narrow { room: len, flushes: true }).unwrap();
    assert!(filter.write_to(Narrow { room: len, flushes: false }).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let error = filled(6, 5, 0.9).write_to(full).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
}
