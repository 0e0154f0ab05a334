//! Keys that have an order, as keys of rows.
//!
//! # The idea
//!
//! An engine orders rows by the bytes of their keys, so a key is written as bytes in the same order. If every key has a
//! [code](RangeKey::code) of its own, that is the code, highest byte first. Strings are their own bytes, as long as they are.
//! An engine has no empty key, and so the empty string, and strings that begin with a zero byte, get one more zero byte in
//! front: that keeps the order and costs nothing for others.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twiceshy::RangeKey;

/// A key of an [`OrderedStore`](crate::OrderedStore): it has a place in an order, and can be read back from the key of its row.
///
/// Implemented for all types that are [`RangeKey`]s in the library itself. For a type of your own whose keys all have codes of
/// their own only two lines are needed:
///
/// ```
/// use twiceshy::RangeKey;
/// use twiceshy_store::{OrderedKey, OrderedStore};
///
/// /// A day, counted from the first one.
/// #[derive(Debug, PartialEq)]
/// struct Day(u32);
///
/// impl RangeKey for Day {
///     const CODE_BITS: u32 = 32;
///     const TYPE: u8 = 128;
///
///     fn code(&self) -> u128 {
///         self.0.into()
///     }
/// }
///
/// impl OrderedKey for Day {
///     type Owned = Self;
///
///     fn from_row_key(row_key: &[u8]) -> Option<Self> {
///         Some(Self(Self::row_code(row_key)?.try_into().ok()?))
///     }
/// }
///
/// let diary = OrderedStore::<Day>::builder().in_memory()?;
/// diary.insert(&Day(3), "rain")?;
/// let days: Vec<_> = diary.range(Day(0)..Day(7)).collect::<Result<_, _>>()?;
/// assert_eq!(days, [(Day(3), b"rain".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait OrderedKey: RangeKey + 'static {
    /// What a key is when it is read from a row. Types that can be borrowed as each other have the same.
    type Owned;

    /// The key that has this row; `None` if these bytes are no key of a row.
    fn from_row_key(row_key: &[u8]) -> Option<Self::Owned>;

    /// Appends the key of the row: never nothing, different for different keys, and in their order.
    ///
    /// If every key has a [code of its own](RangeKey::EXACT), it is the code, highest byte first, and must stay that.
    fn write_row_key(&self, row_key: &mut Vec<u8>) {
        write_code::<Self>(self.code(), row_key);
    }

    /// The code of the key that has this row; `None` if these bytes are no key of a row.
    fn row_code(row_key: &[u8]) -> Option<u128> {
        let code = row_key.iter().fold(0, |code, &byte| code << 8 | u128::from(byte));
        (row_key.len() == code_bytes::<Self>() && code <= u128::MAX >> (128 - Self::CODE_BITS))
            .then_some(code)
    }

    /// Appends the least key of a row that a key with this code, or a higher one, can have.
    fn write_first_row_key(code: u128, row_key: &mut Vec<u8>) {
        write_code::<Self>(code, row_key);
    }
}

/// How many bytes a code has.
pub(super) fn code_bytes<K: RangeKey + ?Sized>() -> usize {
    K::CODE_BITS.div_ceil(8) as usize
}

