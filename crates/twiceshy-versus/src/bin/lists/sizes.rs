//! Bits per YES key, and how many unlisted keys are a Yes.

use serde::Serialize;
use twiceshy::adaptive::Growth;
use twiceshy::error::RebuildError;
use twiceshy::list::least_bits;
use twiceshy::{FrozenYesNoList, Hasher, YesNoList};

use crate::{Failure, Keys, RATES, RATIOS, peers, rate, timed};

/// The lists of one ratio and one error rate.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) lists: Keys,
    /// The error rate, as a power of two, without the sign.
    pub(crate) rate_log2: i32,
    /// The least that is possible, in bits per YES key.
    pub(crate) least_bits: f64,
    /// What the paper on adaptive quotient filters says of its own list, but for a constant (proposition 1).
    pub(crate) paper_bits: f64,
    pub(crate) frozen: Measured,
    pub(crate) dynamic: Measured,
    /// The dynamic list that does not grow, and so has shorter fingerprints.
    pub(crate) fixed: Measured,
    pub(crate) cascade: Peer,
    pub(crate) clubcard: Peer,
}

/// A list of another crate.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Peer {
    #[serde(flatten)]
    pub(crate) list: Measured,
    /// Our frozen list with the error rate that this one turned out to have.
    pub(crate) frozen: Measured,
}

impl Peer {
    fn new(lists: Keys, queries: u64, list: Measured) -> Result<Self, Failure> {
        Ok(Self { list, frozen: frozen(lists, queries, list.rate)? })
    }
}

/// A list.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Measured {
    /// Of the whole file, or, if it has keys, of its filter; per YES key.
    pub(crate) bits: f64,
    /// How many unlisted keys are a Yes.
    pub(crate) rate: f64,
    pub(crate) build_seconds: f64,
}

impl Measured {
    /// Measures a list of so many bytes that was built in so many seconds and gives such answers. Wrong ones about listed keys
    /// are a failure.
    pub(crate) fn new(
        lists: Keys,
        queries: u64,
        (bytes, build_seconds): (usize, f64),
        is_yes: impl Fn(u64) -> bool,
    ) -> Result<Self, Failure> {
        let wrong =
            lists.yes().filter(|&key| !is_yes(key)).count() + lists.no().filter(|&key| is_yes(key)).count();
        if wrong > 0 {
            return Err(format!("{wrong} listed keys are answered wrongly").into());
        }
        let found = Keys::unlisted(queries).filter(|&key| is_yes(key)).count();
        let bits = 8.0 * bytes as f64 / lists.yes as f64;
        Ok(Self { bits, rate: found as f64 / queries as f64, build_seconds })
    }
}

/// All ratios and all rates.
pub(crate) fn measure(keys: u64, queries: u64) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for ratio_log2 in RATIOS {
        let lists = Keys::new(keys, ratio_log2);
        // They have no error rate to choose.
        let cascade = Peer::new(lists, queries, peers::cascade(lists, queries)?)?;
        let clubcard = Peer::new(lists, queries, peers::clubcard(lists, queries)?)?;
        for rate_log2 in RATES {
            let rate = rate(rate_log2);
            let others = lists.no as f64 / lists.yes as f64;
            rows.push(Row {
                lists,
                rate_log2,
                least_bits: least_bits(lists.yes, lists.no, rate),
                paper_bits: rate.recip().max(others).log2(),
                frozen: frozen(lists, queries, rate)?,
                dynamic: dynamic(lists, queries, rate, Growth::default())?,
                fixed: dynamic(lists, queries, rate, Growth::Refuse)?,
                cascade,
                clubcard,
            });
        }
    }
    Ok(rows)
}

pub(crate) fn frozen(lists: Keys, queries: u64, rate: f64) -> Result<Measured, Failure> {
    let builder = FrozenYesNoList::builder().error_rate(rate).hasher(Hasher::fast_with_seed(7));
    let (list, seconds) = timed(|| builder.build(lists.yes(), lists.no()));
    let list = list?;
    Measured::new(lists, queries, (list.to_bytes().len(), seconds), |key| list.query(&key).is_yes())
}

/// A dynamic list. One that must not grow gets the smallest size, in steps of a tenth, at which all fits.
fn dynamic(lists: Keys, queries: u64, rate: f64, growth: Growth) -> Result<Measured, Failure> {
    let builder = YesNoList::builder().error_rate(rate).growth(growth).hasher(Hasher::fast_with_seed(7));
    let mut capacity = lists.yes;
    let (list, seconds) = loop {
        let builder = builder.clone().capacity(capacity);
        let (list, seconds) = timed(|| builder.from_lists(lists.yes(), lists.no()));
        match list {
            Err(RebuildError::Full { .. }) if capacity < 4 * lists.yes => capacity += capacity.div_ceil(10),
            list => break (list?, seconds),
        }
    };
    let bytes = list.filter().to_bytes().len();
    Measured::new(lists, queries, (bytes, seconds), |key| list.query(&key).is_yes())
}
