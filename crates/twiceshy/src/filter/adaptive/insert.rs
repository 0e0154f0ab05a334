//! Inserting keys, or hashes, whose map is the caller's business.

use super::{AdaptiveFilter, Insertion, Ticket};
use crate::error::{AdaptError, InsertError, SetError, Stale};
use crate::filter::core::InsertAtGlance;
use crate::filter::protocol::{Insert, ReadOnly, drive, part_by_rows};
use crate::hash::{KeyWords, RawKeyWords, Words, tried};
use crate::key::Key;
use crate::reverse_map::{Lookup, Row, Rows};

impl AdaptiveFilter {
    /// Inserts a key that is about to be stored in a database; call this first. `true` if the key is not there yet.
    ///
    /// The database is asked only if a fingerprint covers the key already, and for those few fingerprints that run out of
    /// bits if the filter grows. An error changes nothing.
    pub fn insert_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<bool, SetError<L::Error>> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        let insert = Insert::filter_first(self.reader.hash_bytes(bytes), bytes, 0);
        drive(self, &mut ReadOnly(database), insert)
    }

    /// Inserts a key, unless a fingerprint covers it already.
    ///
    /// An error changes nothing. [`NeedsGrow`](InsertError::NeedsGrow) asks for [`grow`](Self::grow).
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Insertion, InsertError> {
        self.insert_tagged(key, 0)
    }

    /// [`insert`](Self::insert) with a tag: a small number that [`tag`](Self::tag) tells for this key, and for
    /// any key that is mistaken for it. The tag 0 costs nothing, others a slot or more.
    #[inline]
    pub fn insert_tagged<K: Key + ?Sized>(&mut self, key: &K, tag: u64) -> Result<Insertion, InsertError> {
        let own = self.core.at_glance(&tag);
        let (may_try, own) = (own.is_some(), own.unwrap_or(0));
        let (hash, inserted) = tried(may_try, &mut *self, key, move |filter, first_word| InsertAtGlance {
            core: &mut filter.core,
            first_word,
            own,
        });
        if inserted {
            self.core.stored(hash);
            return Ok(Insertion::Stored);
        }
        let insertion = self.core.insert(&KeyWords::with_first(&self.reader, &key, hash), &tag, 0)?;
        Ok(self.inserted(insertion))
    }

    /// [`insert`](Self::insert) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    #[inline]
    pub fn insert_hash(&mut self, hash: u64) -> Result<Insertion, InsertError> {
        let words = RawKeyWords::new(&self.reader, hash);
        if self.core.insert_at_glance(words.word(0), &0) {
            return Ok(Insertion::Stored);
        }
        let insertion = self.core.insert(&words, &0, 0)?;
        Ok(self.inserted(insertion))
    }

    /// Counts a key that is under an existing fingerprint: call it when [`insert`](Self::insert) said
    /// [`Covered`](Insertion::Covered) and the key was new to your map.
    ///
    /// The ticket is not stale just because other keys came or went; it is if its fingerprint is not there
    /// any more, or has another tag. Then insert again.
    pub fn insert_covered(&mut self, ticket: &Ticket) -> Result<(), Stale> {
        self.core.insert_covered(ticket)
    }

    /// Inserts a key that the ticket's fingerprint covers under a fingerprint of its own, with another tag:
    /// call it when [`insert_tagged`](Self::insert_tagged) said
    /// [`Covered`](Insertion::Covered) and the tags differ.
    ///
    /// `rows` are all rows under the ticket's prefix. They keep its tag, but for the key itself, if it is among them.
    pub fn insert_apart<K: Key + ?Sized>(
        &mut self,
        ticket: &Ticket,
        key: &K,
        tag: u64,
        rows: &Rows,
    ) -> Result<(), AdaptError> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        let row = Row { hash: self.reader.hash_bytes(bytes), key: bytes, value: &[] };
        let (parted, is_new) = part_by_rows(&self.core, &self.reader, ticket, row, tag, rows)?;
        self.core.replace(&parted)?;
        self.core.set_len(self.core.len() + u64::from(is_new));
        Ok(())
    }
}
