//! Arguments that several commands have.

/// An error rate: a number between 0 and 1.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "give a number such as 0.001".to_owned())?;
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err("it lies between 0 and 1, both excluded".into()) }
}
