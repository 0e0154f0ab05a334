//! What is printed: results to standard output, through a buffer; everything else to standard error.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock};

/// Standard output through a buffer. Flush it at the end: an error that only dropping would meet is lost.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Whether an error only says that nobody reads any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
}

/// Whether standard error is a terminal, so that progress and colours make sense there.
pub(crate) fn for_people() -> bool {
    io::stderr().is_terminal()
}
