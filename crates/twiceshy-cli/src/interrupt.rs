//! Ctrl-C, and SIGTERM and SIGHUP, which are treated alike.
//!
//! A command that takes long calls [`watch`] first and [`check`] between two pieces of work, so that what is under way
//! is finished or taken back. A second Ctrl-C ends the program at once; files are safe then too, since none of them is
//! changed in place.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

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
            process::exit(130);
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
