//! Opening a store, and mending its filter if it was not closed.
//!
//! | in the folder | what |
//! |---|---|
//! | `twiceshy-store` | lines of text: format, engine, and a number that tells stores apart |
//! | `rows.fjall/` or `rows.redb` | the engine: rows, journal, and the settings of the filter with its hash key |
//! | `filter.snapshot` | the filter, as it was at some point of the journal |
//!
//! The rows are the truth, and everything else can be made from them. A snapshot of this store that the journal leads on
//! from is taken; what the journal says is done again: first keys that came and went, then mistakes that were fixed
//! (also those that have become keys since). Without such a snapshot the filter is built from the rows in one pass; the
//! mistakes in the journal, and in a snapshot of another time or of another copy of the store, are still heeded.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc as StdArc;

use twiceshy::error::SetError;
use twiceshy::{AdaptiveFilter, AdaptiveSet, Growth, Record};

use super::builder::StoreBuilder;
use super::save::file_error;
use super::{AdaptiveStore, Shared, Writer};
use crate::engine::{Batch, Durability, Engine, Keys, Space};
use crate::error::StoreError;
use crate::files::{self, Files, UNFINISHED};
use crate::journal::{self, Event, Extent, Mark};
use crate::rows::Rows;
use crate::snapshot::{self, StoreId, Unusable};
use crate::sync::{Arc, Mutex, RwLock};

/// The file that says what the folder is.
const DESCRIPTION: &str = "twiceshy-store";
const FIRST_LINE: &str = "twiceshy store";
/// The version of all that is described here.
const FORMAT: u32 = 2;

/// The rows in [`Space::Meta`]: the store's number, and an empty filter with the settings and the hash key.
const ID: &[u8] = b"id";
const FILTER: &[u8] = b"filter";

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

/// What is in a folder.
pub(super) enum Layout {
    Empty,
    Store { engine: String },
}

/// Reads what is in a folder.
pub(super) fn layout(files: &dyn Files) -> Result<Layout, StoreError> {
    Ok(match describe(files)? {
        Some(Description { engine, .. }) => Layout::Store { engine },
        None => Layout::Empty,
    })
}

/// What the file says.
struct Description {
    engine: String,
    id: StoreId,
}

/// Reads the description of a store; `None` if the folder is empty, or if making a store did not get far.
fn describe(files: &dyn Files) -> Result<Option<Description>, StoreError> {
    let failed = |source| file_error("read", files, DESCRIPTION, source);
    let Some(mut file) = files.open(DESCRIPTION).map_err(failed)? else {
        let names = files.names().map_err(failed)?;
        let ours =
            |name: &String| name.starts_with("rows.") || name == snapshot::NAME || name.ends_with(UNFINISHED);
        return if names.iter().all(ours) {
            Ok(None)
        } else {
            Err(StoreError::NotAStore { path: files.path().to_owned(), expected: DESCRIPTION })
        };
    };
    let mut text = String::new();
    file.by_ref().take(4_096).read_to_string(&mut text).map_err(failed)?;
    let mut lines = text.lines();
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    let damaged = |what: &str| StoreError::damaged(format!("its file {DESCRIPTION} {what}"));
    if field("twiceshy").as_deref() != FIRST_LINE.strip_prefix("twiceshy ") {
        return Err(damaged("does not begin like one"));
    }
    let format = field("format").and_then(|format| format.parse().ok());
    let found: u32 = format.ok_or_else(|| damaged("does not say its format"))?;
    if found != FORMAT {
        return Err(StoreError::Version { found, supported: FORMAT });
    }
    let engine = field("engine").ok_or_else(|| damaged("names no engine"))?;
    let id = field("id").and_then(|id| u128::from_str_radix(&id, 16).ok());
    Ok(Some(Description { engine, id: id.ok_or_else(|| damaged("has no id"))?.to_be_bytes() }))
}

fn write_description(files: &dyn Files, engine: &dyn Engine, id: &StoreId) -> Result<(), StoreError> {
    let id = u128::from_be_bytes(*id);
    let text = format!("{FIRST_LINE}\nformat {FORMAT}\nengine {}\nid {id:032x}\n", engine.name());
    files::replace(files, DESCRIPTION, |file| file.write_all(text.as_bytes()))
        .map_err(|source| file_error("write", files, DESCRIPTION, source))
}

