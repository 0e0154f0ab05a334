//! The filter of a list as one that is kept, and that a store serves its keys with.

use twiceshy::adaptive::Record;
use twiceshy::list::{Answer, ListFilter};

use crate::durable::kept_by_hash;
use crate::settings::StoreKind;
use crate::shared::served;

// It sees which list a row is on.
kept_by_hash!(ListFilter, StoreKind::List, seeing Answer::Yes.row_value().len());

served! {
    impl [] for ListFilter, carrying u64;

    fn insert<'k>(_: &Self::Rows, hash: u64, key: &'k [u8]) -> Self::Insert<'k> {
        Self::Insert::filter_first(hash, key, 0)
    }

    fn separate_record(&self, _: u64, query: &[u8]) -> Option<Record> {
        self.separate_record(query)
    }

    fn may_have(&self, _: u64, key: &[u8]) -> bool {
        self.query(key).is_yes()
    }
}
