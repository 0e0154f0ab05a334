//! Bit fields and bit ranges inside a byte slice.
//!
//! A *field* is `width` bits (1 to 64) starting at any bit. Bit `i` of the slice is bit `i % 8` of
//! byte `i / 8`, so fields lie in the slice as in one long little-endian number.
//!
//! Reads and writes move whole 64-bit words and may touch bytes near the field that do not belong to
//! it (unchanged bits are written back as they were). The slice must therefore reach at least
//! [`PADDING`] bytes past the last field, and for the range shifts 8 bytes before the first one. In a
//! table the block header lies before the slots and the padding after the last block.

use super::word::{field_mask, high_mask, low_mask};

/// Bytes that must follow the last field of a slice.
pub(crate) const PADDING: usize = 16;

/// The 64-bit word that starts at byte `at`.
#[inline(always)]
pub(crate) fn load(bytes: &[u8], at: usize) -> u64 {
    let word = bytes[at..at + 8].first_chunk().expect("eight bytes");
    u64::from_le_bytes(*word)
}

/// Writes the 64-bit word that starts at byte `at`.
#[inline(always)]
pub(crate) fn store(bytes: &mut [u8], at: usize, word: u64) {
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

/// 64 bits starting at any bit.
#[inline(always)]
fn load_at_bit(bytes: &[u8], bit: usize) -> u64 {
    let (at, shift) = (bit / 8, bit % 8);
    let low = load(bytes, at) >> shift;
    // Shifting by 64 in two steps gives 0 when `shift` is 0.
    low | (u64::from(bytes[at + 8]) << 1) << (63 - shift)
}

/// The field of `width` bits at `bit`.
#[inline(always)]
pub(crate) fn get(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let word = if width <= 57 { load(bytes, bit / 8) >> (bit % 8) } else { load_at_bit(bytes, bit) };
    word & field_mask(width)
}

/// Writes the field of `width` bits at `bit`. Bits of `value` above `width` must be 0.
#[inline(always)]
pub(crate) fn set(bytes: &mut [u8], bit: usize, width: u32, value: u64) {
    debug_assert_eq!(value & !field_mask(width), 0, "value wider than its field");
    let (at, shift) = (bit / 8, (bit % 8) as u32);
    let old = load(bytes, at);
    store(bytes, at, old & !(field_mask(width) << shift) | value << shift);
    if shift + width > 64 {
        let (kept, spilt) = (bytes[at + 8], shift + width - 64);
        bytes[at + 8] = kept & !(low_mask(spilt) as u8) | (value >> (64 - shift)) as u8;
    }
}

/// The same slice, whose start the compiler then keeps in a register. Left alone, it forgets the sum of the start
/// of a table and the place of a block and adds them up again, which takes two more registers and, in a query,
/// six more instructions of a hundred.
#[inline(always)]
fn in_one_register(bytes: &[u8]) -> &[u8] {
    #[cfg(target_arch = "x86_64")]
    {
        let mut start = bytes.as_ptr();
        #[expect(unsafe_code, reason = "no instruction at all, but the compiler does not know that")]
        // SAFETY: nothing is done, so the pointer is what it was: that of `bytes`, and not null.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) start, options(pure, readonly, nostack, preserves_flags));
            std::hint::assert_unchecked(!start.is_null());
            std::slice::from_raw_parts(start, bytes.len())
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    bytes
}

/// A header and, after it, 64 fields of one width: a block of a table. The slice is checked once, and not with
/// every access.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    bytes: &'a [u8],
    header: u8,
    width: u8,
}

impl<'a> Block<'a> {
    /// The block that starts at byte `at`; `None` if the slice does not reach a word past its last field.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], at: usize, header: u8, width: u8) -> Option<Self> {
        let len = usize::from(header) + 8 * usize::from(width) + 8;
        let bytes = in_one_register(bytes.get(at..at.wrapping_add(len))?);
        Some(Self { bytes, header, width })
    }

    /// The header and what is after it.
    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The fields from number `i` (modulo 64) on, side by side; 57 bits of them at least.
    #[inline(always)]
    pub(crate) fn fields(self, i: u32) -> u64 {
        let bit = i % 64 * u32::from(self.width);
        let at = usize::from(self.header) + (bit / 8) as usize;
        #[expect(unsafe_code, reason = "a load without a check of its own")]
        // SAFETY: the bit is at most `63 * width`, which is less than `8 * width` bytes. `new` made the slice
        // 8 bytes longer than the header and that many bytes, and the load needs no alignment.
        let word = unsafe { self.bytes.as_ptr().add(at).cast::<u64>().read_unaligned() };
        u64::from_le(word) >> (bit % 8)
    }
}

