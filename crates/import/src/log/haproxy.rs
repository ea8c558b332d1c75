//! HAProxy's `option httplog`, also behind what syslog puts before it, and with what `option httpslog` adds.
//!
//! ```text
//! haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"
//! ```

use std::time::Duration;

use crate::clock;

use super::Record;
use super::escapes::decoded;
use super::line::{NoRecord, Stamped, checked, is_status, number, request_line};
use super::pattern::Escape;

/// The length of a time.
const TIME: usize = "06/Feb/2009:12:14:14.655".len();

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Result<Stamped, NoRecord> {
    let malformed = |what: &str| NoRecord::Malformed(format!("expected {what}"));
    let (client, stamp, rest) = accepted(line)
        .ok_or_else(|| malformed("a time such as [06/Feb/2009:12:14:14.655] behind an address"))?;
    let end = memchr::memrchr(b'"', rest);
    let start = end.and_then(|end| memchr::memmem::rfind(rest.get(..end)?, b" \""));
    // A connection without HTTP has no request.
    let (Some(start), Some(end)) = (start, end) else { return Err(NoRecord::NotARequest) };
    let request = rest.get(start + 2..end).unwrap_or_default();
    let mut words = rest.get(..start).unwrap_or_default().split(|byte| *byte == b' ').skip(2);
    let (Some(timers), Some(status), Some(size)) = (words.next(), words.next(), words.next()) else {
        return Err(malformed("timers, a status and a size behind the names of the servers"));
    };
    let is_timers = timers.iter().all(|byte| byte.is_ascii_digit() || b"/+-".contains(byte));
    if !is_timers || !timers.contains(&b'/') {
        return Err(malformed("timers such as 10/0/30/69/109 behind the names of the servers"));
    }
    let total = timers.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let total = number(total.strip_prefix(b"+").unwrap_or(total)).map(Duration::from_millis);
    let (method, target, version) = request_line(request).ok_or(NoRecord::NotARequest)?;
    let (method, uri) = checked(method, target)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(&decoded(bytes, Escape::None)).into_owned();
    let record = Record {
        start: stamp,
        duration: total,
        method,
        uri,
        version: version.map(text),
        status: number(status).and_then(|status| u16::try_from(status).ok()).filter(is_status),
        size: number(size.strip_prefix(b"+").unwrap_or(size)),
        client: Some(text(client)),
        agent: None,
        user: None,
    };
    Ok(Stamped { record, stamp, ends: false })
}

/// The client's address, the time at which it was accepted, and what stands behind it.
fn accepted(line: &[u8]) -> Option<(&[u8], i64, &[u8])> {
    memchr::memchr_iter(b'[', line).find_map(|at| {
        let stamp = clock::from_haproxy(line.get(at + 1..at + 1 + TIME)?)?;
        let rest = line.get(at + 1 + TIME..)?.strip_prefix(b"] ")?;
        let before = line.get(..at)?.strip_suffix(b" ")?;
        let word = before.rsplit(|byte| *byte == b' ').next()?;
        let port = memchr::memrchr(b':', word)?;
        Some((word.get(..port)?, stamp, rest))
    })
}
