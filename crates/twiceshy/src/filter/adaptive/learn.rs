//! Learning from mistakes, and removing keys, whose map is the caller's business.

use super::{Adapted, AdaptiveFilter, Ticket};
use crate::error::{AdaptError, SetError, Stale};
#[cfg(test)]
use crate::filter::protocol::Reader;
use crate::filter::protocol::{Adapt, Raw, ReadOnly, Remove, adapt_by_rows, drive};
use crate::key::Key;
use crate::reverse_map::{Lookup, Row, Rows};

impl AdaptiveFilter {
    /// Learns that the filter's *maybe* to a key was wrong, if the database says so too: it is asked for the keys under the
    /// fingerprint that the key has met. An error changes nothing.
    pub fn adapt_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<Adapted, SetError<L::Error>> {
        let bytes = key.key_bytes();
        let adapt = Adapt::new(self.reader.hash_bytes(bytes.as_ref()), bytes.as_ref());
        drive(self, &mut ReadOnly(database), adapt)
    }

    /// Removes a key whose row has been removed from the database; call this afterwards. An error changes nothing.
    ///
    /// The filter believes that the key was there: to remove another one makes [`len`](Self::len) wrong, but no key is lost.
    pub fn remove_with<K: Key + ?Sized, L: Lookup + ?Sized>(
        &mut self,
        key: &K,
        database: &L,
    ) -> Result<(), SetError<L::Error>> {
        let bytes = key.key_bytes();
        let remove = Remove::after_its_row(self.reader.hash_bytes(bytes.as_ref()), bytes.as_ref());
        drive(self, &mut ReadOnly(database), remove).map(drop)
    }

    /// Learns that a query was a false positive: `key` is not in the set although a fingerprint covers it.
    ///
    /// `rows` are all rows in the set whose hashes begin with the ticket's prefix; others are ignored. The
    /// fingerprint is replaced by longer ones that cover the keys and not the query. An error changes
    /// nothing; [`NeedsGrow`](AdaptError::NeedsGrow) asks for [`grow`](Self::grow).
    pub fn adapt<K: Key + ?Sized>(
        &mut self,
        ticket: &Ticket,
        key: &K,
        rows: &Rows,
    ) -> Result<Adapted, AdaptError> {
        let bytes = key.key_bytes();
        let query = Row { hash: self.reader.hash_bytes(bytes.as_ref()), key: bytes.as_ref(), value: &[] };
        adapt_by_rows(&mut self.core, &self.reader, ticket, query, rows)
    }

    /// [`adapt`](Self::adapt) for callers who hash themselves; see
    /// [`contains_hash`](Self::contains_hash).
    pub fn adapt_hash(&mut self, ticket: &Ticket, hash: u64, rows: &Rows) -> Result<Adapted, AdaptError> {
        adapt_by_rows(&mut self.core, &Raw(&self.reader), ticket, Row { hash, key: &[], value: &[] }, rows)
    }

    /// Parts the keys under a fingerprint from a string that they are not to be mistaken for: what
    /// [`adapt`](Self::adapt) does, for the recovery from a [journal](super::Record). Keys that begin with
    /// the whole string are taken to be the query itself and stay as they are.
    #[cfg(test)]
    pub(super) fn separate(
        &mut self,
        ticket: &Ticket,
        apart: &crate::Prefix,
        rows: &Rows,
    ) -> Result<Adapted, AdaptError> {
        let neighbours = self.reader.neighbours(ticket.fingerprint(), rows);
        self.core.separate(ticket, apart, neighbours)
    }

    /// Removes a key that is under the ticket's fingerprint. Remove it from your map first, and tell whether
    /// other keys are left under the fingerprint: it goes with the last one.
    ///
    /// ```
    /// use twiceshy::adaptive::Query;
    /// use twiceshy::AdaptiveFilter;
    ///
    /// let mut filter = AdaptiveFilter::new(1e-9)?;
    /// let _ = filter.insert("ant")?;
    /// let Query::Maybe(ticket) = filter.query("ant") else { unreachable!() };
    /// filter.remove(&ticket, false)?;
    /// assert!(!filter.contains("ant"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&mut self, ticket: &Ticket, others_remain: bool) -> Result<(), Stale> {
        self.core.remove(ticket, others_remain.then_some(&ticket.value))
    }
}
