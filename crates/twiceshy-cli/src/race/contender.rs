//! A store in the race, with the adversary who attacks it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};
use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, Durability, EngineKind};

use super::cold::Files;
use super::dataset::AbsentKey;
use super::report::Figures;
use super::stream::Query;
use super::twin::{Built, KeyValue, Twin, TwinFilter};
use super::watch::Watched;
use crate::interrupt;

/// An adversary notes no more than this.
const MOST_NOTED: usize = 10_000;
/// Where an engine keeps its files, in the folder of a store.
const ROWS: &str = "rows";
/// Queries between two looks at whether Ctrl-C was pressed.
const AT_ONCE: u64 = 256;

/// What all contenders have in common.
pub(super) struct Course {
    pub(super) engine: EngineKind,
    pub(super) cache_bytes: u64,
    pub(super) error_rate: f64,
    pub(super) hash_key: HashKey,
    pub(super) latency: Option<Duration>,
}

impl Course {
    fn open_engine(&self, folder: &Path, cache_bytes: u64) -> anyhow::Result<Arc<dyn Engine>> {
        let (rows, cache) = (folder.join(ROWS), Some(cache_bytes));
        Ok(match self.engine {
            EngineKind::Fjall => Arc::new(FjallEngine::open(&rows, cache)?),
            EngineKind::Redb => Arc::new(RedbEngine::open(&rows, cache)?),
            other => bail!("the race does not know the engine {}: take fjall or redb", other.name()),
        })
    }

    fn make_engine(&self, folder: &Path) -> anyhow::Result<Arc<Watched>> {
        std::fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Arc::new(Watched::new(self.open_engine(folder, self.cache_bytes)?, self.latency)))
    }
}

pub(super) struct Contender {
    store: Box<dyn KeyValue>,
    engine: Arc<Watched>,
    folder: PathBuf,
    /// What its adversary replays: keys that were slow although they are not there.
    noted: Vec<AbsentKey>,
    pub(super) load_time: Duration,
}

impl Contender {
    /// The adaptive store, in a folder of its own.
    pub(super) fn adaptive(course: &Course, folder: PathBuf) -> anyhow::Result<Self> {
        let engine = course.make_engine(&folder)?;
        let builder = AdaptiveStore::builder().error_rate(course.error_rate).durability(Durability::Relaxed);
        let builder = builder.hasher(Hasher::keyed(course.hash_key.clone()));
        let store = builder.open_with(Arc::clone(&engine), Folder::create(folder.join("filter"))?)?;
        Ok(Self::new(Box::new(store), engine, folder))
    }

    /// A store with another filter, or with none, for so many different keys.
    pub(super) fn twin(
        course: &Course,
        (kind, built): (TwinFilter, Built),
        keys: u64,
        folder: PathBuf,
    ) -> anyhow::Result<Self> {
        let engine = course.make_engine(&folder)?;
        let store = Twin::new(kind, engine.clone(), keys, built, course.hash_key.clone())?;
        Ok(Self::new(Box::new(store), engine, folder))
    }

    fn new(store: Box<dyn KeyValue>, engine: Arc<Watched>, folder: PathBuf) -> Self {
        Self { store, engine, folder, noted: Vec::new(), load_time: Duration::ZERO }
    }

    pub(super) fn name(&self) -> &'static str {
        self.store.name()
    }

    pub(super) fn filter_bytes(&self) -> anyhow::Result<u64> {
        self.store.filter_bytes()
    }

    pub(super) fn disk_bytes(&self) -> Option<u64> {
        self.engine.disk_bytes()
    }

    /// Stores rows. Tells how many keys are new.
    pub(super) fn load(&mut self, rows: &[(&[u8], &[u8])]) -> anyhow::Result<u64> {
        let start = Instant::now();
        let new = self.store.insert_batch(rows)?;
        self.load_time += start.elapsed();
        Ok(new)
    }

    /// Brings everything to the disk and tidies up there, so that no store has more to do in the background than others.
    pub(super) fn finish_loading(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        self.store.settle();
        self.store.flush()?;
        self.engine.compact()?;
        self.load_time += start.elapsed();
        self.engine.slow_down();
        Ok(())
    }

    /// From now on every lookup reads the disk: the engine has no cache of its own any more, either.
    pub(super) fn go_cold(&mut self, course: &Course) -> anyhow::Result<()> {
        self.store.settle();
        self.engine.go_cold(|| Ok((course.open_engine(&self.folder, 0)?, Files::of(&self.folder)?)))
    }

    /// Asks for keys that are all absent, until the time is over if there is a limit, and has the adversary note those that
    /// the engine was asked for.
    pub(super) fn ask(&mut self, queries: &[Query], limit: Option<Duration>) -> anyhow::Result<Figures> {
        let keys: Vec<_> = queries
            .iter()
            .map(|query| match *query {
                Query::Replay(pick, _) if !self.noted.is_empty() => {
                    (self.noted[(pick % self.noted.len() as u64) as usize], true)
                }
                Query::Key(key) | Query::Replay(_, key) => (key, false),
            })
            .collect();
        let mut slow = Vec::new();
        let mut figures = self.measure(&keys, limit, |contender, (key, _)| {
            let before = contender.engine.lookups();
            if contender.store.get(key)?.is_some() {
                bail!("the store {} has a key that was never inserted: {key:?}", contender.name());
            }
            if contender.engine.lookups() > before {
                slow.push(*key);
                // What it learns counts as its own time, and the next query finds it learned.
                contender.store.settle();
            }
            Ok(())
        })?;
        let asked = &keys[..figures.queries as usize];
        figures.replayed = asked.iter().filter(|(_, is_replayed)| *is_replayed).count() as u64;
        slow.truncate(MOST_NOTED - self.noted.len());
        self.noted.append(&mut slow);
        Ok(figures)
    }

    /// Asks for keys that are all present.
    pub(super) fn ask_present(&mut self, keys: &[Vec<u8>]) -> anyhow::Result<Figures> {
        self.measure(keys, None, |contender, key| {
            if contender.store.get(key)?.is_none() {
                bail!("the store {} has lost a key: {key:?}", contender.name());
            }
            Ok(())
        })
    }

    /// Only lookups take long: time is looked at after them.
    fn measure<K>(
        &self,
        keys: &[K],
        limit: Option<Duration>,
        mut ask: impl FnMut(&Self, &K) -> anyhow::Result<()>,
    ) -> anyhow::Result<Figures> {
        let before = self.engine.counts();
        let (mut queries, mut lookups) = (0, before.lookups);
        let start = Instant::now();
        for key in keys {
            if queries % AT_ONCE == 0 {
                interrupt::check()?;
            }
            ask(self, key)?;
            queries += 1;
            if let Some(limit) = limit
                && lookups != self.engine.lookups()
            {
                lookups = self.engine.lookups();
                if start.elapsed() >= limit {
                    break;
                }
            }
        }
        let time = start.elapsed();
        let now = self.engine.counts();
        let mut figures = Figures::default();
        figures.add(&Figures {
            queries,
            false_positives: now.misses - before.misses,
            engine_lookups: now.lookups - before.lookups,
            learning_lookups: now.scans - before.scans,
            seconds: time.saturating_sub(now.evicting - before.evicting).as_secs_f64(),
            ..Figures::default()
        });
        Ok(figures)
    }
}
