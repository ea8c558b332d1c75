//! Choice of the connections that resume an earlier TLS session, in a connection workload.

use std::collections::VecDeque;

use httperf_proto::quic::Ticket;
use httperf_proto::tls::Session;

/// Sessions to resume with one server, and how many connections do.
///
/// It keeps the share of handshakes that resume as close to the plan's as the sessions at hand allow, over the run as
/// a whole: resumptions missed for want of a session, or because the server refused one, are made up for later.
#[derive(Debug)]
pub(super) struct ResumptionPool<T = Session> {
    sessions: VecDeque<T>,
    /// Number of sessions to keep at most.
    most: usize,
    /// Handshakes begun that did not fail, and those among them with a session that was not refused.
    begun: u64,
    resumed: u64,
    /// The server refused a session that had been offered before.
    is_single_use: bool,
    /// A connection waited for a ticket, and none came.
    gives_none: bool,
}

/// A session to resume.
pub(in crate::worker) trait Resumable: Sized {
    /// Returns it once more, if the library lets it be offered again.
    fn again(&self) -> Option<Self>;
}

impl Resumable for Session {
    fn again(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// rustls lets each be offered once, as it should be (RFC 8446, appendix C.4).
impl Resumable for Ticket {
    fn again(&self) -> Option<Self> {
        None
    }
}

/// A session of either kind, which a session of the plan keeps for its own connections.
#[derive(Debug)]
pub(in crate::worker) enum KeptSession {
    Tls(Session),
    Quic(Ticket),
}

impl KeptSession {
    pub(super) fn tls(self) -> Option<Session> {
        match self {
            Self::Tls(session) => Some(session),
            Self::Quic(_) => None,
        }
    }

    pub(super) fn quic(self) -> Option<Ticket> {
        match self {
            Self::Tls(_) => None,
            Self::Quic(ticket) => Some(ticket),
        }
    }
}

impl Resumable for KeptSession {
    fn again(&self) -> Option<Self> {
        match self {
            Self::Tls(session) => session.again().map(Self::Tls),
            Self::Quic(ticket) => ticket.again().map(Self::Quic),
        }
    }
}

impl<T: Resumable> ResumptionPool<T> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            sessions: VecDeque::new(),
            most,
            begun: 0,
            resumed: 0,
            is_single_use: false,
            gives_none: false,
        }
    }

    /// The session that the next connection is to offer, if it is to resume one. `share`: 0 to 1.
    pub(super) fn next(&mut self, share: f64) -> Option<T> {
        self.begun += 1;
        // Half a handshake of grace, so that rounding of the product never counts.
        if (self.resumed + 1) as f64 > self.begun as f64 * share + 0.5 {
            return None;
        }
        // The newest first. The last one is kept for further use until the server is known not to like that.
        let session = match self.sessions.len() {
            1 if !self.is_single_use => {
                let last = self.sessions.back()?;
                last.again().or_else(|| self.sessions.pop_back())
            }
            _ => self.sessions.pop_back(),
        }?;
        self.resumed += 1;
        Some(session)
    }

    /// Adds sessions that the server has given; the oldest go if there are too many.
    pub(super) fn put(&mut self, sessions: Vec<T>) {
        self.gives_none &= sessions.is_empty();
        self.sessions.extend(sessions);
        let excess = self.sessions.len().saturating_sub(self.most);
        self.sessions.drain(..excess);
    }

    /// The server made a full handshake though a session was offered.
    pub(super) fn handle_refusal(&mut self) {
        self.resumed -= 1;
        if self.sessions.len() == 1 && !self.is_single_use {
            self.is_single_use = true;
            self.sessions.clear();
        }
    }

    /// A handshake failed, or never began.
    pub(super) fn handle_failure(&mut self, offered: bool) {
        self.begun -= 1;
        self.resumed -= u64::from(offered);
    }

    /// Returns whether a ticket is worth waiting for: without it, handshakes that should resume soon could not.
    pub(super) fn is_short(&self) -> bool {
        !self.gives_none && self.sessions.len() < if self.is_single_use { 2 } else { 1 }
    }

    /// A connection waited for a ticket, and none came: no further one is to wait.
    pub(super) fn handle_vain_wait(&mut self) {
        self.gives_none = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Resumable for usize {
        fn again(&self) -> Option<Self> {
            Some(*self)
        }
    }

    /// Makes `count` handshakes one after the other with a server that gives one ticket in each. Returns how many
    /// resumed. `accepts`: whether it accepts a session that has been offered this often before.
    fn resumed(count: usize, share: f64, accepts: impl Fn(u32) -> bool) -> usize {
        let mut pool: ResumptionPool<usize> = ResumptionPool::new(4);
        let mut uses: Vec<u32> = Vec::new();
        let mut resumed = 0;
        for _ in 0..count {
            if let Some(session) = pool.next(share) {
                if accepts(uses[session]) {
                    resumed += 1;
                } else {
                    pool.handle_refusal();
                }
                uses[session] += 1;
            }
            // A connection waits for its ticket only if one is needed.
            if pool.is_short() {
                uses.push(0);
                pool.put(vec![uses.len() - 1]);
            }
        }
        resumed
    }

    #[test]
    fn the_share_that_resumes_is_the_one_asked_for() {
        for (share, expected) in [(0.0, 0), (0.01, 10), (0.3, 300), (0.5, 500), (0.999, 999)] {
            let got = resumed(1000, share, |_| true);
            assert!(got.abs_diff(expected) <= 1, "{share}: {got}");
        }
        assert_eq!(resumed(1000, 1.0, |_| true), 999, "the first has nothing to resume");
    }

    #[test]
    fn a_server_that_takes_each_session_once_gives_each_once() {
        let got = resumed(1000, 1.0, |uses| uses == 0);
        assert!((995..1000).contains(&got), "{got}");
        assert!(resumed(1000, 0.3, |uses| uses == 0).abs_diff(300) <= 1);
    }

    #[test]
    fn a_server_that_resumes_nothing_is_asked_every_time() {
        assert_eq!(resumed(1000, 0.3, |_| false), 0);
    }

    #[test]
    fn failed_handshakes_are_in_neither_part() {
        let mut pool: ResumptionPool<usize> = ResumptionPool::new(4);
        pool.put(vec![1, 2]);
        let (mut resumed, mut whole) = (0, 0);
        for turn in 0..400 {
            let offered = pool.next(0.5).is_some();
            if turn % 2 == 0 {
                pool.handle_failure(offered);
            } else {
                resumed += u32::from(offered);
                whole += 1;
            }
        }
        assert_eq!((resumed, whole), (100, 200));
    }

    #[test]
    fn nobody_waits_for_tickets_that_do_not_come() {
        let mut pool: ResumptionPool<usize> = ResumptionPool::new(4);
        assert!(pool.is_short());
        pool.handle_vain_wait();
        assert!(!pool.is_short());
    }

    #[test]
    fn only_so_many_sessions_are_kept() {
        let mut pool: ResumptionPool<usize> = ResumptionPool::new(4);
        pool.put((0..10).collect());
        assert_eq!(pool.sessions, [6, 7, 8, 9]);
    }
}
