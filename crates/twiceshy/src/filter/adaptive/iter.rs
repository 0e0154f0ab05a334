//! All fingerprints of an adaptive filter in order.

use super::AdaptiveFilter;
use crate::codec::string::Tags;
use crate::filter::core;
use crate::prefix::Prefix;

/// A fingerprint of an [`AdaptiveFilter`], with its tag.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fingerprint {
    /// The hashes of the keys under it begin like this.
    pub prefix: Prefix,
    /// The tag that all those keys have, 0 if none was given.
    pub tag: u64,
}

/// The fingerprints of an [`AdaptiveFilter`] in ascending order. Made by [`AdaptiveFilter::iter`].
pub struct Iter<'a, B>(core::Iter<'a, Tags, B>);

impl<B: AsRef<[u8]>> AdaptiveFilter<B> {
    /// All fingerprints in ascending order.
    ///
    /// ```
    /// use twiceshy::AdaptiveFilter;
    ///
    /// let mut filter = AdaptiveFilter::builder().quotient_bits(4).remainder_bits(4).build()?;
    /// let _ = filter.insert_hash(0xab << 56)?;
    /// let all: Vec<String> = filter.iter().map(|fingerprint| fingerprint.prefix.to_string()).collect();
    /// assert_eq!(all, ["10101011"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Iter<'_, B> {
        Iter(self.core.iter())
    }
}

impl<B: AsRef<[u8]>> Iterator for Iter<'_, B> {
    type Item = Fingerprint;

    fn next(&mut self) -> Option<Fingerprint> {
        let (prefix, tag) = self.0.next()?;
        Some(Fingerprint { prefix, tag })
    }
}

impl<'a, B: AsRef<[u8]>> IntoIterator for &'a AdaptiveFilter<B> {
    type Item = Fingerprint;
    type IntoIter = Iter<'a, B>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
