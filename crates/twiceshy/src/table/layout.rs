//! What the header of a block holds: a type, so that code for one layout cannot meet a table of another.

use super::RUNEND_AT;

/// The header of a block. All have an offset, occupied bits and run ends.
pub(crate) trait Layout: Copy + Eq + std::fmt::Debug + 'static {
    /// Whether slots have extension bits, so that an entry may span several.
    const EXTENDED: bool;
    /// Words after those bits that the table leaves alone: a filter may keep something there for every block.
    const OWN_WORDS: usize;
    /// Bytes of the header.
    const BYTES: usize = RUNEND_AT + 8 + 8 * (Self::EXTENDED as usize + Self::OWN_WORDS);
}

/// Every entry is made of slots that look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plain;

impl Layout for Plain {
    const EXTENDED: bool = false;
    const OWN_WORDS: usize = 0;
}

/// Entries may span several slots, of different kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extended;

impl Layout for Extended {
    const EXTENDED: bool = true;
    const OWN_WORDS: usize = 0;
}
