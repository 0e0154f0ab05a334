//! A store in the race, with the adversary who attacks it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use twiceshy::Hasher;
use twiceshy::hash::HashKey;
use twiceshy_store::engine::{Engine, FjallEngine, RedbEngine};
use twiceshy_store::files::Folder;
use twiceshy_store::{AdaptiveStore, Durability, EngineKind};

use super::dataset::AbsentKey;
use super::report::Figures;
use super::stream::Query;
use super::twin::{KeyValue, Twin, TwinFilter};
use super::watch::Watched;
use crate::interrupt;

/// An adversary notes no more than this.
const MOST_NOTED: usize = 10_000;
/// Queries between two looks at whether Ctrl-C was pressed.
const AT_ONCE: usize = 256;

/// What all contenders have in common.
pub(super) struct Course {
    pub(super) engine: EngineKind,
    pub(super) cache_bytes: u64,
    pub(super) rows: u64,
    pub(super) error_rate: f64,
    pub(super) hash_key: HashKey,
    pub(super) latency: Option<Duration>,
}

type WatchedEngine = Arc<Watched<Arc<dyn Engine>>>;

pub(super) struct Contender {
    store: Box<dyn KeyValue>,
    engine: WatchedEngine,
    /// What its adversary replays: keys that were slow although they are not there.
    noted: Vec<AbsentKey>,
    pub(super) load_time: Duration,
}

impl Contender {
    /// The store with this twin's filter, or the adaptive one, in a folder of its own.
    pub(super) fn open(course: &Course, twin: Option<TwinFilter>, folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let (rows, cache) = (folder.join("rows"), Some(course.cache_bytes));
        let engine: Arc<dyn Engine> = match course.engine {
            EngineKind::Fjall => Arc::new(FjallEngine::open(&rows, cache)?),
            EngineKind::Redb => Arc::new(RedbEngine::open(&rows, cache)?),
            other => bail!("the race does not know the engine {}: take fjall or redb", other.name()),
        };
        let engine = Arc::new(Watched::new(engine, course.latency));
        let (rate, key) = (course.error_rate, course.hash_key.clone());
        let store: Box<dyn KeyValue> = match twin {
            None => {
                let files = Folder::create(folder.join("filter"))?;
                let builder = AdaptiveStore::builder().error_rate(rate).durability(Durability::Relaxed);
                Box::new(builder.hasher(Hasher::keyed(key)).open_with(Arc::clone(&engine), files)?)
            }
            Some(twin) => Box::new(Twin::new(twin, engine.clone(), course.rows, rate, key)?),
        };
        Ok(Self { store, engine, noted: Vec::new(), load_time: Duration::ZERO })
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

    /// Asks for keys that are all absent, and has the adversary note those that the engine was asked for.
    pub(super) fn ask(&mut self, queries: &[Query]) -> anyhow::Result<Figures> {
        let mut replayed = 0;
        let keys: Vec<_> = queries
            .iter()
            .map(|query| match *query {
                Query::Replay(pick, _) if !self.noted.is_empty() => {
                    replayed += 1;
                    self.noted[(pick % self.noted.len() as u64) as usize]
                }
                Query::Key(key) | Query::Replay(_, key) => key,
            })
            .collect();
        let mut slow = Vec::new();
        let mut figures = self.measure(&keys, |contender, key| {
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
        figures.replayed = replayed;
        slow.truncate(MOST_NOTED - self.noted.len());
        self.noted.append(&mut slow);
        Ok(figures)
    }

    /// Asks for keys that are all present.
    pub(super) fn ask_present(&mut self, keys: &[Vec<u8>]) -> anyhow::Result<Figures> {
        self.measure(keys, |contender, key| {
            if contender.store.get(key)?.is_none() {
                bail!("the store {} has lost a key: {key:?}", contender.name());
            }
            Ok(())
        })
    }

    fn measure<K>(
        &self,
        keys: &[K],
        mut ask: impl FnMut(&Self, &K) -> anyhow::Result<()>,
    ) -> anyhow::Result<Figures> {
        let before = self.engine.counts();
        let start = Instant::now();
        for keys in keys.chunks(AT_ONCE) {
            interrupt::check()?;
            for key in keys {
                ask(self, key)?;
            }
        }
        let time = start.elapsed();
        let now = self.engine.counts();
        let mut figures = Figures::default();
        figures.add(&Figures {
            queries: keys.len() as u64,
            false_positives: now.misses - before.misses,
            engine_lookups: now.lookups - before.lookups,
            learning_lookups: now.scans - before.scans,
            seconds: time.as_secs_f64(),
            ..Figures::default()
        });
        Ok(figures)
    }
}
