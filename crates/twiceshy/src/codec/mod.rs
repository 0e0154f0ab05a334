//! How one entry uses its slots. The table below moves slots, the filters above decide what to store.
//!
//! | codec | an entry is | for |
//! |---|---|---|
//! | [`counted`] | a remainder and how often it occurs, without extension bits | the quotient filter |
//! | [`stop`] | a string of bits of any length that fits a slot, ended by a stop bit | filters that grow |

pub(crate) mod counted;
#[cfg_attr(not(test), expect(dead_code, reason = "the filters that grow come next"))]
pub(crate) mod stop;
