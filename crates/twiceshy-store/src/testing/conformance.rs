//! What every engine must do, as a check that any engine can run; with the feature `testing`.
//!
//! ```
//! use twiceshy_store::engine::MemoryEngine;
//! use twiceshy_store::testing::conformance;
//!
//! conformance::check(MemoryEngine::new)?;
//! # Ok::<(), String>(())
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::engine::{Batch, Durability, Engine, Keys, Space};

/// A row as a scan sees it.
type Row = (Vec<u8>, Vec<u8>);

/// Tries engines that are empty, made by `empty`. The error says what is wrong.
pub fn check<E: Engine>(mut empty: impl FnMut() -> E) -> Result<(), String> {
    rows_come_back(&empty())?;
    spaces_are_apart(&empty())?;
    scans_are_sorted_and_end(&empty())?;
    the_last_change_counts(&empty())?;
    keys_and_values_of_every_length(&empty())?;
    threads_see_whole_batches(&empty())?;
    behaves_like_a_map(&empty())
}

/// Checks that what a closed engine held is there when it is opened again: everything up to the last write of level
/// [`Process`](Durability::Process) or to a sync.
pub fn check_reopen<E: Engine>(mut open: impl FnMut() -> E) -> Result<(), String> {
    let engine = open();
    for level in [Durability::Relaxed, Durability::Process, Durability::Power] {
        write(&engine, |batch| batch.put(Space::Rows, vec![level as u8], b"kept".to_vec()), level)?;
    }
    write(&engine, |batch| batch.put(Space::Meta, b"last".to_vec(), vec![]), Durability::Relaxed)?;
    engine.sync().map_err(|error| error.to_string())?;
    drop(engine);
    let engine = open();
    for level in [Durability::Relaxed, Durability::Process, Durability::Power] {
        expect(
            "a row after opening again",
            get(&engine, Space::Rows, &[level as u8])?,
            Some(b"kept".to_vec()),
        )?;
    }
    expect("a row that was synced", get(&engine, Space::Meta, b"last")?, Some(vec![]))?;
    engine.compact().map_err(|error| error.to_string())?;
    expect("a row after compacting", get(&engine, Space::Rows, &[0])?, Some(b"kept".to_vec()))
}

fn rows_come_back(engine: &impl Engine) -> Result<(), String> {
    expect("a key of an empty engine", get(engine, Space::Rows, b"a")?, None)?;
    put(engine, b"a", b"1")?;
    expect("a key that was put", get(engine, Space::Rows, b"a")?, Some(b"1".to_vec()))?;
    expect("a longer key", get(engine, Space::Rows, b"a\0")?, None)?;
    put(engine, b"a", b"")?;
    expect("an empty value", get(engine, Space::Rows, b"a")?, Some(vec![]))?;
    write(engine, |batch| batch.delete(Space::Rows, b"a".to_vec()), Durability::Process)?;
    expect("a key that was deleted", get(engine, Space::Rows, b"a")?, None)?;
    write(engine, |batch| batch.delete(Space::Rows, b"a".to_vec()), Durability::Process)?;
    write(engine, |_| (), Durability::Power)?;
    engine.sync().map_err(|error| error.to_string())
}

fn spaces_are_apart(engine: &impl Engine) -> Result<(), String> {
    for space in Space::ALL {
        let fill = |batch: &mut Batch| batch.put(space, b"key".to_vec(), space.name().into());
        write(engine, fill, Durability::Relaxed)?;
    }
    for space in Space::ALL {
        expect("the row of a space", get(engine, space, b"key")?, Some(space.name().into()))?;
        expect("the rows of a space", scan(engine, space, b"", None)?.len(), 1)?;
    }
    write(engine, |batch| batch.delete(Space::Journal, b"key".to_vec()), Durability::Relaxed)?;
    expect("a row of another space", get(engine, Space::Rows, b"key")?, Some(b"rows".to_vec()))
}

