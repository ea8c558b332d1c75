//! TLS, by BoringSSL.

mod compression;
pub(crate) mod context;
pub(crate) mod counts;
pub(crate) mod credentials;
pub(crate) mod settings;
pub(crate) mod stream;
