//! Clients of a recording: records are grouped by who made them, and a client's session ends after a pause.

use std::collections::{HashMap, VecDeque};
use std::str::FromStr;
use std::time::Duration;

use crate::report::Report;

/// The pause that ends a session, unless another is asked for.
pub const IDLE: Duration = Duration::from_secs(30 * 60);

/// The maximum number of clients that are remembered. Beyond it the one that was seen first is forgotten: its next
/// request begins a new session.
pub const CLIENTS_MAX: usize = 1 << 20;

/// The parts of a record by which clients are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct By {
    /// The address.
    pub address: bool,
    /// The user agent.
    pub agent: bool,
    /// The user: a cookie or another field of the log.
    pub user: bool,
}

impl Default for By {
    fn default() -> Self {
        Self { address: true, agent: true, user: true }
    }
}

impl By {
    /// Takes each request for one of a client of its own.
    pub const REQUEST: Self = Self { address: false, agent: false, user: false };
}

impl FromStr for By {
    type Err = String;

    /// Reads `address`, `agent` and `user`, joined by `+`, or `request` for a client for each request.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut by = Self::REQUEST;
        if text == "request" {
            return Ok(by);
        }
        for part in text.split('+') {
            match part {
                "address" => by.address = true,
                "agent" => by.agent = true,
                "user" => by.user = true,
                _ => {
                    return Err(format!(
                        "expected request, or address, agent and user joined by `+`, got `{text}`"
                    ));
                }
            }
        }
        Ok(by)
    }
}

/// The numbers of clients.
#[derive(Debug)]
pub struct Clients {
    by: By,
    idle: i64,
    known: HashMap<Box<str>, Seen>,
    /// The clients in the order in which they are looked at for having been idle, each once.
    queue: VecDeque<(i64, Box<str>)>,
    next: u64,
    forgotten: u64,
    key: String,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    number: u64,
    last: i64,
}

impl Clients {
    /// No clients yet.
    #[must_use]
    pub fn new(by: By, idle: Duration) -> Self {
        Self {
            by,
            idle: i64::try_from(idle.as_nanos()).unwrap_or(i64::MAX),
            known: HashMap::new(),
            queue: VecDeque::new(),
            next: 0,
            forgotten: 0,
            key: String::new(),
        }
    }

    /// The number of the client that made a request at this instant. Instants do not go back.
    pub fn number(&mut self, at: i64, address: Option<&str>, agent: Option<&str>, user: Option<&str>) -> u64 {
        self.forget_idle(at);
        self.key.clear();
        let parts = [(self.by.address, address), (self.by.agent, agent), (self.by.user, user)];
        let mut any = false;
        for part in parts.map(|(counts, part)| part.filter(|_| counts)) {
            any |= part.is_some();
            self.key.push_str(part.unwrap_or_default());
            self.key.push('\0');
        }
        if !any {
            return self.take();
        }
        if let Some(seen) = self.known.get_mut(&self.key[..]) {
            if at.saturating_sub(seen.last) > self.idle {
                seen.number = self.next;
                self.next += 1;
            }
            seen.last = at;
            return seen.number;
        }
        while self.known.len() >= CLIENTS_MAX
            && let Some((_, key)) = self.queue.pop_front()
        {
            self.known.remove(&key);
            self.forgotten += 1;
        }
        let number = self.take();
        let key: Box<str> = self.key[..].into();
        self.queue.push_back((at, key.clone()));
        self.known.insert(key, Seen { number, last: at });
        number
    }

    /// The number of sessions so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.next
    }

    /// Adds a note about the sessions to a report.
    pub(crate) fn account(&self, report: &mut Report) {
        report.note(format!("{} clients' sessions", self.next));
        if self.forgotten > 0 {
            report.note(format!(
                "{} clients were forgotten, as more than {CLIENTS_MAX} were there at a time",
                self.forgotten
            ));
        }
    }

    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Forgets clients that have been idle for so long that their next request begins a session anyway.
    fn forget_idle(&mut self, now: i64) {
        let is_idle = |last: i64, idle: i64| now.saturating_sub(last) > idle;
        while let Some((looked_at, _)) = self.queue.front()
            && is_idle(*looked_at, self.idle)
            && let Some((_, key)) = self.queue.pop_front()
        {
            match self.known.get(&key) {
                Some(seen) if !is_idle(seen.last, self.idle) => self.queue.push_back((seen.last, key)),
                _ => {
                    self.known.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    fn numbers(by: By, requests: &[(i64, &str, &str)]) -> Vec<u64> {
        let mut clients = Clients::new(by, Duration::from_secs(100));
        let number = |(at, address, agent): &(i64, &str, &str)| {
            clients.number(at * SECOND, Some(address), Some(agent), None)
        };
        requests.iter().map(number).collect()
    }

    #[test]
    fn requests_are_grouped_by_address_and_agent() {
        let requests = [(0, "a", "x"), (1, "b", "x"), (2, "a", "y"), (3, "a", "x")];
        for (by, expected) in [
            ("address+agent", [0, 1, 2, 0]),
            ("address", [0, 1, 0, 0]),
            ("agent", [0, 0, 1, 0]),
            ("user", [0, 1, 2, 3]),
            ("request", [0, 1, 2, 3]),
        ] {
            assert_eq!(numbers(by.parse().unwrap(), &requests), expected, "{by}");
        }
        assert!("address,agent".parse::<By>().is_err());
    }

    #[test]
    fn a_pause_ends_a_session() {
        let requests = [(0, "a", ""), (100, "a", ""), (201, "a", ""), (301, "a", ""), (402, "a", "")];
        assert_eq!(numbers(By::default(), &requests), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn only_clients_that_may_come_back_are_remembered() {
        let mut clients = Clients::new(By::default(), Duration::from_secs(1));
        for at in 0..10_000 {
            clients.number(at * SECOND, Some(&at.to_string()), None, None);
            assert!(clients.known.len() <= 3 && clients.queue.len() <= 3, "{clients:?}");
        }
    }
}
