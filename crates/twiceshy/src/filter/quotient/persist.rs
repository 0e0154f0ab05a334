//! Quotient filters as bytes.

use super::QuotientFilter;
use crate::codec::counted;
use crate::error::ReadError;
use crate::persist::{Body, Header, Kind, Own, Source, expect, expect_zeros, stored};
use crate::table::{Plain, Table};

stored! {
    QuotientFilter, View, "a quotient filter",
    "let mut filter = QuotientFilter::new(100, 0.01)?;",
    r#"filter.insert("ant")?;"#,
    => r#"contains("ant")"#
}

impl<B: AsRef<[u8]>> Kind for QuotientFilter<B> {
    type Bytes = B;
    type Layout = Plain;
    const NUMBER: u8 = 1;
    const NAME: &'static str = "quotient";

    fn header(&self) -> Header {
        Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: self.max_quotient_bits,
            len: self.len,
            distinct: self.distinct,
            own: Own::default(),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [&self.table].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        header.expect_counts(body.first())?;
        let (quotient_bits, slot_bits) = (body.first().shape.quotient_bits(), body.first().shape.slot_bits());
        let most = 64 - quotient_bits;
        expect("slot bits", slot_bits <= most, format_args!("at most {most}"), slot_bits)?;
        expect_zeros(&header.own)?;
        let Header { hasher, max_quotient_bits, len, distinct, .. } = header;
        Ok(Self { table: body.table()?, hasher, len, distinct, max_quotient_bits })
    }

    fn check(&self) -> Result<(), String> {
        let (mut distinct, mut len) = (0, 0u64);
        for (quotient, run) in self.table.runs() {
            let (entries, copies) = counted::check_run(&self.table, run)
                .ok_or_else(|| format!("the run of quotient {quotient} is not encoded as it should be"))?;
            distinct += entries;
            len = len.checked_add(copies).ok_or("the counts add up to more than 64 bits")?;
        }
        if (distinct, len) != (self.distinct, self.len) {
            return Err(format!(
                "expected {} fingerprints and {} copies, found {distinct} and {len}",
                self.distinct, self.len
            ));
        }
        Ok(())
    }
}
