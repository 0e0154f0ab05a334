//! Keys as people have them: one per line, from files or from standard input.
//!
//! A key is the bytes of a line without its end, `\n` or `\r\n`; the last line needs no end. Bytes need not be UTF-8.
//! Blank lines are left out. Nothing else is special: blanks at the ends of a line belong to the key.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::Context;

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        anyhow::bail!("{} is a folder, not a file of keys", path.display());
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// The next line that is not blank, without its end, in `line`. `None` at the end; else the bytes that it took from
/// the input, blank lines before it included.
pub(crate) fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    let mut taken = 0;
    loop {
        line.clear();
        let read = input.read_until(b'\n', line)?;
        if read == 0 {
            return Ok(None);
        }
        taken += read as u64;
        if line.last() == Some(&b'\n') {
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
        }
        if !line.is_empty() {
            return Ok(Some(taken));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(mut text: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut line = Vec::new();
        while next_line(&mut text, &mut line).expect("memory").is_some() {
            lines.push(line.clone());
        }
        lines
    }

    #[test]
    fn ends_of_lines_and_blank_lines_are_no_keys() {
        assert_eq!(lines(b""), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"\n\r\n\n"), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"ant\nbee\r\n\n\r\nwasp"), [b"ant".to_vec(), b"bee".to_vec(), b"wasp".to_vec()]);
        assert_eq!(lines(b" ant \n\xff\x00\n"), [b" ant ".to_vec(), b"\xff\x00".to_vec()]);
        assert_eq!(lines(b"a\rb\r\r\n"), [b"a\rb\r".to_vec()]);
    }
}
