//! The cookies of a session, apart for each server.

use std::time::SystemTime;

use httperf_load::cookies::Jar;

/// The cookies of a session. A jar is made when a server sets its first cookie.
#[derive(Debug)]
pub(super) struct Jars {
    /// Cookies that a jar may hold; `None` if none are stored.
    limit: Option<usize>,
    /// Jars with the places of their servers among the plan's targets.
    jars: Vec<(usize, Jar)>,
}

impl Jars {
    pub(super) fn new(limit: Option<usize>) -> Self {
        Self { limit, jars: Vec::new() }
    }

    /// Returns whether cookies are stored.
    pub(super) fn are_used(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns whether a server has set a cookie.
    pub(super) fn have(&self, target: usize) -> bool {
        self.jars.iter().any(|(server, _)| *server == target)
    }

    /// Returns the cookies for a URI of a server, as a header field has them.
    pub(super) fn header(
        &mut self,
        target: usize,
        uri: &[u8],
        clock: impl FnOnce() -> SystemTime,
    ) -> Option<Vec<u8>> {
        let (_, jar) = self.jars.iter_mut().find(|(server, _)| *server == target)?;
        jar.header(uri, clock())
    }

    /// Stores a cookie that a server set in its reply to `uri`.
    pub(super) fn store(&mut self, target: usize, value: &[u8], uri: &[u8], now: SystemTime) {
        let Some(limit) = self.limit else { return };
        let place = self.jars.iter().position(|(server, _)| *server == target).unwrap_or_else(|| {
            self.jars.push((target, Jar::new(limit)));
            self.jars.len() - 1
        });
        self.jars[place].1.store(value, uri, now);
    }
}
