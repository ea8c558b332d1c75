//! Loads that cannot be offered.

use thiserror::Error;

/// A load that cannot be offered. What a server does is never an error: failed calls are counted in the
/// [`Report`](crate::Report).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no URL of a server, or not one for what else was asked for.
    #[error("cannot use the URL `{url}`: {reason}")]
    Url {
        /// The text.
        url: String,
        /// The mistake in it.
        reason: String,
    },
    /// The name of the server has no address.
    #[error("cannot resolve `{host}`")]
    Unresolved {
        /// The name.
        host: String,
    },
    /// A method of [`Load`](crate::Load) was given what it cannot take, or was needed and not called.
    #[error("{method}: expected {expected}, got {given}")]
    Setting {
        /// The name of the method.
        method: &'static str,
        /// The values that it takes.
        expected: String,
        /// The value given.
        given: String,
    },
    /// The parts of the load contradict each other.
    #[error("a load that cannot be: {0}")]
    Contradiction(String),
    /// A run cannot be prepared: the system refuses what it needs, such as a socket, or the roots that were given to
    /// [`trust`](crate::Load::trust) are none.
    #[error("{0}")]
    System(#[source] Box<dyn std::error::Error + Send + Sync>),
}
