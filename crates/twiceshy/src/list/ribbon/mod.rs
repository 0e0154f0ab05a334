//! Ribbons: a bit or more for each of some keys, in hardly more space than these bits take, and without the keys.
//!
//! # The idea
//!
//! A ribbon is a matrix of bits. A key's [`Equation`] names a *start* row and some of the [`WIDTH`] rows from there on, its
//! *coefficients*, at random. The XOR of these rows is what the ribbon says of the key. To build one is to solve the equations
//! of all keys for what it should say of each; they are nearly a band matrix, so that this takes a few steps per key
//! (`solve.rs`).
//!
//! What a key *should* give are random bits, too, its *values*, so whoever was not asked for gives them in every column with
//! probability 1/2, whatever is in the matrix: a ribbon of `c` columns is a filter of rate `2^-c` for the keys that are to
//! match. A key that must *not* match gives the other bit in the first column.
//!
//! # The layout
//!
//! A [`GROUP`] is eight rows: a byte for each column, whose bit `i` belongs to row `i` of the group. From any row of a group on,
//! an equation lies in [`parity::GROUPS`] groups. They are one piece of `8c` bytes: one or two cache lines up to eight
//! columns, and with one column a single word. (Words of 64 rows beside each other, as in RocksDB, are twice as many
//! bytes, since an equation nearly always lies in two of them.)
//!
//! Rows that would hold more equations than they can are relieved by *bumping*: of a [`BUCKET`] of starts the lowest ones may be
//! left to another ribbon. Two bits per bucket say how many. Then a ribbon of slightly fewer rows than keys is full but for a few
//! in a thousand, and the [stage] has another, much smaller one for those that were bumped.
//!
//! # Cost
//!
//! 1.005 times the bits that are told of a key with eight columns, 1.018 times with one column: half of a percent are codes of
//! buckets (1/64 of a bit per key), the rest rows that nobody uses. 60 ns per key to build.
//!
//! # Source
//!
//! Dillinger, Hübschle-Schneider, Sanders and Walzer, *Fast Succinct Retrieval and Approximate Membership using Ribbon* (SEA
//! 2022): standard ribbon, bumping, thresholds of two bits. Ours is the layout; equations of 57 rows instead of 64, so that
//! they lie in 64 rows from any group on (that costs 0.1 %); and 3 % more keys than rows, where they have up to 10 %: less
//! goes to a second ribbon then, for 0.1 % of space.

mod solve;
pub(super) mod stage;

use crate::bits::cpu::Cpu;
use crate::bits::parity::{self, LOWEST_BITS, SUMS};
use crate::bits::word::low_mask;
use crate::mem::prefetch_far;

/// Rows that an equation reaches over.
const WIDTH: u32 = 57;

/// Rows of a group.
const GROUP: usize = 8;

/// Starts that have a code in common.
const BUCKET: usize = 128;

/// From which start of its bucket on a key stays in the ribbon, for each code.
const LIMITS: [u8; 4] = [0, 12, 32, BUCKET as u8];

/// Buckets that have their codes in one byte.
const BUCKETS_PER_BYTE: usize = 4;

/// The most columns: a bit of a word for each.
pub(super) const MOST_COLUMNS: u32 = 64;

/// An odd number without a pattern: the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Another one.
const STEP: u64 = 0xd6e8_feb8_6659_fd93;

/// Another hash of the same key, for another ribbon: one for each number of bits to rotate. Different hashes stay different.
#[inline(always)]
const fn another<const ROTATED: u32>(hash: u64) -> u64 {
    hash.rotate_left(ROTATED).wrapping_mul(STEP)
}

/// The hash in the next ribbon of a stage.
#[inline(always)]
const fn next(hash: u64) -> u64 {
    another::<32>(hash)
}

/// The hash of a key's one equation in the exact stage.
#[inline(always)]
pub(super) const fn exactly(hash: u64) -> u64 {
    another::<21>(hash)
}

/// And of its other equation there, if it has two.
#[inline(always)]
pub(super) const fn exactly_again(hash: u64) -> u64 {
    another::<43>(hash)
}

/// What a key asks of a ribbon, and what for. All of it follows from its hash.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Equation {
    /// Which of the rows from the start on. The first is always one of them.
    coefficients: u64,
    /// What their XOR should be: that of column `j` is [`bit_of`]`(j)`.
    values: u64,
}

impl Equation {
    #[inline(always)]
    fn of(hash: u64) -> Self {
        let product = u128::from(hash) * u128::from(FACTOR);
        // The highest bits of the product are those of the hash, which say where it starts: in their place come others.
        let values = ((product >> 64) as u64).wrapping_mul(STEP);
        Self { coefficients: product as u64 >> (64 - WIDTH) | 1, values }
    }
}

/// Which bit of the values a column has: those of eight columns are in eight bytes, as the sums of bits come.
const fn bit_of(column: u32) -> u32 {
    8 * (column % 8) + column / 8
}

/// The bits of the values of so many columns.
fn bits_of(columns: u32) -> u64 {
    (0..columns).fold(0, |bits, column| bits | 1 << bit_of(column))
}

/// Where a ribbon lies in some bytes, and its measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ribbon {
    /// Rows at which an equation can start.
    starts: u64,
    /// Bytes of a group.
    columns: usize,
    /// Where the codes begin, if it has any.
    codes_at: usize,
    rows_at: usize,
    /// The values that count of the last sixteen columns.
    masks: [u64; 2],
}

