//! Boxes: a string of bits, and the suffixes of all keys that have it, in slots that look alike.
//!
//! # The idea
//!
//! A key is a partition and a suffix of `m` bits ([`partition`](crate::filter)); a string is what is stored of the hash of a
//! partition. A slot is a string and a suffix beside it, in its lowest `m` bits. The keys that have the same string, of one
//! partition or of several, form a *box*. Boxes of a run are in ascending order of their strings, each string once, and a box
//! of
//!
//! - one key is one slot, `(f, s)`;
//! - two keys with different suffixes is two slots in ascending order, `(f, s) (f, t)`;
//! - more keys, or copies, begins with a pair that cannot be in such an order, and what follows is something else
//!   ([`form`]).
//!
//! So the first slot of a run that may be no head is the third, and a run in which no string repeats has nothing but heads.
//! The bytes of a box follow from what is in it. As long as a table has never grown all strings have the same length and fill
//! their part of the slot; later they end with a stop bit ([`stop`]), and may be prefixes of each other.
//!
//! # Cost
//!
//! A slot per key, for up to two keys of a partition; then a slot and a half for every further pair or so, as few bits as a
//! list or a bitmap takes, and three slots, if all keys between two are there: with `m = 5` that is a bit and a half for
//! each of 32 keys. A million copies of a key take five slots of 14 bits.
//!
//! # Source
//!
//! Section 2.3 of *Aeris Filter*, after *Memento Filter*, where the suffixes of a box follow the smallest and the largest as a
//! list with a count in front, and equal ones are repeated. Ours turns into a bitmap once that is shorter, and copies are
//! counted, so a box has no largest size.

mod form;
mod multiset;
#[cfg(test)]
mod tests;

pub(crate) use multiset::Multiset;

use super::stop;
use crate::bits::cpu::{Cpu, Kernel};
use crate::bits::word::low_mask;
use crate::table::{Full, Glance, Home, Limits, Loader, NoRoom, Run, Runs, Slot, Table};
use form::{Many, Stream, encode};

/// No slot of a run before this one is anything else than a head.
const FIRST_OF_STREAM: usize = 2;

/// What the slots of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Boxes {
    suffix_bits: u32,
    has_stops: bool,
    /// What follows from these: the bits of the suffix, and the lowest bit of the string, if there are stop bits.
    suffix_mask: u64,
    last_stop: u64,
}

/// A box of a run: the slots `start..end`.
#[derive(Clone, Copy)]
struct Entry {
    string: u64,
    start: u64,
    end: u64,
    form: Form,
}

/// What is in a box.
#[derive(Clone, Copy)]
enum Form {
    One(u16),
    Two(u16, u16),
    Copies(u16, u64),
    Many(Many),
}

impl Boxes {
    /// Suffixes of so many bits, and strings that end with a stop bit, or fill the rest of a slot.
    pub(crate) fn new(suffix_bits: u32, has_stops: bool) -> Self {
        let last_stop = u64::from(has_stops) << suffix_bits;
        Self { suffix_bits, has_stops, suffix_mask: low_mask(suffix_bits), last_stop }
    }

    #[inline(always)]
    pub(crate) fn suffix_bits(self) -> u32 {
        self.suffix_bits
    }

    #[inline(always)]
    pub(crate) fn has_stops(self) -> bool {
        self.has_stops
    }

    /// What is to be ignored of the bits through the stop bit.
    #[inline(always)]
    fn stops(self) -> u64 {
        u64::from(self.has_stops).wrapping_neg()
    }

    /// The bits of a window that belong to the string.
    #[inline(always)]
    fn of_string(self, window: u64) -> u64 {
        window & !self.suffix_mask
    }

    /// The slot of a key with the longest string that fits.
    #[inline(always)]
    fn head(self, window: u64, suffix: u16) -> u64 {
        self.of_string(window) | self.last_stop | u64::from(suffix)
    }

    /// Whether a string is a prefix of a window, without the suffix.
    #[inline(always)]
    fn matches(self, string: u64, window: u64) -> bool {
        if self.has_stops { stop::matches(string, window) } else { string == window }
    }

