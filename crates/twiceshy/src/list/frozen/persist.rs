//! Frozen lists as bytes: a header, a directory that describes the sieves, and the sieves.

use super::FrozenYesNoList;
use super::builder::LEAST_RATE;
use crate::error::ReadError;
use crate::list::delta::MOST_DELTAS;
use crate::list::sieve::Sieve;
use crate::persist::{First, Front, Header, Own, Parts, Pieces, Source, Stored, expect, stored};

stored! {
    FrozenYesNoList, View, "a frozen list",
    r#"let filter = FrozenYesNoList::new(["ant"], ["bee"], 0.01)?;"#,
    => r#"query("ant").is_yes()"#
}

impl<'a> View<'a> {
    /// The list itself, over bytes in place, for a [delta](crate::list::Delta) to be applied to.
    ///
    /// ```
    /// use twiceshy::FrozenYesNoList;
    /// use twiceshy::list::Delta;
    ///
    /// let list = FrozenYesNoList::new(["ant"], ["bee"], 0.01)?;
    /// let (bytes, delta) = (list.to_bytes(), list.delta(["ant", "cow"], ["bee"])?.to_bytes());
    ///
    /// let mut list = FrozenYesNoList::view(&bytes)?.into_list();
    /// list.apply(Delta::view(&delta)?.into_delta())?;
    /// assert!(list.query("cow").is_yes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_list(self) -> FrozenYesNoList<&'a [u8]> {
        self.filter
    }
}

impl FrozenYesNoList {
    pub(crate) const NUMBER: u8 = 6;
    pub(crate) const NAME: &'static str = "frozen-list";
}

impl<B: AsRef<[u8]>> Stored for FrozenYesNoList<B> {
    type Bytes = B;

    fn read(first: &First, source: impl Source<Bytes = B>) -> Result<Self, ReadError> {
        first.expect_kind(FrozenYesNoList::NUMBER)?;
        let (header, mut sieves) = read_sieves(first, source)?;
        let [error_rate, name] = owned(&header.own);
        let rate = f64::from_bits(error_rate);
        expect("error rate", (LEAST_RATE..1.0).contains(&rate), "a number from 2^-40 to 1", error_rate)?;
        let base = sieves.remove(0);
        let Header { hasher, len: yes, distinct: no, .. } = header;
        Ok(Self { hasher, base, deltas: sieves, error_rate: rate, yes, no, name })
    }

    fn parts(&self) -> Parts<'_> {
        let header = Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: 0,
            len: self.yes,
            distinct: self.no,
            own: own_of([self.error_rate.to_bits(), self.name]),
        };
        sieve_parts(FrozenYesNoList::NUMBER, &header, self.sieves())
    }

    fn validate(&self) -> Result<(), String> {
        self.sieves().try_for_each(Sieve::check)?;
        let (asked, rate) = (self.error_rate, self.expected_error_rate());
        if rate > asked {
            return Err(format!("expected an error rate of at most {asked}, found {rate}"));
        }
        match self.right_name() {
            right if right == self.name => Ok(()),
            right => Err(format!("expected the name {right:016x}, found {:016x}", self.name)),
        }
    }
}

/// Two numbers as the bytes of a header that only one kind has.
pub(in crate::list) fn own_of(numbers: [u64; 2]) -> Own {
    let mut own = Own::default();
    for (bytes, number) in own.chunks_exact_mut(8).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    own
}

/// And back.
pub(in crate::list) fn owned(own: &Own) -> [u64; 2] {
    let (words, _) = own.as_chunks();
    [0, 1].map(|number| u64::from_le_bytes(words[number]))
}

/// The bytes of something that has sieves.
pub(in crate::list) fn sieve_parts<'a, B: AsRef<[u8]> + 'a>(
    kind: u8,
    header: &Header,
    sieves: impl Iterator<Item = &'a Sieve<B>>,
) -> Parts<'a> {
    let (mut directory, mut all) = (Vec::new(), Vec::new());
    for sieve in sieves {
        sieve.describe(&mut directory);
        all.push(sieve.bytes().as_ref());
    }
    Parts::new(kind, header, Front::Directory(directory.len() as u64), directory, all)
}

/// A header, and sieves.
type Described<B> = (Header, Vec<Sieve<B>>);

/// What a header of something that has sieves says, and the sieves, of which there is at least one.
pub(in crate::list) fn read_sieves<S: Source>(
    first: &First,
    source: S,
) -> Result<Described<S::Bytes>, ReadError> {
    let (header, directory_bytes) = first.without_table()?;
    let most = (MOST_DELTAS + 1) * Sieve::MOST_DESCRIBED;
    let fits = (1..=most as u64).contains(&directory_bytes);
    expect("directory bytes", fits, format_args!("1..={most}"), directory_bytes)?;
    let mut pieces = Pieces::new(source, first);
    let directory = pieces.take(directory_bytes as usize)?;
    let (mut directory, mut described) = (directory.as_ref(), Vec::new());
    while !directory.is_empty() {
        described.push(Sieve::read(&mut directory)?);
        let (most, found) = (MOST_DELTAS + 1, described.len());
        expect("sieves", found <= most, format_args!("at most {most}"), found as u64)?;
    }
    let sum = described.iter().fold(0u64, |sum, &(_, bytes)| sum.saturating_add(bytes as u64));
    pieces.expect_left(sum)?;
    let sieves = described.into_iter().map(|(sieve, bytes)| Ok(sieve.over(pieces.take(bytes)?)));
    Ok((header, sieves.collect::<Result<_, ReadError>>()?))
}
