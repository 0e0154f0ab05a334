//! How one entry uses its slots. The table below moves slots, the filters above decide what to store.
//!
//! | codec | an entry is | for |
//! |---|---|---|
//! | [`counted`] | a remainder and how often it occurs, without extension bits | the quotient filter |

pub(crate) mod counted;
