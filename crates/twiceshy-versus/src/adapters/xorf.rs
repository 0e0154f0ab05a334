//! The binary fuse filters of the crate `xorf`: built once from all items and never changed. Their widths
//! of 8 and 16 bits enclose the error rate of the quotient filters.
//!
//! They take numbers of 64 bits, be they keys or hashes, and mix them themselves; so the raw rows pay for
//! that mixing too.

use ::xorf::{BinaryFuse8, BinaryFuse16, Filter as _};

use super::{Contender, Filter, Kind};
use crate::plan::{Hash, Plan};

pub(crate) struct Fuse8;
pub(crate) struct Fuse16;

impl Kind for Fuse8 {
    fn name(&self) -> &'static str {
        "xorf-fuse8"
    }

    fn about(&self) -> &'static str {
        "a binary fuse filter of 8 bits: static, error rate 0.4 %"
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["the constructor"]
    }

    fn build(&self, _plan: &Plan, _hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        Box::new(BinaryFuse8::try_from(items).expect("no item twice"))
    }
}

impl Kind for Fuse16 {
    fn name(&self) -> &'static str {
        "xorf-fuse16"
    }

    fn about(&self) -> &'static str {
        "a binary fuse filter of 16 bits: static, error rate 0.0015 %"
    }

    fn build_ways(&self) -> &'static [&'static str] {
        &["the constructor"]
    }

    fn build(&self, _plan: &Plan, _hash: Hash, _way: usize, items: Vec<u64>) -> Box<dyn Contender> {
        Box::new(BinaryFuse16::try_from(items).expect("no item twice"))
    }
}

macro_rules! static_filter {
    ($($name:ty),*) => {$(
        impl Filter for $name {
            fn insert(&mut self, _item: u64) {
                unreachable!("a static filter is never empty")
            }

            #[inline(always)]
            fn contains(&self, item: u64) -> bool {
                ::xorf::Filter::contains(self, &item)
            }

            fn bytes(&self) -> usize {
                self.len() * size_of_val(&self.fingerprints[0])
            }
        }
    )*};
}

static_filter!(BinaryFuse8, BinaryFuse16);
