//! The engine by itself: what every engine must do, and what RocksDB says when it cannot.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};
use twiceshy_rocksdb::RocksEngine;
use twiceshy_store::engine::{Batch, Durability, Engine, EngineError, EngineErrorKind, Keys, Space};
use twiceshy_store::testing::conformance;

fn open(folder: &Path) -> RocksEngine {
    RocksEngine::open(folder, Some(1 << 20)).unwrap()
}

fn kind<T>(result: Result<T, EngineError>) -> Option<EngineErrorKind> {
    result.err().map(|error| error.kind())
}

fn table_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension() == Some(OsStr::new("sst"))).collect()
}

/// A closed database with a thousand rows, the even numbers, in a table.
fn with_tables(folder: &Path) -> Vec<PathBuf> {
    let engine = open(folder);
    let mut batch = Batch::new();
    for number in (0..2_000u32).step_by(2) {
        batch.put(Space::Rows, number.to_be_bytes().to_vec(), number.to_string().into_bytes());
    }
    engine.write(batch, Durability::Process).unwrap();
    engine.compact().unwrap();
    drop(engine);
    let files = table_files(folder);
    assert_eq!(files.len(), 1, "{files:?}");
    files
}

#[test]
fn conforms() {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    conformance::check(|| {
        number += 1;
        RocksEngine::open(&folder.path().join(number.to_string()), None).unwrap()
    })
    .unwrap();
    conformance::check_reopen(|| open(&folder.path().join("again"))).unwrap();
}

/// The suite's rows stay in memory; these come from a table, and the Bloom filter answers for keys between them.
#[test]
fn rows_come_back_from_tables() {
    let folder = tempfile::tempdir().unwrap();
    with_tables(folder.path());
    for cache_bytes in [None, Some(0), Some(1 << 20)] {
        let engine = RocksEngine::open(folder.path(), cache_bytes).unwrap();
        set_perf_stats(PerfStatsLevel::EnableCount);
        let mut counts = PerfContext::default();
        counts.reset();
        for number in (0..2_000u32).step_by(2) {
            let value = engine.get(Space::Rows, &number.to_be_bytes()).unwrap();
            assert_eq!(value, Some(number.to_string().into_bytes()));
            assert_eq!(engine.get(Space::Rows, &(number + 1).to_be_bytes()).unwrap(), None);
        }
        let refused = counts.metric(PerfMetric::BloomSstMissCount);
        assert!((950..=1_000).contains(&refused), "{refused}");
    }
}

#[test]
fn it_knows_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    let before = engine.disk_bytes().unwrap();
    let mut batch = Batch::new();
    batch.put(Space::Rows, b"key".to_vec(), vec![7; 1_000_000]);
    engine.write(batch, Durability::Process).unwrap();
    assert!(engine.disk_bytes().unwrap() >= before + 1_000_000);
}

#[test]
fn opened_twice_it_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    assert_eq!(kind(RocksEngine::open(folder.path(), None)), Some(EngineErrorKind::InUse));
    drop(engine);
    open(folder.path());
}

/// Tells the test below, in a process of its own, what to open.
const FOLDER: &str = "TWICESHY_ROCKSDB_TEST_FOLDER";

#[test]
fn opened_in_two_processes_it_is_in_use() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        assert_eq!(kind(RocksEngine::open(Path::new(&folder), None)), Some(EngineErrorKind::InUse));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let other = || {
        let mut other = Command::new(std::env::current_exe().unwrap());
        other.args(["--exact", "opened_in_two_processes_it_is_in_use"]).env(FOLDER, folder.path());
        other.output().unwrap().status.success()
    };
    let engine = open(folder.path());
    assert!(other());
    drop(engine);
    assert!(!other(), "it could open the database, so the test fails there");
}

#[test]
fn damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for file in with_tables(folder.path()) {
        let mut bytes = fs::read(&file).unwrap();
        bytes[100] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
    let engine = open(folder.path());
    let key = 2u32.to_be_bytes();
    assert_eq!(kind(engine.get(Space::Rows, &key)), Some(EngineErrorKind::Corrupt));
    let scan = engine.scan(Space::Rows, Keys::ALL, &mut |_, _| std::ops::ControlFlow::Continue(()));
    assert_eq!(kind(scan), Some(EngineErrorKind::Corrupt));
    // Another table with the same keys, so that there is something to compact.
    let mut batch = Batch::new();
    batch.put(Space::Rows, key.to_vec(), b"new".to_vec());
    engine.write(batch, Durability::Process).unwrap();
    assert_eq!(kind(engine.compact()), Some(EngineErrorKind::Corrupt));
}

#[test]
fn a_missing_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for file in with_tables(folder.path()) {
        fs::remove_file(file).unwrap();
    }
    assert_eq!(kind(RocksEngine::open(folder.path(), None)), Some(EngineErrorKind::Missing));
}

#[test]
fn a_path_that_is_not_utf8_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"\xff"));
    assert!(RocksEngine::open(&path, None).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
