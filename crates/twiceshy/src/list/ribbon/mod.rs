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
//! Two ribbons may lie in the same groups, one in the first columns and one in the last. An equation names the same rows in
//! both, so they are [asked at once](Joined), and their memory is the same.
//!
//! Rows that would hold more equations than they can are relieved by *bumping*: of a [`BUCKET`] of starts the lowest ones may be
//! left to another ribbon. Two bits per bucket, of four that it has for two ribbons, say how many. Then a ribbon of slightly fewer rows than keys is full but for a few
//! in a thousand, and the [stage] has another, much smaller one for those that were bumped.
//!
//! # Cost
//!
//! 1.005 times the bits that are told of a key with eight columns, 1.018 times with one column: codes of buckets are
//! 1/32 of a bit per key, the rest rows that nobody uses. 60 ns per key to build.
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
use crate::bits::parity::{self, SUMS};
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

/// The same for two ribbons in the same groups, for each pair of codes: from which start on a key stays in both.
const LIMITS_OF_BOTH: [u8; 16] = {
    let mut limits = [0; 16];
    let mut codes = 0;
    while codes < 16 {
        let (one, other) = (LIMITS[codes % 4], LIMITS[codes / 4]);
        limits[codes] = if one > other { one } else { other };
        codes += 1;
    }
    limits
};

/// Bits of a code.
const CODE_BITS: usize = 2;

/// Bits of the codes of a bucket, if there are two ribbons in the same groups.
const CODES_BITS: usize = 2 * CODE_BITS;

/// The most columns: a bit of a word for each, and one for a ribbon in the same groups.
pub(super) const MOST_COLUMNS: u32 = 63;

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

/// The hash of a key's other equation in the exact stage, if it has two.
#[inline(always)]
pub(super) const fn again(hash: u64) -> u64 {
    another::<43>(hash)
}

/// A hash that may be mixed with another one.
pub(super) const fn apart(hash: u64) -> u64 {
    another::<21>(hash)
}

/// What a key asks of a ribbon, and what for. All of it follows from its hash.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Equation {
    /// Which of the rows from the start on. The first is always one of them.
    coefficients: u64,
    /// What their XOR should be, from the first column on. A ribbon that lies in the last columns of others has the later bits.
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

/// Where a ribbon lies in some bytes, and its measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ribbon {
    /// Rows at which an equation can start.
    starts: u64,
    columns: usize,
    /// Bytes of a group.
    group_bytes: usize,
    /// The column of a group that is its first one.
    first: usize,
    /// The bit of the values that its first column has.
    first_value: u32,
    /// How many bits a bucket has, and with which of them its code begins.
    codes_bits: usize,
    code_bit: usize,
    /// Where the codes begin, if it has any.
    codes_at: usize,
    groups_at: usize,
}

impl Ribbon {
    /// The fewest groups.
    const FEWEST_GROUPS: u32 = parity::GROUPS as u32;

    /// A ribbon from byte `at` on, with codes or without, whose groups have room for some columns of another one. There are at least
    /// the fewest groups.
    fn new(groups: u32, columns: usize, room: usize, first_value: u32, at: usize, has_codes: bool) -> Self {
        let starts = GROUP as u64 * u64::from(groups - (Self::FEWEST_GROUPS - 1));
        let codes_bits = if room > 0 { CODES_BITS } else { CODE_BITS };
        let buckets = if has_codes { starts.div_ceil(BUCKET as u64) as usize } else { 0 };
        Self {
            starts,
            columns,
            group_bytes: columns + room,
            first: 0,
            first_value,
            codes_bits,
            code_bit: 0,
            codes_at: at,
            groups_at: at + (buckets * codes_bits).div_ceil(8),
        }
    }

    /// The ribbon of one column that has the room in its groups.
    fn beside(&self) -> Self {
        let columns = self.columns;
        Self { columns: 1, first: columns, first_value: columns as u32, code_bit: CODE_BITS, ..*self }
    }

    /// Whether its groups have another ribbon, too.
    fn is_joined(&self) -> bool {
        self.group_bytes > self.columns
    }

    /// Where its so many groups end; `None` if they cannot be addressed.
    fn end(&self, groups: u32) -> Option<usize> {
        (groups as usize).checked_mul(self.group_bytes)?.checked_add(self.groups_at)
    }

