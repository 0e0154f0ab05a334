//! A process that is killed at random moments, again and again, on every engine.
//!
//! The child says what it is about to do and when it is done; the parent kills it, opens the store and compares. How
//! many times: `TWICESHY_CRASHES`, a few dozen by default. A soak:
//!
//! ```sh
//! TWICESHY_CRASHES=500 cargo test --release -p twiceshy-store --test store crash -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::Model;
use crate::tested::{Choose, Tested};
use twiceshy_store::{AdaptiveStore, EngineKind, OrderedStore, Recovery, YesNoStore};
use twiceshy_testkit::{Random, copy_folder, effort};

const CHILD: &str = "TWICESHY_CRASH_CHILD";
/// What the paths of an ordered store and of a list end with.
const ORDERED: &str = "ordered";
const LIST: &str = "list";

fn builder<S: Tested>(kind: EngineKind) -> S::Builder {
    S::chosen(0.1, 4).with_engine(kind)
}

/// The child: works on a store until it is killed. Does nothing if this is not one.
#[test]
fn child_that_is_killed() {
    let Ok(command) = std::env::var(CHILD) else { return };
    let (seed, rest) = command.split_once(' ').unwrap();
    let (engine, path) = rest.split_once(' ').unwrap();
    let (seed, engine) = (seed.parse().unwrap(), engine.parse().unwrap());
    let work = match path {
        path if path.ends_with(ORDERED) => work::<OrderedStore<u32>>,
        path if path.ends_with(LIST) => work::<YesNoStore>,
        _ => work::<AdaptiveStore>,
    };
    work(seed, engine, Path::new(path));
}

