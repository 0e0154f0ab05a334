//! Opening a store, or making one.
//!
//! | in the folder | what |
//! |---|---|
//! | `twiceshy-store` | lines of text: kind, format, engine, a number that tells stores apart, and what keys are if they have an order |
//! | `rows.fjall/` or `rows.redb` | the engine: rows, journal, and the settings of the filter with its hash key |
//! | `filter.snapshot` | the filter, as it was at some point of the journal |

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use twiceshy::adaptive::Growth;
use twiceshy::error::ReadError;

use super::journal::{Extent, Mark};
use super::recover::{Opened, Recovery, recover};
use super::{Durable, Journal, Kept, StoreId, file_error, journal, snapshot};
use crate::engine::{Batch, Durability, Engine, Keys, Space};
use crate::error::StoreError;
use crate::files::{self, Files, UNFINISHED};
use crate::key_type::{KeyType, type_name};
use crate::settings::StoreKind;
use crate::sync::{Mutex, RwLock};

/// The file that says what the folder is.
const DESCRIPTION: &str = "twiceshy-store";

/// Its first line.
fn first_line(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::Adaptive => "twiceshy store",
        StoreKind::Ordered => "twiceshy ordered store",
        StoreKind::List => "twiceshy list",
    }
}

/// The version of all that is described here.
const FORMAT: u32 = 2;

/// The rows in [`Space::Meta`]: the store's number, and an empty filter with the settings and the hash key.
const ID: &[u8] = b"id";
const FILTER: &[u8] = b"filter";

/// What the file says.
pub(crate) struct Description {
    pub(crate) kind: StoreKind,
    pub(crate) engine: String,
    id: StoreId,
    /// What keys are, if they have an order.
    pub(crate) keys: Option<KeyType>,
}

/// Reads the description of a store; `None` if the folder is empty, or if making a store did not get far.
pub(crate) fn describe(files: &dyn Files) -> Result<Option<Description>, StoreError> {
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
    let damaged = |what: &str| StoreError::damaged(format!("its file {DESCRIPTION} {what}"));
    let first = lines.next();
    let kind = StoreKind::ALL.into_iter().find(|kind| first == Some(first_line(*kind)));
    let kind = kind.ok_or_else(|| damaged("does not begin like one"))?;
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
    let format = field("format").and_then(|format| format.parse().ok());
    let found: u32 = format.ok_or_else(|| damaged("does not say its format"))?;
    if found != FORMAT {
        return Err(StoreError::Version { found, supported: FORMAT });
    }
    let engine = field("engine").ok_or_else(|| damaged("names no engine"))?;
    let id = field("id").and_then(|id| u128::from_str_radix(&id, 16).ok());
    let id = id.ok_or_else(|| damaged("has no id"))?.to_be_bytes();
    let keys = match kind {
        StoreKind::Adaptive | StoreKind::List => None,
        StoreKind::Ordered => {
            let keys = field("keys").and_then(|keys| KeyType::of_line(&keys));
            Some(keys.ok_or_else(|| damaged("does not say what keys are"))?)
        }
    };
    Ok(Some(Description { kind, engine, id, keys }))
}

fn write_description<F: Kept>(
    files: &dyn Files,
    engine: &dyn Engine,
    id: &StoreId,
) -> Result<(), StoreError> {
    let (first, id) = (first_line(F::KIND), u128::from_be_bytes(*id));
    let keys = F::KEYS.map_or_else(String::new, |keys| format!("keys {}\n", keys.line()));
    let text = format!("{first}\nformat {FORMAT}\nengine {}\nid {id:032x}\n{keys}", engine.name());
    files::replace(files, DESCRIPTION, |file| file.write_all(text.as_bytes()))
        .map_err(|source| file_error("write", files, DESCRIPTION, source))
}

/// What is chosen about a store whenever it is opened.
pub(crate) struct Opening {
    /// Whether a store is made if there is none.
    pub(crate) may_create: bool,
    /// How far the filter may grow.
    pub(crate) growth: Growth,
    /// What a write survives once it was acknowledged.
    pub(crate) durability: Durability,
    /// A journal with fewer records is not worth a snapshot.
    pub(crate) few_records: u64,
}

