//! TLS 1.0 to 1.3, the client's side, on BoringSSL: bytes in, bytes out.
//!
//! A [`Context`] holds what all connections of a worker share. A [`Client`] is the TLS of one connection. It
//! has no socket and no buffer: every call borrows the worker's [`Lane`], which holds the bytes that arrived
//! and collects those to be sent. So an idle connection costs what BoringSSL keeps for it, and no more.
//!
//! ```text
//!                 ┌─────────────── Lane ───────────────┐
//!   socket ──────►│ incoming ─► Client ─► plaintext    │─► http1
//!   socket ◄──────│ outgoing ◄─ Client ◄─ plaintext    │◄─ http1
//!                 └────────────────────────────────────┘
//! ```

mod certificate;
mod client;
mod compression;
mod context;
mod error;
mod groups;
mod lane;

#[cfg(test)]
mod tests;

pub use self::certificate::Certificate;
pub use self::client::{Client, EarlyData, Handshake, Kind, Progress, Read};
pub use self::context::{
    CipherList, Context, Identity, KeyLog, Options, Version, are_certificates, cipher_list,
};
pub(crate) use self::error::alert_name;
pub use self::error::{ConfigError, Failure, FailureKind};
pub use self::groups::{ABSENT_GROUPS, DEFAULT_GROUPS, GROUPS, Group, SERVERS};
pub use self::lane::Lane;
pub use httperf_sys::tls::Session;
