//! The dynamic list: an adaptive set that is told of its mistakes before it makes them.
//!
//! # The idea
//!
//! The YES keys are the keys of an [adaptive filter](crate::filter::adaptive), and a key is answered *yes* if a fingerprint
//! is a prefix of its hash. The NO keys take nothing in the filter. They lie in the same [map](crate::reverse_map) as
//! the YES keys, in the order of their hashes, and every row says which list its key is on. One more invariant makes the
//! list what it is: **no fingerprint is a prefix of the hash of a NO key.**
//!
//! A mistake that was fixed stays fixed as long as the same keys are there, but a YES key that comes later may collide with a
//! NO key that was there first. So whoever makes a fingerprint looks for the NO keys under it and cuts past them, in the
//! same plan:
//!
//! | what happens | which fingerprints are new | who looks |
//! |---|---|---|
//! | a YES key comes that none covers; one moves to the YES list | one | [`Insert`](crate::adaptive::protocol::Insert): a scan of the map under it |
//! | a YES key comes that one covers | none | nobody: it is a prefix of no NO key already |
//! | a NO key comes; one moves to the NO list | those of the keys that it is mistaken for, longer than before | [`Bar`](crate::adaptive::protocol::Bar): as learning from a mistake, with this key as the query |
//! | a mistake about another key is fixed | the same | nobody: what a NO key does not begin with, it does not begin with when it is longer |
//! | the table grows, and fingerprints without a bit left get fresh length | longer ones | nobody, for the same reason |
//! | merge, rejuvenation, recovery, bulk load | all | the [rebuild](crate::filter::core::Filling): YES and NO keys come in one pass in the order of their hashes |
//! | a journal is replayed | those of keys that came since | `Insert` and `Bar`, as above, with the map of now |
//!
//! All that is here is a [`Lists`] reader, which knows the one kind of row from the other, and the operations as users meet them.
//! Everything else is the adaptive set.
//!
//! | file | what it does |
//! |---|---|
//! | `reader.rs` | which list a row is on |
//! | `builder.rs` | size and error rate; a list of two iterators |
//! | `query.rs`, `update.rs` | asking and learning; adding, removing, moving |
//! | `stats.rs` | what it knows of itself |
//! | `persist.rs` | files |
//!
//! # Cost
//!
//! A query is that of an adaptive filter: one or two cache lines. A YES key takes `(r + 3.125) / load` bits in the filter,
//! and a slot more if it had to be told from a NO key; a NO key takes none. Both take a row in the map, with a byte more for a YES
//! key. A YES key that no fingerprint covers costs a scan of the map, which nearly always finds nothing; a NO
//! key costs a query of the filter, and a scan if that says *yes*.
//!
//! # Source
//!
//! Section 4.3 of *Adaptive Quotient Filters*. We deviate: the paper stores both lists in the filter, with a bit in
//! every slot that says which list a fingerprint is from. Here NO keys are in the map only, which has to have them anyway
//! to tell them apart, so that a NO list that is 64 times as long as the YES list does not take 64 times the memory.
//! In return a new YES key looks into the map.

mod builder;
mod persist;
mod query;
mod reader;
mod stats;
#[cfg(test)]
mod tests;
mod update;

pub use builder::Builder;
pub use persist::View;
pub use query::ListFilter;
pub use reader::Lists;
pub use stats::ListStats;

use crate::filter::adaptive::Set;

/// A YES list and a NO list that change at any time: every key on the YES list is answered *yes*, every key on the NO list is
/// answered *no*, always, and any other key is answered *yes* with at most the error rate that was chosen.
///
/// ```
/// use twiceshy::list::Answer;
/// use twiceshy::reverse_map::MemoryMap;
/// use twiceshy::YesNoList;
///
/// let mut blocked = YesNoList::builder().error_rate(0.01).build_list(MemoryMap::new())?;
/// blocked.add_yes("evil.example")?;
/// blocked.add_no("vote.example")?;
/// assert_eq!(blocked.query("evil.example"), Answer::Yes);
/// assert_eq!(blocked.query("vote.example"), Answer::No);
///
/// // A million keys more change nothing about that.
/// for number in 0..10_000u32 {
///     blocked.add_yes(&format!("{number}.evil.example"))?;
///     assert_eq!(blocked.query("vote.example"), Answer::No);
/// }
///
/// // A key on both lists is an error, unless it is moved.
/// assert!(blocked.add_no("evil.example").is_err());
/// assert_eq!(blocked.move_to_no("evil.example")?, Some(Answer::Yes));
/// assert_eq!(blocked.query("evil.example"), Answer::No);
///
/// // With the keys: which list a key is on, if any.
/// assert_eq!(blocked.lookup("evil.example")?, Some(Answer::No));
/// assert_eq!(blocked.lookup("other.example")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is an [adaptive set](crate::AdaptiveSet) of the YES keys, and its [map](crate::ReverseMap) has the NO keys, too. A key that is
/// on neither list and was answered *yes* is a mistake, which is fixed as in any adaptive set: report it with
/// [`adapt`](Self::adapt), or ask with [`query_exactly`](Self::query_exactly).
///
/// What was learned stays learned: a NO key that was removed, and a mistake that was fixed, leave fingerprints as long as they made
/// them.
///
/// An error leaves list and map as they were; what a map did before it failed, only it knows, and to do the same
/// again puts it right.
///
/// To put a map of your own behind it: an empty value in a row says NO, a single byte 1 YES.
pub type YesNoList<M> = Set<Lists, M>;
