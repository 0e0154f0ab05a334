//! Keys as they are written on the command line and in files, by what the keys of a store are.
//!
//! In a plain store a key is its bytes. In an ordered one it is a number, an address, a time or a string, whose place among the
//! others counts. All commands have keys as bytes: those of the key itself, or, in an ordered store, those that order it (the key
//! of its row). Here they come from text, and here they become text again.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twiceshy_store::ordered::{Milliseconds, Seconds};
use twiceshy_store::{KeyType, OrderedKey};

use super::any::{self, AnyStore, Opening, Result};
use super::time::{self, SECOND};
use crate::output;

/// The longest key of a row in an ordered store: what any engine can hold.
const MOST_BYTES: usize = 65_535;

/// A key that can be written and read.
pub(super) trait Written: OrderedKey<Owned = Self> + Sized {
    /// `None` if the text is no such key.
    fn parse(text: &[u8]) -> Option<Self>;

    fn show(&self) -> Vec<u8>;
}

/// What the keys of an ordered store may be.
pub(super) struct Kind {
    /// How it is called on the command line.
    pub(super) name: &'static str,
    /// How such a key is written.
    pub(super) about: &'static str,
    /// Whether it is one of those that we recommend; other programs may have made stores of the others.
    pub(super) is_usual: bool,
    /// What stores call it.
    pub(super) keys: KeyType,
    parse: fn(&[u8]) -> Option<Vec<u8>>,
    show: fn(&[u8]) -> Option<Vec<u8>>,
    pub(super) open: fn(Opening<'_>) -> Result<Box<dyn AnyStore>>,
}

const fn kind<K: Written>(name: &'static str, about: &'static str) -> Kind {
    Kind {
        name,
        about,
        is_usual: true,
        keys: KeyType::of::<K>(),
        parse: |text| {
            let mut bytes = Vec::new();
            K::parse(text)?.write_row_key(&mut bytes);
            Some(bytes)
        },
        show: |bytes| Some(K::from_row_key(bytes)?.show()),
        open: any::open_ordered::<K>,
    }
}

const fn unusual<K: Written>(name: &'static str, about: &'static str) -> Kind {
    Kind { is_usual: false, ..kind::<K>(name, about) }
}

/// All of them, in the order of the help.
pub(super) static KINDS: [Kind; 18] = [
    kind::<u64>("u64", "a whole number from 0 to 18446744073709551615"),
    kind::<i64>("i64", "a whole number from -9223372036854775808 to 9223372036854775807"),
    kind::<u32>("u32", "a whole number from 0 to 4294967295"),
    kind::<i32>("i32", "a whole number from -2147483648 to 2147483647"),
    kind::<u128>("u128", "a whole number from 0 to 2^128 - 1"),
    kind::<f64>("f64", "a number, such as -1.5 or 6e23"),
    kind::<Ipv4Addr>("ipv4", "an address, such as 192.0.2.1"),
    kind::<Ipv6Addr>("ipv6", "an address, such as 2001:db8::1"),
    kind::<Seconds>(
        "time",
        "a time in whole seconds, such as 2024-05-01T12:00:00Z, 2024-05-01 or @1714564800",
    ),
    kind::<Milliseconds>(
        "time-ms",
        "a time in whole milliseconds, such as 2024-05-01T12:00:00.250Z or @1714564800.25",
    ),
    kind::<SystemTime>("time-ns", "a time in nanoseconds, such as 2024-05-01T12:00:00.000000250Z"),
    kind::<Vec<u8>>("bytes", "a string of up to 65,534 bytes, in the order of its bytes"),
    unusual::<u8>("u8", "a whole number from 0 to 255"),
    unusual::<i8>("i8", "a whole number from -128 to 127"),
    unusual::<u16>("u16", "a whole number from 0 to 65535"),
    unusual::<i16>("i16", "a whole number from -32768 to 32767"),
    unusual::<i128>("i128", "a whole number from -2^127 to 2^127 - 1"),
    unusual::<f32>("f32", "a number, such as -1.5 or 6e23"),
];

/// What the keys of a store are: bytes without an order if it is a plain one.
#[derive(Clone, Copy)]
pub(super) struct Keys(pub(super) Option<&'static Kind>);

/// A text that is no key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is no key of this store, which was made with --key-type {name}: a key is {about}")]
pub(super) struct BadKey {
    text: String,
    about: &'static str,
    name: &'static str,
}

impl Keys {
    /// The bytes of the key that a text stands for.
    pub(super) fn parse<'a>(self, text: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, BadKey> {
        let Self(Some(kind)) = self else { return Ok(text) };
        (kind.parse)(&text).map(Cow::Owned).ok_or_else(|| BadKey {
            text: output::quoted(&text),
            about: kind.about,
            name: kind.name,
        })
    }

    /// The text of a key, of which these are the bytes.
    pub(super) fn show(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        // Stores give back only what is a key.
        self.0.and_then(|kind| (kind.show)(bytes)).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }
}

/// Text without the blanks around it.
fn word(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text.trim_ascii()).ok()
}