fn scans_are_sorted_and_end(engine: &impl Engine) -> Result<(), String> {
    let mut keys: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    keys.extend((0..=255u8).map(|byte| vec![byte, 0, 7]));
    keys.push(vec![0xff; 9]);
    // Not in their order.
    let fill = |batch: &mut Batch| {
        for (i, key) in keys.iter().enumerate().rev() {
            batch.put(Space::Rows, key.clone(), i.to_le_bytes().to_vec());
        }
    };
    write(engine, fill, Durability::Process)?;
    keys.sort();
    for (from, until) in [
        (vec![], None),
        (vec![], Some(vec![])),
        (vec![3], Some(vec![3])),
        (vec![3], Some(vec![4])),
        (vec![3, 0], Some(vec![3, 0, 7, 0])),
        (vec![9], Some(vec![2])),
        (vec![0xff], None),
        (vec![0xff, 1], None),
        (vec![], Some(vec![0xff; 20])),
    ] {
        let expected: Vec<_> = keys
            .iter()
            .filter(|key| **key >= from && until.as_ref().is_none_or(|until| *key < until))
            .collect();
        let rows = scan(engine, Space::Rows, &from, until.as_deref())?;
        let found: Vec<_> = rows.iter().map(|(key, _)| key).collect();
        expect(&format!("a scan from {from:?} until {until:?}"), found, expected)?;
    }
    let mut visited = 0;
    engine
        .scan(Space::Rows, Keys::ALL, &mut |_, _| {
            visited += 1;
            if visited == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(|error| error.to_string())?;
    expect("visits of a scan that was stopped", visited, 3)
}

fn the_last_change_counts(engine: &impl Engine) -> Result<(), String> {
    let change = |batch: &mut Batch| {
        batch.put(Space::Rows, b"a".to_vec(), b"1".to_vec());
        batch.put(Space::Rows, b"a".to_vec(), b"2".to_vec());
        batch.put(Space::Rows, b"b".to_vec(), b"1".to_vec());
        batch.delete(Space::Rows, b"b".to_vec());
        batch.delete(Space::Rows, b"c".to_vec());
        batch.put(Space::Rows, b"c".to_vec(), b"3".to_vec());
    };
    write(engine, change, Durability::Process)?;
    expect("a key that was put twice", get(engine, Space::Rows, b"a")?, Some(b"2".to_vec()))?;
    expect("a key that was put and deleted", get(engine, Space::Rows, b"b")?, None)?;
    expect("a key that was deleted and put", get(engine, Space::Rows, b"c")?, Some(b"3".to_vec()))
}

fn keys_and_values_of_every_length(engine: &impl Engine) -> Result<(), String> {
    let most = engine.max_key_len();
    if most < 24 {
        return Err(format!("keys of up to {most} bytes are too short: a store needs 24"));
    }
    for len in [1, 255, 256, most.saturating_sub(1), most] {
        let key = vec![7; len.min(most)];
        put(engine, &key, &[len as u8])?;
        expect(&format!("a key of {len} bytes"), get(engine, Space::Rows, &key)?, Some(vec![len as u8]))?;
    }
    // The longest key is there still, and bounds may be longer.
    let longest = [vec![7; most], vec![7; most + 1], vec![7; 2 * most]];
    for (from, until, rows) in [(0, None, 1), (1, None, 0), (0, Some(1), 1), (0, Some(0), 0), (1, Some(2), 0)]
    {
        let found =
            scan(engine, Space::Rows, &longest[from], until.map(|until: usize| longest[until].as_slice()))?;
        expect("rows up to the longest key", found.len(), rows)?;
    }
    for len in [0, 1, 4_095, 65_536, 10_000_000] {
        put(engine, b"value", &vec![9; len])?;
        let found = get(engine, Space::Rows, b"value")?.map(|value| value.len());
        expect("the length of a value", found, Some(len))?;
    }
    Ok(())
}

/// Batches set two rows to the same number; a scan never sees different ones.
fn threads_see_whole_batches(engine: &impl Engine) -> Result<(), String> {
    let set = |number: u32| {
        let value = number.to_le_bytes().to_vec();
        write(
            engine,
            |batch| {
                batch.put(Space::Rows, b"left".to_vec(), value.clone());
                batch.put(Space::Rows, b"right".to_vec(), value.clone());
            },
            Durability::Relaxed,
        )
    };
    set(0)?;
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || (1..3_000).try_for_each(set));
        let mut looks = Ok(());
        while looks.is_ok() && !writer.is_finished() {
            looks = scan(engine, Space::Rows, b"", None).and_then(|rows| match rows.as_slice() {
                [(_, left), (_, right)] => expect("two rows of one batch", left, right),
                rows => Err(format!("{} rows, expected 2", rows.len())),
            });
        }
        writer.join().map_err(|_| "a writer panicked".to_owned())?.and(looks)
    })
}

/// Random operations beside a `BTreeMap`.
fn behaves_like_a_map(engine: &impl Engine) -> Result<(), String> {
    let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let mut batch = Batch::new();
        for _ in 0..random(8) {
            let key = vec![b'k'; 1 + random(40) as usize];
            if random(3) == 0 {
                batch.delete(Space::Rows, key.clone());
                model.remove(&key);
            } else {
                let value = vec![random(256) as u8; random(50) as usize];
                batch.put(Space::Rows, key.clone(), value.clone());
                model.insert(key, value);
            }
        }
        engine.write(batch, Durability::Relaxed).map_err(|error| error.to_string())?;
        let key = vec![b'k'; 1 + random(40) as usize];
        expect("a random key", get(engine, Space::Rows, &key)?, model.get(&key).cloned())?;
    }
    expect("all rows", scan(engine, Space::Rows, b"", None)?, model.into_iter().collect())
}

fn put(engine: &impl Engine, key: &[u8], value: &[u8]) -> Result<(), String> {
    write(engine, |batch| batch.put(Space::Rows, key.to_vec(), value.to_vec()), Durability::Process)
}

fn write(engine: &impl Engine, fill: impl FnOnce(&mut Batch), durability: Durability) -> Result<(), String> {
    let mut batch = Batch::new();
    fill(&mut batch);
    engine.write(batch, durability).map_err(|error| error.to_string())
}

fn get(engine: &impl Engine, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
    engine.get(space, key).map_err(|error| error.to_string())
}

fn scan(engine: &impl Engine, space: Space, from: &[u8], until: Option<&[u8]>) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    let visit = &mut |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    };
    engine.scan(space, Keys { from, until }, visit).map_err(|error| error.to_string())?;
    Ok(rows)
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
}
