//! Deltas as bytes.

use super::Delta;
use crate::error::ReadError;
use crate::list::frozen::persist::{own_of, owned, read_sieves, sieve_parts};
use crate::list::name::name_after;
use crate::persist::{First, Header, Parts, Source, Stored, expect, stored};

stored! {
    Delta, View, "a delta",
    "use twiceshy::list::Delta;",
    r#"let list = FrozenYesNoList::new(["ant"], ["bee"], 0.01)?;"#,
    r#"let filter = list.delta(["ant", "cow"], ["bee"])?;"#,
    => "yes_keys() == 2"
}

impl<'a> View<'a> {
    /// The delta itself, over bytes in place. To apply it checks it.
    pub fn into_delta(self) -> Delta<&'a [u8]> {
        self.filter
    }
}

impl Delta {
    pub(crate) const NUMBER: u8 = 7;
    pub(crate) const NAME: &'static str = "list-delta";
}

impl<B: AsRef<[u8]>> Stored for Delta<B> {
    type Bytes = B;

    fn read(first: &First, source: impl Source<Bytes = B>) -> Result<Self, ReadError> {
        first.expect_kind(Delta::NUMBER)?;
        let (header, mut sieves) = read_sieves(first, source)?;
        expect("sieves", sieves.len() == 1, 1, sieves.len() as u64)?;
        let [before, after] = owned(&header.own);
        let Header { hasher, len: yes, distinct: no, .. } = header;
        Ok(Self { hasher, before, after, yes, no, sieve: sieves.swap_remove(0) })
    }

    fn parts(&self) -> Parts<'_> {
        let Self { ref hasher, before, after, yes, no, ref sieve } = *self;
        let header = Header {
            hasher: hasher.clone(),
            max_quotient_bits: 0,
            len: yes,
            distinct: no,
            own: own_of([before, after]),
        };
        sieve_parts(Delta::NUMBER, &header, [sieve].into_iter())
    }

    fn validate(&self) -> Result<(), String> {
        self.sieve.check()?;
        match name_after(self.before, &self.sieve) == self.after {
            true => Ok(()),
            false => Err("the name of the list that it makes does not follow from its bytes".into()),
        }
    }
}
