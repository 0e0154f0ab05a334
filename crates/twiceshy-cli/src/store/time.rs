//! Times as text: RFC 3339, or seconds since 1970.
//!
//! A number of fewer than nine digits, which may be meant as a year or a date, is seconds only with an `@` in front.
//!
//! A day has 86,400 seconds, as in every Unix clock. Dates are those of the Gregorian calendar, also before it was made.

use std::fmt::Write;

/// Nanoseconds of a second.
pub(super) const SECOND: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;
/// Seconds, in nanoseconds, that are no year and no date such as 20240501.
const FEWEST: i128 = 100_000_000 * SECOND;

/// The nanoseconds since 1970 (UTC) that a text stands for: `2024-05-01T12:00:00Z`, with or without fraction, seconds and offset
/// (UTC if there is none), a date alone, or a number of seconds.
pub(super) fn parse(text: &str) -> Option<i128> {
    if let Some(text) = text.strip_prefix('@') {
        return seconds(text);
    }
    if let Some(time) = seconds(text) {
        return (time.abs() >= FEWEST).then_some(time);
    }
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = fields(date, '-', &[4, 2, 2])?[..] else { return None };
    let days = days_since_1970(year, month, day)?;
    let (seconds, nanoseconds) = time.map_or(Some((0, 0)), clock)?;
    Some(i128::from(days * DAY_SECONDS + seconds) * SECOND + i128::from(nanoseconds))
}

/// A number of seconds, with or without fraction.
fn seconds(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (whole, fraction) =
        digits.split_once('.').map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let whole: u64 = whole.bytes().all(|byte| byte.is_ascii_digit()).then(|| whole.parse().ok())??;
    let nanoseconds = fraction.map_or(Some(0), self::fraction)?;
    Some(sign * (i128::from(whole) * SECOND + i128::from(nanoseconds)))
}

/// The seconds since midnight (UTC) and the nanoseconds after them.
fn clock(text: &str) -> Option<(i64, i64)> {
    let (text, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (&text[..at], offset(&text[at..])?),
        None => (text, 0),
    };
    let (time, nanoseconds) = match text.split_once('.') {
        Some((time, part)) => (time, fraction(part)?),
        None => (text, 0),
    };
    let seconds = match fields(time, ':', &[2; 3]).or_else(|| fields(time, ':', &[2; 2]))?[..] {
        [hour @ 0..24, minute @ 0..60, second @ 0..60] => hour * 3_600 + minute * 60 + second,
        [hour @ 0..24, minute @ 0..60] if nanoseconds == 0 => hour * 3_600 + minute * 60,
        _ => return None,
    };
    Some((seconds - offset, nanoseconds))
}

/// The seconds that a clock is ahead of UTC.
fn offset(text: &str) -> Option<i64> {
    let (sign, text) = match text.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", text) => (1, text),
        ("-", text) => (-1, text),
        _ => return None,
    };
    match fields(text, ':', &[2, 2])?[..] {
        [hours @ 0..24, minutes @ 0..60] => Some(sign * (hours * 3_600 + minutes * 60)),
        _ => None,
    }
}

/// Numbers of so many digits, with something between them.
fn fields(text: &str, between: char, digits: &[usize]) -> Option<Vec<i64>> {
    let fields: Vec<&str> = text.split(between).collect();
    let fit =
        fields.len() == digits.len() && fields.iter().zip(digits).all(|(field, len)| field.len() == *len);
    if fit { fields.into_iter().map(number).collect() } else { None }
}

/// Digits and nothing else.
fn number(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// Digits after a point, as nanoseconds.
fn fraction(text: &str) -> Option<i64> {
    let digits = u32::try_from(text.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    Some(number(text)? * 10i64.pow(9 - digits))
}

/// A time with so many digits after the point. Years that RFC 3339 cannot write are told in seconds.
pub(super) fn show(time: i128, digits: usize) -> String {
    let (seconds, nanoseconds) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
    let fraction = |nanoseconds: i128| match digits {
        0 => String::new(),
        digits => format!(".{}", &format!("{nanoseconds:09}")[..digits]),
    };
    let date = i64::try_from(seconds).ok().and_then(|seconds| {
        let (year, month, day) = date(seconds.div_euclid(DAY_SECONDS))?;
        Some((year, month, day, seconds.rem_euclid(DAY_SECONDS)))
    });
    let mut text = String::new();
    // A string takes everything.
    let _ = match date {
        Some((year, month, day, second)) => write!(
            text,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}{}Z",
            second / 3_600,
            second / 60 % 60,
            second % 60,
            fraction(nanoseconds)
        ),
        None => {
            let (sign, time) = if time < 0 { ("-", -time) } else { ("", time) };
            write!(text, "{sign}{}{}", time / SECOND, fraction(time % SECOND))
        }
    };
    text
}

/// Days of a year that begins in March before a month of it, from 0 for March: months have 31, 30, 31, 30 and 31 days in turn.
fn days_before_month(month: i64) -> i64 {
    (153 * month + 2) / 5
}

/// Days of all years before one.
fn days_before_year(year: i64) -> i64 {
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)
}

