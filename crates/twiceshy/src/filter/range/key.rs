//! What may be a key of a range filter: a number in the order of the keys.
//!
//! # The idea
//!
//! A range filter knows nothing of keys but a number of at most 128 bits, their *code*, which is in the same order. A range of
//! keys is a range of codes. Types whose keys all have codes of their own ([`RangeKey::EXACT`]) lose nothing. Strings do: what has
//! the same first bytes has the same code and is one key to the filter, and so a range that excludes a bound must not exclude
//! other keys that look like it.

#[cfg(doc)]
use std::borrow::Borrow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::{Bound, RangeBounds, RangeInclusive};
use std::time::{SystemTime, UNIX_EPOCH};

/// A key that has a place in an order: a number of [`CODE_BITS`](Self::CODE_BITS) bits, its code.
///
/// Keys in ascending order have codes that do not descend. Codes never change: files hold what follows from them. Types that
/// can be [borrowed](Borrow) as each other have the same codes.
///
/// | type | code |
/// |---|---|
/// | `u8` to `u128`, `usize` (as `u64`) | the number |
/// | `i8` to `i128`, `isize` (as `i64`) | the number, and the highest bit inverted |
/// | `f32`, `f64` | the bits, in the order of `total_cmp`: `-0.0` comes before `0.0` |
/// | `char` | as `u32` |
/// | `Ipv4Addr`, `Ipv6Addr` | the address |
/// | `SystemTime` | nanoseconds since 2^95 of them before 1970 |
/// | `[u8]`, `Vec<u8>`, `str`, `String` | the first 16 bytes, and zeros if there are fewer |
/// | `&T` | that of `T` |
///
/// # Strings
///
/// Only the first 16 bytes of a string count: what begins with the same 16 bytes is one key to the filter. A range is rounded
/// outwards to such prefixes, and a bound that is excluded counts as included, since other strings may look like it. So no
/// string is ever missed; there may be more mistakes next to a bound, which only a longer prefix would tell from a key, and
/// those are not learned. A set keeps whole strings, so it knows them exactly; its filter forgets a prefix when the last string with it
/// is removed.
///
/// # Your own type
///
/// ```
/// use twiceshy::RangeKey;
///
/// /// A day, counted from the first one.
/// struct Day(u32);
///
/// impl RangeKey for Day {
///     const CODE_BITS: u32 = 32;
///
///     fn code(&self) -> u128 {
///         self.0.into()
///     }
/// }
/// ```
pub trait RangeKey {
    /// How many bits codes have; from 1 to 128.
    const CODE_BITS: u32;

    /// Whether every key has a code of its own.
    const EXACT: bool = true;

    /// What kind of key it is: files hold this number, and are not read as those of another kind. Numbers below 128 are ours;
    /// give your own type one from 128 on, or leave it at 0, which says nothing.
    const TYPE: u8 = 0;

    /// The code. Bits from [`CODE_BITS`](Self::CODE_BITS) on are 0.
    fn code(&self) -> u128;

    /// Appends what the code does not tell of a key, if codes are not [exact](Self::EXACT): code and this together are different
    /// for different keys, and among those of the same code this is, as bytes, in their order. A set keeps it beside the code.
    /// Without it, keys of the same code are one key to a set, too.
    fn write_rest(&self, rest: &mut Vec<u8>) {
        let _ = rest;
    }
}

/// The largest code of a type.
pub(crate) fn last_code<K: RangeKey + ?Sized>() -> u128 {
    u128::MAX >> (128 - K::CODE_BITS)
}

/// The codes of all keys in a range, and, if codes are not exact, of some keys beside it; `None` if there are none.
#[inline]
pub(crate) fn codes<K: RangeKey + ?Sized>(range: &impl RangeBounds<K>) -> Option<RangeInclusive<u128>> {
    let inexact = u128::from(!K::EXACT);
    let first = match range.start_bound() {
        Bound::Unbounded => 0,
        Bound::Included(key) => key.code(),
        Bound::Excluded(key) => key.code().checked_add(1 - inexact)?,
    };
    let last = match range.end_bound() {
        Bound::Unbounded => last_code::<K>(),
        Bound::Included(key) => key.code(),
        Bound::Excluded(key) => key.code().checked_sub(1 - inexact)?,
    };
    let is_none = first > last || first > last_code::<K>() || !K::EXACT && first == last && is_empty(range);
    (!is_none).then_some(first..=last)
}

/// Whether a range of keys that have the same code has none, since it ends before it begins.
fn is_empty<K: RangeKey + ?Sized>(range: &impl RangeBounds<K>) -> bool {
    let rest = |key: &K| {
        let mut rest = Vec::new();
        key.write_rest(&mut rest);
        rest
    };
    match (range.start_bound(), range.end_bound()) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(start), Bound::Included(end)) => rest(start) > rest(end),
        (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
            rest(start) >= rest(end)
        }
    }
}

