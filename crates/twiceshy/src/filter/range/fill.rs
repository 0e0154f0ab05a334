//! Filling a table from a stream of keys in ascending order: growing, shrinking, merging and loading come down to this.

use std::rc::Rc;

use super::boxed::{Boxed, Entry, strings_of};
use crate::bits::cpu::{Cpu, Kernel, dispatch};
use crate::codec::boxes::{self, Boxes, Multiset};
use crate::error::{InsertError, OutOfMemory};
use crate::filter::union::Union;
use crate::table::{Loader, NoRoom, Shape, Slot, Table};

/// Why keys could not be placed.
#[derive(Debug)]
pub(super) enum NoPlace {
    /// There are too few slots.
    Full,
    /// There are, and so there would be in larger tables.
    FullAtEverySize,
    /// A fingerprint has fewer bits than the table has quotient bits.
    Short,
    /// A key was smaller than the one before it.
    Unsorted,
    TooManyCopies,
    Memory(OutOfMemory),
}

impl From<NoRoom> for NoPlace {
    fn from(NoRoom: NoRoom) -> Self {
        Self::Full
    }
}

impl From<OutOfMemory> for NoPlace {
    fn from(error: OutOfMemory) -> Self {
        Self::Memory(error)
    }
}

impl NoPlace {
    /// As an error of an insert into a filter that is `full` then.
    pub(super) fn into_insert_error(self, full: crate::error::Full) -> InsertError {
        match self {
            Self::Memory(error) => error.into(),
            Self::TooManyCopies => InsertError::TooManyCopies,
            Self::Full | Self::FullAtEverySize | Self::Short | Self::Unsorted => full.into(),
        }
    }
}

/// A key in a table: quotient and string, which is without its stop bit if there are none, suffix and copies.
#[derive(Clone, Copy)]
pub(super) struct Placed {
    pub(super) place: (u64, u64),
    pub(super) suffix: u16,
    pub(super) count: u64,
}

/// A table of boxes with all keys of a stream in ascending order. Suffixes of one string may come in any order.
pub(super) fn fill(
    (shape, codec): (Shape, Boxes),
    may_extend: bool,
    keys: impl Iterator<Item = Result<Placed, NoPlace>>,
) -> Result<Boxed, NoPlace> {
    let loader = Loader::new(shape, shape.slot_limit())?.extending(if may_extend { u64::MAX } else { 0 });
    let set = Multiset::new(codec.suffix_bits());
    let (table, held) =
        dispatch(FillFrom { filler: Filler { loader, codec, set, slots: Vec::new() }, keys })?;
    Ok(Boxed::over(table, codec, held))
}

struct FillFrom<I> {
    filler: Filler,
    keys: I,
}

impl<I: Iterator<Item = Result<Placed, NoPlace>>> Kernel for FillFrom<I> {
    type Output = Result<(Table, u64), NoPlace>;
    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Self::Output {
        let Self { mut filler, mut keys } = self;
        // The last box may get more keys; it is written when another one follows.
        let Some(first) = keys.next() else { return Ok((filler.loader.finish(), 0)) };
        let mut last = first?;
        let (mut held, mut is_one) = (last.count, true);
        for key in keys {
            let key = key?;
            held = held.checked_add(key.count).ok_or(NoPlace::TooManyCopies)?;
            if key.place == last.place {
                filler.unite(last, is_one, key);
                is_one = false;
                continue;
            }
            if key.place < last.place {
                return Err(NoPlace::Unsorted);
            }
            filler.write(last, is_one)?;
            (last, is_one) = (key, true);
        }
        filler.write(last, is_one)?;
        Ok((filler.loader.finish(), held))
    }
}

/// A table under construction.
struct Filler {
    loader: Loader,
    codec: Boxes,
    /// All keys of the last box, if they are more than one.
    set: Multiset,
    slots: Vec<Slot>,
}

impl Filler {
    /// Adds a key to the last box, which begins with another one and may have no more than that.
    #[inline(never)]
    fn unite(&mut self, first: Placed, is_one: bool, key: Placed) {
        if is_one {
            self.set.clear();
            self.set.add(first.suffix, first.count);
        }
        self.set.add(key.suffix, key.count);
    }

