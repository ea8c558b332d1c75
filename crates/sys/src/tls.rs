//! Calls of BoringSSL that `boring` leaves out or marks unsafe: resumption, early data, signatures without a digest.

use std::ffi::{CStr, c_char};
use std::fmt;

use boring::error::ErrorStack;
use boring::pkey::{PKeyRef, Private};
use boring::ssl::{SslContext, SslContextBuilder, SslRef, SslSession};
use boring::x509::{X509, X509Builder};
use foreign_types::{ForeignType, ForeignTypeRef};

/// A TLS session that a later connection may offer to resume, with the context it belongs to.
#[derive(Clone)]
pub struct Session {
    session: SslSession,
    context: SslContext,
}

impl Session {
    /// Wraps a session that `ssl` has just established.
    #[must_use]
    pub fn new(session: SslSession, ssl: &SslRef) -> Self {
        Self { session, context: ssl.ssl_context().to_owned() }
    }

    /// Makes `ssl` offer this session. Returns false, without effect, if the session is from another context or the
    /// handshake of `ssl` has begun.
    pub fn offer(&self, ssl: &mut SslRef) -> bool {
        let is_fresh = !ssl.is_init_finished() && ssl.session().is_none();
        if !is_fresh || ssl.ssl_context().as_ptr() != self.context.as_ptr() {
            return false;
        }
        // SAFETY: the session belongs to the context of `ssl`, as was just checked.
        unsafe { ssl.set_session(&self.session) }.is_ok()
    }

    /// Returns true if a connection that resumes this session may send early data.
    #[must_use]
    pub fn allows_early_data(&self) -> bool {
        // SAFETY: the pointer is that of a living session, which the call only reads.
        unsafe { boring_sys::SSL_SESSION_early_data_capable(self.session.as_ptr()) != 0 }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// Allows early data (RFC 8446, section 2.3): a client sends it if the resumed session allows it, a server accepts it and
/// announces that in its tickets.
pub fn enable_early_data(context: &mut SslContextBuilder) {
    // SAFETY: the pointer is that of a living context, which nobody else uses while it is being built.
    unsafe { boring_sys::SSL_CTX_set_early_data_enabled(context.as_ptr(), 1) }
}

/// Returns true if the handshake of `ssl` is under way and has come far enough for early data.
#[must_use]
pub fn in_early_data(ssl: &SslRef) -> bool {
    // SAFETY: the pointer is that of a living connection, which the call only reads.
    unsafe { boring_sys::SSL_in_early_data(ssl.as_ptr()) != 0 }
}

/// Returns true if the server's side of `ssl` accepted early data.
#[must_use]
pub fn early_data_accepted(ssl: &SslRef) -> bool {
    // SAFETY: the pointer is that of a living connection, which the call only reads.
    unsafe { boring_sys::SSL_early_data_accepted(ssl.as_ptr()) != 0 }
}

/// The error code (`SSL_get_error`) of calls after the server has refused early data.
pub const EARLY_DATA_REJECTED: i32 = boring_sys::SSL_ERROR_EARLY_DATA_REJECTED;

/// Lets a client whose early data was refused continue the handshake. Returns false if there was no such refusal.
pub fn reset_early_data_reject(ssl: &mut SslRef, error_code: i32) -> bool {
    if error_code != EARLY_DATA_REJECTED || ssl.is_server() {
        return false;
    }
    // SAFETY: the pointer is that of a living connection, borrowed mutably. The call demands that the handshake
    // stands at the refusal, which the error code implies; otherwise it aborts the process and does nothing else.
    unsafe { boring_sys::SSL_reset_early_data_reject(ssl.as_ptr()) };
    true
}

/// Sends what BoringSSL would otherwise keep until the next write: a server's TLS 1.3 session tickets. Returns true if the
/// transport took it all.
pub fn flush(ssl: &mut SslRef) -> bool {
    // SAFETY: the pointer is that of a living connection, borrowed mutably; of the buffer, no byte is read.
    unsafe { boring_sys::SSL_write(ssl.as_ptr(), std::ptr::null(), 0) >= 0 }
}

/// Returns the names of all key-exchange groups of BoringSSL.
#[must_use]
pub fn group_names() -> Vec<&'static str> {
    all_names(boring_sys::SSL_get_all_group_names)
}

/// Signs a certificate with a key that does its own hashing (Ed25519), and completes it.
///
/// # Errors
/// Those of the library: for any other type of key, and for a certificate that lacks a required field.
pub fn sign_without_digest(certificate: X509Builder, key: &PKeyRef<Private>) -> Result<X509, ErrorStack> {
    let certificate = certificate.build();
    // SAFETY: the pointers are those of a living key and of a certificate that nobody else has yet; without a digest
    // (a null pointer) the call fails unless the key needs none.
    let size = unsafe { boring_sys::X509_sign(certificate.as_ptr(), key.as_ptr(), std::ptr::null()) };
    if size > 0 { Ok(certificate) } else { Err(ErrorStack::get()) }
}

/// Calls a function of BoringSSL that lists names. It must write at most `max` static strings to `out` and return their
/// total number (ssl.h, "Debug and introspection").
fn all_names(list: unsafe extern "C" fn(out: *mut *const c_char, max: usize) -> usize) -> Vec<&'static str> {
    // SAFETY: with a `max` of 0 nothing is written.
    let count = unsafe { list(std::ptr::null_mut(), 0) };
    let mut names: Vec<*const c_char> = vec![std::ptr::null(); count];
    // SAFETY: the vector has room for `count` pointers.
    unsafe { list(names.as_mut_ptr(), count) };
    names
        .into_iter()
        .filter(|name| !name.is_null())
        // SAFETY: each is a string constant of the library.
        .filter_map(|name| unsafe { CStr::from_ptr(name) }.to_str().ok())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use boring::ssl::{Ssl, SslMethod};

    use super::*;

    fn context() -> SslContext {
        let mut builder = SslContextBuilder::new(SslMethod::tls()).unwrap();
        enable_early_data(&mut builder);
        builder.build()
    }

    #[test]
    fn a_connection_that_has_not_begun_has_no_early_data() {
        let mut ssl = Ssl::new(&context()).unwrap();
        assert!(!in_early_data(&ssl));
        assert!(!early_data_accepted(&ssl));
        assert!(!reset_early_data_reject(&mut ssl, 1));
    }

    #[test]
    fn the_library_has_classical_and_post_quantum_groups() {
        let names = group_names();
        for name in ["X25519", "P-256", "P-384", "P-521", "X25519MLKEM768", "MLKEM1024"] {
            assert!(names.contains(&name), "{name} is not among {names:?}");
        }
    }
}
