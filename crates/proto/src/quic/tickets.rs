//! Sessions to resume, and what else a handshake leaves for its owner.

use std::fmt;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::{NamedGroup, SignatureScheme};

/// A session that a server gave, for one connection to resume (RFC 8446, section 2.2).
pub struct Ticket(Tls13ClientSessionValue);

impl fmt::Debug for Ticket {
    /// Leaves the secret out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// The number of sessions that one arrival of datagrams leaves.
const GIVEN_MAX: usize = 4;

/// The desk over which connections of a worker pass what rustls keeps for all of them: it is empty except while one of
/// them is at work.
#[derive(Default)]
pub(super) struct Desk(Mutex<Items>);

#[derive(Default)]
struct Items {
    /// The session that the connection which begins is to resume.
    offered: Option<Ticket>,
    /// Sessions that the server gave.
    given: Vec<Ticket>,
    /// The algorithm of the server's signature.
    signature: Option<SignatureScheme>,
    /// The reason why its certificate is not trusted.
    untrusted: Option<String>,
}

impl Desk {
    fn items(&self) -> MutexGuard<'_, Items> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers a session to the connection that begins next.
    pub(super) fn offer(&self, ticket: Option<Ticket>) {
        self.items().offered = ticket;
    }

    /// Takes what was given since it was last taken, oldest first.
    pub(super) fn take_given(&self) -> Vec<Ticket> {
        mem::take(&mut self.items().given)
    }

    pub(super) fn note_signature(&self, scheme: SignatureScheme) {
        self.items().signature = Some(scheme);
    }

    pub(super) fn take_signature(&self) -> Option<SignatureScheme> {
        self.items().signature.take()
    }

    pub(super) fn note_untrusted(&self, reason: &str) {
        self.items().untrusted = Some(reason.to_owned());
    }

    pub(super) fn take_untrusted(&self) -> Option<String> {
        self.items().untrusted.take()
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl ClientSessionStore for Desk {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    /// None, so that every connection offers the same groups, and each that a server turns down costs its round trip.
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let given = &mut self.items().given;
        // The newest are the best: a server may send any number.
        if given.len() == GIVEN_MAX {
            given.remove(0);
        }
        given.push(Ticket(value));
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.items().offered.take().map(|ticket| ticket.0)
    }
}
