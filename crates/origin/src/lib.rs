//! The embedded test server behind `httperf serve`: an origin for HTTP/1.1, HTTP/2 and HTTP/3 that is as quick, as slow or
//! as faulty as its [`Config`] says, and that counts what it did so that both ends of a run can be compared.
//!
//! One thread does everything. hyper writes well-formed replies. It rightly refuses to write malformed ones, so those
//! are written by hand once the socket has been taken back from it (`http1/takeover.rs`). The h2 crate speaks HTTP/2
//! (`http2`), the h3 crate HTTP/3 over quinn (`http3`); their requests are answered by the same rules (`reply.rs`). TLS,
//! where the [`Config`] asks for it, belongs to the socket below all that (`tls`); over QUIC, rustls does it. Nothing here knows about options or terminals, which are the program's business.
//!
//! # Layers
//!
//! No two files import each other. From the bottom up: values and their text (`text`, `delay`, `fault`, `settings` of
//! TLS, HTTP/2 and HTTP/3, `config`), counts, the state that connections share (`shared`), the state of one (`link`), sockets
//! (`transport`, `tls`, `socket`, `wire`), streams of events (`stream`), calls of gRPC (`grpc`), replies (`content`, `openai`, `route`, `intake`, `body`,
//! `reply`), the protocols (`http3`,
//! `http2`, `http1`), `connection`, `server`.
//!
//! # Paths
//!
//! A path made of the steps below determines its reply; steps add up, as in `/status/503/size/100`. Any other path gets
//! the reply that the [`Config`] describes.
//!
//! Calls of gRPC have paths of their own: `httperf.Test` (`grpc/test.proto`), health and reflection.
//!
//! | step | the reply |
//! |---|---|
//! | `/size/N` | has a body of N bytes; `k`, `m`, `g` count in 1024s |
//! | `/delay/T` | comes after T, in any form that [`Delay`] reads |
//! | `/status/N` | has status N |
//! | `/chunked/N` | is chunked, N bytes in all |
//! | `/trailers/N` | is chunked, N bytes in all, and ends with a `Server-Checksum` trailer |
//! | `/fault/KIND` | goes wrong as [`Fault`] KIND describes |
//! | `/cookie` | sets two cookies and shows those received |
//! | `/page/N` | is an HTML page with N images |
//! | `/redirect` | redirects to `/` |
//! | `/alt-svc/VALUE` | has this `Alt-Svc` field, percent-encoded, in place of that about HTTP/3 |
//! | `/sse/N` | is a stream of N server-sent events |
//! | `/first/T`, `/gap/T` | has its first event T after the header; has gaps of T between events, drawn anew for each |
//! | `/together/N` | has N events in each write |
//! | `/cut/N` | breaks off after N events |
//! | `/v1/…` | is that of OpenAI's API, which the rest of the path names |
//! | `/h2-window/N` | goes with a change of the initial window of the connection's streams, to N bytes |

mod body;
mod bucket;
mod config;
mod connection;
mod content;
mod counts;
mod delay;
mod fault;
mod grpc;
mod http1;
mod http2;
mod http3;
mod intake;
mod limits;
mod link;
mod openai;
mod reply;
mod route;
mod server;
mod shared;
mod socket;
mod stamps;
mod stream;
mod text;
mod timer;
mod tls;
mod transport;
mod websocket;
mod wire;

pub use bucket::{Bucket, QueueFull, ServerCapacity};
pub use config::{CloseAfter, Config, Framing, ListenAddress, Location, StatusMix};
pub use counts::Counts;
pub use delay::Delay;
pub use fault::{Fault, FaultMix, FaultShare, TooManyFaults};
pub use http2::settings::Http2;
pub use http3::settings::Http3;
pub use http3::tls::{UnfitForHttp3, fits_http3};
pub use limits::{Limits, raise_descriptor_limit};
pub use server::{Handle, Server, Stopper, spawn};
pub use stamps::Stamp;
pub use stream::settings::{Probability, Streams};
pub use text::{Malformed, parse_duration, parse_rate, parse_size};
pub use tls::counts::TlsCounts;
pub use tls::credentials::{BadCredentials, Credentials, KeyType};
pub use tls::settings::{
    Ciphers, ClientCertificate, Groups, Tickets, Tls, Versions, parse_certificate_compression,
    parse_tls_version,
};