/// Moves the bits `from..to` up by `by` (1 to 64) bits. What is left in `from..from + by` is
/// unspecified; bits outside `from..to + by` stay.
#[inline(always)]
pub(crate) fn shift_up(bytes: &mut [u8], from: usize, to: usize, by: usize) {
    debug_assert!(from <= to && (1..=64).contains(&by) && from >= 64);
    if from == to {
        return;
    }
    // The words that hold the destination, from the last to the first: a word's source lies below
    // it, so nothing is overwritten before it was read.
    let (first_bit, end_bit) = (from + by, to + by);
    let first = first_bit / 8;
    let mut at = first + (end_bit - 1 - first * 8) / 64 * 8;
    let mut mask = low_mask((end_bit - at * 8) as u32);
    // The source of a word is the word `back` bytes below it and the one above that, which was the lower
    // one a step before.
    let back = by.div_ceil(8);
    let shift = back * 8 - by;
    let mut above = u64::from(bytes[at - back + 8]);
    loop {
        let below = load(bytes, at - back);
        let moved = below >> shift | above << 1 << (63 - shift);
        if at == first {
            return blend(bytes, at, mask & high_mask((first_bit % 8) as u32), moved);
        }
        blend(bytes, at, mask, moved);
        above = below;
        mask = u64::MAX;
        at -= 8;
    }
}

/// Replaces the bits of `mask` in the word that starts at byte `at`.
#[inline(always)]
fn blend(bytes: &mut [u8], at: usize, mask: u64, bits: u64) {
    let old = load(bytes, at);
    store(bytes, at, old & !mask | bits & mask);
}

/// Moves the bits `from..to` down by `by` (1 to 64) bits. What is left in `to - by..to` is
/// unspecified; bits outside `from - by..to` stay.
#[inline(always)]
pub(crate) fn shift_down(bytes: &mut [u8], from: usize, to: usize, by: usize) {
    debug_assert!(from <= to && (1..=64).contains(&by) && from >= by);
    if from == to {
        return;
    }
    let (first_bit, end_bit) = (from - by, to - by);
    let first = first_bit / 8;
    let last = first + (end_bit - 1 - first * 8) / 64 * 8;
    let (mut at, mut mask) = (first, high_mask((first_bit % 8) as u32));
    // The source of a word is the word `ahead` bytes above it and the one after that, which is the first
    // one of the next step.
    let (ahead, shift) = (by / 8, by % 8);
    let mut below = load(bytes, at + ahead);
    loop {
        if at == last {
            let above = u64::from(bytes[at + ahead + 8]);
            let moved = below >> shift | above << 1 << (63 - shift);
            return blend(bytes, at, mask & low_mask((end_bit - at * 8) as u32), moved);
        }
        let above = load(bytes, at + ahead + 8);
        let moved = below >> shift | above << 1 << (63 - shift);
        blend(bytes, at, mask, moved);
        below = above;
        mask = u64::MAX;
        at += 8;
    }
}

/// Inserts a field: the bits `from..to` move up by `width` bits, and `value` takes the place that is left.
/// [`shift_up`] and [`set`] in one pass, without reading what was just written.
#[inline(always)]
pub(crate) fn insert(bytes: &mut [u8], from: usize, to: usize, width: u32, value: u64) {
    debug_assert!(from <= to && from >= 64);
    let by = width as usize;
    if width > 57 {
        shift_up(bytes, from, to, by);
        return set(bytes, from, width, value);
    }
    // As in `shift_up`, but the last word that is written holds the whole new field.
    let (first, below_field) = (from / 8, (from % 8) as u32);
    let mut at = first + (to + by - 1 - first * 8) / 64 * 8;
    let mut mask = low_mask((to + by - at * 8) as u32);
    let back = by.div_ceil(8);
    let shift = back * 8 - by;
    let mut above = u64::from(bytes[at - back + 8]);
    loop {
        let below = load(bytes, at - back);
        let moved = below >> shift | above << 1 << (63 - shift);
        if at == first {
            let moved = moved & !(field_mask(width) << below_field) | value << below_field;
            return blend(bytes, at, mask & high_mask(below_field), moved);
        }
        blend(bytes, at, mask, moved);
        above = below;
        mask = u64::MAX;
        at -= 8;
    }
}

