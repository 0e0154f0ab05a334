//! A core as bytes: what every filter on the core has in its header. What was learned is in the table.
//!
//! | byte of the header's own | size | |
//! |---|---|---|
//! | 0 | 1 | remainder bits |
//! | 1 | 1 | whether strings end with a stop bit |
//! | 2 | 1 | kind of growth: 0 refuse, 1 grow, 2 grow to the most bytes, 3 grow to the most bytes and then rotate |
//! | 3 | 5 | left to the filter |
//! | 8 | 8 | the most bytes |

use super::{Core, Growth};
use crate::codec::string::Payload;
use crate::error::ReadError;
use crate::hash::Hasher;
use crate::persist::{Body, Header, Own, Source, expect};
use crate::table::Shape;

/// The numbers of the kinds of growth.
const REFUSE: u8 = 0;
const GROW: u8 = 1;
const GROW_TO_MAX_BYTES: u8 = 2;
const ROTATE: u8 = 3;

/// More keys than anybody can insert.
const MOST_KEYS: u64 = 1 << 60;

/// The bytes of a header that the core leaves to the filter.
pub(crate) fn left_to_filter(header: &Header) -> [u8; 5] {
    let [_, _, _, a, b, c, d, e, ..] = header.own;
    [a, b, c, d, e]
}

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// The header of a filter on this core, which has some bytes of its own in it.
    pub(crate) fn header(&self, hasher: &Hasher, of_filter: [u8; 5]) -> Header {
        let (growth, max_bytes) = match self.growth {
            Growth::Refuse => (REFUSE, 0),
            Growth::Grow { max_bytes: None } => (GROW, 0),
            Growth::Grow { max_bytes: Some(bytes) } => (GROW_TO_MAX_BYTES, bytes),
            Growth::Rotate { max_bytes } => (ROTATE, max_bytes),
        };
        let mut own = Own::default();
        own[..3].copy_from_slice(&[self.remainder_bits as u8, u8::from(self.strings.has_stop()), growth]);
        own[3..8].copy_from_slice(&of_filter);
        own[8..].copy_from_slice(&max_bytes.to_le_bytes());
        Header {
            hasher: hasher.clone(),
            max_quotient_bits: Shape::MAX_QUOTIENT_BITS,
            len: self.len,
            distinct: self.entries,
            own,
        }
    }

    /// The core that a header and a body describe.
    pub(crate) fn read(
        payload: P,
        header: &Header,
        body: Body<impl Source<Bytes = B>>,
    ) -> Result<Self, ReadError> {
        header.expect_counts(body.first())?;
        header.expect_no_largest_size()?;
        let [remainder_bits, stop, growth, _, _, _, _, _, max_bytes @ ..] = header.own;
        let (max_bytes, slot_bits) = (u64::from_le_bytes(max_bytes), body.first().shape.slot_bits());
        expect("remainder bits", (1..=60).contains(&remainder_bits), "1..=60", remainder_bits)?;
        expect("keys", header.len <= MOST_KEYS, format_args!("at most {MOST_KEYS}"), header.len)?;
        expect("stop bits", stop <= 1, "0 or 1", stop)?;
        expect("growth", growth <= ROTATE, "0, 1, 2 or 3", growth)?;
        expect("reserved bytes", growth >= GROW_TO_MAX_BYTES || max_bytes == 0, 0, max_bytes)?;
        let (least, position_bits) = (header.hasher.turn().least_bits(), body.first().shape.position_bits());
        expect("bits of a group", least <= position_bits, format_args!("at most {position_bits}"), least)?;
        let has_room = slot_bits >= u32::from(remainder_bits) + u32::from(stop) + payload.head_bits();
        expect("slot bits", has_room, "room for the remainder", slot_bits)?;
        let growth = match growth {
            REFUSE => Growth::Refuse,
            GROW => Growth::Grow { max_bytes: None },
            GROW_TO_MAX_BYTES => Growth::Grow { max_bytes: Some(max_bytes) },
            _ => Growth::Rotate { max_bytes },
        };
        let core = Self::new(body.table()?, stop == 1, payload, remainder_bits.into(), growth);
        Ok(Self { entries: header.distinct, len: header.len, ..core })
    }
}
