//! HTTP/2 against a peer that keeps the rules, and against peers that break each of them.

mod common;
mod fuzz;
mod http2_cost;
mod http2_hostile;
mod http2_random;
mod http2_seeds;
mod http2_usual;
