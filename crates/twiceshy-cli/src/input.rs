//! Keys as people have them: one per line, from files or from standard input.
//!
//! A key is the bytes of a line without its end, `\n` or `\r\n`; the last line needs no end. Bytes need not be UTF-8.
//! Blank lines are left out. Nothing else is special: blanks at the ends of a line belong to the key.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::Context;
use indicatif::ProgressBar;

use crate::kinds;
use crate::output;
use crate::progress;

/// How many keys, and about how many bytes of them, are worked on at a time.
const CHUNK_KEYS: usize = 4_096;
const CHUNK_BYTES: usize = 1 << 20;

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        anyhow::bail!("{} is a folder, not a file", path.display());
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// How messages call what [`open`] opens.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) { "standard input".into() } else { path.display().to_string() }
}

/// How many bytes there are to read, if that can be known.
pub(crate) fn size(path: &Path) -> Option<u64> {
    let about = fs::metadata(path).ok().filter(|about| about.is_file() && !is_stdin(path))?;
    Some(about.len())
}

/// Reads a line and appends it to `buffer`, without its end. Tells how many bytes it took from the input: 0 at the end.
fn read_line(input: &mut dyn BufRead, buffer: &mut Vec<u8>) -> io::Result<u64> {
    let start = buffer.len();
    let taken = input.read_until(b'\n', buffer)?;
    if buffer[start..].ends_with(b"\n") {
        buffer.pop();
        if buffer[start..].ends_with(b"\r") {
            buffer.pop();
        }
    }
    Ok(taken as u64)
}

/// What [`next_line`] took from the input, blank lines included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// The next line that is not blank, without its end, in `line`. `None` at the end.
pub(crate) fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<Taken>> {
    let mut taken = Taken { lines: 0, bytes: 0 };
    line.clear();
    while line.is_empty() {
        match read_line(input, line)? {
            0 => return Ok(None),
            bytes => taken = Taken { lines: taken.lines + 1, bytes: taken.bytes + bytes },
        }
    }
    Ok(Some(taken))
}

/// Whether somebody types what is read from standard input.
pub(crate) fn is_typed() -> bool {
    io::stdin().is_terminal()
}

/// Where a command takes its keys from whose arguments are files.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    /// Files of keys, one per line; standard input if none is given, or for `-`
    #[arg(value_name = "KEYS", conflicts_with = "key")]
    files: Vec<PathBuf>,
    /// A key itself, as it is, instead of files; can be given several times
    #[arg(short, long, value_name = "KEY", allow_hyphen_values = true)]
    key: Vec<OsString>,
}

impl KeyArgs {
    pub(crate) fn source(&self) -> Keys<'_> {
        Keys::new(&self.key, &self.files)
    }
}

/// Where a command takes its keys from whose arguments are keys.
#[derive(clap::Args)]
pub(crate) struct NamedKeys {
    /// The keys: their bytes as they are; those of standard input, one per line, if none is given
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    keys: Vec<OsString>,
    /// Take the keys from a file, one per line, or from standard input for `-`; can be given several times
    #[arg(long, value_name = "FILE", conflicts_with = "keys")]
    from: Vec<PathBuf>,
}

impl NamedKeys {
    pub(crate) fn source(&self) -> Keys<'_> {
        // For other commands it means standard input.
        if self.keys == ["-"] && !is_typed() {
            output::complain("note: - is taken as a key; to read keys from standard input, leave it out");
        }
        Keys::new(&self.keys, &self.from)
    }
}

