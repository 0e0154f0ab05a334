//! Lists of other crates: a Bloom cascade and a clubcard, as their authors build them for certificates.
//!
//! Neither has an error rate for unlisted keys to choose: what it is follows from the sizes of the lists. Both are built from the
//! shorter list, and their answers turned around if that is the NO list, since that makes them smaller.

use clubcard::builder::{ApproximateRibbon, ClubcardBuilder, ExactRibbon};
use clubcard::{ApproximateSizeOf, AsQuery, Equation, Filterable, Queryable};
use rust_cascade::{CascadeBuilder, HashAlgorithm};
use twiceshy_testkit::scatter;

use crate::sizes::Measured;
use crate::{Failure, Keys, timed};

pub(crate) fn cascade(lists: Keys, queries: u64) -> Result<Measured, Failure> {
    let is_turned = lists.yes > lists.no;
    let bytes_of = |key: u64| key.to_le_bytes().to_vec();
    let (cascade, seconds) = timed(|| {
        let (mut include, mut exclude): (Vec<u64>, Vec<u64>) = (lists.yes().collect(), lists.no().collect());
        if is_turned {
            (include, exclude) = (exclude, include);
        }
        let mut builder =
            CascadeBuilder::new(HashAlgorithm::Sha256, b"salt".to_vec(), include.len(), exclude.len());
        include.into_iter().try_for_each(|key| builder.include(bytes_of(key)))?;
        exclude.into_iter().try_for_each(|key| builder.exclude(bytes_of(key)))?;
        builder.finalize()
    });
    let mut cascade = cascade.map_err(|error| format!("cascade: {error:?}"))?;
    if is_turned {
        cascade.invert();
    }
    let bytes = cascade.to_bytes().map_err(|error| format!("cascade: {error:?}"))?.len();
    Measured::new(lists, queries, (bytes, seconds), |key| cascade.has(bytes_of(key)))
}

/// Words of an equation of a clubcard.
const WORDS: usize = 4;

/// A key of a clubcard.
struct Item {
    key: [u8; 8],
    is_yes: bool,
}

impl Item {
    fn new(key: u64, is_yes: bool) -> Self {
        Self { key: key.to_le_bytes(), is_yes }
    }
}

impl AsQuery<WORDS> for Item {
    fn as_query(&self, rows: usize) -> Equation<WORDS> {
        let key = u64::from_le_bytes(self.key);
        let mut words = [1, 2, 3, 4].map(|word| scatter(scatter(key) ^ word << 56));
        words[0] |= 1;
        let start = scatter(words[3]) as usize % rows.max(1);
        Equation::inhomogeneous(start, words, u8::from(!self.is_yes))
    }

    fn block(&self) -> &[u8] {
        &[]
    }

    fn discriminant(&self) -> &[u8] {
        &self.key
    }
}

impl Filterable<WORDS> for Item {
    fn included(&self) -> bool {
        self.is_yes
    }
}

/// Every key is one that a clubcard may be asked for.
struct Everything;

impl ApproximateSizeOf for Everything {}

impl Queryable<WORDS> for Item {
    type UniverseMetadata = Everything;
    type PartitionMetadata = ();

    fn in_universe(&self, _: &Everything) -> bool {
        true
    }
}

pub(crate) fn clubcard(lists: Keys, queries: u64) -> Result<Measured, Failure> {
    let is_turned = lists.yes > lists.no;
    let (card, seconds) = timed(|| {
        let mut builder = ClubcardBuilder::new();
        let mut approximate = builder.new_approx_builder(&[]);
        approximate.set_inverted(is_turned);
        match is_turned {
            true => lists.no().for_each(|key| approximate.insert(Item::new(key, false))),
            false => lists.yes().for_each(|key| approximate.insert(Item::new(key, true))),
        }
        approximate.set_universe_size((lists.yes + lists.no) as usize);
        builder.collect_approx_ribbons(vec![ApproximateRibbon::from(approximate)]);
        let mut exact = builder.new_exact_builder(&[]);
        lists.yes().for_each(|key| exact.insert(Item::new(key, true)));
        lists.no().for_each(|key| exact.insert(Item::new(key, false)));
        let exact = ExactRibbon::from(exact);
        builder.collect_exact_ribbons(vec![exact]);
        builder.build::<Item>(Everything, ())
    });
    let is_yes = |key| card.unchecked_contains(&Item::new(key, true));
    Measured::new(lists, queries, (card.approximate_size_of(), seconds), is_yes)
}
