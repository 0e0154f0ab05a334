//! A store in the race, with the adversary who attacks it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};
use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, Durability, EngineKind, OrderedStore};

use super::cold::Files;
use super::dataset::AbsentQuery;
use super::filters::{Built, Plan, TwinFilter};
use super::options::Discipline;
use super::report::Figures;
use super::stream::Query;
use super::twin::{KeyValue, Rows, Twin};
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
    pub(super) discipline: Discipline,
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
    name: &'static str,
    store: Box<dyn KeyValue>,
    engine: Arc<Watched>,
    folder: PathBuf,
    /// What its adversary replays: queries that were slow although there is nothing.
    noted: Vec<AbsentQuery>,
    pub(super) load_time: Duration,
}

impl Contender {
    /// The adaptive store, in a folder of its own.
    pub(super) fn adaptive(course: &Course, folder: PathBuf) -> anyhow::Result<Self> {
        let (engine, hasher) = (course.make_engine(&folder)?, Hasher::keyed(course.hash_key.clone()));
        let (rate, files) = (course.error_rate, Folder::create(folder.join("filter"))?);
        let store: Box<dyn KeyValue> = match course.discipline {
            Discipline::Keys => {
                let builder = AdaptiveStore::builder().error_rate(rate).durability(Durability::Relaxed);
                Box::new(builder.hasher(hasher).open_with(Arc::clone(&engine), files)?)
            }
            Discipline::Ranges { max_range } => {
                let builder = OrderedStore::<u64>::builder().error_rate(rate).durability(Durability::Relaxed);
                let builder = builder.hasher(hasher).max_range(max_range);
                Box::new(builder.open_with(Arc::clone(&engine), files)?)
            }
        };
        Ok(Self::new("adaptive", store, engine, folder))
    }

    /// A store with another filter, or with none, for so many different keys.
    pub(super) fn twin(
        course: &Course,
        (kind, built): (TwinFilter, Built),
        keys: u64,
        folder: PathBuf,
    ) -> anyhow::Result<Self> {
        let (engine, hasher) = (course.make_engine(&folder)?, Hasher::keyed(course.hash_key.clone()));
        let (max_range, rows) = match course.discipline {
            Discipline::Keys => (1, Rows::ByHash(hasher.clone())),
            Discipline::Ranges { max_range } => (max_range, Rows::ByKey),
        };
        let plan = Plan { keys, built, hasher, max_range };
        let store = Twin::new(kind, &plan, engine.clone(), rows)?;
        Ok(Self::new(kind.name(), Box::new(store), engine, folder))
    }

    fn new(name: &'static str, store: Box<dyn KeyValue>, engine: Arc<Watched>, folder: PathBuf) -> Self {
        Self { name, store, engine, folder, noted: Vec::new(), load_time: Duration::ZERO }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
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

    /// Asks for what is not there, until the time is over if there is a limit, and has the adversary note what the engine was
    /// asked for.
    pub(super) fn ask(&mut self, queries: &[Query], limit: Option<Duration>) -> anyhow::Result<Figures> {
        let queries: Vec<_> = queries
            .iter()
            .map(|query| match *query {
                Query::Replay(pick, _) if !self.noted.is_empty() => {
                    (self.noted[(pick % self.noted.len() as u64) as usize], true)
                }
                Query::New(query) | Query::Replay(_, query) => (query, false),
            })
            .collect();
        let mut slow = Vec::new();
        let mut figures = self.measure(&queries, limit, |contender, (query, _)| {
            let before = contender.engine.lookups();
            if contender.store.has(query)? {
                bail!("the store {} has a key that was never inserted: {query:?}", contender.name());
            }
            if contender.engine.lookups() > before {
                slow.push(*query);
                // What it learns counts as its own time, and the next query finds it learned.
                contender.store.settle();
            }
            Ok(())
        })?;
        let asked = &queries[..figures.queries as usize];
        figures.replayed = asked.iter().filter(|(_, is_replayed)| *is_replayed).count() as u64;
        slow.truncate(MOST_NOTED - self.noted.len());
        self.noted.append(&mut slow);
        Ok(figures)
    }

    /// Asks for what is there.
    pub(super) fn ask_present(&mut self, queries: &[Vec<u8>]) -> anyhow::Result<Figures> {
        self.measure(queries, None, |contender, query| {
            if !contender.store.has(query)? {
                bail!("the store {} has lost a key: {query:?}", contender.name());
            }
            Ok(())
        })
    }

    /// Only lookups take long: time is looked at after them.
    fn measure<Q>(
        &self,
        all: &[Q],
        limit: Option<Duration>,
        mut ask: impl FnMut(&Self, &Q) -> anyhow::Result<()>,
    ) -> anyhow::Result<Figures> {
        let before = self.engine.counts();
        let (mut queries, mut lookups) = (0, before.lookups);
        let start = Instant::now();
        for query in all {
            if queries % AT_ONCE == 0 {
                interrupt::check()?;
            }
            self.engine.begin_query();
            ask(self, query)?;
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
            learning_lookups: now.others - before.others,
            seconds: time.saturating_sub(now.evicting - before.evicting).as_secs_f64(),
            ..Figures::default()
        });
        Ok(figures)
    }
}
