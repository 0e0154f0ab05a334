//! Inserting a field among the fields of a block, all words of the block at once.
//!
//! How many words move when a field is inserted follows from what a block holds, so a loop over them ends where no branch
//! predictor guesses, and in a table larger than caches the next insert waits then for this one's memory. With vectors
//! ([`insert`](Vectors::insert)) all words of the block that may move are read and written, and a mask decides which of them
//! do: two vectors for fields of 9 bits.
//!
//! # Cost
//!
//! 8 instructions per vector of 32 bytes, and some 20. As many as the loop takes for a block that is half full, but without a
//! branch: an insert takes 0.7 of the time in DRAM, and 0.8 in the last-level cache.
//!
//! # Source
//!
//! None of the papers.

#![cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "no vectors of any other CPU are used"))]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

use super::word::field_mask;

/// Bytes of a vector.
const BYTES: usize = 32;

/// The most bytes of fields of a block that are worth it.
const MOST: usize = 160;

/// Zeros, and from byte [`ONES_AT`] on ones.
static ZEROS_THEN_ONES: [u8; ONES_AT + MOST] = {
    let mut bytes = [0; ONES_AT + MOST];
    let mut at = ONES_AT;
    while at < bytes.len() {
        bytes[at] = 0xff;
        at += 1;
    }
    bytes
};
const ONES_AT: usize = MOST + BYTES;

/// Blocks have at least so many bytes before their fields, which may be read and written back.
const HEADER: usize = 16;

/// What follows from how many bytes the fields of a block have, and from their width.
#[derive(Clone, Copy)]
pub(crate) struct Vectors {
    /// Bytes of the fields; 0 if vectors are not for them.
    len: usize,
    /// Bytes of whole vectors, from the end of the fields back.
    whole: usize,
    /// Whether there is another one before them, and whether half of it will do.
    rest: Rest,
    /// Bits of a field, and how many a word has beside them.
    up: u64,
    down: u64,
    /// A field of ones.
    field: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    None,
    Half,
    Whole,
}

impl Vectors {
    /// For fields of `width` bits in `len` bytes.
    pub(crate) fn new(len: usize, width: u32) -> Self {
        // The first word that changes is written apart; from any bit of a byte on it has so many.
        let suits = (BYTES + 8..=MOST).contains(&len) && width <= 57;
        let len = if suits { len } else { 0 };
        let whole = len.saturating_sub(8) / BYTES * BYTES;
        let rest = match len.saturating_sub(8) - whole {
            0 => Rest::None,
            1..=16 => Rest::Half,
            _ => Rest::Whole,
        };
        let (up, down) = (width.into(), (64 - width).into());
        Self { len, whole, rest, up, down, field: field_mask(width) }
    }

    /// Inserts a field of `width` bits at bit `bit` of the fields of a block, which come after `header` bytes. Whatever lies
    /// there and after it moves up by as many bits; what is pushed out at the end is lost. `false`, and nothing has changed, if
    /// that takes a loop.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2,bmi2")]
    pub(super) fn insert(&self, block: &mut [u8], header: usize, bit: u32, value: u64) -> bool {
        let Self { len, whole, rest, field, .. } = *self;
        if len == 0 || header < HEADER || block.len() < header + len {
            return false;
        }
        // A word, also at the end of the fields.
        let at = (bit as usize / 8).min(len - 8);
        let shift = bit as usize - 8 * at;
        debug_assert!(shift as u64 + self.up <= 64, "a field in the block");
        #[expect(unsafe_code, reason = "loads and stores without checks of their own")]
        // SAFETY: the block has `header + len` bytes. A word from `at` on ends with the last of them at the latest. Vectors are
        // the last `whole` bytes, which is at most `len - 8`, and one more, that begins at most 7 bytes before the fields:
        // `rest` is a half if 16 bytes are enough, and else there are at least 17. Each looks at the 8 bytes before it, too, and
        // the header has `HEADER` bytes. A vector begins at most `len - BYTES` bytes after `at`, and at most `len` before it:
        // there are as many ones and zeros.
        unsafe {
            let fields = block.as_mut_ptr().add(header);
            let word = fields.add(at).cast::<u64>();
            // All of the first word that changes follows from what it was: a gap, and the field in it.
            let first = _pdep_u64(word.read_unaligned(), !(field << shift)) | value << shift;
            let (up, down) = (_mm_cvtsi64_si128(self.up as i64), _mm_cvtsi64_si128(self.down as i64));
            // What is before that word stays.
            let (end, moves) = (fields.add(len), ZEROS_THEN_ONES.as_ptr().add(ONES_AT + len - at));
            let vector = |back: usize| {
                let (vector, moves) = (end.sub(back), moves.sub(back));
                let old = _mm256_loadu_si256(vector.cast());
                let before = _mm256_loadu_si256(vector.sub(8).cast());
                let moved = _mm256_or_si256(_mm256_sll_epi64(old, up), _mm256_srl_epi64(before, down));
                let new = _mm256_blendv_epi8(old, moved, _mm256_loadu_si256(moves.cast()));
                _mm256_storeu_si256(vector.cast(), new);
            };
            let half_vector = |back: usize| {
                let (vector, moves) = (end.sub(back), moves.sub(back));
                let old = _mm_loadu_si128(vector.cast());
                let before = _mm_loadu_si128(vector.sub(8).cast());
                let moved = _mm_or_si128(_mm_sll_epi64(old, up), _mm_srl_epi64(before, down));
                let new = _mm_blendv_epi8(old, moved, _mm_loadu_si128(moves.cast()));
                _mm_storeu_si128(vector.cast(), new);
            };
            let mut done = 0;
            while done < whole {
                done += BYTES;
                vector(done);
            }
            match rest {
                Rest::None => (),
                Rest::Half => half_vector(whole + BYTES / 2),
                Rest::Whole => vector(whole + BYTES),
            }
            word.write_unaligned(first);
        }
        true
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::packed;
    use super::*;

    /// Like the loop over words, at every place of blocks of every size, and nothing around the block changes.
    #[test]
    fn a_field_is_inserted_as_by_the_loop() {
        if !super::super::cpu::is_fast() {
            // Nothing calls it then.
            return;
        }
        for width in 1..=64 {
            for slots in [40, 48, 56, 64] {
                let len = slots * width as usize / 8;
                let vectors = Vectors::new(len, width);
                for before in [16, 17, 25, 40] {
                    let all: Vec<u8> = (0..before + len + 9).map(|i| (i * 89 + i / 7 + 3) as u8).collect();
                    for at in 0..slots as u32 {
                        let (bit, value) = (at * width, 0x5bd1_e995_97f4_a7c1 & field_mask(width));
                        let mut got = all.clone();
                        #[expect(unsafe_code, reason = "calls a function compiled for AVX2")]
                        // SAFETY: a fast CPU has it.
                        let done = unsafe { vectors.insert(&mut got[..before + len], before, bit, value) };
                        assert_eq!(done, (40..=MOST).contains(&len) && width <= 57, "{len} bytes");
                        let mut want = all.clone();
                        if done {
                            // What falls out goes into a word of its own.
                            let mut fields = all[before..before + len].to_vec();
                            fields.resize(len.next_multiple_of(8) + 8, 0);
                            let words = &mut fields.as_chunks_mut().0[bit as usize / 64..];
                            packed::insert(words, bit % 64, width, value);
                            want[before..before + len].copy_from_slice(&fields[..len]);
                        }
                        assert_eq!(got, want, "{width} bits at {at} of {slots} after {before} bytes");
                    }
                }
            }
        }
    }
}
