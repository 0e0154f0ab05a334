//! Where a table is read from: bytes that stay as they are meanwhile, or words that another thread may be changing.
//!
//! All that finds something in a table is written once, for both. Bytes are loaded at any address; words that are shared are
//! atomic and aligned, so what lies at any byte is put together from two of them ([`Racing`]). What is read while it changes
//! makes no sense, and a table that makes no sense can be read all the same: nothing here trusts what it reads, and who reads
//! it finds out afterwards ([`words`](crate::words)).

use super::glance::MASKS;
use crate::bits::packed::{self, Block};
use crate::bits::word::{field_mask, low_mask};
use crate::words::{Racing, Whereabouts};

/// Something whose cache lines can be asked for.
pub(crate) trait Located {
    /// Where it begins.
    fn start(&self) -> *const u8;
}

/// What a table can be read from.
pub(crate) trait Source: Located {
    /// A block, to look into a short run.
    type Block<'a>: ReadBlock
    where
        Self: 'a;

    /// The byte at `at`.
    fn byte(&self, at: usize) -> u8;

    /// The word that starts at byte `at`.
    fn word(&self, at: usize) -> u64;

    /// The field of `width` bits at `bit`.
    fn field(&self, bit: usize, width: u32) -> u64;

    /// The first `count` of some masks of lanes, each of `width` bits.
    fn first_lanes(masks: &[u64; MASKS], count: u32, width: u32) -> u64;

    /// The block that starts at byte `at`, with so many bytes of header and fields of this width; `None` if there is no such
    /// block.
    fn block(&self, at: usize, header: u8, width: u8) -> Option<Self::Block<'_>>;
}

/// A block of a table.
pub(crate) trait ReadBlock: Copy {
    /// The first byte.
    fn first_byte(self) -> u8;

    /// Word number `i` after it.
    fn header_word(self, i: usize) -> u64;

    /// The fields from number `i` (modulo 64) on, side by side; 57 bits of them at least.
    fn fields(self, i: u32) -> u64;
}

impl<B: AsRef<[u8]>> Located for B {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.as_ref().as_ptr()
    }
}

impl<B: AsRef<[u8]>> Source for B {
    type Block<'a>
        = Block<'a>
    where
        B: 'a;

    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        self.as_ref()[at]
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        packed::load(self.as_ref(), at)
    }

    #[inline(always)]
    fn field(&self, bit: usize, width: u32) -> u64 {
        packed::get(self.as_ref(), bit, width)
    }

    #[inline(always)]
    fn first_lanes(masks: &[u64; MASKS], count: u32, _: u32) -> u64 {
        masks[count as usize % MASKS]
    }

    #[inline(always)]
    fn block(&self, at: usize, header: u8, width: u8) -> Option<Block<'_>> {
        Block::new(self.as_ref(), at, header, width)
    }
}

impl ReadBlock for Block<'_> {
    #[inline(always)]
    fn first_byte(self) -> u8 {
        self.bytes()[0]
    }

    #[inline(always)]
    fn header_word(self, i: usize) -> u64 {
        packed::load(self.bytes(), 1 + 8 * i)
    }

    #[inline(always)]
    fn fields(self, i: u32) -> u64 {
        Block::fields(self, i)
    }
}

/// The words of a header that are looked at: those of the offset and of up to three words of bits.
const HEADER_WORDS: usize = 4;

/// A block of words that may be changing.
#[derive(Clone, Copy)]
pub(crate) struct RacingBlock<'a> {
    words: Racing<'a>,
    /// Those that the header lies in, and at which bit of the first it begins.
    header: [u64; HEADER_WORDS],
    shift: u32,
    /// The first bit of the fields, and how wide they are.
    fields_at: usize,
    width: u8,
}

impl Located for Racing<'_> {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.as_ptr()
    }
}

impl Located for Whereabouts {
    #[inline(always)]
    fn start(&self) -> *const u8 {
        self.0
    }
}

impl Source for Racing<'_> {
    type Block<'a>
        = RacingBlock<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn byte(&self, at: usize) -> u8 {
        (self.load(at / 8) >> (at % 8 * 8)) as u8
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        self.at_bit(at * 8)
    }

    #[inline(always)]
    fn field(&self, bit: usize, width: u32) -> u64 {
        self.at_bit(bit) & field_mask(width)
    }

    #[inline(always)]
    fn first_lanes(masks: &[u64; MASKS], count: u32, width: u32) -> u64 {
        // The masks are where the frame is, and would have to be copied to be looked up by number.
        masks[MASKS - 1] & low_mask(count * width % 64)
    }

    #[inline(always)]
    fn block(&self, at: usize, header: u8, width: u8) -> Option<RacingBlock<'_>> {
        // There are slots after every header.
        let words = self.load_some(at / 8)?;
        let (shift, fields_at) = ((at % 8 * 8) as u32, (at + usize::from(header)) * 8);
        Some(RacingBlock { words: *self, header: words, shift, fields_at, width })
    }
}

impl ReadBlock for RacingBlock<'_> {
    #[inline(always)]
    fn first_byte(self) -> u8 {
        (self.header[0] >> self.shift) as u8
    }

    #[inline(always)]
    fn header_word(self, i: usize) -> u64 {
        // After the first byte; shifting by 64 in two steps gives 0.
        self.header[i] >> self.shift >> 8 | self.header[i + 1] << (56 - self.shift)
    }

    #[inline(always)]
    fn fields(self, i: u32) -> u64 {
        self.words.at_bit(self.fields_at + (i % 64 * u32::from(self.width)) as usize)
    }
}
