//! Filters that rotate under queries of all kinds: the rate holds in every window of ten turns.

use twiceshy::AdaptiveSet;
use twiceshy::reverse_map::MemoryMap;
use twiceshy_testkit::Random as Numbers;

use super::{builder, fill, stranger};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stream {
    /// Never the same twice.
    Uniform,
    /// Few of many, with ranks that are as frequent as their number is small.
    Skewed,
    /// Everything that was a mistake before, again and again, as long as the filter has room for it, and new queries.
    Adversary,
}

struct Asked {
    stream: Stream,
    numbers: Numbers,
    /// Mistakes that an adversary has seen.
    seen: Vec<u64>,
}

impl Asked {
    /// A query, and whether the promise is about it: it was never asked, or not since its group has turned.
    fn next(&mut self) -> u64 {
        match self.stream {
            Stream::Uniform => stranger(&mut self.numbers),
            Stream::Skewed => {
                let rank = (1u64 << self.numbers.below(22)) + self.numbers.below(1 << 8);
                twiceshy_testkit::mix(rank) | 1 << 63
            }
            Stream::Adversary if self.seen.len() > 100 && self.numbers.below(10) > 0 => {
                let at = self.numbers.below(self.seen.len() as u64) as usize;
                self.seen[at]
            }
            Stream::Adversary => stranger(&mut self.numbers),
        }
    }
}

/// Asks until the filter has turned ten times for each window, and checks the share of mistakes in each.
fn ask(load: f64, stream: Stream, windows: u32) {
    const RATE: f64 = 1.0 / 32.0;
    const BYTES: u64 = 1_500;
    let mut numbers = Numbers((load * 100.0) as u64);
    let build = || builder().error_rate(RATE).rotate_at(BYTES).build_set(MemoryMap::new()).unwrap();
    let mut set: AdaptiveSet<MemoryMap> = build();
    // As many keys as fill so much of the largest table.
    while set.filter().stats().growths < 100 && set.insert(&super::member(&mut numbers)).is_ok() {}
    let slots = set.filter().slots();
    set = build();
    fill(&mut set, &mut numbers, (slots as f64 * load) as u64);
    let mut asked = Asked { stream, numbers, seen: Vec::new() };
    let (mut window, mut worst) = (0, 0.0f64);
    while window < windows {
        let (mut mistakes, mut queries) = (0u64, 0u64);
        while set.filter().turn().epoch() < 10 * (window + 1) {
            let query = asked.next();
            queries += 1;
            if set.contains(&query) {
                mistakes += 1;
                assert!(!set.contains_exactly(&query).unwrap());
                if asked.seen.len() < 10_000 {
                    asked.seen.push(query);
                }
            }
            if queries > 500_000 {
                // Nothing is left to learn: no turn comes of this stream.
                break;
            }
        }
        let expected = queries as f64 * RATE;
        // One-sided, at 1 in 10,000 for each of a hundred windows.
        let most = expected + 4.3 * expected.sqrt() + 5.0;
        worst = worst.max(mistakes as f64 / expected);
        assert!(
            (mistakes as f64) <= most,
            "{mistakes} of {queries}, {most} expected at most: {load}, {stream:?}"
        );
        window += 1;
        if queries > 500_000 {
            break;
        }
    }
    set.validate().unwrap();
    assert!(set.filter().size_in_bytes() as u64 <= BYTES);
    println!(
        "load {load}, {stream:?}: {window} windows, at worst {worst:.2} times the rate asked for, {:?}",
        set.filter().turn()
    );
}

#[test]
fn the_rate_holds_in_every_window_of_ten_turns() {
    let windows = twiceshy_testkit::effort::times("TWICESHY_TURNS", 3) as u32;
    for load in [0.5, 0.75, 0.9] {
        for stream in [Stream::Uniform, Stream::Skewed, Stream::Adversary] {
            ask(load, stream, windows);
        }
    }
}

/// Whoever remembers all mistakes, and asks for them again after each turn, finds as few as whoever asks for something new.
#[test]
fn what_was_a_mistake_in_an_epoch_says_nothing_of_the_next() {
    let mut numbers = Numbers(7);
    let mut set = super::fixed(11, 5).build_set(MemoryMap::new()).unwrap();
    fill(&mut set, &mut numbers, 1_600);
    let mut seen: Vec<u64> =
        (0..300_000).map(|_| stranger(&mut numbers)).filter(|it| set.contains(it)).collect();
    let (mut again, mut expected, mut most) = (0u64, 0.0, 0.0);
    for epoch in 1..=12 {
        let (mut filter, map) = set.into_parts();
        while filter.turn().epoch() < epoch {
            filter.rotate(&map).unwrap();
        }
        set = AdaptiveSet::from_parts(filter, map);
        // How full its groups are, which are 32 with 50 keys each, is what a query has in common with itself.
        let rate = set.filter().expected_error_rate();
        again += seen.iter().filter(|query| set.contains(*query)).count() as u64;
        expected += seen.len() as f64 * rate;
        most += seen.len() as f64 * rate * (1.0 + 2.0 / 50.0);
        seen.extend(
            (0..20_000).map(|_| stranger(&mut numbers)).filter(|it| set.contains(it)).collect::<Vec<_>>(),
        );
    }
    println!("{again} mistakes again, {expected:.0} expected");
    assert!((again as f64) < most + 4.3 * most.sqrt(), "{again}, {expected} expected");
    assert!(again as f64 > expected * 0.8, "{again}, {expected} expected");
    set.validate().unwrap();
}
