//! Cascades as bytes: a header, a directory that says what each layer has, and the layers.

use std::io::{self, Read, Write};
use std::path::Path;

use super::{Cascade, Counted, Layer, MOST_LAYERS};
use crate::error::{BuildError, ReadError, SaveError};
use crate::filter::settings::check_rate;
use crate::mem::Memory;
use crate::persist::{self, First, Front, Header, Own, Parts, Pieces, Source, Stored, expect};

/// Bytes of the directory before what it says of the layers: how often the cascade was rebuilt.
const EPOCH_BYTES: usize = 8;
/// What it says of each: how many keys it has, and how many bytes.
const LAYER_BYTES: usize = 16;

impl<L: Layer> Cascade<L> {
    pub(crate) const NUMBER: u8 = L::NUMBER;
    pub(crate) const NAME: &'static str = L::NAME;

    /// Writes the cascade in the format of `docs/format.md`, with its hash key: treat the bytes as a secret.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        persist::write(self, writer)
    }

    /// The bytes that [`write_to`](Self::write_to) writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        persist::to_bytes(self)
    }

    /// Saves the cascade to a file that only its owner can read. The file is complete or the old one of the same name is
    /// untouched, whatever happens on the way.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SaveError> {
        persist::save(self, path.as_ref())
    }

    /// Reads a cascade and checks it completely. Reads no byte after its end.
    pub fn read_from(reader: impl Read) -> Result<Self, ReadError> {
        persist::read(reader)
    }

    /// Reads a cascade from bytes that hold it and nothing else.
    ///
    /// ```
    /// use twiceshy::cascade::BloomCascade;
    ///
    /// let mut filter = BloomCascade::builder().capacity(100).build()?;
    /// filter.insert("ant")?;
    /// assert!(BloomCascade::from_bytes(&filter.to_bytes())?.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        persist::from_bytes(bytes)
    }

    /// Reads a file written by [`save`](Self::save).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        persist::load(path.as_ref())
    }
}

impl<L: Layer> Stored for Cascade<L> {
    type Bytes = Memory;

    fn read(first: &First, source: impl Source<Bytes = Memory>) -> Result<Self, ReadError> {
        first.expect_kind(L::NUMBER)?;
        let (header, directory_bytes) = first.without_table()?;
        let layers = directory_bytes.saturating_sub(EPOCH_BYTES as u64) / LAYER_BYTES as u64;
        let fits = (1..=MOST_LAYERS as u64).contains(&layers)
            && directory_bytes == EPOCH_BYTES as u64 + layers * LAYER_BYTES as u64;
        expect(
            "directory bytes",
            fits,
            format_args!("8 and 16 for each of up to {MOST_LAYERS}"),
            directory_bytes,
        )?;
        let mut pieces = Pieces::new(source, first);
        let directory = pieces.take(directory_bytes as usize)?;
        let (words, _) = directory.as_chunks();
        let words: Vec<u64> = words.iter().map(|&word| u64::from_le_bytes(word)).collect();
        let [epoch, described @ ..] = &words[..] else { unreachable!("it has so many bytes") };
        let described = described.as_chunks::<2>().0;
        pieces.expect_left(described.iter().fold(0, |sum: u64, [_, bytes]| sum.saturating_add(*bytes)))?;
        let [capacity, rate] = {
            let (words, _) = header.own.as_chunks();
            [words[0], words[1]].map(u64::from_le_bytes)
        };
        let error_rate = check_rate(f64::from_bits(rate)).ok();
        let error_rate = error_rate.ok_or_else(|| ReadError::Field {
            field: "error rate",
            expected: "a number between 0 and 1".into(),
            found: rate,
        })?;
        let mut cascade = Self::without_layers(header.hasher, *epoch, capacity, error_rate);
        cascade.len = header.len;
        for (number, &[keys, bytes]) in described.iter().enumerate() {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let (room, rate) = cascade.room(number);
            expect("keys of a layer", keys <= room, format_args!("at most {room}"), keys)?;
            let layer = L::from_bytes(&pieces.take(bytes)?, room, rate, number == 0)?;
            cascade.layers.push(Counted { layer, keys });
        }
        Ok(cascade)
    }

    fn parts(&self) -> Parts<'_> {
        let mut own = Own::default();
        own[..8].copy_from_slice(&self.capacity.to_le_bytes());
        own[8..].copy_from_slice(&self.error_rate.to_bits().to_le_bytes());
        let header =
            Header { hasher: self.hasher.clone(), max_quotient_bits: 0, len: self.len, distinct: 0, own };
        let mut directory = self.epoch.to_le_bytes().to_vec();
        let bytes: Vec<Vec<u8>> = self.layers.iter().map(|counted| counted.layer.to_bytes()).collect();
        for (counted, bytes) in self.layers.iter().zip(&bytes) {
            directory.extend(counted.keys.to_le_bytes());
            directory.extend((bytes.len() as u64).to_le_bytes());
        }
        let described = directory.len() as u64;
        directory.extend(bytes.concat());
        Parts::new(L::NUMBER, &header, Front::Directory(described), directory, Vec::new())
    }

    fn validate(&self) -> Result<(), String> {
        // Every layer was checked when it was read.
        let keys = self.layers.first().map_or(0, |counted| counted.keys);
        if self.len > keys {
            return Err(format!("expected at most {keys} keys, found {}", self.len));
        }
        Ok(())
    }
}

impl From<BuildError> for ReadError {
    fn from(error: BuildError) -> Self {
        Self::Inconsistent(error.to_string())
    }
}
