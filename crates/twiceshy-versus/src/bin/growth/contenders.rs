//! What grows: our filter in its modes, and the two baselines of the paper on our quotient filter.

use twiceshy::expandable::Mode;
use twiceshy::{ExpandableFilter, Hasher, QuotientFilter};

/// A filter that doubles when it has to.
pub(crate) trait Growing {
    fn name(&self) -> &'static str;
    /// Bits of a slot as the paper counts them.
    fn slot_bits(&self) -> u32;
    /// How many keys are rejuvenated per insert.
    fn rejuvenation(&self) -> f64 {
        0.0
    }
    /// Whether it grows with the next insert, give or take one.
    fn is_full(&self) -> bool;
    /// `false` if it cannot grow any more.
    fn insert(&mut self, hash: u64) -> bool;
    fn rejuvenate(&mut self, _hash: u64) {}
    fn contains(&self, hash: u64) -> bool;
    fn bytes(&self) -> usize;
    fn tables(&self) -> usize;
    fn most_slots_moved(&self) -> u64 {
        0
    }
    /// The error rate that the model allows with this many keys.
    fn model_rate(&self, keys: u64) -> f64;
}

/// All that are compared.
pub(crate) fn all(start: u32, load: f64) -> Vec<Box<dyn Growing>> {
    let mut all: Vec<Box<dyn Growing>> = Vec::new();
    for slot_bits in [8, 16] {
        for rejuvenation in [0.0, 0.2, 0.4, 1.0] {
            for mode in [Mode::Growing, Mode::Chained] {
                all.push(Box::new(Ours::new(mode, slot_bits, rejuvenation, start, load, false)));
            }
        }
        all.push(Box::new(Ours::new(Mode::Basic, slot_bits, 0.0, start, load, false)));
        all.push(Box::new(Ours::new(Mode::Growing, slot_bits, 0.0, start, load, true)));
        all.push(Box::new(Sacrifice::new(slot_bits, start, load)));
        all.push(Box::new(Geometric::new(slot_bits, start, load)));
    }
    all
}

/// Our filter.
struct Ours {
    filter: ExpandableFilter,
    slot_bits: u32,
    rejuvenation: f64,
    load: f64,
    spread: bool,
}

impl Ours {
    fn new(mode: Mode, slot_bits: u32, rejuvenation: f64, start: u32, load: f64, spread: bool) -> Self {
        let builder = ExpandableFilter::builder().mode(mode).quotient_bits(start).max_load(load);
        let bits = slot_bits - 4;
        let builder = match mode {
            Mode::Growing => builder.error_rate(0.5f64.powi(bits as i32)),
            _ => builder.fingerprint_bits(bits),
        };
        let filter = builder.hasher(Hasher::fast()).spread_growth(spread).build().expect("valid settings");
        Self { filter, slot_bits, rejuvenation, load, spread }
    }
}

impl Growing for Ours {
    fn name(&self) -> &'static str {
        match (self.filter.mode(), self.spread) {
            (Mode::Growing, false) => "growing",
            (Mode::Growing, true) => "growing-spread",
            (Mode::Chained, _) => "chained",
            _ => "basic",
        }
    }

    fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    fn rejuvenation(&self) -> f64 {
        self.rejuvenation
    }

    fn is_full(&self) -> bool {
        self.filter.load_factor() * self.filter.slots() as f64 >= self.filter.capacity() as f64
    }

    fn insert(&mut self, hash: u64) -> bool {
        self.filter.insert_hash(hash).is_ok()
    }

    fn rejuvenate(&mut self, hash: u64) {
        self.filter.rejuvenate_hash(hash).expect("there is memory");
    }

    fn contains(&self, hash: u64) -> bool {
        self.filter.contains_hash(hash)
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }

    fn tables(&self) -> usize {
        1 + self.filter.chain_len()
    }

    fn most_slots_moved(&self) -> u64 {
        self.filter.stats().most_slots_moved
    }

    fn model_rate(&self, keys: u64) -> f64 {
        let bits = (self.slot_bits - 4) as i32;
        match self.filter.mode() {
            Mode::Growing => 0.5f64.powi(bits),
            // Equation 5.
            _ => ((keys as f64).log2() + 2.0) * 0.5f64.powi(bits + 1) * self.load,
        }
    }
}

fn quotient_filter(quotient_bits: u32, remainder_bits: u32) -> QuotientFilter {
    let shape = QuotientFilter::builder().quotient_bits(quotient_bits).remainder_bits(remainder_bits);
    shape.hasher(Hasher::fast()).build().expect("a valid shape")
}

/// How many slots may be in use.
fn limit(filter: &QuotientFilter, load: f64) -> u64 {
    (filter.slots() as f64 * load) as u64
}

/// Fingerprint sacrifice: one table, and every fingerprint loses a bit with every doubling.
struct Sacrifice {
    filter: QuotientFilter,
    slot_bits: u32,
    load: f64,
}

impl Sacrifice {
    fn new(slot_bits: u32, start: u32, load: f64) -> Self {
        Self { filter: quotient_filter(start, slot_bits - 3), slot_bits, load }
    }
}

impl Growing for Sacrifice {
    fn name(&self) -> &'static str {
        "sacrifice"
    }

    fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    fn is_full(&self) -> bool {
        self.filter.used_slots() >= limit(&self.filter, self.load)
    }

    fn insert(&mut self, hash: u64) -> bool {
        if self.is_full() && self.filter.grow().is_err() {
            return false;
        }
        self.filter.insert_hash(hash).is_ok()
    }

    fn contains(&self, hash: u64) -> bool {
        self.filter.contains_hash(hash)
    }

    fn bytes(&self) -> usize {
        self.filter.size_in_bytes()
    }

    fn tables(&self) -> usize {
        1
    }

    fn model_rate(&self, keys: u64) -> f64 {
        keys as f64 * 0.5f64.powi(self.filter.fingerprint_bits() as i32)
    }
}

/// Geometric chaining: a new table of twice the size behind those that are full.
struct Geometric {
    filters: Vec<QuotientFilter>,
    slot_bits: u32,
    load: f64,
}

impl Geometric {
    fn new(slot_bits: u32, start: u32, load: f64) -> Self {
        Self { filters: vec![quotient_filter(start, slot_bits - 3)], slot_bits, load }
    }
}

impl Growing for Geometric {
    fn name(&self) -> &'static str {
        "geometric"
    }

    fn slot_bits(&self) -> u32 {
        self.slot_bits
    }

    fn is_full(&self) -> bool {
        self.filters.last().is_some_and(|newest| newest.used_slots() >= limit(newest, self.load))
    }

    fn insert(&mut self, hash: u64) -> bool {
        if self.is_full() {
            let newest = self.filters.last().expect("at least one");
            // As many slots as all together: the phases end at the same sizes as those of the others.
            let slots = newest.quotient_bits() + u32::from(self.filters.len() > 1);
            self.filters.push(quotient_filter(slots, self.slot_bits - 3));
        }
        self.filters.last_mut().expect("at least one").insert_hash(hash).is_ok()
    }

    fn contains(&self, hash: u64) -> bool {
        self.filters.iter().rev().any(|filter| filter.contains_hash(hash))
    }

    fn bytes(&self) -> usize {
        self.filters.iter().map(QuotientFilter::size_in_bytes).sum()
    }

    fn tables(&self) -> usize {
        self.filters.len()
    }

    fn model_rate(&self, _keys: u64) -> f64 {
        self.filters.len() as f64 * 0.5f64.powi(self.slot_bits as i32 - 3) * self.load
    }
}