macro_rules! unsigned {
    ($($type:ty as $wide:ty),*) => {$(
        impl RangeKey for $type {
            const CODE_BITS: u32 = <$wide>::BITS;
            const TYPE: u8 = 1;
            #[inline]
            fn code(&self) -> u128 {
                u128::from(*self as $wide)
            }
        }
    )*};
}
unsigned!(u8 as u8, u16 as u16, u32 as u32, u64 as u64, u128 as u128, usize as u64, char as u32);

macro_rules! signed {
    ($($type:ty as $wide:ty),*) => {$(
        impl RangeKey for $type {
            const CODE_BITS: u32 = <$wide>::BITS;
            const TYPE: u8 = 2;
            #[inline]
            fn code(&self) -> u128 {
                u128::from((*self as $wide).wrapping_sub(<$wide>::MIN).cast_unsigned())
            }
        }
    )*};
}
signed!(i8 as i8, i16 as i16, i32 as i32, i64 as i64, i128 as i128, isize as i64);

macro_rules! floats {
    ($($type:ty as $bits:ty),*) => {$(
        impl RangeKey for $type {
            const CODE_BITS: u32 = <$bits>::BITS;
            const TYPE: u8 = 3;
            /// Negative numbers are the other way round.
            #[inline]
            fn code(&self) -> u128 {
                let (bits, sign) = (self.to_bits(), 1 << (<$bits>::BITS - 1));
                u128::from(if bits & sign == 0 { bits | sign } else { !bits })
            }
        }
    )*};
}
floats!(f32 as u32, f64 as u64);

impl RangeKey for Ipv4Addr {
    const CODE_BITS: u32 = 32;
    const TYPE: u8 = 4;
    #[inline]
    fn code(&self) -> u128 {
        self.to_bits().into()
    }
}

impl RangeKey for Ipv6Addr {
    const CODE_BITS: u32 = 128;
    const TYPE: u8 = 4;
    #[inline]
    fn code(&self) -> u128 {
        self.to_bits()
    }
}

impl RangeKey for SystemTime {
    const CODE_BITS: u32 = 96;
    const TYPE: u8 = 5;
    fn code(&self) -> u128 {
        const EPOCH: u128 = 1 << 95;
        match self.duration_since(UNIX_EPOCH) {
            Ok(since) => EPOCH + since.as_nanos(),
            Err(before) => EPOCH - before.duration().as_nanos(),
        }
    }
}

/// How many bytes of a string count.
const PREFIX_BYTES: usize = 16;

/// What begins with the same 16 bytes is one key to the filter; it is forgotten when the last of them is removed.
impl RangeKey for [u8] {
    const CODE_BITS: u32 = 8 * PREFIX_BYTES as u32;
    const EXACT: bool = false;
    const TYPE: u8 = 6;
    fn code(&self) -> u128 {
        let mut prefix = [0; PREFIX_BYTES];
        let len = self.len().min(PREFIX_BYTES);
        prefix[..len].copy_from_slice(&self[..len]);
        u128::from_be_bytes(prefix)
    }

    /// How many bytes of the code are the string's, and its other bytes.
    fn write_rest(&self, rest: &mut Vec<u8>) {
        let len = self.len().min(PREFIX_BYTES);
        rest.push(len as u8);
        rest.extend_from_slice(&self[len..]);
    }
}

macro_rules! like {
    ($($type:ty: $as_other:ident -> $other:ty),*) => {$(
        /// Like its contents.
        impl RangeKey for $type {
            const CODE_BITS: u32 = <$other>::CODE_BITS;
            const EXACT: bool = <$other>::EXACT;
            const TYPE: u8 = <$other>::TYPE;
            #[inline]
            fn code(&self) -> u128 {
                self.$as_other().code()
            }
            fn write_rest(&self, rest: &mut Vec<u8>) {
                self.$as_other().write_rest(rest);
            }
        }
    )*};
}
like!(str: as_bytes -> [u8], String: as_bytes -> [u8], Vec<u8>: as_slice -> [u8]);

