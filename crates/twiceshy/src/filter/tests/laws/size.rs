//! Larger and smaller filters give the same answers for what is in them.

use super::kept::{bytes_of, slices};
use super::*;

for_every_filter! {
    growing_and_shrinking_take_no_answer_back
    rejuvenating_takes_no_answer_back
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
