//! Membership filters you can trust under any workload.
mod bits;
mod mem;
mod table;
