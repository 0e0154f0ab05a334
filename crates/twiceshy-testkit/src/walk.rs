//! All sequences of operations, up to a depth.

use std::collections::HashSet;
use std::hash::Hash;

/// Walks all sequences of up to `depth` operations, and tells how many steps that took. `next` carries out every operation on a
/// copy of something and gives what came of it. Sequences that lead to the same `state` go on together, so that all of them are
/// tried and few are walked; the state must have all that the future depends on.
pub fn walk<T, S: Hash + Eq>(
    start: T,
    depth: u64,
    next: impl Fn(&T) -> Vec<T>,
    state: impl Fn(&T) -> S,
) -> u64 {
    let (mut steps, mut seen) = (0, HashSet::new());
    let mut level = vec![start];
    for _ in 0..depth {
        let mut next_level = Vec::new();
        for before in level {
            for after in next(&before) {
                steps += 1;
                if seen.insert(state(&after)) {
                    next_level.push(after);
                }
            }
        }
        level = next_level;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_goes_on_once() {
        let next = |number: &u32| vec![number + 1, number + 2];
        // 0; 1, 2; 3, 4 and 2 again, which is not walked twice.
        assert_eq!(walk(0, 1, next, |number| *number), 2);
        assert_eq!(walk(0, 2, next, |number| *number), 6);
        assert_eq!(walk(0, 3, next, |number| *number), 10);
    }
}
