//! A disk without room, and a folder that may not be written: clear errors, and nothing is lost.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::key;
use twiceshy_store::{AdaptiveStore, EngineKind, StoreBuilder};

const CHILD: &str = "TWICESHY_DISK_CHILD";

fn builder() -> StoreBuilder {
    AdaptiveStore::builder().error_rate(0.01)
}

/// The child: does what it is told and says how far it came. Does nothing if this is not one.
#[test]
fn child_of_disk_tests() {
    let Ok(command) = std::env::var(CHILD) else { return };
    let (what, path) = command.split_once(' ').unwrap();
    let opened = match what.parse() {
        Ok(kind) => builder().engine(kind).open(path),
        Err(_) => builder().open(path),
    };
    let store = match opened {
        Ok(store) => store,
        Err(error) => {
            println!("cannot open: {error}");
            return;
        }
    };
    for first in (0..1_000_000).step_by(20) {
        // What does not compress.
        let byte = |number: u64, i: u64| ((number ^ i << 20).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
        let row = |number| (key(number), (0..500).map(|i| byte(number, i)).collect::<Vec<u8>>());
        let rows: Vec<_> = (first..first + 20).map(row).collect();
        if let Err(error) = store.insert_batch(&rows) {
            println!("stored {first} keys, then: {error}");
            assert_eq!(store.get(&key(first / 2)).unwrap().is_some(), first > 0, "reading goes on");
            return;
        }
    }
    println!("stored all");
}

fn child(shell: &str, what: &str, path: &Path, set_up: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell} exec \"$0\" --exact disk::child_of_disk_tests --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, format!("{what} {}", path.display()));
    set_up(&mut command);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{said}{}", String::from_utf8_lossy(&stderr));
    said
}

/// Files may not get longer than a limit: what a full disk looks like to a program.
#[test]
fn a_full_disk_is_an_error_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes. fjall's first file is 64 MiB.
    for (kind, blocks) in [(EngineKind::Redb, 8_000), (EngineKind::Fjall, 140_000)] {
        let path = folder.path().join(kind.name());
        let said = child(&format!("trap '' XFSZ; ulimit -f {blocks};"), kind.name(), &path, |_| ());
        let line = said.lines().find(|line| line.contains("stored ")).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains("the disk is full") || line.contains("earlier write failed"), "{line}");
        let stored: u64 = line.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(stored > 100, "{line}");
        let store = builder().open(&path).unwrap();
        for number in 0..stored {
            assert!(
                store.contains_key(&key(number)).unwrap(),
                "{} lost key {number} of {stored}",
                kind.name()
            );
        }
        store.verify().unwrap();
        assert!(store.insert("there is room", "again").unwrap());
    }
}

/// As somebody who may not write there.
#[test]
fn a_folder_that_may_not_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = builder().engine(EngineKind::Redb).open(&path).unwrap();
    store.insert("kept", "1").unwrap();
    drop(store);
    let is_root = fs::metadata(folder.path()).unwrap().uid() == 0;
    let may = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let as_nobody = |command: &mut Command| {
        // Root may write everywhere.
        if is_root {
            command.uid(65_534);
        }
    };
    may(folder.path(), 0o755);
    may(&path, 0o555);
    for file in fs::read_dir(&path).unwrap() {
        may(&file.unwrap().path(), 0o444);
    }
    let said = child("", "old", &path, as_nobody);
    assert!(
        said.contains("cannot open:") && said.contains("permission") || said.contains("Permission"),
        "{said}"
    );
    let said = child("", "new", &folder.path().join("new"), as_nobody);
    if is_root {
        assert!(said.contains("cannot create") && said.contains("ermission denied"), "{said}");
    }
    may(&path, 0o700);
    for file in fs::read_dir(&path).unwrap() {
        may(&file.unwrap().path(), 0o600);
    }
    assert_eq!(builder().open(&path).unwrap().get("kept").unwrap(), Some(b"1".to_vec()));
}