/// Removes the field of `width` bits at `from`: what lies after it up to `to` moves down, and `value` takes
/// the place that is left before `to`. [`shift_down`] and [`set`] in one pass, without reading what was just
/// written.
#[inline(always)]
pub(crate) fn remove(bytes: &mut [u8], from: usize, to: usize, width: u32, value: u64) {
    let by = width as usize;
    debug_assert!(from + by <= to && from >= 64);
    if width > 57 {
        shift_down(bytes, from + by, to, by);
        return set(bytes, to - by, width, value);
    }
    // From the last word, which holds the whole new field, to the first: the source of a word is loaded
    // before the word above it is written.
    let (mut at, below_field) = ((to - by) / 8, ((to - by) % 8) as u32);
    let (ahead, shift) = (by / 8, by % 8);
    let mut below = load(bytes, at + ahead);
    let mut moved = below >> shift & !high_mask(below_field) | value << below_field;
    let mut mask = low_mask(below_field + width);
    while at * 8 > from {
        let above = below;
        below = load(bytes, at - 8 + ahead);
        blend(bytes, at, mask, moved);
        moved = below >> shift | above << 1 << (63 - shift);
        mask = u64::MAX;
        at -= 8;
    }
    blend(bytes, at, mask & high_mask((from - at * 8) as u32), moved);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_is_at_their_place() {
        for width in 1..=64u8 {
            // Something before the block, and 17 bytes of header.
            let bytes: Vec<u8> = (0..20 + 8 * (u32::from(width) + 1)).map(|i| (i * 89 + 7) as u8).collect();
            let block = Block::new(&bytes, 3, 17, width).unwrap();
            assert_eq!(block.bytes(), &bytes[3..]);
            for i in 0..128 {
                let bits = u32::from(width).min(57);
                let want = get(&bytes[20..], (i % 64 * u32::from(width)) as usize, bits);
                assert_eq!(block.fields(i) & low_mask(bits), want, "field {i} of {width} bits");
            }
            for at in [4, bytes.len(), usize::MAX - 8, usize::MAX] {
                assert!(Block::new(&bytes, at, 17, width).is_none(), "a word must lie behind the fields");
            }
        }
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    fn naive_get(bytes: &[u8], bit: usize, width: u32) -> u64 {
        (0..width as usize).fold(0, |value, i| {
            let set = bytes[(bit + i) / 8] >> ((bit + i) % 8) & 1;
            value | u64::from(set) << i
        })
    }

    #[test]
    fn a_field_reads_back_and_leaves_its_neighbours() {
        for width in 1..=64 {
            for bit in 0..80 {
                let before = pattern(40);
                let mut bytes = before.clone();
                assert_eq!(get(&bytes, bit, width), naive_get(&bytes, bit, width));
                let value = 0x5bd1_e995_97f4_a7c1_u64.rotate_left(bit as u32) & low_mask(width);
                set(&mut bytes, bit, width, value);
                assert_eq!(get(&bytes, bit, width), value, "width {width} bit {bit}");
                for i in (0..bit).chain(bit + width as usize..40 * 8) {
                    assert_eq!(naive_get(&bytes, i, 1), naive_get(&before, i, 1), "neighbour {i}");
                }
            }
        }
    }

    #[test]
    fn shifts_agree_with_moving_single_bits() {
        for by in [1, 2, 3, 7, 8, 9, 13, 31, 32, 57, 63, 64] {
            for from in (64..140).step_by(3) {
                for len in [0, 1, 5, 8, 9, 55, 56, 57, 63, 64, 65, 128, 200, 333] {
                    let before = pattern(120);
                    let mut up = before.clone();
                    shift_up(&mut up, from, from + len, by);
                    for i in (0..from).chain(from + len + by..960) {
                        assert_eq!(naive_get(&up, i, 1), naive_get(&before, i, 1), "outside {i}");
                    }
                    for i in from..from + len {
                        assert_eq!(
                            naive_get(&up, i + by, 1),
                            naive_get(&before, i, 1),
                            "{from}+{len} by {by}"
                        );
                    }
                    let mut down = before.clone();
                    shift_down(&mut down, from, from + len, by);
                    for i in (0..from - by).chain(from + len..960) {
                        assert_eq!(naive_get(&down, i, 1), naive_get(&before, i, 1), "outside {i}");
                    }
                    for i in from..from + len {
                        assert_eq!(
                            naive_get(&down, i - by, 1),
                            naive_get(&before, i, 1),
                            "{from}+{len} by {by}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn inserted_and_removed_fields_agree_with_shifts() {
        for width in 1..=64u32 {
            let by = width as usize;
            let value = 0x5bd1_e995_97f4_a7c1 & field_mask(width);
            for from in 64..140 {
                for fields in [0, 1, 2, 5, 6, 7, 8, 14, 20] {
                    let (to, before) = (from + fields * by, pattern(400));
                    let (mut one, mut other) = (before.clone(), before.clone());
                    insert(&mut one, from, to, width, value);
                    shift_up(&mut other, from, to, by);
                    set(&mut other, from, width, value);
                    assert_eq!(one, other, "insert into {fields} fields of {width} bits at {from}");
                    remove(&mut one, from, to + by, width, value >> 1);
                    shift_down(&mut other, from + by, to + by, by);
                    set(&mut other, to, width, value >> 1);
                    assert_eq!(one, other, "remove before {fields} fields of {width} bits at {from}");
                    assert_eq!(one[..from / 8], before[..from / 8]);
                }
            }
        }
    }
}
