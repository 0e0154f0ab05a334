//! A table of boxes: what all that is done with single keys, and all streams of keys, come down to.

use crate::bits::cpu::dispatch;
use crate::codec::boxes::{self, Boxes, Keys};
use crate::filter::expandable::fingerprint::Fingerprint;
use crate::filter::macros::kernel;
use crate::filter::room::Effort;
use crate::filter::union::Ascending;
use crate::mem::{Memory, OutOfMemory};
use crate::table::{Full, Limits, Shape, Table};

/// A table of boxes.
pub(super) struct Boxed<B = Memory> {
    pub(super) table: Table<B>,
    pub(super) codec: Boxes,
    /// How many slots may be in use.
    pub(super) limit: u64,
    /// Copies of all keys in it: of those that were inserted, and of those that came to lie in several places.
    pub(super) held: u64,
}

/// A key as a table knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) fingerprint: Fingerprint,
    pub(super) suffix: u16,
    pub(super) count: u64,
}

/// For unions of streams.
impl Ascending for Entry {
    const END: Self = Self { fingerprint: Fingerprint::LAST, suffix: 0, count: 0 };

    #[inline(always)]
    fn is_end(&self) -> bool {
        self.count == 0
    }

    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        (self.fingerprint, self.suffix) < (other.fingerprint, other.suffix)
    }
}

impl Boxed {
    /// An empty one.
    pub(super) fn new((shape, codec): (Shape, Boxes)) -> Result<Self, OutOfMemory> {
        Ok(Self::over(Table::new(shape)?, codec, 0))
    }

    /// A copy with a larger spill area.
    pub(super) fn extended(&self, slots: u64) -> Result<Self, OutOfMemory> {
        Ok(Self { table: self.table.extended(slots)?, ..*self })
    }

    /// Adds a copy of a key, if there is room. Tells whether it was not found before.
    pub(super) fn add(&mut self, hash: u64, suffix: u16, effort: Effort) -> Result<bool, Full> {
        let limits = effort.limits(self.table.used(), self.limit);
        let is_new = dispatch(Add { table: &mut self.table, codec: self.codec, hash, suffix, limits })?;
        self.held += 1;
        Ok(is_new)
    }

    /// Removes a copy of a key, of its longest fingerprint. `false` if there is none.
    ///
    /// That may take a slot more than before. If there is none, and no memory for any, the key stays: it can do no harm but
    /// that of a mistake.
    pub(super) fn remove(&mut self, hash: u64, suffix: u16) -> bool {
        loop {
            match dispatch(Remove { table: &mut self.table, codec: self.codec, hash, suffix }) {
                Ok(removed) => {
                    self.held -= u64::from(removed);
                    return removed;
                }
                Err(Full::End { slots }) => match self.table.extended(slots.into()) {
                    Ok(table) => self.table = table,
                    Err(_) => return true,
                },
                Err(_) => return true,
            }
        }
    }
}

impl<B: AsRef<[u8]>> Boxed<B> {
    pub(super) fn over(table: Table<B>, codec: Boxes, held: u64) -> Self {
        Self { limit: table.shape().slot_limit(), table, codec, held }
    }

    /// This over borrowed bytes.
    pub(super) fn borrowed(&self) -> Boxed<&[u8]> {
        let Self { codec, limit, held, .. } = *self;
        Boxed { table: self.table.borrowed(), codec, limit, held }
    }

    pub(super) fn try_clone(&self) -> Result<Boxed, OutOfMemory> {
        let Self { codec, limit, held, .. } = *self;
        Ok(Boxed { table: self.table.try_clone()?, codec, limit, held })
    }

    /// Bits of the fingerprint of a new key, which is the longest.
    pub(super) fn full_bits(&self) -> u32 {
        let strings = self.strings();
        strings.position_bits() + strings.slot_bits() - 1
    }

    /// Whether fingerprints that have no bit left beside the quotient take most of the slots that may be in use, after so many
    /// doublings. They take the same share of a table of any size, and find everything there. Reads the whole table.
    pub(super) fn is_void(&self, doublings: u32) -> bool {
        boxes::void_slots(&self.table, self.codec, doublings) > self.limit / 4 * 3
    }

    /// Whether slots are less crowded in a larger table: not if most of those in use are taken there, too.
    pub(super) fn gets_thinner(&self) -> bool {
        boxes::void_slots(&self.table, self.codec, 0) <= self.table.used() / 2
    }

    /// The shape of a table that has the strings in its slots, each with a stop bit, and nothing else.
    pub(super) fn strings(&self) -> Shape {
        strings_of(self.table.shape(), self.codec)
    }

    /// All keys in ascending order.
    pub(super) fn entries(&self) -> Entries<'_, B> {
        let no_stop = !self.codec.has_stops();
        Entries { keys: Keys::new(&self.table, self.codec), strings: self.strings(), no_stop }
    }

    /// The fingerprints of all boxes in ascending order.
    pub(super) fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        let mut last = None;
        self.entries().map(|entry| entry.fingerprint).filter(move |next| last.replace(*next) != Some(*next))
    }
}

/// The shape of a table that has the strings of another one in its slots, each with a stop bit, and nothing else.
pub(super) fn strings_of(shape: &Shape, codec: Boxes) -> Shape {
    let string_bits = shape.slot_bits() - codec.suffix_bits() + u32::from(!codec.has_stops());
    shape.resized(shape.quotient_bits(), string_bits)
}

/// All keys of a table in ascending order.
pub(super) struct Entries<'a, B> {
    keys: Keys<'a, B>,
    strings: Shape,
    no_stop: bool,
}

impl<B: AsRef<[u8]>> Iterator for Entries<'_, B> {
    type Item = Entry;
    #[inline(always)]
    fn next(&mut self) -> Option<Entry> {
        let (quotient, string, suffix, count) = self.keys.next()?;
        let string = if self.no_stop { string << 1 | 1 } else { string };
        Some(Entry { fingerprint: Fingerprint::from_table(&self.strings, quotient, string), suffix, count })
    }
}

kernel! {
    pub(super) Count<'a, B: AsRef<[u8]>> { boxed: &'a Boxed<B>, hash: u64, suffix: u16 } -> u64
    |cpu| boxes::count(cpu, &boxed.table, boxed.codec, hash, suffix)
}

kernel! {
    pub(super) InsertAtGlance<'a> { boxed: &'a mut Boxed, hash: u64, suffix: u16 } -> bool
    |cpu| boxes::insert_at_glance(cpu, &mut boxed.table, boxed.codec, hash, suffix)
}

kernel! {
    pub(super) RemoveAtGlance<'a> { boxed: &'a mut Boxed, hash: u64, suffix: u16 } -> bool
    |cpu| boxes::remove_at_glance(cpu, &mut boxed.table, boxed.codec, hash, suffix)
}

kernel! {
    Add<'a> { table: &'a mut Table, codec: Boxes, hash: u64, suffix: u16, limits: Limits } -> Result<bool, Full>
    |cpu| boxes::add(cpu, table, codec, (hash, suffix), limits)
}

kernel! {
    Remove<'a> { table: &'a mut Table, codec: Boxes, hash: u64, suffix: u16 } -> Result<bool, Full>
    |cpu| boxes::remove(cpu, table, codec, hash, suffix)
}