    /// The stream of a box that begins at `start`, in a run up to `end`.
    #[inline(always)]
    fn stream<B>(self, table: &Table<B>, start: u64, end: u64) -> Stream<'_, B> {
        Stream { table, start: start + FIRST_OF_STREAM as u64, end }
    }

    /// The box that starts at `start`, in a run that ends at `end`. In a run that no encoder wrote it is cut off there.
    #[inline(always)]
    fn decode<B: AsRef<[u8]>>(self, table: &Table<B>, start: u64, end: u64) -> Entry {
        let split = |slot: u64| (slot >> self.suffix_bits, (slot & self.suffix_mask) as u16);
        let (string, first) = split(table.slot(start));
        if start + 1 >= end {
            return Entry { string, start, end: start + 1, form: Form::One(first) };
        }
        let (other, second) = split(table.slot(start + 1));
        if other != string {
            return Entry { string, start, end: start + 1, form: Form::One(first) };
        }
        if first < second {
            return Entry { string, start, end: start + 2, form: Form::Two(first, second) };
        }
        let stream = self.stream(table, start, end);
        let (form, bits) = if first == second {
            let (more, bits) = stream.gamma(0);
            (Form::Copies(first, more.saturating_add(1)), bits)
        } else {
            let many = Many::read(second, first, &stream);
            (Form::Many(many), many.bits(&stream))
        };
        Entry { string, start, end: stream.end_after(bits), form }
    }

    /// Makes a multiset what a box of a run up to `end` holds.
    fn read_into<B: AsRef<[u8]>>(self, table: &Table<B>, entry: &Entry, end: u64, set: &mut Multiset) {
        set.clear();
        match entry.form {
            Form::One(suffix) => _ = set.add(suffix, 1),
            Form::Two(low, high) => _ = (set.add(low, 1), set.add(high, 1)),
            Form::Copies(suffix, count) => _ = set.add(suffix, count),
            Form::Many(many) => many.read_all(&self.stream(table, entry.start, end), set),
        }
    }

    /// Whether a box of a run up to `end` has a suffix in the range.
    #[inline(always)]
    fn meets<B: AsRef<[u8]>>(self, table: &Table<B>, entry: &Entry, end: u64, from: u16, to: u16) -> bool {
        let is_in = |suffix: u16| (from..=to).contains(&suffix);
        match entry.form {
            Form::One(suffix) | Form::Copies(suffix, _) => is_in(suffix),
            Form::Two(low, high) => is_in(low) || is_in(high),
            Form::Many(many) => many.meets(&self.stream(table, entry.start, end), from, to),
        }
    }

    /// The boxes of a run, in order.
    #[inline(always)]
    fn boxes<B: AsRef<[u8]>>(self, table: &Table<B>, run: Run) -> impl Iterator<Item = Entry> {
        let mut at = run.start;
        std::iter::from_fn(move || {
            if at >= run.end {
                return None;
            }
            let entry = self.decode(table, at, run.end);
            at = entry.end;
            Some(entry)
        })
    }

    /// Whether the suffix of a head is in the part that is looked for.
    #[inline(always)]
    fn is_in(self, head: u64, probe: Probe) -> bool {
        (probe.from..=probe.to).contains(&((head & self.suffix_mask) as u16))
    }

    /// Which slots of a run seem to have a string that is a prefix of the window's.
    #[inline(always)]
    fn found_at_glance<B: AsRef<[u8]>>(self, table: &Table<B>, glance: &Glance, window: u64) -> u64 {
        // Which of the two it is, is the same in all queries.
        match self.has_stops {
            true => table.prefixes_at_glance(glance, window, self.suffix_mask, u64::MAX),
            false => table.find_at_glance(glance, window, self.suffix_mask),
        }
    }

    /// Whether a new key joins the box of a string that covers it, of strings of so many bits.
    #[inline(always)]
    fn is_joined(self, string: u64, string_bits: u32) -> bool {
        let missing = if self.has_stops { string.trailing_zeros() } else { 0 };
        missing == 0 || string_bits > missing + BITS_TO_JOIN
    }

    /// Whether a run certainly has nothing but heads: it is too short, or no slot has the string of the one before it.
    #[inline(always)]
    fn is_plain<B: AsRef<[u8]>>(self, table: &Table<B>, glance: &Glance) -> bool {
        glance.len() as usize <= FIRST_OF_STREAM || !table.repeats_at_glance(glance, self.suffix_mask)
    }
}

/// Suffixes of one partition: the hash of the partition, and the smallest and the largest.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    pub(crate) hash: u64,
    pub(crate) from: u16,
    pub(crate) to: u16,
}

