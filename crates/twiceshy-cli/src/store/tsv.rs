//! A row as a line of text: the key, a tab, the value, with escapes for what would break a line.
//!
//! | escape | byte |
//! |---|---|
//! | `\t` `\n` `\r` | tab, line feed, carriage return |
//! | `\\` | a backslash |
//! | `\xHH` | any byte, in two hexadecimal digits |
//!
//! The first tab of a line ends the key; the rest is the value, further tabs included. Written are the escapes above for
//! control characters, backslashes and whatever is not UTF-8: lines that are written are always UTF-8 text.

use std::borrow::Cow;
use std::io::{self, Write};

use super::keys::{BadKey, Keys};

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Wrong {
    #[error("there is no tab between key and value")]
    NoTab,
    #[error("{0} is no escape: write \\\\ for a backslash (escapes: \\t \\n \\r \\\\ \\xHH)")]
    Escape(String),
    #[error(transparent)]
    Key(#[from] BadKey),
}

/// Key and value of a line.
pub(super) type Row = (Vec<u8>, Vec<u8>);

/// Splits a line of a store with such keys; `escapes` says whether backslashes mean something.
pub(super) fn parse(line: &[u8], escapes: bool, keys: Keys) -> Result<Row, Wrong> {
    let tab = line.iter().position(|&byte| byte == b'\t').ok_or(Wrong::NoTab)?;
    let (key, value) = (&line[..tab], &line[tab + 1..]);
    let bytes = |text| if escapes { unescape(text) } else { Ok(Cow::Borrowed(text)) };
    Ok((keys.parse(bytes(key)?)?.into_owned(), bytes(value)?.into_owned()))
}

/// Replaces escapes by what they stand for.
pub(super) fn unescape(text: &[u8]) -> Result<Cow<'_, [u8]>, Wrong> {
    let Some(first) = text.iter().position(|&byte| byte == b'\\') else { return Ok(text.into()) };
    let mut bytes = text[..first].to_vec();
    let mut rest = &text[first..];
    while let Some((&byte, behind)) = rest.split_first() {
        if byte != b'\\' {
            bytes.push(byte);
            rest = behind;
            continue;
        }
        let (byte, len) = match behind {
            [b't', ..] => (b'\t', 1),
            [b'n', ..] => (b'\n', 1),
            [b'r', ..] => (b'\r', 1),
            [b'\\', ..] => (b'\\', 1),
            [b'x', high, low, ..] => (digit(*high, rest)? << 4 | digit(*low, rest)?, 3),
            _ => return Err(wrong(rest)),
        };
        bytes.push(byte);
        rest = &behind[len..];
    }
    Ok(bytes.into())
}

fn digit(digit: u8, escape: &[u8]) -> Result<u8, Wrong> {
    let value = char::from(digit).to_digit(16).ok_or_else(|| wrong(escape))?;
    Ok(value as u8)
}

fn wrong(escape: &[u8]) -> Wrong {
    let len = if escape.get(1) == Some(&b'x') { 4 } else { 2 };
    Wrong::Escape(String::from_utf8_lossy(&escape[..escape.len().min(len)]).into_owned())
}

/// Writes bytes with escapes.
pub(super) fn write_escaped(out: &mut (impl Write + ?Sized), bytes: &[u8]) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|c: char| c.is_ascii_control() || c == '\\') {
            out.write_all(&rest.as_bytes()[..at])?;
            match rest.as_bytes()[at] {
                b'\t' => out.write_all(b"\\t")?,
                b'\n' => out.write_all(b"\\n")?,
                b'\r' => out.write_all(b"\\r")?,
                b'\\' => out.write_all(b"\\\\")?,
                other => write!(out, "\\x{other:02x}")?,
            }
            rest = &rest[at + 1..];
        }
        out.write_all(rest.as_bytes())?;
        for byte in chunk.invalid() {
            write!(out, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// Writes a row with the end of its line.
pub(super) fn write_row(out: &mut (impl Write + ?Sized), key: &[u8], value: &[u8]) -> io::Result<()> {
    write_escaped(out, key)?;
    out.write_all(b"\t")?;
    write_escaped(out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Keys = Keys(None);

    fn line(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut line = Vec::new();
        write_row(&mut line, key, value).unwrap();
        assert_eq!(line.pop(), Some(b'\n'));
        line
    }

    #[test]
    fn every_row_comes_back_and_is_a_line_of_text() {
        let mut strings: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        strings.push(Vec::new());
        strings.push((0..=255).collect());
        strings.push("Mücke\u{85}\u{2028}".into());
        strings.push(b"\xf0\x9f\x90 \xed\xa0\x80 \\x41 \r".to_vec());
        for key in &strings {
            for value in &strings {
                let line = line(key, value);
                let text = std::str::from_utf8(&line).unwrap();
                assert_eq!(text.chars().filter(|c| c.is_ascii_control()).count(), 1, "{text:?}");
                assert_eq!(parse(&line, true, PLAIN), Ok((key.clone(), value.clone())), "{text:?}");
            }
        }
    }

    #[test]
    fn text_stays_as_it_is() {
        assert_eq!(line("ant".as_bytes(), "sechs Füße".as_bytes()), "ant\tsechs Füße".as_bytes());
        assert_eq!(line(b"a\tb\\", b"\x00\xff\r\n"), br"a\tb\\	\x00\xff\r\n");
    }

    #[test]
    fn the_first_tab_ends_the_key() {
        assert_eq!(parse(b"a\tb\tc", true, PLAIN), Ok((b"a".to_vec(), b"b\tc".to_vec())));
        assert_eq!(parse(b"\t", true, PLAIN), Ok((Vec::new(), Vec::new())));
        assert_eq!(parse(b"ant", true, PLAIN), Err(Wrong::NoTab));
        assert_eq!(parse(br"a\	\b", false, PLAIN), Ok((br"a\".to_vec(), br"\b".to_vec())));
        assert_eq!(parse(br"\x4A\x4a	\\x4a", true, PLAIN), Ok((b"JJ".to_vec(), br"\x4a".to_vec())));
    }

    #[test]
    fn other_escapes_are_named() {
        for (text, named) in [
            (&br"a\qb"[..], r"\q"),
            (br"a\", r"\"),
            (br"\x4", r"\x4"),
            (br"\x", r"\x"),
            (br"\xg0z", r"\xg0"),
            (br"\x0g", r"\x0g"),
            (br"\T", r"\T"),
        ] {
            assert_eq!(unescape(text), Err(Wrong::Escape(named.into())));
        }
    }
}
