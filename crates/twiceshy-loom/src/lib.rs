//! Only tests: `tests/front.rs` compiles a file of the library with the atomics of a model checker. It is a crate of its own so
//! that nobody who builds the library builds the checker.
