//! For tests of engines and of what is built on stores. Only there with the feature `testing`, which is off by default:
//!
//! ```toml
//! [dev-dependencies]
//! twiceshy-store = { version = "0.1", features = ["testing"] }
//! ```
//!
//! | question | take |
//! |---|---|
//! | does an engine of my own do what a store asks of it? | [`conformance`] |
//! | what happens when the engine fails? | [`FaultyEngine`] in front of it |
//! | what is left after a power cut, or if a file is damaged? | [`MemoryFiles`] |

pub mod conformance;
mod faults;
mod files;

pub use faults::{Faults, FaultyEngine};
pub use files::MemoryFiles;
