//! A disk without room, and a folder that may not be written: clear errors, and nothing is lost.
#![cfg(unix)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

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
    let (kind, path) = command.split_once(' ').unwrap();
    let store = builder().engine(kind.parse().unwrap()).open(path).unwrap();
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

fn child(shell: &str, kind: EngineKind, path: &Path) -> String {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{shell} exec \"$0\" --exact disk::child_of_disk_tests --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(CHILD, format!("{} {}", kind.name(), path.display()));
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
        let said = child(&format!("trap '' XFSZ; ulimit -f {blocks};"), kind, &path);
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

/// Does something as somebody whom permissions stop. Root is not, until it gives up its rights; a thread of its own does
/// that, so no program has to be started by another user, who might not even find it.
fn without_rights<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let work = || {
        give_up_rights();
        work()
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[cfg(target_os = "linux")]
fn give_up_rights() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).unwrap();
}

/// Elsewhere root keeps its rights, and the test below fails for it.
#[cfg(not(target_os = "linux"))]
fn give_up_rights() {}

/// Lets nobody write to a folder and what is in it, or its owner again.
fn let_write(path: &Path, may: bool) {
    let is_folder = path.is_dir();
    let mode = if is_folder { 0o500 } else { 0o400 } | if may { 0o200 } else { 0 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if is_folder {
        fs::read_dir(path).unwrap().for_each(|entry| let_write(&entry.unwrap().path(), may));
    }
}

#[test]
fn a_folder_that_may_not_be_written_is_an_error() {
    for &kind in EngineKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store = builder().engine(kind).open(&path).unwrap();
        store.insert("kept", "1").unwrap();
        drop(store);
        let_write(folder.path(), false);
        let (probe, said) = without_rights(|| {
            let probe = fs::write(folder.path().join("probe"), "").map_err(|error| error.kind());
            let error = |path: &Path| builder().open(path).unwrap_err().to_string();
            (probe, [error(&path), error(&folder.path().join("new"))])
        });
        let_write(folder.path(), true);
        assert_eq!(
            probe,
            Err(ErrorKind::PermissionDenied),
            "nobody is stopped here, so there is nothing to see"
        );
        let [old, new] = said;
        assert!(old.contains("check their owner and permissions"), "{}: {old}", kind.name());
        assert!(new.contains("cannot create") && new.contains("ermission denied"), "{}: {new}", kind.name());
        assert!(!folder.path().join("new").exists());
        assert_eq!(builder().open(&path).unwrap().get("kept").unwrap(), Some(b"1".to_vec()));
    }
}