/// Opens a store, or makes one.
pub(super) fn open(
    settings: StoreBuilder,
    engine: StdArc<dyn Engine>,
    files: Box<dyn Files>,
) -> Result<AdaptiveStore, StoreError> {
    let described = describe(&*files)?;
    let mut stored = stored_settings(&*engine)?;
    if described.is_none() && settings.may_create() && stored.is_some() && is_unused(&*engine)? {
        // It was being made and the last step is missing. Whoever makes it now may have chosen other settings.
        stored = None;
    }
    let is_new = stored.is_none();
    let (id, mut empty) = match (stored, &described) {
        (Some((id, empty)), Some(description)) if description.id == id => (id, empty),
        (Some(_), Some(_)) => {
            return Err(StoreError::damaged("its rows belong to another store than its other files"));
        }
        (None, Some(_)) => return Err(StoreError::damaged("the rows that it had are gone")),
        // The description was deleted.
        (Some((id, empty)), None) => {
            write_description(&*files, &*engine, &id)?;
            (id, empty)
        }
        (None, None) if !settings.may_create() => {
            return Err(StoreError::NoStore { path: files.path().to_owned() });
        }
        (None, None) => create(&settings, &*engine, &*files)?,
    };
    empty.set_growth(settings.growth());
    let rows = Rows::new(StdArc::clone(&engine), empty.hasher().clone());
    let opened = if is_new {
        Opened {
            filter: empty,
            extent: Extent::default(),
            keys: 0,
            records: 0,
            is_saved: true,
            recovery: Recovery::Created,
        }
    } else {
        recover(&*engine, &*files, &rows, &id, empty, settings.growth())?
    };
    let Opened { filter, extent, keys, records, is_saved, recovery } = opened;
    let mark = Mark { keys, ..extent.last };
    let writer = Writer {
        mark,
        number: mark.number,
        history: random()?,
        records,
        retry_at: 0,
        learned: Vec::new(),
        is_saved,
        waiting: Vec::new(),
    };
    Ok(AdaptiveStore {
        shared: Arc::new(Shared {
            engine,
            rows,
            files,
            id,
            durability: settings.level(),
            few_records: settings.few_records(),
            recovery,
            filter: RwLock::new(filter),
            writer: Mutex::new(writer),
            saving: Mutex::new(()),
            lessons: Mutex::default(),
            keys: keys.into(),
            counters: Default::default(),
            is_helped: false.into(),
            helper: Mutex::new(None),
        }),
    })
}

/// The number of a store, and its filter without keys.
type Settings = (StoreId, AdaptiveFilter);

fn stored_settings(engine: &dyn Engine) -> Result<Option<Settings>, StoreError> {
    let (Some(id), Some(filter)) = (engine.get(Space::Meta, ID)?, engine.get(Space::Meta, FILTER)?) else {
        return Ok(None);
    };
    let id = id.try_into().map_err(|_| StoreError::damaged("its id has the wrong length"))?;
    let filter = AdaptiveFilter::from_bytes(&filter)
        .map_err(|error| StoreError::damaged(format!("the settings of its filter: {error}")))?;
    Ok(Some((id, filter)))
}

/// Whether nothing was ever stored.
fn is_unused(engine: &dyn Engine) -> Result<bool, StoreError> {
    let mut has_rows = false;
    engine.scan(Space::Rows, Keys::ALL, &mut |_, _| {
        has_rows = true;
        ControlFlow::Break(())
    })?;
    Ok(!has_rows && journal::read(engine, &mut |_, _| Ok(()))? == Extent::default())
}

fn random() -> Result<[u8; 16], StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Random(error.to_string()))?;
    Ok(bytes)
}