/// Whether there may be a key in a part of a partition, which belongs there.
#[inline(always)]
pub(crate) fn meets<C: Cpu, B: AsRef<[u8]>>(
    cpu: C,
    table: &Table<B>,
    codec: Boxes,
    home: Home,
    probe: Probe,
) -> bool {
    if let Some(glance) = table.look_at(cpu, home) {
        let window = codec.of_string(table.address().window(cpu, probe.hash));
        let found = codec.found_at_glance(table, &glance, window);
        if found == 0 {
            return false;
        }
        // A run in which no string repeats has nothing but heads.
        if !table.repeats_at_glance(&glance, codec.suffix_mask)
            && let Some(slot) = table.only_found_at_glance(&glance, found)
        {
            return codec.is_in(slot, probe);
        }
        return cpu.outlined(LookAtFound { table, codec, glance, window, probe });
    }
    cpu.outlined(LookCloser { table, codec, probe })
}

/// [`meets`] if a slot of the run seems to have the string.
struct LookAtFound<'a, B> {
    table: &'a Table<B>,
    codec: Boxes,
    glance: Glance,
    window: u64,
    probe: Probe,
}

impl<B: AsRef<[u8]>> Kernel for LookAtFound<'_, B> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, codec, glance, window, probe } = self;
        if codec.is_plain(table, &glance)
            && let Some(rank) = table.only_prefix_at_glance(&glance, window, codec.suffix_mask, codec.stops())
        {
            return codec.is_in(table.slot(table.run_at_glance(&glance).start + u64::from(rank)), probe);
        }
        LookCloser { table, codec, probe }.run(cpu)
    }
}

/// [`meets`] for all runs. Strings may be prefixes of each other, so a run is read to its end.
struct LookCloser<'a, B> {
    table: &'a Table<B>,
    codec: Boxes,
    probe: Probe,
}

impl<B: AsRef<[u8]>> Kernel for LookCloser<'_, B> {
    type Output = bool;
    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> bool {
        let Self { table, codec, probe: Probe { hash, from, to } } = self;
        let (quotient, window) = table.address().split(hash);
        let (run, string) = (table.run(cpu, quotient), window >> codec.suffix_bits);
        codec
            .boxes(table, run)
            .any(|entry| codec.matches(entry.string, string) && codec.meets(table, &entry, run.end, from, to))
    }
}

/// How many copies of a key there may be: of all strings that are prefixes of the hash.
#[inline(always)]
pub(crate) fn count<C: Cpu, B: AsRef<[u8]>>(
    cpu: C,
    table: &Table<B>,
    codec: Boxes,
    hash: u64,
    suffix: u16,
) -> u64 {
    let (quotient, window) = table.address().split(hash);
    let (run, string) = (table.run(cpu, quotient), window >> codec.suffix_bits);
    let (mut copies, mut set) = (0u64, Multiset::new(codec.suffix_bits));
    for entry in codec.boxes(table, run).filter(|entry| codec.matches(entry.string, string)) {
        codec.read_into(table, &entry, run.end, &mut set);
        copies = copies.saturating_add(set.count(suffix));
    }
    copies
}

/// Inserts a key of which no string is a prefix, if that takes no more than a glance; the usual insert.
#[inline(always)]
pub(crate) fn insert_at_glance<C: Cpu>(
    cpu: C,
    table: &mut Table,
    codec: Boxes,
    hash: u64,
    suffix: u16,
) -> bool {
    let (home, window) = table.address().home_and_window(cpu, hash);
    table.prefetch_block(home);
    let head = codec.head(window, suffix);
    table.insert_at_glance(cpu, home, head, |table, glance| {
        let is_new = codec.found_at_glance(table, glance, codec.of_string(window)) == 0;
        (is_new && codec.is_plain(table, glance)).then(|| table.rank_at_glance(glance, head))
    })
}

/// Removes a key if its string is the only prefix of the hash and its suffix the only one with it, and that takes no more than
/// a glance; the usual removal.
#[inline(always)]
pub(crate) fn remove_at_glance<C: Cpu>(
    cpu: C,
    table: &mut Table,
    codec: Boxes,
    hash: u64,
    suffix: u16,
) -> bool {
    let (home, window) = table.address().home_and_window(cpu, hash);
    table.prefetch_block(home);
    let Some(glance) = table.glance_at(cpu, home) else { return false };
    let window = codec.of_string(window);
    if !codec.is_plain(table, &glance) {
        return false;
    }
    let only = table.only_prefix_at_glance(&glance, window, codec.suffix_mask, codec.stops());
    let Some(rank) = only else { return false };
    let slot = table.slot(table.run_at_glance(&glance).start + u64::from(rank));
    slot & codec.suffix_mask == u64::from(suffix) && table.remove_at_glance(cpu, &glance, rank)
}