macro_rules! plain_text {
    ($($type:ty),*) => {$(
        impl Written for $type {
            fn parse(text: &[u8]) -> Option<Self> {
                word(text)?.parse().ok()
            }

            fn show(&self) -> Vec<u8> {
                self.to_string().into()
            }
        }
    )*};
}
plain_text!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, Ipv4Addr, Ipv6Addr);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Written for $type {
            /// What is no number is refused: it has many forms, and one text. So are numbers that are too large or too small: they
            /// would be infinite, or 0.
            fn parse(text: &[u8]) -> Option<Self> {
                let text = word(text)?;
                let has_digits = text.split(['e', 'E']).next()?.contains(|digit| ('1'..='9').contains(&digit));
                let is_right = |number: &Self| {
                    !number.is_nan() && (!has_digits || number.is_finite() && *number != 0.0)
                };
                Self::from_str(text).ok().filter(is_right)
            }

            /// The shortest text that is read as the same number.
            fn show(&self) -> Vec<u8> {
                let is_plain = *self == 0.0 || (1e-5..1e16).contains(&self.abs());
                if is_plain || !self.is_finite() { self.to_string() } else { format!("{self:e}") }.into()
            }
        }
    )*};
}
floats!(f32, f64);

macro_rules! times {
    ($($type:ident: $digits:literal;)*) => {$(
        impl Written for $type {
            fn parse(text: &[u8]) -> Option<Self> {
                let (time, unit) = (time::parse(word(text)?)?, SECOND / 10i128.pow($digits));
                if time % unit == 0 { i64::try_from(time / unit).ok().map(Self) } else { None }
            }

            fn show(&self) -> Vec<u8> {
                time::show(i128::from(self.0) * (SECOND / 10i128.pow($digits)), $digits).into()
            }
        }
    )*};
}
times! {
    Seconds: 0;
    Milliseconds: 3;
}

impl Written for SystemTime {
    fn parse(text: &[u8]) -> Option<Self> {
        let time = time::parse(word(text)?)?;
        let distance = time.unsigned_abs();
        let (seconds, nanoseconds) = (distance / SECOND as u128, distance % SECOND as u128);
        let distance = Duration::new(u64::try_from(seconds).ok()?, nanoseconds as u32);
        if time < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) }
    }

    fn show(&self) -> Vec<u8> {
        let signed = |distance: Duration| distance.as_nanos() as i128;
        let time = match self.duration_since(UNIX_EPOCH) {
            Ok(since) => signed(since),
            Err(before) => -signed(before.duration()),
        };
        time::show(time, 9).into()
    }
}

impl Written for Vec<u8> {
    fn parse(text: &[u8]) -> Option<Self> {
        // An empty one, and one that begins with a zero byte, have one more.
        (text.len() < MOST_BYTES).then(|| text.to_vec())
    }

