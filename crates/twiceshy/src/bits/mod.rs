//! Words and bit strings, and nothing about filters.
//!
//! | file | what it holds |
//! |---|---|
//! | [`word`] | masks and rank within one 64-bit word |
//! | [`select`] | position of the k-th set bit: portable, BMI2, and the naive oracle |
//! | [`aes`] | AES-128 of one block: with the CPU's instructions, or without tables |
//! | [`cpu`] | choosing the instructions at run time, once per operation |
//! | [`packed`] | fields of 1 to 64 bits and whole bit ranges inside a byte slice |
//! | [`vectors`] | inserting a field with AVX2 |
//! | [`parity`] | sixteen sums of bits at once, portable and with AVX2 |
//!
//! Bits are numbered from the least significant one, bytes are little-endian on every platform,
//! and nothing needs to be aligned: a table in memory and a table in a file are the same bytes.

pub(crate) mod aes;
pub(crate) mod cpu;
pub(crate) mod packed;
pub(crate) mod parity;
pub(crate) mod select;
pub(crate) mod vectors;
pub(crate) mod word;
