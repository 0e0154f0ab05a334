//! Adding, removing and moving keys: one by one, in the orders of `mod.rs`, and many at once, on a copy of the filter.

use std::collections::BTreeMap;

use twiceshy::Key;
use twiceshy::adaptive::Record;
use twiceshy::adaptive::protocol::{Bar, Insert};
use twiceshy::error::OnBothLists;
use twiceshy::list::{Answer, ListFilter};
use twiceshy::reverse_map::Row;

use super::{NO_KEYS, YesNoStore};
use crate::durable::{Entry, set_error};
use crate::engine::{Batch, Space};
use crate::error::StoreError;
use crate::rows::{AndPending, KeyRows, NewRow, Pending, head};
use crate::shared::Writer;
use crate::sync::Ordering;

/// What becomes of a key that is on the other list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// It moves.
    Moves,
    /// That is an error.
    Refused,
}

/// A key that is on another list, or on none, from now on.
struct Change<'k> {
    hash: u64,
    key: &'k [u8],
    from: Option<Answer>,
    to: Option<Answer>,
}

impl YesNoStore {
    /// Puts a key on the YES list. `false` if it was there already. If it is on the NO list, that is
    /// [an error](StoreError::OnBothLists), and nothing changes: see [`move_to_yes`](Self::move_to_yes).
    ///
    /// If the engine fails to write, nobody knows whether the key is there; any other error leaves everything as it was. The same
    /// holds for all that writes.
    pub fn add_yes<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        Ok(self.change(key, Some(Answer::Yes), Other::Refused)?.is_none())
    }

    /// Puts a key on the NO list. `false` if it was there already. If it is on the YES list, that is
    /// [an error](StoreError::OnBothLists), and nothing changes: see [`move_to_no`](Self::move_to_no).
    pub fn add_no<K: Key + ?Sized>(&self, key: &K) -> Result<bool, StoreError> {
        Ok(self.change(key, Some(Answer::No), Other::Refused)?.is_none())
    }

    /// Puts a key on the YES list, wherever it was, and tells where that is.
    pub fn move_to_yes<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Answer>, StoreError> {
        self.change(key, Some(Answer::Yes), Other::Moves)
    }

    /// Puts a key on the NO list, wherever it was, and tells where that is.
    pub fn move_to_no<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Answer>, StoreError> {
        self.change(key, Some(Answer::No), Other::Moves)
    }

    /// Removes a key from the list that it is on, and tells which that was; `None` if it was on neither.
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Answer>, StoreError> {
        self.change(key, None, Other::Moves)
    }

    /// Puts many keys on the YES list, all of them or none, and tells how many are new. One that is on the NO list is
    /// [an error](StoreError::OnBothLists).
    pub fn add_yes_batch<K: Key>(&self, keys: &[K]) -> Result<u64, StoreError> {
        self.change_all(keys.iter().map(|key| (key, Some(Answer::Yes))), Other::Refused)
    }

    /// Puts many keys on the NO list, all of them or none, and tells how many are new. One that is on the YES list is
    /// [an error](StoreError::OnBothLists).
    pub fn add_no_batch<K: Key>(&self, keys: &[K]) -> Result<u64, StoreError> {
        self.change_all(keys.iter().map(|key| (key, Some(Answer::No))), Other::Refused)
    }

    /// Puts many keys on one list or the other, or on none, wherever they were: all of them or none. Tells for how many that is a
    /// change. If a key comes twice, the last time counts.
    ///
    /// ```
    /// use twiceshy::list::Answer;
    /// use twiceshy_store::YesNoStore;
    ///
    /// let list = YesNoStore::builder().in_memory()?;
    /// list.add_yes_batch(&["ant", "bee"])?;
    /// let update = [("ant", Some(Answer::No)), ("bee", None), ("cow", Some(Answer::Yes))];
    /// assert_eq!(list.change_batch(&update)?, 3);
    /// assert_eq!(list.lookup("ant")?, Some(Answer::No));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn change_batch<K: Key>(&self, changes: &[(K, Option<Answer>)]) -> Result<u64, StoreError> {
        self.change_all(changes.iter().map(|(key, to)| (key, *to)), Other::Moves)
    }

    /// Puts a key on a list, or on none, and tells where it was.
    fn change<K: Key + ?Sized>(
        &self,
        key: &K,
        to: Option<Answer>,
        other: Other,
    ) -> Result<Option<Answer>, StoreError> {
        let key = key.key_bytes();
        let key = key.as_ref();
        let rows = &self.shared.durable.rows;
        rows.check(key, to.map_or(&[], Answer::row_value))?;
        let mut writer = self.shared.writer()?;
        let change = self.changes(&mut writer, [(rows.hash(key), key, to)], other)?.pop();
        let Some(change) = change else { return Ok(to) };
        let done = self.change_as_writer(&mut writer, &change);
        self.shared.end_writing(&writer);
        done.map(|()| change.from)
    }

    /// What changes by putting keys on lists, each of which comes once.
    fn changes<'k>(
        &self,
        writer: &mut Writer,
        keys: impl IntoIterator<Item = (u64, &'k [u8], Option<Answer>)>,
        other: Other,
    ) -> Result<Vec<Change<'k>>, StoreError> {
        self.resolve(writer)?;
        let mut changes = Vec::new();
        for (hash, key, to) in keys {
            let from = self.list_of(key)?;
            if from == to {
                continue;
            }
            if other == Other::Refused && from.is_some() {
                return Err(OnBothLists { key: key.to_vec() }.into());
            }
            changes.push(Change { hash, key, from, to });
        }
        Ok(changes)
    }

    /// One change, on the filter itself.
    fn change_as_writer(&self, writer: &mut Writer, change: &Change<'_>) -> Result<(), StoreError> {
        let (shared, &Change { hash, key, .. }) = (&self.shared, change);
        let never = |_: &mut Writer| Err(StoreError::damaged("the filter has asked for a row to be written"));
        match (change.from, change.to) {
            (_, Some(Answer::Yes)) => {
                shared.drive(writer, key, Insert::filter_first(hash, key, 0), never)?;
                self.write(writer, std::slice::from_ref(change))
            }
            (Some(Answer::Yes), Some(Answer::No)) => {
                let bar = Bar::map_first(Row { hash, key, value: Answer::No.row_value() });
                let write = |writer: &mut Writer| self.write(writer, std::slice::from_ref(change));
                shared.drive(writer, key, bar, write).map(drop)
            }
            (_, Some(Answer::No)) => {
                shared.drive(writer, key, Bar::filter_only(hash, key), never)?;
                self.write(writer, std::slice::from_ref(change))
            }
            (Some(Answer::Yes), None) => shared.remove_as_writer(writer, hash, key, key).map(drop),
            (_, None) => self.write(writer, std::slice::from_ref(change)),
        }
    }

    /// Puts keys on lists, or on none, all of them or none of them. Tells for how many that is a change.
    fn change_all<'k, K: Key + 'k>(
        &self,
        keys: impl Iterator<Item = (&'k K, Option<Answer>)>,
        other: Other,
    ) -> Result<u64, StoreError> {
        let keys: Vec<_> = keys.map(|(key, to)| (key.key_bytes(), to)).collect();
        let mut writer = self.shared.writer()?;
        let keys = keys.iter().map(|(key, to)| (key.as_ref(), *to));
        let done = self.change_all_as_writer(&mut writer, keys, other);
        self.shared.end_writing(&writer);
        done
    }

    pub(super) fn change_all_as_writer<'k>(
        &self,
        writer: &mut Writer,
        keys: impl Iterator<Item = (&'k [u8], Option<Answer>)>,
        other: Other,
    ) -> Result<u64, StoreError> {
        let rows = &self.shared.durable.rows;
        let mut last = BTreeMap::new();
        for (key, to) in keys {
            rows.check(key, to.map_or(&[], Answer::row_value))?;
            last.insert((rows.hash(key), key), to);
        }
        let keys = last.into_iter().map(|((hash, key), to)| (hash, key, to));
        let changes = self.changes(writer, keys, other)?;
        if changes.is_empty() {
            return Ok(0);
        }
        let changed = self.changed_filter(&changes)?;
        self.write(writer, &changes)?;
        self.shared.durable.exchange(changed)?;
        Ok(changes.len() as u64)
    }

    /// The filter after some changes, with the rows as they will be.
    fn changed_filter(&self, changes: &[Change<'_>]) -> Result<ListFilter, StoreError> {
        let durable = &self.shared.durable;
        let mut filter = durable.filter()?.try_clone()?;
        let pending =
            changes.iter().map(|change| (change.hash, change.key, change.to.map(Answer::row_value)));
        let pending = Pending::new(pending);
        let rows = AndPending { rows: &durable.rows, pending: &pending };
        let mut keys = filter.len();
        for &Change { hash, key, from, to } in changes {
            match to {
                Some(list) => filter.cover_with(Row { hash, key, value: list.row_value() }, &rows),
                None if from == Some(Answer::Yes) => filter.remove_with(key, &rows),
                None => Ok(()),
            }
            .map_err(set_error)?;
            keys = keys + u64::from(to == Some(Answer::Yes)) - u64::from(from == Some(Answer::Yes));
        }
        filter.set_len(keys);
        Ok(filter)
    }

    /// Writes the rows of some changes. If that fails, the keys are in doubt.
    fn write(&self, writer: &mut Writer, changes: &[Change<'_>]) -> Result<(), StoreError> {
        let durable = &self.shared.durable;
        let (mut batch, mut entry) = (Batch::new(), Entry::default());
        let (mut yes, mut no) = (writer.journal.keys(), self.no.load(Ordering::Relaxed));
        let no_before = no;
        for &Change { hash, key, from, to } in changes {
            match to {
                Some(list) => {
                    let value = list.row_value();
                    durable.rows.put(&mut batch, &NewRow { hash, key, row: key, value }, from.is_none());
                    entry.inserted.push(head(hash, false));
                }
                None => {
                    durable.rows.delete(&mut batch, hash, key)?;
                    // A NO key has nothing in the filter.
                    entry.others.extend((from == Some(Answer::Yes)).then_some(Record::Removed(hash)));
                }
            }
            for (list, keys) in [(Answer::Yes, &mut yes), (Answer::No, &mut no)] {
                *keys = (*keys + u64::from(to == Some(list))).saturating_sub(u64::from(from == Some(list)));
            }
        }
        if no != no_before {
            batch.put(Space::Meta, NO_KEYS.to_vec(), no.to_le_bytes().to_vec());
        }
        let written = durable.commit(&mut writer.journal, batch, entry, yes, durable.durability);
        if written.is_err() {
            writer.journal.in_doubt.extend(changes.iter().map(|change| change.key.to_vec()));
            self.in_doubt.store(true, Ordering::Relaxed);
            // If they cannot be read now, that is done later.
            let _ = self.resolve(writer);
            return written;
        }
        self.no.store(no, Ordering::Relaxed);
        Ok(())
    }

    /// Has the filter say of keys that are in doubt what their rows say.
    pub(super) fn resolve(&self, writer: &mut Writer) -> Result<(), StoreError> {
        self.shared.durable.resolve(&mut writer.journal)?;
        self.in_doubt.store(false, Ordering::Relaxed);
        Ok(())
    }
}