/// A key joins the box of a shorter string only if that has so many bits left, or as many as a new one would have. Each has the
/// share of its bits of every larger table, and so has all that joins it: it must not have few of them and grow without end.
const BITS_TO_JOIN: u32 = 6;

/// Adds a copy of a key, within limits: to the box of the longest string that is a prefix of the hash, if that has bits enough, else
/// to a new one of the longest string that fits. Tells whether no such string had the suffix before.
#[inline(always)]
pub(crate) fn add<C: Cpu>(
    cpu: C,
    table: &mut Table,
    codec: Boxes,
    (hash, suffix): (u64, u16),
    limits: Limits,
) -> Result<bool, Full> {
    let (quotient, window) = table.address().split(hash);
    let (run, string) = (table.run(cpu, quotient), window >> codec.suffix_bits);
    let covering = || codec.boxes(table, run).filter(|entry| codec.matches(entry.string, string));
    let is_new = !covering().any(|entry| codec.meets(table, &entry, run.end, suffix, suffix));
    let string_bits = table.shape().slot_bits() - codec.suffix_bits;
    let Some(entry) = longest(covering()).filter(|entry| codec.is_joined(entry.string, string_bits)) else {
        let head = codec.head(window, suffix);
        let after = codec.boxes(table, run).find(|entry| entry.string > head >> codec.suffix_bits);
        let at = after.map_or(run.end, |entry| entry.start);
        table.insert_head(cpu, quotient, run, at, head, limits)?;
        return Ok(is_new);
    };
    let mut set = Multiset::new(codec.suffix_bits);
    codec.read_into(table, &entry, run.end, &mut set);
    set.add(suffix, 1);
    rewrite(cpu, table, codec, (quotient, run), &entry, &set, limits)?;
    Ok(is_new)
}

/// The box of the longest of some strings that are prefixes of each other.
#[inline(always)]
fn longest(entries: impl Iterator<Item = Entry>) -> Option<Entry> {
    // The longer a string is, the lower its stop bit. Without stop bits there is only one.
    entries.min_by_key(|entry| entry.string.trailing_zeros())
}

/// Removes a copy of a key: of the longest string that is a prefix of the hash and has the suffix. `false` if there is none.
/// Whoever relied on that string then has the other one, which is a prefix of it.
///
/// A gap in a box that had none may take a slot more than before, and there may be none up to the end of the table.
#[inline(always)]
pub(crate) fn remove<C: Cpu>(
    cpu: C,
    table: &mut Table,
    codec: Boxes,
    hash: u64,
    suffix: u16,
) -> Result<bool, Full> {
    let (quotient, window) = table.address().split(hash);
    let (run, string) = (table.run(cpu, quotient), window >> codec.suffix_bits);
    let has_it = |entry: &Entry| {
        codec.matches(entry.string, string) && codec.meets(table, entry, run.end, suffix, suffix)
    };
    let Some(entry) = longest(codec.boxes(table, run).filter(has_it)) else { return Ok(false) };
    let mut set = Multiset::new(codec.suffix_bits);
    codec.read_into(table, &entry, run.end, &mut set);
    set.take(suffix);
    rewrite(cpu, table, codec, (quotient, run), &entry, &set, Limits::NONE)?;
    Ok(true)
}

/// Writes what is in a box anew. Slots that stay as they are, at its start or if there are as many as before, are left alone.
#[inline(always)]
fn rewrite<C: Cpu>(
    cpu: C,
    table: &mut Table,
    codec: Boxes,
    (quotient, run): (u64, Run),
    entry: &Entry,
    set: &Multiset,
    limits: Limits,
) -> Result<(), Full> {
    let mut slots = Vec::new();
    encode(entry.string << codec.suffix_bits, set, table.shape().slot_bits(), &mut slots);
    let old = entry.end - entry.start;
    if slots.len() as u64 == old {
        for (at, slot) in (entry.start..).zip(&slots) {
            if table.slot(at) != slot.value {
                table.set_value(at, slot.value);
            }
        }
        return Ok(());
    }
    let edit = table.plan(cpu, quotient, run, entry.start, old, slots.len() as u64, limits)?;
    table.commit(cpu, edit, &slots);
    Ok(())
}

/// Appends a box of one key to a table, or nothing if it does not fit. The slot is made of the string and zeros, and the suffix.
#[inline(always)]
pub(crate) fn push_one(loader: &mut Loader, quotient: u64, slot: u64) -> Result<(), NoRoom> {
    loader.push_head(quotient, slot)
}