impl Ribbon {
    /// The fewest groups.
    const FEWEST_GROUPS: u32 = parity::GROUPS as u32;

    /// A ribbon from byte `at` on, with codes or without.
    fn new(groups: u32, columns: u32, at: usize, has_codes: bool) -> Self {
        let starts = starts(groups);
        let codes = if has_codes { codes_bytes(starts) } else { 0 };
        let last = match columns as usize % SUMS {
            0 => SUMS,
            some => some,
        };
        let mask = |columns: usize| LOWEST_BITS & low_mask(8 * columns.min(8) as u32);
        let masks = [mask(last), mask(last.saturating_sub(8))];
        Self { starts, columns: columns as usize, codes_at: at, rows_at: at + codes, masks }
    }

    /// How many bytes it has; `None` if they cannot be addressed.
    fn bytes(groups: u32, columns: u32, has_codes: bool) -> Option<usize> {
        let codes = if has_codes { codes_bytes(starts(groups)) } else { 0 };
        (groups as usize).checked_mul(columns as usize)?.checked_add(codes)
    }

    /// Where the equation of a key starts.
    #[inline(always)]
    pub(super) fn start(&self, hash: u64) -> usize {
        ((u128::from(hash) * u128::from(self.starts)) >> 64) as usize
    }

    /// Whether a key whose equation starts there is in this ribbon, and not bumped to another.
    #[inline(always)]
    pub(super) fn keeps(&self, bytes: &[u8], start: usize) -> bool {
        let bucket = start / BUCKET;
        let codes = bytes[self.codes_at + bucket / BUCKETS_PER_BYTE];
        let code = codes >> (2 * (bucket % BUCKETS_PER_BYTE)) & 3;
        start % BUCKET >= LIMITS[usize::from(code)].into()
    }

    /// Asks for the memory of a hash, which lies in one cache line or two.
    #[inline(always)]
    pub(super) fn ask_for(&self, bytes: &[u8], hash: u64) {
        let at = self.rows_at + self.start(hash) / GROUP * self.columns;
        prefetch_far(bytes, at);
        prefetch_far(bytes, at + (parity::GROUPS - 1) * self.columns);
    }

    /// The same for a ribbon of one column: nearly always it is one cache line.
    #[inline(always)]
    pub(super) fn ask_for_bit(&self, bytes: &[u8], hash: u64) {
        prefetch_far(bytes, self.rows_at + self.start(hash) / GROUP);
    }

    /// Whether the ribbon gives the values of a key, in all columns. The bytes reach 16 bytes beyond the ribbon.
    #[inline(always)]
    fn matches<C: Cpu>(&self, cpu: C, bytes: &[u8], hash: u64, start: usize) -> bool {
        let Equation { coefficients, mut values } = Equation::of(hash);
        let mask = coefficients << (start % GROUP);
        let mut at = self.rows_at + start / GROUP * self.columns;
        let mut columns = self.columns;
        while columns > SUMS {
            if self.differs(cpu, bytes, at, mask, values, [LOWEST_BITS; 2]) {
                return false;
            }
            (columns, at, values) = (columns - SUMS, at + SUMS, values >> 2);
        }
        !self.differs(cpu, bytes, at, mask, values, self.masks)
    }

    /// [`matches`](Self::matches) for a ribbon of no more than sixteen columns.
    #[inline(always)]
    pub(super) fn few_match<C: Cpu>(&self, cpu: C, bytes: &[u8], hash: u64, start: usize) -> bool {
        let Equation { coefficients, values } = Equation::of(hash);
        let at = self.rows_at + start / GROUP * self.columns;
        !self.differs(cpu, bytes, at, coefficients << (start % GROUP), values, self.masks)
    }

    /// Whether one of sixteen columns gives another value, of those that count.
    #[inline(always)]
    fn differs<C: Cpu>(
        &self,
        cpu: C,
        bytes: &[u8],
        at: usize,
        mask: u64,
        values: u64,
        count: [u64; 2],
    ) -> bool {
        let [low, high] = cpu.parities(&bytes[at..at + parity::reach(self.columns)], self.columns, mask);
        (low ^ values) & count[0] | (high ^ values >> 1) & count[1] != 0
    }

    /// [`matches`](Self::matches) for a ribbon of one column.
    #[inline(always)]
    pub(super) fn bit_matches(&self, bytes: &[u8], hash: u64, start: usize) -> bool {
        let Equation { coefficients, values } = Equation::of(hash);
        let rows = bytes[self.rows_at + start / GROUP..].first_chunk().expect("a ribbon has eight groups");
        let sum = (u64::from_le_bytes(*rows) & coefficients << (start % GROUP)).count_ones();
        (u64::from(sum) ^ values) & 1 == 0
    }
}

/// Rows at which an equation can start, of so many groups, of which there are at least the fewest.
fn starts(groups: u32) -> u64 {
    GROUP as u64 * u64::from(groups - (Ribbon::FEWEST_GROUPS - 1))
}

/// Bytes for the codes of so many starts.
fn codes_bytes(starts: u64) -> usize {
    starts.div_ceil((BUCKET * BUCKETS_PER_BYTE) as u64) as usize
}