fn say(line: std::fmt::Arguments<'_>) {
    // One write for one line: a kill never leaves a part of it.
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// A value: long enough that an engine has something to tidy up.
fn text<S: Tested>(value: u64) -> Vec<u8> {
    S::kept(value.to_string().repeat(100).into_bytes())
}

fn work<S: Tested>(seed: u64, engine: EngineKind, path: &Path) {
    let mut store = builder::<S>(engine).open_in(path).unwrap();
    say(format_args!("open"));
    let mut random = Random(seed);
    loop {
        let (number, value) = (random.below(2_000), random.below(1 << 40));
        match random.below(20) {
            0..=8 => {
                say(format_args!("insert {number} {value}"));
                store.put(&S::key(number), &text::<S>(value)).unwrap();
            }
            9 | 10 => {
                let rows: Vec<_> =
                    (number..number + 20).map(|number| (S::key(number), text::<S>(value))).collect();
                say(format_args!("batch {number} {value}"));
                store.put_all(&rows).unwrap();
            }
            11..=13 => {
                say(format_args!("remove {number} 0"));
                store.take_out(&S::key(number)).unwrap();
            }
            14..=18 => {
                // Several, because most are no mistakes.
                for number in number..number + 50 {
                    let query = S::stranger(number);
                    if store.is_positive(&query) {
                        store.ask(&query).unwrap();
                        if !store.is_positive(&query) {
                            say(format_args!("fixed {number} 0"));
                        }
                    }
                }
                continue;
            }
            _ if random.below(4) > 0 => {
                say(format_args!("flush 0 0"));
                store.flushed().unwrap();
            }
            _ => {
                say(format_args!("close 0 0"));
                store.closed().unwrap();
                store = builder::<S>(engine).open_in(path).unwrap();
            }
        }
        say(format_args!("done"));
    }
}

/// What was said to be done, and what may be or not.
#[derive(Default)]
struct Past {
    model: Model,
    /// Mistakes that were fixed before the last flush, or before the last write that came after them.
    safe_fixed: BTreeMap<Vec<u8>, u64>,
    begun: Option<(String, u64, u64)>,
}

impl Past {
    fn hear<S: Tested>(&mut self, line: &str) {
        let mut words = line.split(' ');
        let word = words.next().unwrap();
        let mut number = || words.next().unwrap().parse().unwrap();
        match word {
            "open" => self.begun = None,
            "done" => {
                if let Some(begun) = self.begun.take() {
                    let before = self.model.rows.clone();
                    apply::<S>(&mut self.model, &begun);
                    // What changes no row may write nothing.
                    if self.model.rows != before || ["flush", "close"].contains(&begun.0.as_str()) {
                        self.safe_fixed = self.model.fixed.clone();
                    }
                }
            }
            "fixed" => {
                let query = S::stranger(number());
                self.model.fix(query);
            }
            _ => self.begun = Some((word.to_owned(), number(), number())),
        }
    }

    /// What the store may hold.
    fn possible<S: Tested>(&self) -> Vec<Model> {
        let mut after = self.model.clone();
        self.begun.iter().for_each(|begun| apply::<S>(&mut after, begun));
        vec![self.model.clone(), after]
    }
}

fn apply<S: Tested>(model: &mut Model, (word, number, value): &(String, u64, u64)) {
    let value = text::<S>(*value);
    match word.as_str() {
        "insert" => model.insert(S::key(*number), value),
        "batch" => (*number..number + 20).for_each(|number| model.insert(S::key(number), value.clone())),
        "remove" => model.remove(&S::key(*number)),
        _ => (),
    }
}

fn crash<S: Tested>(kind: EngineKind, folder: &Path, times: u64, what: &str) {
    let path: PathBuf = folder.join(format!("{} {what}", kind.name()));
    let mut random = Random(times);
    let mut past = Past::default();
    let mut replayed = 0;
    for round in 0..times {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child_that_is_killed", "--nocapture"])
            .env(CHILD, format!("{} {} {}", random.next(), kind.name(), path.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        // Sometimes while it is opening.
        if random.below(8) == 0 {
            std::thread::sleep(Duration::from_millis(random.below(20)));
            child.kill().unwrap();
        } else {
            let end = Instant::now() + Duration::from_millis(random.below(60));
            for line in lines.by_ref() {
                past.hear::<S>(&line);
                if Instant::now() > end {
                    break;
                }
            }
            child.kill().unwrap();
        }
        lines.for_each(|line| past.hear::<S>(&line));
        child.wait().unwrap();

        // Now and then the next child finds it mended and closed, else as it was left.
        let copy = folder.join("copy");
        let is_copy = random.below(3) > 0;
        if is_copy {
            copy_folder(&path, &copy);
        }
        let opened = builder::<S>(kind).open_in(if is_copy { &copy } else { &path });
        let store = opened.unwrap_or_else(|error| panic!("round {round}: {error}"));
        replayed += u64::from(matches!(store.recovered(), Recovery::Replayed { .. }));
        let found = store.rows();
        let possible = past.possible::<S>();
        let model = possible.iter().find(|model| model.rows == found);
        let model =
            model.unwrap_or_else(|| panic!("{} round {round}: rows that there never were", kind.name()));
        model.check_mistakes(&store, &past.safe_fixed);
        for (key, value) in &found {
            assert_eq!(store.value(key).as_ref(), Some(value));
        }
        assert_eq!(store.verified().unwrap().keys, found.len() as u64);
        drop(store);
        if is_copy {
            std::fs::remove_dir_all(&copy).unwrap();
        }
        // What was not safe may be forgotten.
        past.model = Model { fixed: past.safe_fixed.clone(), ..model.clone() };
        past.begun = None;
    }
    println!(
        "{} {what}: killed {times} times, {replayed} times what the journal said was done again",
        kind.name()
    );
    assert!(replayed > times / 4, "{replayed} of {times}");
}

#[test]
fn a_killed_process_loses_nothing() {
    let times = effort::times("TWICESHY_CRASHES", 20);
    let folder = tempfile::tempdir().unwrap();
    for &kind in EngineKind::ALL {
        crash::<AdaptiveStore>(kind, folder.path(), times, "by hash");
        crash::<OrderedStore<u32>>(kind, folder.path(), times, ORDERED);
        crash::<YesNoStore>(kind, folder.path(), times, LIST);
    }
}
