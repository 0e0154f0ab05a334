//! What the tests of all crates share, and nothing that a user needs.
//!
//! It does not know `twiceshy`, so that the unit tests of `twiceshy` can use it, too.
//!
//! | file | what it is for |
//! |---|---|
//! | `random.rs` | random numbers that are the same in every run, and mixers |
//! | `weak.rs` | hashes that are bad on purpose, so that rare states of a table are common |
//! | `multiset.rs` | the model of a filter that counts |
//! | `strings.rs` | the model of a filter whose fingerprints have different lengths |
//! | `tolerance.rs` | how far from its mean a count may be that chance decides |
//! | `walk.rs` | all sequences of operations, up to a depth |
//! | `effort.rs` | how long a test goes on, if somebody asks for more |
//! | `file.rs` | where the fields of a file are, as docs/format.md says and not as the library does |
//! | `golden.rs` | files that are never changed |
//! | `folder.rs` | a copy of a folder |

pub mod effort;
pub mod file;
mod folder;
pub mod golden;
mod multiset;
mod random;
mod strings;
pub mod tolerance;
mod walk;
pub mod weak;

pub use folder::copy_folder;
pub use multiset::Multiset;
pub use random::{Random, mix, scatter};
pub use strings::{BitString, Strings};
pub use walk::walk;
