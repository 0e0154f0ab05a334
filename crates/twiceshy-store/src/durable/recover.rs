//! A filter for the rows that are there, when a store is opened.
//!
//! The rows are the truth, and everything else can be made from them. A snapshot of this store that the journal leads on
//! from is taken; what the journal says is done again: first keys that came and went, then mistakes that were fixed
//! (also those that have become keys since). Without such a snapshot the filter is built from the rows in one pass; the
//! mistakes in the journal, and in a snapshot of another time or of another copy of the store, are still heeded.

use twiceshy::adaptive::Growth;

use super::journal::{self, Event, Extent, Mark};
use super::snapshot::{self, Unusable};
use super::{Kept, StoreId, file_error};
use crate::engine::Engine;
use crate::error::StoreError;
use crate::files::Files;

/// A journal with more records than this, and with more than one for so many keys, is not done again record by record:
/// one pass over all rows is faster, and comes to the same.
const MANY_RECORDS: u64 = 1_000;
const ROWS_PER_RECORD: u64 = 10;

const UNLIMITED: Growth = Growth::Grow { max_bytes: None };

/// How a store came by its filter when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recovery {
    /// The store is new.
    Created,
    /// The filter was saved when the store was closed.
    Clean,
    /// The store was not closed: what the journal said was done again on the last snapshot of the filter.
    Replayed {
        /// How many records the journal had.
        records: u64,
    },
    /// The filter was built from all rows.
    Rebuilt {
        /// Why.
        why: String,
    },
}

/// A filter that fits the rows.
pub(super) struct Opened<F> {
    pub(super) filter: F,
    pub(super) extent: Extent,
    pub(super) keys: u64,
    /// Records that no snapshot knows.
    pub(super) records: u64,
    /// Whether there is a snapshot that the journal leads on from.
    pub(super) is_saved: bool,
    pub(super) recovery: Recovery,
}

/// Makes the filter. `empty` is one without keys, with the settings of this store.
pub(super) fn recover<F: Kept>(
    engine: &dyn Engine,
    files: &dyn Files,
    rows: &F::Rows,
    id: &StoreId,
    empty: F,
) -> Result<Opened<F>, StoreError> {
    let snapshot = snapshot::read::<F>(files, id)
        .map_err(|source| file_error("read", files, snapshot::NAME, source))?
        .map_err(|why| match why {
            Unusable::Missing => "there is no snapshot of the filter".to_owned(),
            Unusable::Newer { set_aside } => {
                format!("the snapshot of the filter comes from a newer version; it is kept as {set_aside}")
            }
            Unusable::OtherStore => "the snapshot of the filter belongs to another store".to_owned(),
            Unusable::Damaged(what) => format!("the snapshot of the filter cannot be read: {what}"),
        });
    // How much of the journal the snapshot does not know, and which history the last batch that it knows has here.
    let (known, mut records) = (snapshot.as_ref().map_or(Mark::default(), |(_, mark)| *mark), 0);
    let mut history = None;
    let extent = journal::read(engine, &mut |mark, _| {
        records += u64::from(mark.number > known.number);
        if mark.number == known.number {
            history = Some(mark.history);
        }
        Ok(())
    })?;
    if known.number == extent.cleared.number {
        history = Some(extent.cleared.history);
    }
    let (hints, why) = match snapshot {
        Ok((mut filter, mark)) => {
            filter.set_growth(empty.growth());
            let why = if !filter.is_like(&empty) {
                "the snapshot of the filter was made with another hash key"
            } else if mark.number < extent.cleared.number {
                "the snapshot of the filter is older than the journal"
            } else if mark.number > extent.last.number {
                "the snapshot of the filter is newer than the rows"
            } else if history != Some(mark.history) {
                "the snapshot of the filter was made in another copy of the store"
            } else if records < MANY_RECORDS || records < extent.last.keys / ROWS_PER_RECORD {
                return replay(engine, rows, filter, mark, extent);
            } else {
                let is_saved = true;
                let recovery = Recovery::Replayed { records };
                return Ok(Opened {
                    records,
                    is_saved,
                    recovery,
                    ..rebuild(engine, rows, &filter, extent, String::new())?
                });
            };
            let is_ours = filter.is_like(&empty);
            (if is_ours { filter } else { empty }, why.to_owned())
        }
        Err(why) => (empty, why),
    };
    let mut opened = rebuild(engine, rows, &hints, extent, why)?;
    // If that fails, the next opening is slow again; closing tries again, and says so.
    let mark = Mark { keys: opened.keys, ..extent.last };
    opened.is_saved = snapshot::write(files, id, mark, &opened.filter).is_ok();
    Ok(opened)
}

/// Does again what the journal says on top of a snapshot.
fn replay<F: Kept>(
    engine: &dyn Engine,
    rows: &F::Rows,
    mut filter: F,
    snapshot: Mark,
    extent: Extent,
) -> Result<Opened<F>, StoreError> {
    let growth = filter.growth();
    // What is there must fit: that it is done again in another order may take a slot more.
    filter.set_growth(UNLIMITED);
    let mut records = 0;
    let mut filter = filter.replayed(rows, |replay| {
        for phase in 0..F::PHASES {
            journal::read(engine, &mut |mark, event| {
                if mark.number <= snapshot.number || F::phase(&event) != phase {
                    return Ok(());
                }
                records += 1;
                replay(event)
            })?;
        }
        Ok(())
    })?;
    filter.set_growth(growth);
    let last = if extent.last.number > snapshot.number { extent.last } else { snapshot };
    filter.set_len(last.keys);
    let recovery = if records == 0 { Recovery::Clean } else { Recovery::Replayed { records } };
    Ok(Opened {
        filter,
        extent: Extent { last, ..extent },
        keys: last.keys,
        records,
        is_saved: true,
        recovery,
    })
}

/// Builds the filter from all rows. Fingerprints are as long as those in `hints`, so what was learned stays learned.
fn rebuild<F: Kept>(
    engine: &dyn Engine,
    rows: &F::Rows,
    hints: &F,
    extent: Extent,
    why: String,
) -> Result<Opened<F>, StoreError> {
    let mut lessons = Vec::new();
    journal::read(engine, &mut |_, event| {
        if let Event::Other(record) = event
            && F::is_lesson(&record)
        {
            lessons.push(record);
        }
        Ok(())
    })?;
    let (mut filter, keys) = match hints.rebuilt(rows, &lessons) {
        // A store that has reached its limit can be opened all the same. Fresh fingerprints take a few slots more.
        Err(StoreError::FilterFull { .. }) => {
            let mut hints = hints.try_clone()?;
            hints.set_growth(UNLIMITED);
            hints.rebuilt(rows, &lessons)?
        }
        filter => filter?,
    };
    filter.set_growth(hints.growth());
    Ok(Opened { filter, extent, keys, records: 0, is_saved: false, recovery: Recovery::Rebuilt { why } })
}
