//! Tests that measure: they run one at a time, and not while the other end-to-end tests do.

mod capacity;
mod self_check;
mod sweep;
mod threads;
mod verdict;

#[path = "../support/mod.rs"]
mod support;
