//! Bit fields and bit ranges inside a byte slice.
//!
//! A *field* is `width` bits (1 to 64) starting at any bit. Bit `i` of the slice is bit `i % 8` of
//! byte `i / 8`, so fields lie in the slice as in one long little-endian number.
//!
//! Reads and writes move whole 64-bit words and may touch bytes near the field that do not belong to
//! it (unchanged bits are written back as they were). The slice must therefore reach at least
//! [`PADDING`] bytes past the last field.

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

/// Copies `len` bits, which lie from bit `from_bit` on, to bit `to_bit` of other bytes.
#[inline(always)]
pub(crate) fn copy(from: &[u8], from_bit: usize, to: &mut [u8], to_bit: usize, len: usize) {
    // As many as one load and one store have from any bit of a byte on.
    const STEP: usize = 57;
    for done in (0..len).step_by(STEP) {
        let width = STEP.min(len - done) as u32;
        set(to, to_bit + done, width, get(from, from_bit + done, width));
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
        let bytes = in_one_register(bytes.get(at..)?.get(..Self::len(header, width))?);
        Some(Self { bytes, header, width })
    }

    /// The same bytes, to be changed.
    #[inline(always)]
    pub(crate) fn bytes_mut(bytes: &'a mut [u8], at: usize, header: u8, width: u8) -> Option<&'a mut [u8]> {
        bytes.get_mut(at..)?.get_mut(..Self::len(header, width))
    }

    #[inline(always)]
    fn len(header: u8, width: u8) -> usize {
        usize::from(header) + 8 * usize::from(width) + 8
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

/// Words of eight bytes each, little-endian.
pub(crate) type WordBytes = [[u8; 8]];

/// Inserts a field of `width` bits at bit `at` (less than 64) of the first word: whatever lies there and after it, up to the
/// last word, moves up by as many bits. What is pushed out at the end is the answer.
#[inline(always)]
pub(crate) fn insert(words: &mut WordBytes, at: u32, width: u32, value: u64) -> u64 {
    let back = 64 - width;
    let Some((first, later)) = words.split_first_mut() else { return value };
    let old = u64::from_le_bytes(*first);
    let moved = old & high_mask(at);
    // Shifting by 64 in two steps gives 0.
    *first = (old & !high_mask(at) | value << at | moved << (width - 1) << 1).to_le_bytes();
    let mut carry = moved >> back | value >> 1 >> (63 - at);
    for word in later {
        let old = u64::from_le_bytes(*word);
        *word = (old << (width - 1) << 1 | carry).to_le_bytes();
        carry = old >> back;
    }
    carry
}

/// Removes the field of `width` bits at bit `at` (less than 64) of the first word: whatever lies after it, up to the last
/// word, moves down by as many bits, and `last` takes the place that is left at the end.
#[inline(always)]
pub(crate) fn remove(words: &mut WordBytes, at: u32, width: u32, last: u64) {
    let back = 64 - width;
    let Some((first, later)) = words.split_first_mut() else { return };
    let mut above = last;
    for word in later.iter_mut().rev() {
        let old = u64::from_le_bytes(*word);
        *word = (old >> (width - 1) >> 1 | above << back).to_le_bytes();
        above = old;
    }
    let old = u64::from_le_bytes(*first);
    let moved = old >> (width - 1) >> 1 | above << back;
    *first = (old & !high_mask(at) | moved & high_mask(at)).to_le_bytes();
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
    fn copied_bits_are_the_same_and_others_stay() {
        for len in [0, 1, 7, 56, 57, 58, 64, 113, 114, 115, 500] {
            for (from_bit, to_bit) in [(0, 0), (3, 0), (0, 5), (7, 6), (61, 130)] {
                let from = pattern(100);
                let mut to: Vec<u8> = pattern(100).iter().map(|byte| byte.rotate_left(3)).collect();
                let mut want = to.clone();
                for bit in 0..len {
                    let value = from[(from_bit + bit) / 8] >> ((from_bit + bit) % 8) & 1;
                    let byte = &mut want[(to_bit + bit) / 8];
                    *byte = *byte & !(1 << ((to_bit + bit) % 8)) | value << ((to_bit + bit) % 8);
                }
                copy(&from, from_bit, &mut to, to_bit, len);
                assert_eq!(to, want, "{len} bits from {from_bit} to {to_bit}");
            }
        }
    }

    #[test]
    fn inserted_and_removed_fields_move_the_others() {
        for width in 1..=64u32 {
            let value = 0x5bd1_e995_97f4_a7c1 & field_mask(width);
            // A block of 64 fields, of which some lie in the slice.
            for len in [1, width / 2 + 1, width] {
                let fields = len * 64 / width;
                for at in [0, 1, fields / 3, fields / 2, fields.saturating_sub(1)] {
                    let before = pattern(len as usize * 8);
                    let field = |bytes: &[u8], i: u32| naive_get(bytes, (i * width) as usize, width);
                    let mut bytes = before.clone();
                    let (word, bit) = ((at * width / 64) as usize, at * width % 64);
                    let pushed_out = insert(&mut bytes.as_chunks_mut().0[word..], bit, width, value);
                    let end = len * 64 - width;
                    if at * width > end {
                        continue;
                    }
                    assert_eq!(pushed_out, naive_get(&before, end as usize, width), "{width} bits at {at}");
                    for i in 0..fields {
                        let want = match i {
                            _ if i < at => field(&before, i),
                            _ if i == at => value,
                            _ => field(&before, i - 1),
                        };
                        assert_eq!(field(&bytes, i), want, "{width} bits at {at} of {fields}, field {i}");
                    }
                    remove(&mut bytes.as_chunks_mut().0[word..], bit, width, pushed_out);
                    assert_eq!(bytes, before, "{width} bits at {at}");
                }
            }
        }
    }
}
