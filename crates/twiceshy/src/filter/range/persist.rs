//! Range filters as bytes. The format is drawn in `docs/format.md`.

use std::marker::PhantomData;

use super::boxed::Boxed;
use super::partition::{cut_bytes, expect_cut};
use super::settings::{HASH_BITS, Settings};
use super::{RangeFilter, RangeKey};
use crate::codec::boxes::{self, Boxes};
use crate::error::ReadError;
use crate::filter::expandable::Mode;
use crate::filter::expandable::lengths::Lengths;
use crate::persist::{Body, Header, Kind, Own, Source, expect, expect_zeros, stored};
use crate::table::{Plain, Shape, Table};

stored! {
    RangeFilter<K: RangeKey = u64>, View, "a range filter",
    "let filter: RangeFilter<u64> = [17, 4].into_iter().collect();",
    => "contains_range(10..20)"
}

impl<K: RangeKey + ?Sized, B: AsRef<[u8]>> Kind for RangeFilter<K, B> {
    type Bytes = B;
    type Layout = Plain;
    const NUMBER: u8 = 5;
    const NAME: &'static str = "range";

    fn header(&self) -> Header {
        Header {
            hasher: self.hasher.clone(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            len: self.len,
            distinct: self.boxes.held,
            own: self.settings.to_own(self.boxes.codec.has_stops()),
        }
    }

    fn tables(&self) -> impl Iterator<Item = &Table<B>> {
        [&self.boxes.table].into_iter()
    }

    fn read(header: Header, body: Body<impl Source<Bytes = B>>) -> Result<Self, ReadError> {
        header.expect_no_largest_size()?;
        let (settings, has_stops) = Settings::from_own::<K>(&header.own, &body.first().shape)?;
        let Header { hasher, len, distinct: held, .. } = header;
        expect("keys", len <= held, format_args!("at most {held}"), len)?;
        let codec = Boxes::new(settings.cut.suffix_bits(), has_stops);
        let boxes = Boxed::over(body.table()?, codec, held);
        Ok(Self { boxes, hasher, settings, len, key: PhantomData })
    }

    fn check(&self) -> Result<(), String> {
        let (Boxed { table, codec, held, .. }, mut found) = (&self.boxes, 0u64);
        for (quotient, run) in table.runs() {
            let (_, copies) = boxes::check_run(table, *codec, run)
                .ok_or_else(|| format!("the run of quotient {quotient} is not encoded as it should be"))?;
            found = found.checked_add(copies).ok_or("the counts add up to more than 64 bits")?;
        }
        // What is too short for the quotient lies in several places; but not once there are no keys.
        if found != *held || self.len > found || (self.len == 0 && found > 0) {
            return Err(format!("expected {} keys and {held} copies, found {found}", self.len));
        }
        Ok(())
    }
}

// Bits of the flags.
const STOPS: u8 = 1;
const GROWS: u8 = 2;

impl Settings {
    fn to_own(self, has_stops: bool) -> Own {
        let mut own = Own::default();
        own[0] = if has_stops { STOPS } else { 0 } | if self.grows { GROWS } else { 0 };
        own[1] = self.start as u8;
        own[2] = self.first_bits as u8;
        own[3] = self.lengths.least_bits as u8;
        own[4..6].copy_from_slice(&self.lengths.base.to_le_bytes());
        own[6..11].copy_from_slice(&cut_bytes(self.cut, self.key_type));
        own
    }

    /// The settings of a filter of these keys with a table of this shape, and whether its slots have stop bits.
    fn from_own<K: RangeKey + ?Sized>(own: &Own, shape: &Shape) -> Result<(Self, bool), ReadError> {
        let [flags, start, first_bits, least_bits, base0, base1, a, b, c, d, key_type, zeros @ ..] = *own;
        expect("flags of a range filter", flags <= STOPS | GROWS, "0 to 3", flags)?;
        let (has_stops, grows) = (flags & STOPS != 0, flags & GROWS != 0);
        let cut = expect_cut::<K>([a, b, c, d, key_type])?;
        let (start, first_bits) = (u32::from(start), u32::from(first_bits));
        let most = Shape::MAX_QUOTIENT_BITS;
        expect("quotient bits at the start", (1..=most).contains(&start), format_args!("1..={most}"), start)?;
        let allowed = start + 1..=HASH_BITS;
        expect("fingerprint bits", allowed.contains(&first_bits), format_args!("{allowed:?}"), first_bits)?;
        let (quotient_bits, slot_bits) = (shape.quotient_bits(), shape.slot_bits());
        let string_bits = slot_bits.saturating_sub(cut.suffix_bits());
        if has_stops {
            let most = HASH_BITS + 1 - quotient_bits;
            let allowed = (1..=most).contains(&string_bits);
            expect("slot bits without the suffix", allowed, format_args!("1..={most}"), string_bits)?;
        } else {
            expect("quotient bits", quotient_bits <= start, format_args!("at most {start}"), quotient_bits)?;
            let expected = first_bits - quotient_bits;
            expect("slot bits without the suffix", string_bits == expected, expected, string_bits)?;
        }
        expect_zeros(&zeros)?;
        let base = i16::from_le_bytes([base0, base1]);
        let lengths = Lengths { mode: Mode::Growing, base, least_bits: least_bits.into() };
        let template = shape.template();
        Ok((Self { cut, key_type, grows, start, first_bits, lengths, template }, has_stops))
    }
}
