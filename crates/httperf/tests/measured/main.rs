//! Tests of real runs whose figures a busy machine spoils. Those that need the machine to themselves run alone, the others
//! share it (`support/machine.rs`); the other end-to-end tests are a program of their own.

mod capacity;
mod self_check;
mod sweep;
mod threads;
mod verdict;

#[path = "../support/mod.rs"]
mod support;