/// Keys that are given, or the lines of files.
pub(crate) enum Keys<'a> {
    Given(&'a [OsString]),
    Lines(Vec<&'a Path>),
}

impl<'a> Keys<'a> {
    /// The keys if there are some, else the lines of all files, and of standard input if there are no files either.
    pub(crate) fn new(keys: &'a [OsString], files: &'a [PathBuf]) -> Self {
        match (keys, files) {
            ([], []) => Self::Lines(vec![Path::new("-")]),
            ([], files) => Self::Lines(files.iter().map(PathBuf::as_path).collect()),
            (keys, _) => Self::Given(keys),
        }
    }

    /// A progress bar for all keys.
    pub(crate) fn progress(&self, what: &'static str) -> ProgressBar {
        match self {
            Self::Given(_) => ProgressBar::hidden(),
            Self::Lines(files) => progress::bytes(what, files.iter().map(|path| size(path)).sum()),
        }
    }

    /// Calls `work` with all keys in order, some at a time; with each one at once if somebody types them.
    pub(crate) fn for_each_chunk(
        &self,
        bar: &ProgressBar,
        mut work: impl FnMut(&[&[u8]]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let files = match self {
            Self::Given(keys) => {
                return work(&keys.iter().map(|key| key.as_encoded_bytes()).collect::<Vec<_>>());
            }
            Self::Lines(files) => files,
        };
        for path in files {
            if let Some(what) = kinds::of_file(path) {
                return Err(kinds::no_keys(path, what));
            }
            let mut input = open(path)?;
            let is_typed = is_stdin(path) && is_typed();
            if is_typed {
                output::complain("reading keys from the terminal, one per line; Ctrl-D ends them");
            }
            let most = if is_typed { 1 } else { CHUNK_KEYS };
            let mut chunk = KeyList::default();
            while let taken @ 1.. =
                chunk.read(&mut *input, most).with_context(|| format!("cannot read {}", name(path)))?
            {
                work(&chunk.iter().collect::<Vec<_>>())?;
                bar.inc(taken);
            }
        }
        Ok(())
    }
}

/// Some keys, one after the other.
#[derive(Default)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyList {
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// Reads the next keys. Tells how many bytes they took from the input: 0 at the end.
    fn read(&mut self, input: &mut dyn BufRead, most: usize) -> io::Result<u64> {
        self.bytes.clear();
        self.ends.clear();
        let mut taken = 0;
        while self.ends.len() < most && self.bytes.len() < CHUNK_BYTES {
            let before = self.bytes.len();
            match read_line(input, &mut self.bytes)? {
                0 => break,
                more => taken += more,
            }
            if self.bytes.len() > before {
                self.ends.push(self.bytes.len());
            }
        }
        Ok(taken)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a text: one by one, and in chunks of every size.
    fn lines(text: &[u8]) -> Vec<Vec<u8>> {
        let (mut lines, mut line, mut rest) = (Vec::new(), Vec::new(), text);
        while next_line(&mut rest, &mut line).expect("memory").is_some() {
            lines.push(line.clone());
        }
        for most in 1..=lines.len() + 1 {
            let (mut in_chunks, mut chunk, mut rest) = (Vec::new(), KeyList::default(), text);
            let mut taken = 0;
            while let more @ 1.. = chunk.read(&mut rest, most).expect("memory") {
                assert!(chunk.len() <= most);
                in_chunks.extend(chunk.iter().map(<[u8]>::to_vec));
                taken += more;
            }
            assert_eq!((&in_chunks, taken), (&lines, text.len() as u64), "chunks of {most}");
        }
        lines
    }

    #[test]
    fn blank_lines_are_counted() {
        let (mut text, mut line) = (&b"\n\r\nant\nbee"[..], Vec::new());
        assert_eq!(next_line(&mut text, &mut line).unwrap(), Some(Taken { lines: 3, bytes: 7 }));
        assert_eq!(next_line(&mut text, &mut line).unwrap(), Some(Taken { lines: 1, bytes: 3 }));
        assert_eq!(next_line(&mut text, &mut line).unwrap(), None);
    }

    #[test]
    fn ends_of_lines_and_blank_lines_are_no_keys() {
        assert_eq!(lines(b""), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"\n\r\n\n"), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"ant\nbee\r\n\n\r\nwasp"), [b"ant".to_vec(), b"bee".to_vec(), b"wasp".to_vec()]);
        assert_eq!(lines(b" ant \n\xff\x00\n"), [b" ant ".to_vec(), b"\xff\x00".to_vec()]);
        assert_eq!(lines(b"a\rb\r\r\n"), [b"a\rb\r".to_vec()]);
        assert_eq!(lines(b"\nant\r"), [b"ant\r".to_vec()]);
    }
}
