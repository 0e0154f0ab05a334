//! Adaptive filters as bytes. What was learned is in the table.

use super::AdaptiveFilter;
use crate::codec::string::{Table, Tags};
use crate::error::ReadError;
use crate::filter::core::{Core, left_to_filter};
use crate::persist::{Body, Header, Kind, Source, expect_zeros, stored};
use crate::table::Extended;

stored! {
    AdaptiveFilter, View, "an adaptive filter",
    "let mut filter = AdaptiveFilter::new(0.01)?;",
    r#"let _ = filter.insert("ant")?;"#,
    => r#"contains("ant")"#
}

impl<B: AsRef<[u8]>> Kind for AdaptiveFilter<B> {
    type Bytes = B;
    type Layout = Extended;
    const NUMBER: u8 = 2;
    const NAME: &'static str = "adaptive";

    fn header(&self) -> Header {
        self.core.header(&self.reader, [0; 5])
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [self.core.table()].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        expect_zeros(&left_to_filter(&header))?;
        let core = Core::read(Tags, &header, body)?;
        Ok(Self { core, reader: header.hasher })
    }

    /// That every key has a fingerprint only the map can tell: `AdaptiveSet::validate` checks that too.
    fn check(&self) -> Result<(), String> {
        self.core.check()
    }
}
