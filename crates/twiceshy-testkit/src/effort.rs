//! How long a test goes on: a little by default, and as long as one likes if one asks for it.

/// How many times, steps or cases: what the environment variable says, or else `usual`.
///
/// # Panics
///
/// If the variable is set and is no number.
pub fn times(variable: &str, usual: u64) -> u64 {
    let Some(times) = std::env::var_os(variable) else { return usual };
    let number = times.to_str().and_then(|times| times.parse().ok());
    number.unwrap_or_else(|| panic!("{variable} = {times:?}, expected a number"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_not_set_is_as_usual() {
        assert_eq!(super::times("TWICESHY_NOBODY_SETS_THIS", 7), 7);
    }
}
