//! Times that are coarse enough for ranges.
//!
//! A range filter holds its rate for ranges of up to 65,536 keys, and a [`SystemTime`] is a nanosecond: for ranges of hours,
//! days or months whole seconds are the better key.

use std::time::{SystemTime, UNIX_EPOCH};

use twiceshy::RangeKey;

use super::OrderedKey;

macro_rules! times {
    ($($(#[$documentation:meta])* $name:ident: $type:literal, $per_second:literal;)*) => {$(
        $(#[$documentation])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        /// As that of an `i64`.
        impl RangeKey for $name {
            const CODE_BITS: u32 = 64;
            const TYPE: u8 = $type;

            fn code(&self) -> u128 {
                self.0.code()
            }
        }

        impl OrderedKey for $name {
            type Owned = Self;

            fn from_row_key(row_key: &[u8]) -> Option<Self> {
                i64::from_row_key(row_key).map(Self)
            }
        }

        /// Rounded down; what is out of range is the first or the last that there is.
        impl From<SystemTime> for $name {
            fn from(time: SystemTime) -> Self {
                const NANOSECONDS: u128 = 1_000_000_000 / $per_second;
                let whole = |units: u128| i64::try_from(units).unwrap_or(i64::MAX);
                Self(match time.duration_since(UNIX_EPOCH) {
                    Ok(since) => whole(since.as_nanos() / NANOSECONDS),
                    Err(before) => -whole(before.duration().as_nanos().div_ceil(NANOSECONDS)),
                })
            }
        }
    )*};
}
times! {
    /// A time as a key: whole seconds since 1970 (UTC), or before if negative.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use twiceshy_store::OrderedStore;
    /// use twiceshy_store::ordered::Seconds;
    ///
    /// let visits = OrderedStore::<Seconds>::builder().max_range(3_600).in_memory()?;
    /// let Seconds(now) = SystemTime::now().into();
    /// visits.insert(&Seconds(now), "ann")?;
    /// assert_eq!(visits.range(Seconds(now - 1_800)..).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Seconds: 7, 1;
    /// A time as a key: whole milliseconds since 1970 (UTC), or before if negative.
    Milliseconds: 8, 1_000;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_are_rounded_down() {
        let (long, short) = (Duration::new(5, 7), Duration::from_micros(1_500));
        let units = |time: SystemTime| (Seconds::from(time).0, Milliseconds::from(time).0);
        assert_eq!(units(UNIX_EPOCH), (0, 0));
        assert_eq!(units(UNIX_EPOCH + long), (5, 5_000));
        assert_eq!(units(UNIX_EPOCH - long), (-6, -5_001));
        assert_eq!(units(UNIX_EPOCH + short), (0, 1));
        assert_eq!(units(UNIX_EPOCH - short), (-1, -2));
        let far = Duration::from_secs(1 << 55);
        assert_eq!(units(UNIX_EPOCH + far), (1 << 55, i64::MAX));
        assert_eq!(units(UNIX_EPOCH - far), (-1 << 55, -i64::MAX));
    }
}
