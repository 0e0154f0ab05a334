//! Adaptive filters as bytes. What was learned is in the table.

use super::{AdaptiveFilter, Growth};
use crate::codec::string::{Table, Tags};
use crate::error::ReadError;
use crate::filter::core::{Core, Settings};
use crate::persist::{Body, Header, Kind, Own, Source, expect, expect_zeros, stored};
use crate::table::{Extended, Shape};

stored! {
    AdaptiveFilter, View, "an adaptive filter",
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
        let (growth, max_bytes) = match self.growth() {
            Growth::Refuse => (REFUSE, 0),
            Growth::Grow { max_bytes: None } => (GROW, 0),
            Growth::Grow { max_bytes: Some(bytes) } => (GROW_TO_MAX_BYTES, bytes),
        };
        let mut own = Own::default();
        own[..3].copy_from_slice(&[
            self.remainder_bits() as u8,
            u8::from(self.core.strings().has_stop()),
            growth,
        ]);
        own[8..].copy_from_slice(&max_bytes.to_le_bytes());
        Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            len: self.len(),
            distinct: self.fingerprints(),
            own,
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [self.core.table()].into_iter()
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
        let settings = Settings {
            payload: Tags,
            has_stop: stop == 1,
            entries: header.distinct,
            len: header.len,
            remainder_bits: remainder_bits.into(),
            growth: match growth {
                REFUSE => Growth::Refuse,
                GROW => Growth::Grow { max_bytes: None },
                _ => Growth::Grow { max_bytes: Some(max_bytes) },
            },
        };
        Ok(Self { core: Core::new(body.table()?, settings), hasher: header.hasher })
    }

    /// That every key has a fingerprint only the map can tell: `AdaptiveSet::validate` checks that too.
    fn check(&self) -> Result<(), String> {
        self.core.check()
    }
}