impl<T: RangeKey + ?Sized> RangeKey for &T {
    const CODE_BITS: u32 = T::CODE_BITS;
    const EXACT: bool = T::EXACT;
    const TYPE: u8 = T::TYPE;
    #[inline]
    fn code(&self) -> u128 {
        (**self).code()
    }
    fn write_rest(&self, rest: &mut Vec<u8>) {
        (**self).write_rest(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;
    use std::fmt::Debug;
    use std::time::Duration;

    /// Codes are in the order of the keys, and have as many bits as it says.
    fn check<K: RangeKey + Debug>(keys: &[K], order: impl Fn(&K, &K) -> Ordering) {
        for one in keys {
            assert!(one.code() <= last_code::<K>(), "{one:?}");
            for other in keys {
                let codes = one.code().cmp(&other.code());
                let is_right = codes == order(one, other) || !K::EXACT && codes == Ordering::Equal;
                assert!(is_right, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn codes_are_in_order() {
        check(&(0..=u8::MAX).collect::<Vec<_>>(), u8::cmp);
        check(&(i8::MIN..=i8::MAX).collect::<Vec<_>>(), i8::cmp);
        check(&[0, 1, 255, 256, u16::MAX], u16::cmp);
        check(&[0, 1, u32::MAX - 1, u32::MAX], u32::cmp);
        check(&[0, 1, 1 << 63, u64::MAX], u64::cmp);
        check(&[0, 1, 1 << 127, u128::MAX], u128::cmp);
        check(&[0, 1, usize::MAX], usize::cmp);
        check(&[i16::MIN, -1, 0, 1, i16::MAX], i16::cmp);
        check(&[i32::MIN, -1, 0, 1, i32::MAX], i32::cmp);
        check(&[i64::MIN, -1, 0, 1, i64::MAX], i64::cmp);
        check(&[i128::MIN, -1, 0, 1, i128::MAX], i128::cmp);
        check(&[isize::MIN, -1, 0, 1, isize::MAX], isize::cmp);
        check(&['\0', 'a', 'ä', char::MAX], char::cmp);
        let (nan, infinity, small) = (f64::NAN, f64::INFINITY, f64::from_bits(1));
        let floats =
            [-nan, -infinity, f64::MIN, -1.0, -small, -0.0, 0.0, small, 1.0, f64::MAX, infinity, nan];
        check(&floats, f64::total_cmp);
        check(&floats.map(|float| float as f32), f32::total_cmp);
        check(
            &[[0, 0, 0, 0], [9, 255, 255, 255], [10, 0, 0, 0], [255; 4]].map(Ipv4Addr::from),
            Ipv4Addr::cmp,
        );
        check(&[0, 1, 1 << 127, u128::MAX].map(Ipv6Addr::from_bits), Ipv6Addr::cmp);
        let second = Duration::from_secs(1);
        let far = Duration::from_secs(i64::MAX as u64 / 2);
        let times =
            [UNIX_EPOCH - far, UNIX_EPOCH - second, UNIX_EPOCH, UNIX_EPOCH + second, UNIX_EPOCH + far];
        check(&times, SystemTime::cmp);
        let strings = ["", "\0", "a", "a\0", "ab", "b", "0123456789abcdef", "0123456789abcdefg", "ÿ"];
        check(&strings, |one, other| one.cmp(other));
        check(&strings.map(str::to_owned), String::cmp);
        check(&strings.map(|text| text.as_bytes().to_vec()), Vec::cmp);
    }

    /// Every range of bytes, with every kind of bound.
    #[test]
    fn ranges_are_those_of_the_codes() {
        let bounds = |key| [Bound::Included(key), Bound::Excluded(key)];
        let all = || (0..=u8::MAX).flat_map(bounds).chain([Bound::Unbounded]);
        for start in all() {
            for end in all() {
                let range = (start, end);
                let mut want = (0..=u8::MAX).filter(|key| range.contains(key)).map(u128::from);
                let got = codes::<u8>(&range);
                let ends = want.next().map(|first| (first, want.next_back().unwrap_or(first)));
                assert_eq!(got.map(RangeInclusive::into_inner), ends, "{range:?}");
            }
        }
        assert_eq!(codes::<u128>(&(..)), Some(0..=u128::MAX));
        assert_eq!(codes::<u128>(&(Bound::Excluded(u128::MAX), Bound::Unbounded)), None);
        assert_eq!(codes::<SystemTime>(&(..)), Some(0..=(1 << 96) - 1));
    }

    /// What looks like an excluded string may be in the range.
    #[test]
    fn ranges_of_strings_include_what_looks_like_their_bounds() {
        let code = |text: &str| text.code();
        let long = "0123456789abcdef";
        assert_eq!(codes::<&str>(&("a".."b")), Some(code("a")..=code("b")));
        assert_eq!(codes::<&str>(&(long.."0123456789abcdefg")), Some(code(long)..=code(long)));
        let excluded = (Bound::Excluded(long), Bound::Excluded("0123456789abcdefz"));
        assert_eq!(codes::<str>(&excluded), Some(code(long)..=code(long)));
        assert_eq!(codes::<&str>(&("b".."a")), None);
        assert_eq!(codes::<str>(&(Bound::Unbounded, Bound::Excluded(""))), Some(0..=0));
    }
}