    /// Where the equation of a key starts.
    #[inline(always)]
    pub(super) fn start(&self, hash: u64) -> usize {
        ((u128::from(hash) * u128::from(self.starts)) >> 64) as usize
    }

    /// The byte that has the code of the bucket of a start, and the bit of it that this begins with.
    #[inline(always)]
    fn code_at(&self, start: usize) -> (usize, usize) {
        let bit = start / BUCKET * self.codes_bits + self.code_bit;
        (self.codes_at + bit / 8, bit % 8)
    }

    /// Whether a key whose equation starts there is in this ribbon, and not bumped to another.
    #[inline(always)]
    fn keeps(&self, bytes: &[u8], start: usize) -> bool {
        let (at, bit) = self.code_at(start);
        start % BUCKET >= LIMITS[usize::from(bytes[at] >> bit & 3)].into()
    }

    /// Where the first column of the group of a start is.
    #[inline(always)]
    fn at(&self, start: usize) -> usize {
        self.groups_at + self.first + start / GROUP * self.group_bytes
    }

    /// Whether the ribbon gives the values of a key, in all columns. The bytes reach 16 bytes beyond the ribbon.
    #[inline(always)]
    fn matches<C: Cpu>(&self, cpu: C, bytes: &[u8], hash: u64, start: usize) -> bool {
        let Equation { coefficients, values } = Equation::of(hash);
        let mask = coefficients << (start % GROUP);
        let (mut at, mut values, mut columns) = (self.at(start), values >> self.first_value, self.columns);
        while columns > SUMS {
            if (self.sums(cpu, bytes, at, mask) ^ values) & low_mask(SUMS as u32) != 0 {
                return false;
            }
            (columns, at, values) = (columns - SUMS, at + SUMS, values >> SUMS);
        }
        (self.sums(cpu, bytes, at, mask) ^ values) & low_mask(columns as u32) == 0
    }

    /// What sixteen columns give, from the byte of the first of them on.
    #[inline(always)]
    fn sums<C: Cpu>(&self, cpu: C, bytes: &[u8], at: usize, mask: u64) -> u64 {
        cpu.parities(&bytes[at..at + parity::reach(self.group_bytes)], self.group_bytes, mask)
    }
}

/// Two ribbons in the same groups, of at most sixteen columns together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joined {
    /// The one in the first columns.
    ribbon: Ribbon,
    /// The columns of that one, and those of both, as bits.
    pub(super) first: u64,
    pub(super) both: u64,
}

impl Joined {
    /// A ribbon and the one beside it, if there is room for one and the columns are few.
    fn new(ribbon: &Ribbon) -> Option<Self> {
        let Ribbon { columns, group_bytes, .. } = *ribbon;
        let mask = |columns: usize| low_mask(columns as u32);
        (ribbon.is_joined() && group_bytes <= SUMS).then(|| Self {
            ribbon: *ribbon,
            first: mask(columns),
            both: mask(group_bytes),
        })
    }

    /// Where the equation of a key starts, if both ribbons have it and neither has bumped it.
    #[inline(always)]
    pub(super) fn start(&self, bytes: &[u8], hash: u64) -> Option<usize> {
        let start = self.ribbon.start(hash);
        let codes = bytes[self.ribbon.codes_at + start / (BUCKET * 8 / CODES_BITS)];
        let codes = codes >> (start / BUCKET * CODES_BITS % 8) & ((1 << CODES_BITS) - 1);
        (start % BUCKET >= LIMITS_OF_BOTH[usize::from(codes)].into()).then_some(start)
    }

    /// Where the ribbons do not give the values of a key, as a bit for each column, and others after them.
    #[inline(always)]
    pub(super) fn differences<C: Cpu>(&self, cpu: C, bytes: &[u8], hash: u64, start: usize) -> u64 {
        let Equation { coefficients, values } = Equation::of(hash);
        self.ribbon.sums(cpu, bytes, self.ribbon.at(start), coefficients << (start % GROUP)) ^ values
    }

    /// Asks for the memory of a hash, all that is loaded: two cache lines or three.
    #[inline(always)]
    pub(super) fn ask_for(&self, bytes: &[u8], hash: u64) {
        let at = self.ribbon.at(self.ribbon.start(hash));
        for byte in [0, 64, parity::reach(self.ribbon.group_bytes) - 1] {
            prefetch_far(bytes.as_ptr(), at + byte);
        }
    }
}
