//! Whole workers against servers in memory, on a virtual clock.

mod accounts;
mod allocations;
mod hostile;
mod http2;
mod load;
mod proxied;
mod receive;
mod review;
mod simulation;
mod strangers;
mod threads;
mod tls;
