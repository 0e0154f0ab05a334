//! Lists through their public face: at size, in files, and files that must never change. First the dynamic ones, then the frozen
//! ones and their deltas.
#![allow(missing_docs, reason = "these are tests")]

mod file;
mod frozen;
mod frozen_files;
mod frozen_golden;
mod golden;
mod size;

use twiceshy::hash::HashKey;
use twiceshy::reverse_map::MemoryMap;
use twiceshy::{Hasher, YesNoList};

type List = YesNoList<MemoryMap>;

fn hasher() -> Hasher {
    Hasher::siphash(HashKey::from_bytes([7; 16]))
}

fn new_list() -> List {
    YesNoList::builder().error_rate(0.01).hasher(hasher()).build_list(MemoryMap::new()).unwrap()
}

fn bytes_of(list: &List) -> Vec<u8> {
    let mut bytes = Vec::new();
    list.write_to(&mut bytes).unwrap();
    bytes
}
