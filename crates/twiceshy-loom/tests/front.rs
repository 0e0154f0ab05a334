//! The protocol of readers without a lock (`words/front.rs` of the library), tried with every order of steps, and with every
//! value that a load may see in a weak memory.

use std::sync::atomic::Ordering::{self, Relaxed, Release};

use loom::sync::Arc;

/// What the file uses.
mod atomic {
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
}

#[path = "../../twiceshy/src/words/front.rs"]
mod front;

use front::{Front, Place};

/// Two words, which are equal in every state that a reader may see, and above the least number of their frame.
type Words = [atomic::AtomicU64; 2];

fn words(value: u64) -> Box<Words> {
    Box::new([atomic::AtomicU64::new(value), atomic::AtomicU64::new(value)])
}

/// A front on the first of two tables, and both. Their words are never freed while somebody may read them.
struct Shard {
    front: Front<Words>,
    tables: [Box<Words>; 2],
}

/// The words of a table are numbers from `100 * (frame + 1)` on.
const FRAMES: u64 = 100;

fn place(table: &Words, frame: usize) -> Place<Words> {
    Place { words: std::ptr::from_ref(table).cast_mut(), len: 2, frame }
}

impl Shard {
    fn new() -> Self {
        let tables = [words(FRAMES), words(2 * FRAMES)];
        Self { front: Front::new(place(&tables[0], 0)), tables }
    }

    /// Stores a value in both words of a table.
    fn store(&self, table: usize, value: u64, order: Ordering) {
        self.tables[table].iter().for_each(|word| word.store(value, order));
    }

    /// Reads as the library does; what was read must have been there at one moment.
    fn read(&self) -> Option<u64> {
        let (version, Place { words, len, frame }) = self.front.begin()?;
        assert_eq!(len, 2);
        let table = self.tables.iter().position(|table| std::ptr::eq(&**table, words)).expect("a table");
        assert_eq!(table, frame, "a place is published as a whole");
        let [one, other] = &*self.tables[table];
        let (one, other) = (one.load(Relaxed), other.load(Relaxed));
        self.front.is_still(version).then(|| {
            assert_eq!(one, other, "half of a change");
            assert_eq!(one / FRAMES, frame as u64 + 1, "words of another table");
            one
        })
    }
}

/// A thread reads while another one writes, which is interrupted at most three times.
fn check(write: impl Fn(&Shard) + Send + Sync + Copy + 'static, last: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let shard = Arc::new(Shard::new());
        let reader = {
            let shard = Arc::clone(&shard);
            loom::thread::spawn(move || {
                shard.read();
            })
        };
        write(&shard);
        assert_eq!(shard.read(), Some(last), "whoever wrote sees it");
        reader.join().unwrap();
        assert_eq!(shard.read(), Some(last), "all see what was written before");
    });
}

fn change(shard: &Shard, order: Ordering) {
    shard.front.disturb();
    shard.store(0, FRAMES + 1, order);
    shard.front.settle();
}

#[test]
fn a_change_is_seen_as_a_whole() {
    check(|shard| change(shard, Release), FRAMES + 1);
}

#[test]
#[should_panic(expected = "half of a change")]
fn stores_must_be_releases() {
    check(|shard| change(shard, Relaxed), FRAMES + 1);
}

#[test]
#[should_panic(expected = "half of a change")]
fn the_version_must_be_odd_meanwhile() {
    check(|shard| shard.store(0, FRAMES + 1, Release), FRAMES + 1);
}

#[test]
fn another_table_is_seen_as_a_whole_and_the_old_one_may_be_used_for_something_else() {
    let publish = |shard: &Shard| {
        shard.front.publish(place(&shard.tables[1], 1));
        // Memory of the old table, which a late reader may still be reading.
        shard.store(0, 7 * FRAMES, Release);
    };
    check(publish, 2 * FRAMES);
}

#[test]
#[should_panic(expected = "half of a change")]
fn the_old_table_must_not_be_used_before_the_new_one_is_shown() {
    let publish = |shard: &Shard| {
        shard.store(0, 7 * FRAMES, Release);
        shard.front.publish(place(&shard.tables[1], 1));
    };
    check(publish, 2 * FRAMES);
}
