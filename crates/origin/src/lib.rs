//! The embedded test server behind `httperf serve`: an origin for HTTP/1.1 and HTTP/2 that is as quick, as slow or
//! as faulty as its [`Config`] says, and that counts what it did so that both ends of a run can be compared.
//!
//! One thread does everything. Well-formed replies are hyper's work; the malformed ones, which hyper rightly
//! refuses to write, are written by hand after taking the socket back from it (`takeover.rs` says how).
//! HTTP/2 is the h2 crate's work (`http2`), and its requests are answered by the same rules (`reply.rs`).
//! TLS, where the [`Config`] asks for it, is a matter of the socket below all that (`tls`).
//! Nothing here knows about options or terminals: that is the program's business.
//!
//! # What a request asks for
//!
//! A path made of the steps below is obeyed; steps add up, as in `/status/503/size/100`. Any other path gets
//! the reply that the [`Config`] describes.
//!
//! | step | the reply |
//! |---|---|
//! | `/size/N` | has a body of N bytes; `k`, `m`, `g` count in 1024s |
//! | `/delay/T` | waits for T, in any form that [`Delay`] reads |
//! | `/status/N` | has status N |
//! | `/chunked/N` | is chunked, N bytes in all |
//! | `/trailers/N` | is chunked, N bytes in all, and ends with a `Server-Checksum` trailer |
//! | `/fault/KIND` | goes wrong in the way that [`Fault`] KIND says |
//! | `/cookie` | sets two cookies and shows those that came |
//! | `/page/N` | is an HTML page with N images |
//! | `/redirect` | sends the client to `/` |
//! | `/h2-window/N` | goes with a change of the window that streams of its connection have for request bodies: N bytes from now on |

mod body;
mod bucket;
mod config;
mod connection;
mod content;
mod counts;
mod delay;
mod fault;
mod http1;
mod http2;
mod limits;
mod link;
mod reply;
mod route;
mod server;
mod shared;
mod socket;
mod stamps;
mod text;
mod timer;
mod tls;
mod transport;
mod wire;

pub use bucket::{Bucket, Capacity, QueueFull};
pub use config::{CloseAfter, Config, Framing, ListenAddress, Location, StatusMix};
pub use counts::Counts;
pub use delay::Delay;
pub use fault::{Fault, FaultMix, FaultShare, TooManyFaults};
pub use http2::settings::Http2;
pub use limits::{Limits, raise_descriptor_limit};
pub use server::{Handle, Server, Stopper, spawn};
pub use stamps::Stamp;
pub use text::{Malformed, parse_duration, parse_rate, parse_size};
pub use tls::counts::TlsCounts;
pub use tls::credentials::{BadCredentials, Credentials, KeyType};
pub use tls::settings::{
    Ciphers, ClientCertificate, Groups, Tickets, Tls, Versions, parse_certificate_compression,
    parse_tls_version,
};
