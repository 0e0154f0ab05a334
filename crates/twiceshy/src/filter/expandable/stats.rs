//! What a filter has to tell about itself.

use super::ExpandableFilter;
use super::level::Level;
use crate::codec::counted::Entries;
use crate::codec::stop;

/// What [`ExpandableFilter::stats`] tells.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The active table and the chain after it.
    pub tables: Vec<TableStats>,
    /// How many fingerprints there are of each age, youngest first. Ages that do not occur are left out.
    pub ages: Vec<AgeStats>,
    /// The probability that a key that was never inserted is found: the sum of `2^-length` over all
    /// fingerprints.
    pub expected_error_rate: f64,
    /// The most slots that were moved by one operation since this value was built or loaded. With
    /// [`spread_growth`](super::Builder::spread_growth) a few (unless keys come in the order of their
    /// hashes, which may move the rest at once), else a whole table.
    pub most_slots_moved: u64,
}

/// One table of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableStats {
    /// Slots, without the spill area.
    pub slots: u64,
    /// Slots in use.
    pub used: u64,
    /// Bits of a slot, with its stop bit.
    pub slot_bits: u32,
    /// Bytes of the table.
    pub bytes: usize,
    /// Entries that have no stored bit left: the next doubling of this table moves them on.
    pub void: u64,
    /// Whether its entries are on the way to the table listed before it.
    pub is_moving: bool,
}

/// The fingerprints of one age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgeStats {
    /// How many doublings ago such a fingerprint was one of full length.
    pub age: u32,
    /// Bits of the fingerprint.
    pub fingerprint_bits: u32,
    /// How many different ones there are.
    pub fingerprints: u64,
    /// How many copies of them there are.
    pub copies: u64,
}

impl<B: AsRef<[u8]>> ExpandableFilter<B> {
    /// Sizes, ages, the chain, and the error rate that follows from them. Reads all tables.
    ///
    /// ```
    /// # use twiceshy::ExpandableFilter;
    /// let filter: ExpandableFilter = (0..10_000u32).collect();
    /// let stats = filter.stats();
    /// assert_eq!(stats.ages[0].age, 0);
    /// assert!(stats.ages.iter().map(|age| age.copies).sum::<u64>() == 10_000);
    /// assert!(stats.expected_error_rate < 1.0 / 512.0);
    /// ```
    pub fn stats(&self) -> Stats {
        let mut by_length = [(0, 0); 128];
        for entry in self.entries() {
            let (fingerprints, copies): &mut (u64, u64) = &mut by_length[entry.fingerprint.len() as usize];
            *fingerprints += 1;
            *copies = copies.saturating_add(entry.count);
        }
        let lengths = (0..128).zip(by_length).filter(|(_, (fingerprints, _))| *fingerprints > 0).rev();
        let ages = lengths.map(|(fingerprint_bits, (fingerprints, copies))| {
            let age = self.settings.lengths.age(fingerprint_bits, self.quotient_bits());
            AgeStats { age, fingerprint_bits, fingerprints, copies }
        });
        Stats {
            tables: self.levels.iter().flat_map(table_stats).collect(),
            ages: ages.collect(),
            expected_error_rate: self.expected_error_rate(),
            most_slots_moved: self.moves.most,
        }
    }

    /// The probability that a key that was never inserted is found, from the lengths of all fingerprints.
    /// Reads all tables.
    pub fn expected_error_rate(&self) -> f64 {
        self.entries().map(|entry| 2f64.powi(-(entry.fingerprint.len() as i32))).sum()
    }
}

fn table_stats<B: AsRef<[u8]>>(level: &Level<B>) -> impl Iterator<Item = TableStats> {
    level.tables().map(|(table, moved)| {
        let shape = table.shape();
        let void =
            Entries::new(table).filter(|(_, slot, _)| *slot == stop::encode(0, 0, shape.slot_bits())).count();
        TableStats {
            slots: shape.slots(),
            used: table.used(),
            slot_bits: shape.slot_bits(),
            bytes: table.bytes().len(),
            void: void as u64,
            is_moving: moved.is_some(),
        }
    })
}
