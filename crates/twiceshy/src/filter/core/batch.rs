//! Many keys in one call: the memory of the next ones is on its way while the present one is worked on.

use super::{Core, LookCloser};
use crate::bits::cpu::{Cpu, Portable};
use crate::codec::string::{Payload, Strings, Table};
use crate::filter::batch::{Probe, contains_all};
use crate::hash::Words;

impl<P: Payload, B: AsRef<[u8]>> Core<P, B> {
    /// Whether fingerprints cover hashes, in order, which are given by their first words; `words` gives the one with a number.
    pub(crate) fn contains_all<W: Words>(
        &self,
        hashes: &[u64],
        words: impl Fn(usize) -> W,
        found: &mut [bool],
    ) {
        let probe = OfCore { core: self, table: self.table.borrowed(), strings: self.strings, words };
        contains_all(probe, hashes, found);
    }

    /// Asks the CPU for the memory that a key with this hash will need.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        self.table.prefetch_far(Portable, hash);
    }
}

struct OfCore<'a, P: Payload, B, F> {
    core: &'a Core<P, B>,
    /// A table of its own, so that its measures can stay in registers.
    table: Table<&'a [u8]>,
    strings: Strings<P>,
    words: F,
}

impl<P: Payload, B: AsRef<[u8]>, W: Words, F: Fn(usize) -> W> Probe for OfCore<'_, P, B, F> {
    #[inline(always)]
    fn ask_far<C: Cpu>(&self, cpu: C, hash: u64) {
        self.table.prefetch_far(cpu, hash);
    }

    #[inline(always)]
    fn ask_near<C: Cpu>(&self, cpu: C, hash: u64) {
        self.table.prefetch(cpu, hash);
    }

    #[inline(always)]
    fn contains<C: Cpu>(&self, cpu: C, number: usize, hash: u64) -> bool {
        let home = self.table.address().home(cpu, hash);
        match self.strings.contains_at_glance(cpu, &self.table, home, hash) {
            Some(found) => found,
            None => cpu.outlined(LookCloser { core: self.core, words: (self.words)(number) }),
        }
    }
}
