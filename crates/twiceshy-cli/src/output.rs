//! What is printed: results to standard output, through a buffer; everything else to standard error.

use std::fmt::{Display, Write as _};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::{Map, Value};

/// Standard output through a buffer. Flush it at the end: an error that only dropping would meet is lost.
pub(crate) fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// What became of writing to standard output, as an error of the program.
pub(crate) fn written(result: io::Result<()>) -> anyhow::Result<()> {
    result.context("cannot write to standard output")
}

/// Prints something to standard output, to its end.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = stdout();
    written(write(&mut out).and_then(|()| out.flush()))
}

/// What became of telling that something was done. If nobody could be told, it is done all the same, and whoever reads
/// the error should not do it again.
pub(crate) fn told(result: anyhow::Result<()>) -> anyhow::Result<()> {
    result.context("it is done, but nobody could be told")
}

/// Prints a value as a line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(|out| write_json(out, value))
}

/// Prints what there is to know of each of some files: in a line of JSON, or in a paragraph.
pub(crate) fn print_about<T: Serialize>(
    files: &[PathBuf],
    json: bool,
    about: impl Fn(&Path) -> anyhow::Result<T>,
    write: impl Fn(&T, &mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    for (number, path) in files.iter().enumerate() {
        let info = about(path)?;
        if json {
            print_json(&info)?;
            continue;
        }
        let between = if number > 0 { "\n" } else { "" };
        print(|out| {
            out.write_all(between.as_bytes())?;
            write(&info, out)
        })?;
    }
    Ok(())
}

/// Writes a value as a line of JSON.
pub(crate) fn write_json(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Bytes as a field of a JSON object: as a string under this name if they are UTF-8, else as hexadecimal digits under
/// this name with `_hex` after it.
pub(crate) fn put_bytes(object: &mut Map<String, Value>, name: &str, bytes: &[u8]) {
    let (name, text) = match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), text.to_owned()),
        Err(_) => (format!("{name}_hex"), hexadecimal(bytes)),
    };
    object.insert(name, text.into());
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// How much of a key is shown in a message.
const MOST_SHOWN: usize = 80;

/// A key as messages show it.
pub(crate) fn quoted(key: &[u8]) -> String {
    let shown = String::from_utf8_lossy(key);
    match shown.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}…", &shown[..end]),
        None => format!("{shown:?}"),
    }
}

/// Says something on standard error. If that is closed, nobody wants to know.
pub(crate) fn complain(message: impl Display) {
    let _ = writeln!(io::stderr(), "twiceshy: {message}");
}

/// An error and its causes in one line. Many errors name their cause themselves: it is not said again.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            let _ = write!(text, ": {cause}");
        }
    }
    text
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

/// A number of things.
pub(crate) fn count(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", HumanCount(number), if number == 1 { "" } else { "s" })
}

/// A rate as people read it.
pub(crate) fn rate(rate: f64) -> String {
    if rate <= 0.0 {
        return "0".into();
    }
    let one_in = HumanCount((1.0 / rate).round() as u64);
    if rate < 0.0001 {
        return format!("{rate:.1e} (1 in {one_in})");
    }
    let digits = (1.0 - rate.log10().floor()).max(0.0) as usize;
    format!("{rate:.digits$} (1 in {one_in})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause = io::Error::other("the disk is full");
        let error = anyhow::Error::new(cause).context("cannot write: the disk is full").context("no store");
        assert_eq!(describe(&error), "no store: cannot write: the disk is full");
        let error = anyhow::Error::new(io::Error::other("the disk is full")).context("cannot write");
        assert_eq!(describe(&error), "cannot write: the disk is full");
    }

    #[test]
    fn rates_have_two_digits() {
        for (number, text) in [
            (0.0, "0"),
            (0.5, "0.50 (1 in 2)"),
            (1.0 / 512.0, "0.0020 (1 in 512)"),
            (0.000_19, "0.00019 (1 in 5,263)"),
            (2f64.powi(-28), "3.7e-9 (1 in 268,435,456)"),
        ] {
            assert_eq!(rate(number), text);
        }
    }

    #[test]
    fn json_has_text_or_digits() {
        let mut object = Map::new();
        put_bytes(&mut object, "key", "mücke".as_bytes());
        put_bytes(&mut object, "value", b"\xff\x00\x7f");
        assert_eq!(serde_json::to_string(&object).unwrap(), r#"{"key":"mücke","value_hex":"ff007f"}"#);
    }
}
