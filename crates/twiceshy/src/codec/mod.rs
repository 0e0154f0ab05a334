//! How one entry uses its slots. The table below moves slots, the filters above decide what to store.
//!
//! | codec | an entry is | for |
//! |---|---|---|
//! | [`counted`] | a remainder and how often it occurs, without extension bits | the quotient filter |
//! | [`stop`] | a string of bits of any length that fits a slot, ended by a stop bit | filters that grow |
//! | [`aged`] | such a string and how often it occurs: [`counted`] over [`stop`] | the expandable filter |
//! | [`boxes`] | a string and the suffixes of the keys that have it, with their counts, without extension bits | the range filter |
//! | [`string`] | a string of bits of any length, with a tag | the adaptive filter |

pub(crate) mod aged;
pub(crate) mod boxes;
pub(crate) mod counted;
mod fields;
pub(crate) mod stop;
pub(crate) mod string;
