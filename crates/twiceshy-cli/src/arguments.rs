//! Numbers as people give them to several commands: rates, counts, lengths of ranges, sizes.

/// The error rate of every filter for which none is given.
pub(crate) const ERROR_RATE: f64 = 0.001;

/// The most things that a [`count`] stands for.
const MOST: u64 = 1 << 40;

/// An error rate, above 0 and below 1: `0.01`, `1%` or `1/100`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    const HELP: &str = "give it as 0.01, 1% or 1/100";
    let part = |text: &str| number(text).map_err(|_| HELP.to_owned());
    let rate = if let Some(percent) = text.trim().strip_suffix('%') {
        part(percent)? / 100.0
    } else if let Some((above, below)) = text.split_once('/') {
        part(above)? / part(below)?
    } else {
        part(text)?
    };
    if rate > 0.0 && rate < 1.0 {
        Ok(rate)
    } else {
        Err("it must be above 0 and below 1, for example 0.001, 0.1% or 1/1000".into())
    }
}

/// How many things: `250000`, `250_000`, `250,000`, `250k` or `1.5M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    const HELP: &str = "it must be a whole number, for example 100000, 100k or 1.5M";
    let (digits, unit) = with_unit(text);
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return Err(HELP.into()),
    };
    let count = number(&without_commas(digits)).map_err(|_| HELP.to_owned())? * factor;
    // What is left of 1.1M when it is no whole number in binary.
    let whole = count.round();
    match whole {
        _ if (count - whole).abs() > whole.abs() * 1e-12 => Err(HELP.into()),
        ..1.0 => Err("it must be at least 1".into()),
        whole if whole <= MOST as f64 => Ok(whole as u64),
        _ => Err(format!("it may be at most {MOST}")),
    }
}

/// The longest range that a filter is for, as a number of keys.
pub(crate) fn max_range(text: &str) -> Result<u64, String> {
    match count(text)? {
        keys @ ..=65_536 => Ok(keys),
        _ => Err("it may be at most 65536, which takes 10 bits per key more than 64".into()),
    }
}

/// A size in bytes: `64M` or `64MiB`, in steps of 1,024. A bare number is bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    const HELP: &str = "it must be a size, for example 64M or 64MiB; a bare number is bytes";
    let (digits, unit) = with_unit(text);
    let shift = match unit.trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "k" | "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(HELP.into()),
    };
    let number: u64 = digits.parse().map_err(|_| HELP.to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| HELP.into())
}

/// A number that is one.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.trim().replace('_', "").parse().map_err(|_| "that is not a number".to_owned())?;
    if number.is_finite() { Ok(number) } else { Err("it must be a finite number".into()) }
}

/// A number without the commas between thousands, as we print them; anything else with commas stays as it is.
fn without_commas(text: &str) -> String {
    let mut groups = text.split(',');
    let is_number = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let begins = groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && is_number(first));
    let goes_on = groups.all(|group| group.len() == 3 && is_number(group));
    if begins && goes_on { text.replace(',', "") } else { text.to_owned() }
}

/// A number and the unit after it.
fn with_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let unit = text.find(char::is_alphabetic).unwrap_or(text.len());
    (text[..unit].trim_end(), &text[unit..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_numbers_percent_or_fractions() {
        for text in ["0.01", "1%", "1 %", "1/100", "2/200", "1e-2", ".01", " 0.01 "] {
            assert_eq!(rate(text), Ok(0.01), "{text}");
        }
        for wrong in [
            "0", "1", "100%", "-0.1", "NaN", "inf", "", "%", "1/", "/2", "1/0", "0/0", "2/1", "1/2/3", "a",
            "0,01", "0,5%",
        ] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_have_thousands_and_millions() {
        for (text, expected) in [
            ("1", 1),
            ("1_000", 1_000),
            ("1,000", 1_000),
            ("12,500,000", 12_500_000),
            ("500k", 500_000),
            ("500K", 500_000),
            ("1.5M", 1_500_000),
            ("1.1M", 1_100_000),
            ("0.001k", 1),
            ("2G", 2_000_000_000),
            ("1099511627776", MOST),
        ] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for wrong in [
            "0",
            "-1",
            "1.5",
            "1.0005k",
            "many",
            "99999999999999999",
            "",
            "k",
            "1m",
            "1kk",
            "1,5",
            "1,5M",
            "1000,000",
            ",000",
            "1,000,",
            "NaN",
            "inf",
            "1099511627777",
        ] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_bytes_without_a_unit() {
        for (text, expected) in [("5000", 5_000), ("64M", 64 << 20), ("64MiB", 64 << 20), ("1kB", 1_024)] {
            assert_eq!(size(text), Ok(expected), "{text}");
        }
        for wrong in ["", "M", "-1", "1.5M", "10x", "99999999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