/// Appends a box to a table, or nothing if it does not fit. `head` is the string, with zeros for the suffix.
#[inline(never)]
pub(crate) fn push(
    loader: &mut Loader,
    (quotient, head): (u64, u64),
    set: &Multiset,
    slots: &mut Vec<Slot>,
) -> Result<(), NoRoom> {
    slots.clear();
    encode(head, set, loader.shape().slot_bits(), slots);
    loader.push(quotient, slots)
}

/// How many slots are taken by boxes that have no bit of a string left, in a table of so many times twice the size: as if it
/// had as many slots as this one. One that has none already is as often there as the table is larger; one that gets there has
/// halved with every bit before.
pub(crate) fn void_slots<B: AsRef<[u8]>>(table: &Table<B>, codec: Boxes, doublings: u32) -> u64 {
    if !codec.has_stops {
        return 0;
    }
    let string_bits = table.shape().slot_bits() - codec.suffix_bits;
    let boxes = table.runs().flat_map(|(_, run)| codec.boxes(table, run));
    // In parts of a slot, as small as the last bit makes them.
    let parts = boxes.map(|entry| match stop::len(entry.string.max(1), string_bits) {
        bits if bits <= doublings => (entry.end - entry.start) << (doublings - bits),
        _ => 0,
    });
    parts.sum::<u64>() >> doublings
}

/// Checks that a run is exactly what the encoder would have written; gives its boxes and the copies of all its keys.
pub(crate) fn check_run<B: AsRef<[u8]>>(table: &Table<B>, codec: Boxes, run: Run) -> Option<(u64, u64)> {
    let (mut boxes, mut copies, mut last) = (0, 0u64, None);
    let (mut set, mut slots) = (Multiset::new(codec.suffix_bits), Vec::new());
    for entry in codec.boxes(table, run) {
        codec.read_into(table, &entry, run.end, &mut set);
        slots.clear();
        encode(entry.string << codec.suffix_bits, &set, table.shape().slot_bits(), &mut slots);
        let same = slots.len() as u64 == entry.end - entry.start
            && (entry.start..).zip(&slots).all(|(at, new)| table.slot(at) == new.value);
        let has_string = !codec.has_stops || entry.string != 0;
        if !same || !has_string || last.is_some_and(|last| last >= entry.string) {
            return None;
        }
        last = Some(entry.string);
        boxes += 1;
        copies = copies.checked_add(set.len()?)?;
    }
    Some((boxes, copies))
}

/// All keys of a table in order, as the table knows them: quotient, string, suffix and copies.
pub(crate) struct Keys<'a, B> {
    table: &'a Table<B>,
    codec: Boxes,
    runs: Runs<'a, B>,
    quotient: u64,
    /// What is left of the present run.
    run: Run,
    /// The string of the last box that was read as a whole, what it holds, and from which suffix on that is still to come.
    string: u64,
    set: Multiset,
    from: Option<u32>,
}

impl<'a, B: AsRef<[u8]>> Keys<'a, B> {
    pub(crate) fn new(table: &'a Table<B>, codec: Boxes) -> Self {
        Self {
            table,
            codec,
            runs: table.runs(),
            quotient: 0,
            run: Run { start: 0, end: 0 },
            string: 0,
            set: Multiset::new(codec.suffix_bits),
            from: None,
        }
    }

    /// The next key of the box that was read as a whole.
    fn next_of_set(&mut self) -> Option<(u64, u64, u16, u64)> {
        let suffix = self.set.next(self.from?, true);
        self.from = suffix.map(|suffix| u32::from(suffix) + 1);
        let suffix = suffix?;
        Some((self.quotient, self.string, suffix, self.set.count(suffix)))
    }
}

impl<B: AsRef<[u8]>> Iterator for Keys<'_, B> {
    type Item = (u64, u64, u16, u64);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.from.is_some()
            && let Some(next) = self.next_of_set()
        {
            return Some(next);
        }
        if self.run.is_empty() {
            (self.quotient, self.run) = self.runs.next()?;
        }
        let entry = self.codec.decode(self.table, self.run.start, self.run.end);
        self.run.start = entry.end;
        if let Form::One(suffix) = entry.form {
            return Some((self.quotient, entry.string, suffix, 1));
        }
        self.codec.read_into(self.table, &entry, self.run.end, &mut self.set);
        (self.string, self.from) = (entry.string, Some(0));
        self.next_of_set()
    }
}