    #[inline(always)]
    fn write(
        &mut self,
        Placed { place: (quotient, string), suffix, count }: Placed,
        is_one: bool,
    ) -> Result<(), NoRoom> {
        let head = string << self.codec.suffix_bits();
        if is_one && count == 1 {
            return boxes::push_one(&mut self.loader, quotient, head | u64::from(suffix));
        }
        self.write_many((quotient, head), (suffix, count), is_one)
    }

    #[inline(never)]
    fn write_many(
        &mut self,
        head: (u64, u64),
        (suffix, count): (u16, u64),
        is_one: bool,
    ) -> Result<(), NoRoom> {
        if is_one {
            self.set.clear();
            self.set.add(suffix, count);
        }
        boxes::push(&mut self.loader, head, &self.set, &mut self.slots)
    }
}

/// Keys of other tables, as they lie in a table.
struct InTable<I> {
    entries: I,
    strings: Shape,
    no_stop: bool,
}

impl<I> InTable<I> {
    fn new(entries: I, (shape, codec): (Shape, Boxes)) -> Self {
        Self { entries, strings: strings_of(&shape, codec), no_stop: !codec.has_stops() }
    }
}

impl<I: Iterator<Item = Entry>> Iterator for InTable<I> {
    type Item = Result<Placed, NoPlace>;
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let Entry { fingerprint, suffix, count } = self.entries.next()?;
        if fingerprint.len() < self.strings.position_bits() {
            return Some(Err(NoPlace::Short));
        }
        let (quotient, string) = fingerprint.in_table(&self.strings);
        let string = if self.no_stop { string >> 1 } else { string };
        Some(Ok(Placed { place: (quotient, string), suffix, count }))
    }
}

/// All keys of one or two tables in another one, with their fingerprints as they are. What is too short for the quotient
/// goes to every quotient that begins with it.
pub(super) fn place(
    layout: (Shape, Boxes),
    one: &Boxed<&[u8]>,
    other: Option<&Boxed<&[u8]>>,
) -> Result<Boxed, NoPlace> {
    let filled = match other {
        // The usual cases are worth a loop of their own.
        None => fill(layout, true, InTable::new(one.entries(), layout)),
        Some(other) => {
            let both = Union::new(one.entries(), other.entries());
            fill(layout, true, InTable::new(both, layout))
        }
    };
    match filled {
        Err(NoPlace::Short) => place_short(layout, one, other),
        done => done,
    }
}

/// [`place`] if there are such.
#[cold]
fn place_short(
    layout: (Shape, Boxes),
    one: &Boxed<&[u8]>,
    other: Option<&Boxed<&[u8]>>,
) -> Result<Boxed, NoPlace> {
    let position_bits = layout.0.position_bits();
    let others = other.into_iter().flat_map(|other| spread(other, position_bits));
    let placed = fill(layout, true, InTable::new(Union::new(spread(one, position_bits), others), layout))?;
    if placed.is_void(0) { Err(NoPlace::FullAtEverySize) } else { Ok(placed) }
}

/// All keys in ascending order, those of shorter fingerprints once for each string of so many bits that begins with them. They
/// are not collected, but for those of one run: a box of few slots may have thousands of keys, and come a thousand times.
fn spread<'a>(boxed: &'a Boxed<&[u8]>, len: u32) -> impl Iterator<Item = Entry> + use<'a> {
    let is_short = move |entry: &Entry| entry.fingerprint.len() < len;
    let run_bits = boxed.strings().position_bits();
    let mut short = boxed.entries().filter(is_short).peekable();
    let runs = std::iter::from_fn(move || {
        let first = short.next()?;
        let run = first.fingerprint.first(run_bits);
        let others = std::iter::from_fn(|| short.next_if(|entry| entry.fingerprint.first(run_bits) == run));
        Some((run, [first].into_iter().chain(others).collect::<Rc<[Entry]>>()))
    });
    let longer = runs.flat_map(move |(run, entries)| {
        run.continued(len).flat_map(move |fingerprint| {
            let entries = entries.clone();
            let of_this =
                move |entry: &Entry| fingerprint.first(entry.fingerprint.len()) == entry.fingerprint;
            (0..entries.len())
                .map(move |i| entries[i])
                .filter(of_this)
                .map(move |entry| Entry { fingerprint, ..entry })
        })
    });
    Union::new(boxed.entries().filter(move |entry| !is_short(entry)), longer)
}
