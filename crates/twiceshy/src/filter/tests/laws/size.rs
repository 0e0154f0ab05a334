//! Larger and smaller filters give the same answers for what is in them.

use twiceshy_testkit::weak;

use super::kept::{bytes_of, slices};
use super::*;

for_every_filter! {
    growing_and_shrinking_take_no_answer_back
    rejuvenating_takes_no_answer_back
    weak_hashes_do_not_make_a_filter_explode
}

fn growing_and_shrinking_take_no_answer_back<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        for &(step, _) in case.steps.iter().take(8) {
            let before = kept.found();
            if step % 2 == 0 {
                // Longer fingerprints, or as long as they were: nobody who was not found is found now.
                if kept.attempt_if_any(F::grow) {
                    assert!(kept.found().is_subset(&before), "growing made a mistake that was not there");
                }
            } else {
                kept.attempt_if_any(F::shrink);
            }
            kept.check();
        }
    });
}

fn rejuvenating_takes_no_answer_back<F: Lawful>() {
    hold(&|case| {
        let mut kept = case.filled::<F>();
        let members: Vec<u16> = kept.members.things().copied().collect();
        let members = bytes_of(&members);
        kept.attempt_if_any(|filter| filter.rejuvenate(&slices(&members)));
        kept.check();
    });
}

/// To grow is no remedy for hashes that are too much alike.
fn weak_hashes_do_not_make_a_filter_explode<F: Lawful>() {
    for (number, (name, word)) in (0..).zip(weak::WORDS) {
        let mut filter = F::make(Size::Growing, number, Hasher::chosen(word));
        let keys: Vec<u16> =
            (0..3_000).filter(|key: &u16| filter.insert(&key.to_le_bytes()).is_ok()).collect();
        assert!(keys.len() >= 20, "{name}: only {} keys found room", keys.len());
        assert!(keys.iter().all(|key| filter.contains(&key.to_le_bytes())), "{name}");
        assert!(filter.bytes().len() < 1 << 20, "{name}: {} bytes", filter.bytes().len());
    }
}
