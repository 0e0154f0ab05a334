//! All fingerprints in order as [marks](crate::codec::string::mark): what merging and resizing read.
//!
//! Heads without extensions, nearly all entries, are marked a stretch at a time. The fingerprint of any entry, with what it
//! carries, is written out only where somebody asks for it.

use super::Core;
use crate::bits::cpu::Cpu;
use crate::codec::string::{Entry, Marks, Payload, mark};
use crate::prefix::Prefix;
use crate::table::{Extended, Stretch, Stretches};

/// A fingerprint and what it carries.
pub(super) type Carried<V> = (Prefix, V);

/// The fingerprints of a core that are still to come.
pub(super) struct Stream<'a, P: Payload, B> {
    core: &'a Core<P, B>,
    stretches: Stretches<'a, B, Extended>,
    /// `None` if heads may be too long to be marked; then every entry is written out.
    of_heads: Option<Marks>,
    /// Those of the present stretch, of which the first is at slot `start`.
    marks: [u64; 64],
    start: u64,
    next: usize,
    count: usize,
    /// If the stretch is one entry of several slots, its end.
    end: Option<u64>,
}

impl<'a, P: Payload, B: AsRef<[u8]>> Stream<'a, P, B> {
    #[inline(always)]
    pub(super) fn new<C: Cpu>(cpu: C, core: &'a Core<P, B>) -> Self {
        let (stretches, of_heads) = (core.table.stretches(), Marks::new(&core.strings));
        let mut all =
            Self { core, stretches, of_heads, marks: [0; 64], start: 0, next: 0, count: 0, end: None };
        all.read(cpu);
        all
    }

    /// Reads the next stretch.
    #[inline(always)]
    fn read<C: Cpu>(&mut self, cpu: C) {
        let Self { core, of_heads, marks, .. } = self;
        let stretch = match of_heads {
            Some(of_heads) => self.stretches.next(cpu, false, |number, position, head| {
                marks[number % 64] = of_heads.of_head(position, head);
            }),
            None => self.stretches.next(cpu, true, |_, _, _| {}),
        };
        (self.next, self.count) = (0, 0);
        match stretch {
            Some(Stretch::Heads { start, count }) => {
                (self.start, self.count, self.end) = (start, count, None);
            }
            Some(Stretch::Entry { quotient, start, end }) => {
                (self.start, self.count, self.end) = (start, 1, Some(end));
                let entry = core.strings.entry(&core.table, start, end);
                self.marks[0] = mark::of(&core.strings.prefix(&core.table, quotient, &entry));
            }
            None => {}
        }
    }

    /// The mark of the next fingerprint.
    #[inline(always)]
    pub(super) fn mark(&self) -> Option<u64> {
        (self.next < self.count).then(|| self.marks[self.next % 64])
    }

    /// Whether the next entry is a head and nothing else.
    #[inline(always)]
    pub(super) fn is_head(&self) -> bool {
        self.end.is_none()
    }

    /// What is not of the string in the head of the next entry.
    #[inline(always)]
    pub(super) fn own_bits(&self) -> u64 {
        let Core { table, strings, .. } = self.core;
        match strings.payload().head_bits() {
            0 => 0,
            _ => strings.own_bits(table.slot(self.start + self.next as u64)),
        }
    }

    /// The next fingerprint, and what it carries.
    pub(super) fn carried(&self) -> Option<Carried<P::Value>> {
        let (mark, Core { table, strings, .. }) = (self.mark()?, self.core);
        let start = self.start + self.next as u64;
        let entry = match self.end {
            Some(end) => strings.entry(table, start, end),
            None => Entry { start, string_slots: 1, payload_slots: 0 },
        };
        let quotient = table.address().quotient(mark);
        Some((strings.prefix(table, quotient, &entry), strings.value(table, &entry)))
    }

    /// Goes on if `next` is 1, and stays if it is 0.
    #[inline(always)]
    pub(super) fn advance<C: Cpu>(&mut self, cpu: C, next: usize) {
        self.next += next;
        if self.next >= self.count && self.count > 0 {
            self.read(cpu);
        }
    }
}
