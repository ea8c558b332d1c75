//! The embedded server as clients of other makes and of our own see it.

mod behaviour;
mod client;
mod faults;
mod grpc;
mod http2;
mod http2_clients;
mod http3;
mod http3_clients;
mod openai;
mod streams;
mod tls;