/// Appends a code, highest byte first.
pub(super) fn write_code<K: RangeKey + ?Sized>(code: u128, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&code.to_be_bytes()[16 - code_bytes::<K>()..]);
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl OrderedKey for $type {
            type Owned = Self;

            fn from_row_key(row_key: &[u8]) -> Option<Self> {
                Self::row_code(row_key)?.try_into().ok()
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, u128, usize);

macro_rules! signed {
    ($($type:ty as $unsigned:ty, of $wide:ty),*) => {$(
        impl OrderedKey for $type {
            type Owned = Self;

            /// The code has the highest bit inverted.
            fn from_row_key(row_key: &[u8]) -> Option<Self> {
                let code = <$unsigned>::try_from(Self::row_code(row_key)?).ok()?;
                <$wide>::MIN.wrapping_add(code.cast_signed()).try_into().ok()
            }
        }
    )*};
}
signed!(
    i8 as u8, of i8, i16 as u16, of i16, i32 as u32, of i32, i64 as u64, of i64, i128 as u128, of i128,
    isize as u64, of i64
);

macro_rules! floats {
    ($($type:ty as $bits:ty),*) => {$(
        impl OrderedKey for $type {
            type Owned = Self;

            /// The code of a number without a sign has the highest bit inverted, that of others all bits.
            fn from_row_key(row_key: &[u8]) -> Option<Self> {
                let (code, sign) = (<$bits>::try_from(Self::row_code(row_key)?).ok()?, 1 << (<$bits>::BITS - 1));
                Some(Self::from_bits(if code & sign == 0 { !code } else { code ^ sign }))
            }
        }
    )*};
}
floats!(f32 as u32, f64 as u64);

impl OrderedKey for char {
    type Owned = Self;

    fn from_row_key(row_key: &[u8]) -> Option<Self> {
        Self::from_u32(u32::from_row_key(row_key)?)
    }
}

impl OrderedKey for Ipv4Addr {
    type Owned = Self;

    fn from_row_key(row_key: &[u8]) -> Option<Self> {
        u32::from_row_key(row_key).map(Self::from_bits)
    }
}

impl OrderedKey for Ipv6Addr {
    type Owned = Self;

    fn from_row_key(row_key: &[u8]) -> Option<Self> {
        Self::row_code(row_key).map(Self::from_bits)
    }
}

impl OrderedKey for SystemTime {
    type Owned = Self;

    fn from_row_key(row_key: &[u8]) -> Option<Self> {
        let code = Self::row_code(row_key)?;
        let epoch = UNIX_EPOCH.code();
        let nanoseconds = code.abs_diff(epoch);
        let seconds = u64::try_from(nanoseconds / 1_000_000_000).ok()?;
        let distance = Duration::new(seconds, (nanoseconds % 1_000_000_000) as u32);
        if code >= epoch { UNIX_EPOCH.checked_add(distance) } else { UNIX_EPOCH.checked_sub(distance) }
    }
}

/// The bytes of a string, from the key of its row.
fn string_of(row_key: &[u8]) -> Option<&[u8]> {
    match row_key.split_first()? {
        (0, string @ ([] | [0, ..])) => Some(string),
        (0, _) => None,
        _ => Some(row_key),
    }
}

fn write_string(string: &[u8], row_key: &mut Vec<u8>) {
    if let [] | [0, ..] = string {
        row_key.push(0);
    }
    row_key.extend_from_slice(string);
}

impl OrderedKey for [u8] {
    type Owned = Vec<u8>;

    fn from_row_key(row_key: &[u8]) -> Option<Vec<u8>> {
        string_of(row_key).map(<[u8]>::to_vec)
    }

    fn write_row_key(&self, row_key: &mut Vec<u8>) {
        write_string(self, row_key);
    }

    fn row_code(row_key: &[u8]) -> Option<u128> {
        string_of(row_key).map(RangeKey::code)
    }

    /// Of all strings with a code, the one without zeros at its end is the least.
    fn write_first_row_key(code: u128, row_key: &mut Vec<u8>) {
        let zeros = code.trailing_zeros() as usize / 8;
        write_string(&code.to_be_bytes()[..16 - zeros], row_key);
    }
}

macro_rules! strings {
    ($($type:ty: $as_bytes:ident, $owned:ty, $from:expr;)*) => {$(
        impl OrderedKey for $type {
            type Owned = $owned;

            fn from_row_key(row_key: &[u8]) -> Option<$owned> {
                <[u8]>::from_row_key(row_key).and_then($from)
            }

            fn write_row_key(&self, row_key: &mut Vec<u8>) {
                self.$as_bytes().write_row_key(row_key);
            }

            fn row_code(row_key: &[u8]) -> Option<u128> {
                <[u8]>::row_code(row_key)
            }

            fn write_first_row_key(code: u128, row_key: &mut Vec<u8>) {
                <[u8]>::write_first_row_key(code, row_key);
            }
        }
    )*};
}
strings! {
    Vec<u8>: as_slice, Vec<u8>, Some;
    str: as_bytes, String, |bytes| String::from_utf8(bytes).ok();
    String: as_bytes, String, |bytes| String::from_utf8(bytes).ok();
}

#[cfg(test)]
mod tests {
    use super::super::{Milliseconds, Seconds};
    use super::*;
    use std::borrow::Borrow;
    use std::fmt::Debug;

    /// Keys in their order have rows in their order, which are read back as they are, and a code has its rows together.
    fn check<K: OrderedKey + Borrow<Q> + Debug, Q: OrderedKey<Owned = K::Owned> + ?Sized>(keys: &[K])
    where
        K::Owned: PartialEq<K> + Debug,
    {
        let row_key = |key: &K| {
            let mut bytes = Vec::new();
            key.write_row_key(&mut bytes);
            let mut same = Vec::new();
            Borrow::<Q>::borrow(key).write_row_key(&mut same);
            assert_eq!(bytes, same);
            assert!(!bytes.is_empty());
            bytes
        };
        for pair in keys.windows(2) {
            assert!(row_key(&pair[0]) < row_key(&pair[1]), "{pair:?}");
        }
        for key in keys {
            let (row, mut first) = (row_key(key), Vec::new());
            assert_eq!(K::from_row_key(&row).as_ref().unwrap(), key);
            assert_eq!(K::row_code(&row), Some(key.code()));
            if K::EXACT {
                assert_eq!(K::row_code(&[&row[..], &[0]].concat()), None);
                assert!(K::from_row_key(&row[1..]).is_none());
            }
            K::write_first_row_key(key.code(), &mut first);
            for other in keys {
                assert_eq!(row_key(other) >= first, other.code() >= key.code(), "{other:?} and {key:?}");
            }
        }
    }

    #[test]
    fn rows_are_in_the_order_of_keys() {
        check::<u8, u8>(&[0, 1, 127, 128, 255]);
        check::<u64, u64>(&[0, 1, 255, 256, 1 << 63, u64::MAX]);
        check::<u128, u128>(&[0, 1, 1 << 127, u128::MAX]);
        check::<usize, usize>(&[0, 1, usize::MAX]);
        check::<i8, i8>(&[-128, -1, 0, 1, 127]);
        check::<i64, i64>(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check::<i128, i128>(&[i128::MIN, -1, 0, 1, i128::MAX]);
        check::<isize, isize>(&[isize::MIN, -1, 0, 1, isize::MAX]);
        let floats = [f64::NEG_INFINITY, f64::MIN, -1.5, -0.0, 0.0, f64::from_bits(1), 2.5, f64::INFINITY];
        check::<f64, f64>(&floats);
        check::<f32, f32>(&[-1.5, -0.0, 0.0, 7.25]);
        check::<char, char>(&['\0', 'a', 'ä', char::MAX]);
        check::<Ipv4Addr, Ipv4Addr>(&[[0, 0, 0, 0], [9, 255, 255, 255], [10, 0, 0, 0]].map(Ipv4Addr::from));
        check::<Ipv6Addr, Ipv6Addr>(&[0, 1, u128::MAX].map(Ipv6Addr::from_bits));
        let (short, long) = (Duration::new(1, 5), Duration::from_secs(1 << 40));
        let times =
            [UNIX_EPOCH - long, UNIX_EPOCH - short, UNIX_EPOCH, UNIX_EPOCH + short, UNIX_EPOCH + long];
        check::<SystemTime, SystemTime>(&times);
        check::<Seconds, Seconds>(&[i64::MIN, -1, 0, 1, i64::MAX].map(Seconds));
        check::<Milliseconds, Milliseconds>(&[i64::MIN, -1, 0, 1, i64::MAX].map(Milliseconds));
        let strings = [
            "",
            "\0",
            "\0\0",
            "\0a",
            "\u{1}",
            "a",
            "a\0",
            "a\0\0b",
            "ab",
            "b",
            "0123456789abcdef",
            "0123456789abcdef\0",
            "0123456789abcdefg",
            "0123456789abcdeg",
            "ÿ",
        ];
        let mut strings = strings.map(str::to_owned);
        strings.sort();
        check::<String, str>(&strings);
        check::<Vec<u8>, [u8]>(&strings.map(String::into_bytes));
        check::<Vec<u8>, [u8]>(&[vec![], vec![0; 3], vec![0xff; 16], vec![0xff; 17]]);
    }

    #[test]
    fn bytes_that_are_no_row_are_refused() {
        assert_eq!(<[u8]>::from_row_key(&[]), None);
        assert_eq!(<[u8]>::from_row_key(&[0, 7]), None);
        assert_eq!(String::from_row_key(&[0xff]), None);
        assert_eq!(char::from_row_key(&[0, 0, 0xd8, 0]), None);
        assert_eq!(u64::from_row_key(&[1]), None);
    }
}