impl<F: Kept> Durable<F> {
    /// Opens a store, or makes one. `make` makes a filter for a new store, and the bytes of one without slots for keys:
    /// what the store remembers of its settings. `expect` checks that an old store has what was asked for.
    pub(crate) fn open(
        opening: Opening,
        engine: Arc<dyn Engine>,
        files: Box<dyn Files>,
        make: impl FnOnce() -> Result<(F, Vec<u8>), StoreError>,
        expect: impl FnOnce(&F) -> Result<(), StoreError>,
    ) -> Result<(Self, Journal), StoreError> {
        let Opening { may_create, growth, durability, few_records } = opening;
        let described = describe(&*files)?;
        if let Some(found) = described.as_ref().map(|description| description.kind)
            && found != F::KIND
        {
            return Err(StoreError::OtherKind { expected: F::KIND, found });
        }
        let mut stored = stored_settings::<F>(&*engine)?;
        if described.is_none() && may_create && stored.is_some() && is_unused(&*engine)? {
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
                write_description::<F>(&*files, &*engine, &id)?;
                (id, empty)
            }
            (None, None) if !may_create => {
                return Err(StoreError::NoStore { path: files.path().to_owned() });
            }
            (None, None) => create(&*engine, &*files, make)?,
        };
        if !is_new {
            expect(&empty)?;
        }
        empty.set_growth(growth);
        let rows = empty.rows(Arc::clone(&engine));
        F::check_rows(&rows)?;
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
            recover(&*engine, &*files, &rows, &id, empty)?
        };
        let Opened { filter, extent, keys, records, is_saved, recovery } = opened;
        let mark = Mark { keys, ..extent.last };
        let (number, history) = (mark.number, random()?);
        let (retry_at, learned, in_doubt) = (0, Vec::new(), Vec::new());
        let journal = Journal { mark, number, history, records, retry_at, learned, in_doubt, is_saved };
        let durable = Self {
            engine,
            rows,
            files,
            id,
            durability,
            few_records,
            recovery,
            filter: RwLock::new(filter),
            saving: Mutex::new(()),
            keys: keys.into(),
        };
        Ok((durable, journal))
    }
}

fn stored_settings<F: Kept>(engine: &dyn Engine) -> Result<Option<(StoreId, F)>, StoreError> {
    let (Some(id), Some(filter)) = (engine.get(Space::Meta, ID)?, engine.get(Space::Meta, FILTER)?) else {
        return Ok(None);
    };
    let id = id.try_into().map_err(|_| StoreError::damaged("its id has the wrong length"))?;
    let filter = F::from_bytes(&filter).map_err(settings_error::<F>)?;
    Ok(Some((id, filter)))
}

/// Why the settings of a store cannot be read: it is another kind of store, has other keys, or is damaged.
fn settings_error<F: Kept>(error: ReadError) -> StoreError {
    match error {
        ReadError::WrongKind { found, .. } => kind_of(found).map_or_else(
            || StoreError::damaged(format!("its filter is of kind {found}")),
            |found| StoreError::OtherKind { expected: F::KIND, found },
        ),
        ReadError::Field { field: "bits of codes", expected, found } => {
            StoreError::OtherKeys { what: "bits", expected, found: found.to_string() }
        }
        ReadError::Field { field: "type of keys", expected, found } => {
            let name = |number: String| number.parse().map_or(number, |number| type_name(number).to_owned());
            StoreError::OtherKeys { what: "type", expected: name(expected), found: name(found.to_string()) }
        }
        error => StoreError::damaged(format!("the settings of its filter: {error}")),
    }
}

/// The kind of store that has filters of a kind.
fn kind_of(filter: u8) -> Option<StoreKind> {
    match filter {
        2 => Some(StoreKind::Adaptive),
        4 => Some(StoreKind::Ordered),
        8 => Some(StoreKind::List),
        _ => None,
    }
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

fn create<F: Kept>(
    engine: &dyn Engine,
    files: &dyn Files,
    make: impl FnOnce() -> Result<(F, Vec<u8>), StoreError>,
) -> Result<(StoreId, F), StoreError> {
    let id = random()?;
    let (empty, settings) = make()?;
    let mut batch = Batch::new();
    batch.put(Space::Meta, ID.to_vec(), id.to_vec());
    batch.put(Space::Meta, FILTER.to_vec(), settings);
    engine.write(batch, Durability::Power)?;
    snapshot::write(files, &id, Mark::default(), &empty)
        .map_err(|source| file_error("write", files, snapshot::NAME, source))?;
    // The description comes last: with it the store is there.
    write_description::<F>(files, engine, &id)?;
    Ok((id, empty))
}