/// 1 March of the year 0 is so many days before 1970.
const BEFORE_1970: i64 = 719_468;

/// The days from 1970 to a date; `None` if there is no such date. Years begin in March, so that the day which some of them have
/// more is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let (march_year, march_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = days_before_year(march_year) + days_before_month(march_month) + day - 1 - BEFORE_1970;
    // The 31st of some months is the first of the next.
    (date(days) == Some((year, month, day))).then_some(days)
}

/// The date so many days after 1970, in a year of four digits.
fn date(days: i64) -> Option<(i64, i64, i64)> {
    // Within a factor that no year has.
    let days = days.checked_add(BEFORE_1970).filter(|days| (-366..366 * 10_000).contains(days))?;
    let guess = days.div_euclid(366);
    let year = (guess..).take_while(|&year| days_before_year(year) <= days).last()?;
    let day = days - days_before_year(year);
    let month = (5 * day + 2) / 153;
    let date = (year + i64::from(month > 9), (month + 2) % 12 + 1, day - days_before_month(month) + 1);
    (0..10_000).contains(&date.0).then_some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let second = |seconds: i128| Some(seconds * SECOND);
        for (text, expected) in [
            ("1970-01-01", second(0)),
            ("1970-01-01T00:00:00Z", second(0)),
            ("2000-02-29T12:34:56z", second(951_827_696)),
            ("2000-02-29 12:34", second(951_827_640)),
            ("2024-05-01t14:00:00+02:00", second(1_714_564_800)),
            ("2024-05-01T07:30:00-04:30", second(1_714_564_800)),
            ("2024-05-01T12:00:00.25Z", Some(1_714_564_800_250_000_000)),
            ("1714564800.25", Some(1_714_564_800_250_000_000)),
            ("1969-12-31T23:59:59.999999999", Some(-1)),
            ("@-0.000000001", Some(-1)),
            ("@-1.5", Some(-1_500_000_000)),
            ("@2024", second(2_024)),
            ("100000000", second(100_000_000)),
            ("-100000000", second(-100_000_000)),
            ("0000-01-01", second(-62_167_219_200)),
            ("9999-12-31T23:59:59Z", second(253_402_300_799)),
            ("999999999999999999", second(999_999_999_999_999_999)),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        for wrong in [
            "",
            "-",
            ".",
            "@1.",
            "@",
            "@@1",
            "@2024-05-01",
            "20240501",
            "99999999.9",
            "-5",
            "@.5",
            "@+5",
            "1e3",
            "1.0000000000",
            "99999999999999999999",
            "2024",
            "2024-5-1",
            "2024-13-01",
            "2024-00-01",
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-04-31",
            "2024-01-00",
            "2024-01-01T",
            "2024-01-01T24:00",
            "2024-01-01T12",
            "2024-01-01T12:60",
            "2024-01-01T12:00:60Z",
            "2024-01-01T12:00.5Z",
            "2024-01-01T12:00:00+2",
            "2024-01-01T12:00:00+24:00",
            "2024-01-01T12:00:00ZZ",
            "2024-01-01Z",
            "2024-01-01T12:00:0é",
            "12:00",
            "yesterday",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_written() {
        assert_eq!(show(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(show(-1, 9), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(show(1_714_564_800_250 * 1_000_000, 3), "2024-05-01T12:00:00.250Z");
        assert_eq!(show(253_402_300_800 * SECOND, 0), "253402300800");
        assert_eq!(show(-62_167_219_201 * SECOND - 5_000_000, 3), "-62167219201.005");
    }

    /// Every day of four hundred years, which repeat, and some seconds of all that can be written.
    #[test]
    fn what_is_written_is_read() {
        for day in days_since_1970(1999, 1, 1).unwrap()..=days_since_1970(2400, 1, 1).unwrap() {
            let (year, month, date_day) = date(day).unwrap();
            assert_eq!(days_since_1970(year, month, date_day), Some(day));
            let next = date(day + 1).unwrap();
            assert!(
                next > (year, month, date_day) && (date_day == 28 || next.2 == date_day + 1 || next.2 == 1)
            );
        }
        for step in -500i128..500 {
            let time = step * 7_919_777_777_777_777_777;
            assert_eq!(parse(&show(time, 9)), Some(time), "{time}");
            let second = time / SECOND * SECOND;
            assert_eq!(parse(&show(second, 0)), Some(second), "{second}");
        }
    }
}
