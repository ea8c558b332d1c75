//! Whole workers against servers in memory, on a virtual clock.

mod accounts;
mod allocations;
mod allocations_http3;
mod causes;
mod expanding;
mod grpc;
mod hostile;
mod http2;
mod http3;
mod late;
mod load;
mod proxied;
mod random_scenarios;
mod receive;
mod replays;
mod review;
mod scenarios;
mod simulation;
mod strangers;
mod streams;
mod threads;
mod tls;
mod websockets;
