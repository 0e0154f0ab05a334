//! Table 1 of *Adaptive Quotient Filters*, counted: how often the reverse map is asked and written.

use std::cell::Cell;
use std::convert::Infallible;
use std::ops::{ControlFlow, RangeInclusive};

use twiceshy::ReverseMap;
use twiceshy::adaptive::Adapted;
use twiceshy::reverse_map::Lookup;
use twiceshy::reverse_map::Row;

use super::*;

/// A map that counts.
#[derive(Default)]
struct Counting {
    map: MemoryMap,
    writes: Cell<u64>,
    reads: Cell<u64>,
}

impl Counting {
    /// Reads and writes since the last time.
    fn take(&self) -> (u64, u64) {
        (self.reads.take(), self.writes.take())
    }
}

impl Lookup for Counting {
    type Error = Infallible;

    fn visit(
        &self,
        hashes: RangeInclusive<u64>,
        visit: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), Infallible> {
        self.reads.set(self.reads.get() + 1);
        self.map.visit(hashes, visit)
    }

    fn contains(&self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        self.reads.set(self.reads.get() + 1);
        self.map.contains(hash, key)
    }
}

impl ReverseMap for Counting {
    fn insert(&mut self, hash: u64, key: &[u8], value: &[u8]) -> Result<bool, Infallible> {
        self.writes.set(self.writes.get() + 1);
        self.map.insert(hash, key, value)
    }

    fn remove(&mut self, hash: u64, key: &[u8]) -> Result<bool, Infallible> {
        self.writes.set(self.writes.get() + 1);
        self.map.remove(hash, key)
    }
}

#[test]
fn a_set_that_does_not_grow_reads_only_where_the_filter_errs() {
    let mut numbers = Numbers(11);
    let mut set = fixed(16, 9).build_set(Counting::default()).unwrap();
    let keys: Vec<u64> = (0..set.filter().slots() * 9 / 10).map(|_| member(&mut numbers)).collect();
    let count = keys.len() as u64;
    set.insert_batch(&keys).unwrap();
    let (reads, writes) = set.map().take();
    // The table gets full, so half of the final rate is what inserts meet.
    println!(
        "{count} inserts: {writes} writes, {reads} reads ({:.3} %)",
        100.0 * reads as f64 / count as f64
    );
    assert_eq!(writes, count);
    assert!(reads > 0 && reads <= 2 * count / 512, "{reads} reads");
    assert_eq!(set.filter().fingerprints(), count - reads, "a read for every key that is covered");

    // Present keys: to insert them again reads once and writes nothing.
    set.insert_batch(&keys[..1000]).unwrap();
    assert_eq!(set.map().take(), (1000, 0));

    // Queries never write; certain ones never read.
    let (mut negative, mut positive) = (0, Vec::new());
    for _ in 0..100_000 {
        let query = stranger(&mut numbers);
        if set.contains(&query) {
            positive.push(query);
            assert_eq!(set.map().take(), (0, 0));
        } else {
            negative += 1;
            assert!(!set.contains_exactly(&query).unwrap() && !set.lookup(&query).unwrap());
            assert_eq!(set.adapt(&query).unwrap(), Adapted::NotPositive);
            assert!(!set.remove(&query).unwrap());
        }
    }
    assert_eq!(set.map().take(), (0, 0), "{negative} certain answers");

    // To learn reads once; to ask and to learn, twice; members are read once and never written.
    let (some, others) = positive.split_at(positive.len() / 2);
    for query in some {
        assert!(matches!(set.adapt(query).unwrap(), Adapted::Fixed { .. }));
        assert_eq!(set.map().take(), (1, 0));
    }
    for query in others {
        assert!(!set.contains_exactly(query).unwrap());
        assert_eq!(set.map().take(), (2, 0));
    }
    println!("{negative} certain answers without the map, {} mistakes learned", positive.len());
    for key in &keys[..1000] {
        assert!(set.contains_exactly(key).unwrap());
        assert_eq!(set.map().take(), (1, 0));
    }
    for key in &keys[..1000] {
        assert!(set.remove(key).unwrap());
        assert_eq!(set.map().take(), (1, 1));
    }
}

#[test]
fn growth_rereads_only_fingerprints_that_ran_out_of_bits() {
    let mut numbers = Numbers(12);
    let mut set = builder().error_rate(1.0 / 64.0).build_set(Counting::default()).unwrap();
    let (count, mut growing, mut inserting) = (100_000, 0, 0);
    for _ in 0..count {
        let before = set.filter().stats();
        assert!(set.insert(&member(&mut numbers)).unwrap());
        let (after, (reads, writes)) = (set.filter().stats(), set.map().take());
        assert_eq!(writes, 1);
        let rejuvenated = after.rejuvenated - before.rejuvenated;
        assert!(after.growths > before.growths || rejuvenated == 0);
        growing += rejuvenated;
        inserting += reads - rejuvenated;
    }
    let stats = set.filter().stats();
    println!(
        "{count} inserts, {} growths: {inserting} reads by inserts, {growing} by growth ({:.3} %)",
        stats.growths,
        100.0 * growing as f64 / count as f64
    );
    assert!(stats.growths >= 10 && growing == stats.rejuvenated);
    assert!(inserting <= 2 * count / 64, "{inserting} reads by inserts");
    assert!(growing > 0 && growing <= count / 200, "{growing} reads by growth");
    // Shrinking reads nothing.
    set.shrink_to_fit().unwrap();
    assert_eq!(set.map().take(), (0, 0));
}
