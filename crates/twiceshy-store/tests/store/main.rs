//! Tests of stores through their public face.
#![allow(missing_docs, reason = "these are tests")]
#![allow(clippy::print_stdout, reason = "they say what they counted")]

mod attack;
mod bounds;
mod common;
mod conformance;
mod copies;
mod crash;
mod cycles;
mod disk;
mod errors;
mod hooked;
mod keys;
mod lists;
mod log;
mod merge;
mod model;
mod ordered;
mod power_cut;
mod range_lessons;
mod readme;
mod recovery;
mod split;
mod tested;
mod threads;
