//! Every engine passes the same suite, and the suite notices engines that are wrong.

use std::cell::Cell;
use std::ops::ControlFlow;

use twiceshy_store::engine::{
    Batch, Change, Durability, Engine, EngineError, FjallEngine, Keys, MemoryEngine, RedbEngine, Space, Visit,
};
use twiceshy_store::testing::conformance;

#[test]
fn memory() {
    conformance::check(MemoryEngine::new).unwrap();
    conformance::check(|| MemoryEngine::with_max_key_len(50)).unwrap();
    conformance::check(|| MemoryEngine::with_max_key_len(24)).unwrap();
    assert!(conformance::check(|| MemoryEngine::with_max_key_len(23)).unwrap_err().contains("too short"));
}

#[test]
fn fjall() {
    let folder = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    conformance::check(|| {
        number.set(number.get() + 1);
        FjallEngine::open(&folder.path().join(number.get().to_string()), None).unwrap()
    })
    .unwrap();
    conformance::check_reopen(|| FjallEngine::open(&folder.path().join("again"), Some(1 << 20)).unwrap())
        .unwrap();
}

#[test]
fn redb() {
    let folder = tempfile::tempdir().unwrap();
    let number = Cell::new(0);
    conformance::check(|| {
        number.set(number.get() + 1);
        RedbEngine::open(&folder.path().join(number.get().to_string()), None).unwrap()
    })
    .unwrap();
    conformance::check_reopen(|| RedbEngine::open(&folder.path().join("again"), Some(1 << 20)).unwrap())
        .unwrap();
}

/// What is wrong with an engine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    SpacesMixed,
    UntilIncluded,
    FromExcluded,
    BreakIgnored,
    FirstChangeCounts,
    EmptyValueIsNone,
    BatchTorn,
    DeleteIgnored,
    Backwards,
}

const FAULTS: [Fault; 9] = [
    Fault::SpacesMixed,
    Fault::UntilIncluded,
    Fault::FromExcluded,
    Fault::BreakIgnored,
    Fault::FirstChangeCounts,
    Fault::EmptyValueIsNone,
    Fault::BatchTorn,
    Fault::DeleteIgnored,
    Fault::Backwards,
];

struct Wrong(MemoryEngine, Fault);

impl Wrong {
    fn space(&self, space: Space) -> Space {
        if self.1 == Fault::SpacesMixed { Space::Rows } else { space }
    }
}

impl Engine for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn max_key_len(&self) -> usize {
        self.0.max_key_len()
    }

    fn max_value_len(&self) -> usize {
        self.0.max_value_len()
    }

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
        let value = self.0.get(self.space(space), key)?;
        Ok(value.filter(|value| self.1 != Fault::EmptyValueIsNone || !value.is_empty()))
    }

    fn scan(&self, space: Space, keys: Keys<'_>, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let mut rows = Vec::new();
        let included = keys.until.map(|until| [until, &[0]].concat());
        let until = if self.1 == Fault::UntilIncluded { included.as_deref() } else { keys.until };
        self.0.scan(self.space(space), Keys { until, ..keys }, &mut |key, value| {
            rows.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        if self.1 == Fault::Backwards {
            rows.reverse();
        }
        for (key, value) in rows {
            if self.1 == Fault::FromExcluded && key == keys.from {
                continue;
            }
            if visit(&key, &value).is_break() && self.1 != Fault::BreakIgnored {
                break;
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch, durability: Durability) -> Result<(), EngineError> {
        let mut changes = batch.into_changes();
        if self.1 == Fault::FirstChangeCounts {
            changes.reverse();
        }
        let mut whole = Batch::new();
        for change in changes {
            match change {
                Change::Put { space, key, value } => whole.put(self.space(space), key, value),
                Change::Delete { .. } if self.1 == Fault::DeleteIgnored => (),
                Change::Delete { space, key } => whole.delete(self.space(space), key),
            }
            if self.1 == Fault::BatchTorn {
                self.0.write(std::mem::take(&mut whole), durability)?;
                // Long enough for anybody to see it.
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
        }
        self.0.write(whole, durability)
    }

    fn sync(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

#[test]
fn wrong_engines_are_noticed() {
    for fault in FAULTS {
        let found = conformance::check(|| Wrong(MemoryEngine::new(), fault));
        assert!(found.is_err(), "{fault:?} was not noticed");
    }
}
