//! Tests of stores through their public face.
#![allow(missing_docs, reason = "these are tests")]

mod common;
mod conformance;
mod crash;
mod keys;
mod model;
mod power_cut;
mod recovery;
mod threads;