fn create(settings: &StoreBuilder, engine: &dyn Engine, files: &dyn Files) -> Result<Settings, StoreError> {
    let id = random()?;
    let empty = settings.new_filter()?;
    // Its settings, not its slots: there may be room for many keys. Only a filter with a limit is kept as large as it is,
    // because one that grew to that size would need a bit more for every slot.
    let kept = match settings.growth() {
        UNLIMITED => settings.clone().hasher(empty.hasher().clone()).capacity(0).new_filter()?.to_bytes(),
        _ => empty.to_bytes(),
    };
    let mut batch = Batch::new();
    batch.put(Space::Meta, ID.to_vec(), id.to_vec());
    batch.put(Space::Meta, FILTER.to_vec(), kept);
    engine.write(batch, Durability::Power)?;
    snapshot::write(files, &id, Mark::default(), &empty)
        .map_err(|source| file_error("write", files, snapshot::NAME, source))?;
    // The description comes last: with it the store is there.
    write_description(files, engine, &id)?;
    Ok((id, empty))
}

/// A filter that fits the rows.
struct Opened {
    filter: AdaptiveFilter,
    extent: Extent,
    keys: u64,
    /// Records that no snapshot knows.
    records: u64,
    /// Whether there is a snapshot that the journal leads on from.
    is_saved: bool,
    recovery: Recovery,
}

fn recover(
    engine: &dyn Engine,
    files: &dyn Files,
    rows: &Rows,
    id: &StoreId,
    empty: AdaptiveFilter,
    growth: Growth,
) -> Result<Opened, StoreError> {
    let snapshot = snapshot::read(files, id)
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
            filter.set_growth(growth);
            let why = if filter.hasher() != empty.hasher() {
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
            let is_ours = filter.hasher() == empty.hasher();
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
fn replay(
    engine: &dyn Engine,
    rows: &Rows,
    mut filter: AdaptiveFilter,
    snapshot: Mark,
    extent: Extent,
) -> Result<Opened, StoreError> {
    let growth = filter.growth();
    // What is there must fit: that it is done again in another order may take a slot more.
    filter.set_growth(UNLIMITED);
    let mut set = AdaptiveSet::from_parts(filter, rows.clone());
    let mut records = 0;
    // Mistakes last: they hold for all keys that are there now.
    for mistakes in [false, true] {
        journal::read(engine, &mut |mark, event| {
            let is_mistake = matches!(event, Event::Other(Record::Separate(_)));
            if mark.number <= snapshot.number || is_mistake != mistakes {
                return Ok(());
            }
            records += 1;
            match event {
                Event::Inserted(head) => {
                    rows.keys_with(head)?.iter().try_for_each(|key| set.cover(key.as_slice(), 0))
                }
                Event::Other(record) => set.replay(&record),
            }
            .map_err(set_error)
        })?;
    }
    let (mut filter, _) = set.into_parts();
    filter.set_growth(growth);
    let last = if extent.last.number > snapshot.number { extent.last } else { snapshot };
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
fn rebuild(
    engine: &dyn Engine,
    rows: &Rows,
    hints: &AdaptiveFilter,
    extent: Extent,
    why: String,
) -> Result<Opened, StoreError> {
    let mut mistakes = Vec::new();
    journal::read(engine, &mut |_, event| {
        if let Event::Other(record @ Record::Separate(_)) = event {
            mistakes.push(record);
        }
        Ok(())
    })?;
    let set = match AdaptiveSet::recover(hints, rows.clone(), mistakes.iter().cloned()) {
        // A store that has reached its limit can be opened all the same. Fresh fingerprints take a few slots more.
        Err(SetError::Full { .. }) => {
            let mut hints = hints.try_clone()?;
            hints.set_growth(UNLIMITED);
            AdaptiveSet::recover(&hints, rows.clone(), mistakes)
        }
        set => set,
    };
    let set = set.map_err(set_error)?;
    let keys = set.len();
    let (mut filter, _) = set.into_parts();
    filter.set_growth(hints.growth());
    Ok(Opened { filter, extent, keys, records: 0, is_saved: false, recovery: Recovery::Rebuilt { why } })
}

pub(super) fn set_error(error: SetError<StoreError>) -> StoreError {
    match error {
        SetError::Map(error) => error,
        SetError::Full { used, slots } => StoreError::FilterFull { used, slots },
        SetError::Indistinguishable(error) => error.into(),
        SetError::Memory(error) => error.into(),
        error => StoreError::damaged(error.to_string()),
    }
}
