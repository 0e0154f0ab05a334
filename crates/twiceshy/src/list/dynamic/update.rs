//! Adding, removing and moving keys.
//!
//! The map says which list a key is on, and is asked first. Then filter and map change in the order of the
//! [protocol](crate::filter::protocol): there is room; the row; the filter, which cannot fail then.

use super::YesNoList;
use crate::error::{OnBothLists, SetError};
use crate::filter::protocol::{Bar, Insert, Remove};
use crate::key::Key;
use crate::list::Answer;
use crate::reverse_map::{ReverseMap, Row};

impl<M: ReverseMap> YesNoList<M> {
    /// Puts a key on the YES list. `false` if it was there already. If it is on the NO list, that is
    /// [an error](SetError::OnBothLists), and nothing changes: see [`move_to_yes`](Self::move_to_yes).
    pub fn add_yes<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        self.add(key.key_bytes().as_ref(), Answer::Yes)
    }

    /// Puts a key on the NO list. `false` if it was there already. If it is on the YES list, that is
    /// [an error](SetError::OnBothLists), and nothing changes: see [`move_to_no`](Self::move_to_no).
    pub fn add_no<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool, SetError<M::Error>> {
        self.add(key.key_bytes().as_ref(), Answer::No)
    }

    /// Puts a key on the YES list, wherever it was, and tells where that is.
    pub fn move_to_yes<K: Key + ?Sized>(&mut self, key: &K) -> Result<Option<Answer>, SetError<M::Error>> {
        self.put(key.key_bytes().as_ref(), Answer::Yes)
    }

    /// Puts a key on the NO list, wherever it was, and tells where that is.
    pub fn move_to_no<K: Key + ?Sized>(&mut self, key: &K) -> Result<Option<Answer>, SetError<M::Error>> {
        self.put(key.key_bytes().as_ref(), Answer::No)
    }

    /// Removes a key from the list that it is on, and tells which that was; `None` if it was on neither.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<Option<Answer>, SetError<M::Error>> {
        let bytes = key.key_bytes();
        let was_on = self.list_of(bytes.as_ref()).map_err(SetError::Map)?;
        let Row { hash, key, .. } = self.row(bytes.as_ref(), Answer::No);
        match was_on {
            None => {}
            Some(Answer::Yes) if self.query(key).is_yes() => drop(self.drive(Remove::new(hash, key))?),
            // It takes nothing in the filter.
            Some(_) => drop(self.parts().1.remove(hash, key).map_err(SetError::Map)?),
        }
        Ok(was_on)
    }

    /// Puts a key on a list, unless it is on the other one. Tells whether it is new.
    fn add(&mut self, key: &[u8], list: Answer) -> Result<bool, SetError<M::Error>> {
        let was_on = self.list_of(key).map_err(SetError::Map)?;
        if was_on.is_some_and(|other| other != list) {
            return Err(OnBothLists { key: key.to_vec() }.into());
        }
        self.put_from(key, was_on, list)?;
        Ok(was_on.is_none())
    }

    /// Puts a key on a list, and tells where it was.
    fn put(&mut self, key: &[u8], list: Answer) -> Result<Option<Answer>, SetError<M::Error>> {
        let was_on = self.list_of(key).map_err(SetError::Map)?;
        self.put_from(key, was_on, list)?;
        Ok(was_on)
    }

    /// Puts a key on a list, given where it is.
    ///
    /// One that is there already may have got there by a write that failed, so the filter is asked nevertheless.
    fn put_from(
        &mut self,
        key: &[u8],
        is_on: Option<Answer>,
        list: Answer,
    ) -> Result<(), SetError<M::Error>> {
        let row = self.row(key, list);
        match (is_on, list) {
            (Some(Answer::Yes), Answer::Yes) if self.query(key).is_yes() => Ok(()),
            (Some(Answer::Yes), Answer::Yes) => self.drive(Insert::recovered(row, 0)).map(drop),
            (_, Answer::Yes) => self.drive(Insert::of_new(row, 0)).map(drop),
            (Some(Answer::No), Answer::No) => self.drive(Bar::filter_only(row.hash, key)).map(drop),
            (_, Answer::No) => self.drive(Bar::map_first(row)).map(drop),
        }
    }

    /// The row of a key on a list.
    fn row<'k>(&self, key: &'k [u8], list: Answer) -> Row<'k> {
        self.filter().reader.row(key, list)
    }
}
