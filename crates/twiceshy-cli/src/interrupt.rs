//! Ctrl-C, and SIGTERM and SIGHUP, which are treated alike.
//!
//! A command that takes long calls [`watch`] first and [`check`] between two pieces of work, so that what is under way
//! is finished or taken back. A second Ctrl-C does not wait for that: it removes what is [`temporary`] and ends the
//! program at once. Files are safe then too, since none of them is changed in place.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io, process, thread};

use crate::output;

/// Ctrl-C was pressed.
static ASKED: AtomicBool = AtomicBool::new(false);
/// It was pressed again.
static ENDING: AtomicBool = AtomicBool::new(false);
/// What the second Ctrl-C removes, the last first.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// Something that is not to stay.
enum Made {
    /// A file, or a folder with all that is in it.
    Temporary(PathBuf),
    /// A folder, if there is nothing in it.
    Folder(PathBuf),
}

/// How often removing is tried, and how long to wait in between: some seconds in all.
const TRIES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(10);

/// The user does not want to wait for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// From here on Ctrl-C is noted instead of ending the program. Whoever started the program so that it ignores such
/// signals (`nohup`) has its way.
pub(crate) fn watch() -> anyhow::Result<()> {
    let watched = ctrlc::try_set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            end_now();
        }
    });
    match watched {
        Ok(()) | Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// An error if Ctrl-C was pressed since [`watch`].
pub(crate) fn check() -> Result<(), Interrupted> {
    if ASKED.load(Ordering::Relaxed) { Err(Interrupted) } else { Ok(()) }
}

/// Makes a temporary file or folder, which does not survive a second Ctrl-C either.
pub(crate) fn temporary<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    // Locked while it is made: there is no moment at which it is there and nobody knows.
    let mut known = made();
    let temporary = make()?;
    known.push(Made::Temporary(temporary.as_ref().to_owned()));
    Ok(temporary)
}

/// Makes a folder that does not survive a second Ctrl-C while nothing is in it.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    let mut known = made();
    fs::create_dir_all(path)?;
    known.push(Made::Folder(path.to_owned()));
    Ok(())
}

/// At the end of the program: after a second Ctrl-C others end it, and what went wrong since then is of no interest.
pub(crate) fn wait_if_ending() {
    while ENDING.load(Ordering::Relaxed) {
        thread::park();
    }
}

fn made() -> MutexGuard<'static, Vec<Made>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program. It is still at work meanwhile, but makes nothing new, since it would have to wait for the lock.
fn end_now() -> ! {
    ENDING.store(true, Ordering::Relaxed);
    for made in made().iter().rev() {
        match made {
            // It is not there, or results are in it.
            Made::Folder(path) => drop(fs::remove_dir(path)),
            Made::Temporary(path) => remove(path),
        }
    }
    process::exit(130)
}

/// Removes a file, or a folder with all that is in it, although others may be putting something there.
fn remove(path: &Path) {
    let mut gone = 0;
    for _ in 0..TRIES {
        let is_gone =
            |result: io::Result<()>| result.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        // Twice, so that what was begun in between is over.
        gone = if is_gone(removed) { gone + 1 } else { 0 };
        if gone == 2 {
            return;
        }
        thread::sleep(PAUSE);
    }
    output::complain(format_args!("cannot remove {}: please do", path.display()));
}
