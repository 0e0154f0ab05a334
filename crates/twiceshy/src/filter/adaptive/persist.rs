//! Adaptive filters as bytes. What was learned is in the table.

use super::stats::Counters;
use super::ticket::Versions;
use super::{AdaptiveFilter, Growth};
use crate::codec::string::Table;
use crate::error::ReadError;
use crate::persist::{Body, Header, Kind, Own, Source, expect, expect_zeros, stored};
use crate::table::{Extended, Shape};

stored! {
    AdaptiveFilter, AdaptiveFilterView, "an adaptive filter",
    "let mut filter = AdaptiveFilter::new(0.01)?;",
    r#"let _ = filter.insert("ant")?;"#,
}

/// The numbers of the kinds of growth.
const REFUSE: u8 = 0;
const GROW: u8 = 1;
const GROW_TO_MAX_BYTES: u8 = 2;

impl<B: AsRef<[u8]>> Kind for AdaptiveFilter<B> {
    type Bytes = B;
    type Layout = Extended;
    const NUMBER: u8 = 2;
    const NAME: &'static str = "adaptive";

    fn header(&self) -> Header {
        let (growth, max_bytes) = match self.growth {
            Growth::Refuse => (REFUSE, 0),
            Growth::Grow { max_bytes: None } => (GROW, 0),
            Growth::Grow { max_bytes: Some(bytes) } => (GROW_TO_MAX_BYTES, bytes),
        };
        let mut own = Own::default();
        own[..3].copy_from_slice(&[self.remainder_bits as u8, u8::from(self.has_stop), growth]);
        own[8..].copy_from_slice(&max_bytes.to_le_bytes());
        Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            len: self.len,
            distinct: self.entries,
            own,
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [&self.table].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        header.expect_counts(body.first())?;
        header.expect_no_largest_size()?;
        let [remainder_bits, stop, growth, zeros @ ..] = header.own;
        let (zeros, max_bytes) = zeros.split_last_chunk().expect("five bytes and a number");
        let (max_bytes, slot_bits) = (u64::from_le_bytes(*max_bytes), body.first().shape.slot_bits());
        expect("remainder bits", (1..=60).contains(&remainder_bits), "1..=60", remainder_bits)?;
        expect("stop bits", stop <= 1, "0 or 1", stop)?;
        expect("growth", growth <= GROW_TO_MAX_BYTES, "0, 1 or 2", growth)?;
        expect_zeros(zeros)?;
        expect("reserved bytes", growth == GROW_TO_MAX_BYTES || max_bytes == 0, 0, max_bytes)?;
        let has_room = slot_bits >= u32::from(remainder_bits) + u32::from(stop);
        expect("slot bits", has_room, "room for the remainder", slot_bits)?;
        Ok(Self {
            table: body.table()?,
            has_stop: stop == 1,
            hasher: header.hasher,
            len: header.len,
            entries: header.distinct,
            remainder_bits: remainder_bits.into(),
            growth: match growth {
                REFUSE => Growth::Refuse,
                GROW => Growth::Grow { max_bytes: None },
                _ => Growth::Grow { max_bytes: Some(max_bytes) },
            },
            versions: Versions::new(),
            counters: Counters::default(),
        })
    }

    /// That every key has a fingerprint only the map can tell: `AdaptiveSet::validate` checks that too.
    fn check(&self) -> Result<(), String> {
        let strings = self.strings();
        let mut entries = 0;
        for (quotient, run) in self.table.runs() {
            let found = strings.check_run(&self.table, quotient, run);
            entries += found.map_err(|what| format!("the run of quotient {quotient}: {what}"))?;
        }
        if entries != self.entries {
            return Err(format!("expected {} fingerprints, found {entries}", self.entries));
        }
        if self.len < entries {
            return Err(format!("{} keys cannot have {entries} fingerprints", self.len));
        }
        Ok(())
    }
}
