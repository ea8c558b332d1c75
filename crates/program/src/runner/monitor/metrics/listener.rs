//! Serves metrics to those who fetch them: a small part of HTTP/1.1, and nobody can hold up anything.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use httperf_metrics::{Meter, prometheus};

/// The most clients at once. Of more, the newest is sent away.
const CLIENTS_MAX: usize = 8;

/// The longest request head.
const HEAD_MAX: usize = 8192;

/// The time for a request, and for taking the reply.
const PATIENCE: Duration = Duration::from_secs(2);

/// The fetches of a run's metrics, for whoever waits for the last.
#[derive(Debug, Default)]
pub(super) struct Fetches(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    last: Option<Instant>,
    /// The longest time between two fetches.
    gap: Option<Duration>,
    /// True once nothing is added any more to what is published.
    is_final: bool,
    /// True once that was fetched.
    has_final: bool,
}

impl Fetches {
    /// Nothing is added any more to what is published.
    pub(super) fn end(&self) {
        self.seen().is_final = true;
    }

    /// Returns true once the last figures were fetched.
    pub(super) fn are_complete(&self) -> bool {
        self.seen().has_final
    }

    /// The time within which the next fetch should come; `None` if there was none.
    pub(super) fn next_within(&self) -> Option<Duration> {
        /// For who has fetched once: the usual interval of Prometheus is 15 s.
        const USUAL: Duration = Duration::from_secs(16);
        const LONGEST: Duration = Duration::from_secs(60);
        const MARGIN: Duration = Duration::from_secs(1);
        let seen = self.seen();
        seen.last?;
        Some(seen.gap.map_or(USUAL, |gap| gap * 5 / 4 + MARGIN).min(LONGEST))
    }

    fn is_final(&self) -> bool {
        self.seen().is_final
    }

    fn note(&self, now: Instant, was_final: bool) {
        let mut seen = self.seen();
        let gap = seen.last.map(|last| now.saturating_duration_since(last));
        seen.gap = seen.gap.max(gap);
        seen.last = Some(now);
        seen.has_final |= was_final;
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves what is published at this address until the program ends.
pub(super) fn listen(
    address: &str,
    published: &Arc<Mutex<Meter>>,
    fetches: &Arc<Fetches>,
) -> anyhow::Result<()> {
    let listener =
        TcpListener::bind(address).with_context(|| format!("--metrics: cannot listen on {address}"))?;
    let (published, fetches) = (Arc::clone(published), Arc::clone(fetches));
    let clients = Arc::new(AtomicUsize::new(0));
    let serve = move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                // No descriptor is left, say.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            if clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS_MAX {
                clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (published, fetches, clients) =
                (Arc::clone(&published), Arc::clone(&fetches), Arc::clone(&clients));
            let answer = move || {
                // Whoever breaks off does not want the rest.
                let _answered: std::io::Result<()> = answer(stream, &published, &fetches);
                clients.fetch_sub(1, Ordering::Relaxed);
            };
            // Without a thread the connection is closed, and asked for again.
            let _started = std::thread::Builder::new().name("metrics client".into()).spawn(answer);
        }
    };
    std::thread::Builder::new()
        .name("metrics".into())
        .spawn(serve)
        .context("--metrics: cannot start a thread")?;
    Ok(())
}

fn answer(mut stream: TcpStream, published: &Mutex<Meter>, fetches: &Fetches) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Some(head) = read_head(&mut stream)? else { return Ok(()) };
    // Before the figures are looked at: what is published after that may be more.
    let was_final = fetches.is_final();
    let mut has_fetched = false;
    let meter = || {
        has_fetched = true;
        published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    };
    let reply = reply(&head, meter);
    stream.write_all(&reply)?;
    if has_fetched && !head.starts_with("HEAD ") {
        // All of it is to have arrived before the program may end.
        stream.shutdown(Shutdown::Write)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        while matches!(stream.read(&mut [0; 1024]), Ok(1..)) {}
        fetches.note(Instant::now(), was_final);
    }
    Ok(())
}

/// The head of a request; `None` if it does not come whole.
fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<String>> {
    let end = Instant::now() + PATIENCE;
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > HEAD_MAX {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer)? {
            0 => return Ok(None),
            length => head.extend_from_slice(&buffer[..length]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// The reply to a request.
fn reply(head: &str, meter: impl FnOnce() -> Meter) -> Vec<u8> {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let accept = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .map_or("", |(_, value)| value);
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if prometheus::wants_protobuf(accept) => {
            ("200 OK", prometheus::PROTOBUF_TYPE, prometheus::protobuf(&meter()))
        }
        ("GET" | "HEAD", "/metrics") => {
            ("200 OK", prometheus::TEXT_TYPE, prometheus::text(&meter()).into_bytes())
        }
        ("GET" | "HEAD", _) => ("404 Not Found", plain, b"metrics are at /metrics\n".to_vec()),
        _ => ("405 Method Not Allowed", plain, b"expected GET\n".to_vec()),
    };
    let mut reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    if method != "HEAD" {
        reply.extend(body);
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status_and_type(head: &str) -> (String, String) {
        let reply = String::from_utf8_lossy(&reply(head, Meter::default)).into_owned();
        let mut lines = reply.lines().map(str::to_owned);
        let status = lines.next().unwrap_or_default();
        (status, lines.find(|line| line.starts_with("Content-Type")).unwrap_or_default())
    }

    #[test]
    fn the_next_fetch_is_expected_when_those_before_say() {
        let fetches = Fetches::default();
        assert_eq!(fetches.next_within(), None, "nobody fetches");
        let start = Instant::now();
        fetches.note(start, false);
        assert_eq!(fetches.next_within(), Some(Duration::from_secs(16)));
        fetches.note(start + Duration::from_secs(4), false);
        assert_eq!(fetches.next_within(), Some(Duration::from_secs(6)));
        fetches.note(start + Duration::from_secs(604), fetches.is_final());
        assert_eq!(fetches.next_within(), Some(Duration::from_secs(60)));
        fetches.end();
        assert!(!fetches.are_complete());
        fetches.note(start + Duration::from_secs(605), fetches.is_final());
        assert!(fetches.are_complete());
    }

    #[test]
    fn metrics_are_at_one_path() {
        let text = ("HTTP/1.1 200 OK".to_owned(), format!("Content-Type: {}", prometheus::TEXT_TYPE));
        assert_eq!(status_and_type("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), text);
        assert_eq!(status_and_type("GET /metrics?a HTTP/1.1\r\n\r\n"), text);
        let accept = "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        let native = status_and_type(&format!("GET /metrics HTTP/1.1\r\n{accept}\r\n\r\n"));
        assert_eq!(native.1, format!("Content-Type: {}", prometheus::PROTOBUF_TYPE));
        assert_eq!(status_and_type("GET / HTTP/1.1\r\n\r\n").0, "HTTP/1.1 404 Not Found");
        assert_eq!(status_and_type("POST /metrics HTTP/1.1\r\n\r\n").0, "HTTP/1.1 405 Method Not Allowed");
        assert_eq!(status_and_type("").0, "HTTP/1.1 405 Method Not Allowed");
        assert!(reply("HEAD /metrics HTTP/1.1\r\n\r\n", Meter::default).ends_with(b"\r\n\r\n"));
    }
}