    fn show(&self) -> Vec<u8> {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Keys {
        Keys(KINDS.iter().find(|kind| kind.name == name))
    }

    /// In ascending order, as they are written.
    const ORDERED: [(&str, &[&str]); 18] = [
        ("u64", &["0", "9", "10", "18446744073709551615"]),
        ("i64", &["-9223372036854775808", "-10", "-9", "0", "9223372036854775807"]),
        ("u32", &["0", "4294967295"]),
        ("i32", &["-2147483648", "-1", "0", "2147483647"]),
        ("u128", &["0", "340282366920938463463374607431768211455"]),
        (
            "f64",
            &["-inf", "-1e300", "-1.5", "-0", "0", "1e-300", "0.1", "10", "100000000000000", "1e16", "inf"],
        ),
        ("ipv4", &["0.0.0.0", "9.255.0.1", "10.0.0.0", "255.255.255.255"]),
        ("ipv6", &["::", "::1", "2001:db8::1", "2001:db8:0:1::", "ffff::"]),
        (
            "time",
            &[
                "-9223372036854775808",
                "-62167219201",
                "0000-01-01T00:00:00Z",
                "1969-12-31T23:59:59Z",
                "2024-05-01T12:00:00Z",
                "253402300800",
                "9223372036854775807",
            ],
        ),
        (
            "time-ms",
            &["-62167219200.001", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z", "253402300800.000"],
        ),
        (
            "time-ns",
            &["1969-12-31T23:59:59.999999999Z", "1970-01-01T00:00:00.000000000Z", "253402300800.000000001"],
        ),
        ("bytes", &["", "\0", "\0\0", "10", "9", "ant", "ant\0", "anteater", "Ä"]),
        ("u8", &["0", "255"]),
        ("i8", &["-128", "127"]),
        ("u16", &["0", "65535"]),
        ("i16", &["-32768", "32767"]),
        ("i128", &["-170141183460469231731687303715884105728", "-1", "0"]),
        ("f32", &["-1e30", "-0.1", "0", "16777216"]),
    ];

    #[test]
    fn keys_are_in_order_and_come_back_as_text() {
        assert_eq!(
            ORDERED.map(|(name, _)| name).to_vec(),
            KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>()
        );
        for (name, texts) in ORDERED {
            let keys: Vec<_> = texts
                .iter()
                .map(|text| named(name).parse(text.as_bytes().into()).unwrap().into_owned())
                .collect();
            assert!(keys.is_sorted_by(|one, next| one < next), "{name}");
            for (key, text) in keys.iter().zip(texts) {
                assert_eq!(*named(name).show(key), *text.as_bytes(), "{name}");
            }
        }
    }

    #[test]
    fn other_texts_mean_the_same() {
        for (name, text, same) in [
            ("u64", " +7 ", "7"),
            ("f64", "1E2", "100"),
            ("f64", ".5", "0.5"),
            ("ipv6", "2001:DB8:0:0::0001", "2001:db8::1"),
            ("ipv6", "::192.0.2.1", "::c000:201"),
            ("time", "2024-05-01", "2024-05-01T00:00:00Z"),
            ("time", "1714564800.000", "2024-05-01T12:00:00Z"),
            ("time-ms", "2024-05-01T14:00:00.25+02:00", "2024-05-01T12:00:00.250Z"),
        ] {
            let key = named(name).parse(text.as_bytes().into()).unwrap();
            assert_eq!(String::from_utf8_lossy(&named(name).show(&key)), same, "{name} {text}");
        }
        assert_eq!(*named("bytes").parse(b" 7 "[..].into()).unwrap(), *b" 7 ");
        let plain = Keys(None);
        assert_eq!(*plain.show(&plain.parse(b"\0\xff"[..].into()).unwrap()), *b"\0\xff");
    }

    #[test]
    fn what_is_no_key_is_named() {
        for (name, wrong) in [
            ("u64", &["", "-1", "18446744073709551616", "1.0", "1_000", "0x10", "ant", "1 2"][..]),
            ("i32", &["2147483648", "-2147483649"]),
            ("f64", &["NaN", "-nan", "1,5", "one", "1e400", "-1e309", "1e-400", "0.0001e-400"]),
            ("f32", &["1e39", "1e-60"]),
            ("ipv4", &["10.0.0", "10.0.0.256", "010.0.0.1", "::1", "10.0.0.0/8"]),
            ("ipv6", &["10.0.0.1", ":::", "2001:db8::g"]),
            ("time", &["now", "2024", "2024-05-01T12:00:00.5Z", "@0.1", "2024-02-30"]),
            ("time-ms", &["@0.0001", "9223372036854776"]),
            ("time-ns", &["999999999999999999999"]),
        ] {
            for text in wrong {
                let error = named(name).parse(text.as_bytes().into()).expect_err(text).to_string();
                assert!(error.contains(&format!("{text:?} is no key")) && error.contains(name), "{error}");
            }
        }
        let long = vec![b'x'; MOST_BYTES];
        let error = named("bytes").parse(long.as_slice().into()).unwrap_err().to_string();
        assert!(error.contains("xx\"… is no key") && error.len() < 250, "{error}");
        named("bytes").parse(long[1..].into()).unwrap();
        assert!(named("u64").parse(b"\xff"[..].into()).is_err());
    }
}
