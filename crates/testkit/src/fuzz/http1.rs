//! Replies over HTTP/1: the same events wherever the bytes are cut.

use httperf_proto::http1::{Engine, HeaderCache, Options};
use httperf_proto::request::RequestParts;
use httperf_proto::{CallId, Event, ProtocolError, ReplyLimits};

/// The events of a stream of bytes, and its end.
type Outcome = (Vec<Event<'static>>, Result<(), ProtocolError>);

/// Feeds `bytes` to a connection with `calls` outstanding calls (the last a HEAD if `head`), whole, cut at `cut`, and
/// byte by byte, each followed by the end of the connection.
///
/// # Panics
/// If the three differ in their events or in how they end.
pub fn check_cuts(bytes: &[u8], cut: usize, calls: u8, head: bool) {
    let cut = cut.min(bytes.len());
    let whole = feed(&[bytes], calls, head);
    let halves = feed(&[&bytes[..cut], &bytes[cut..]], calls, head);
    assert_eq!(whole, halves, "cut at {cut}");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(whole, feed(&single, calls, head), "byte by byte");
}

fn feed(parts: &[&[u8]], calls: u8, head: bool) -> Outcome {
    let limits = ReplyLimits { head_size: 512, fields: 16, chunk_line_size: 32, interim_replies: 3 };
    let mut engine = Engine::new(Options { header_blocks: true, bodies: true, limits, ..Options::default() });
    for call in 0..calls {
        let method: &[u8] = if head && call + 1 == calls { b"HEAD" } else { b"GET" };
        let request = RequestParts { method, ..RequestParts::to(b"/") }.request();
        engine.submit(CallId(u64::from(call)), request).expect("the pipeline has no bound here");
    }
    let mut out = Vec::new();
    engine.poll_transmit(&mut out);
    engine.handle_written(out.len());
    while engine.poll_sent().is_some() {}

    let (mut header_cache, mut events) = (HeaderCache::default(), Vec::new());
    let mut end = Ok(());
    for part in parts {
        end = drain(&mut engine, part, &mut header_cache, &mut events);
        if end.is_err() {
            return (events, end);
        }
    }
    match engine.handle_eof() {
        Ok(event) => events.extend(event),
        Err(error) => end = Err(error),
    }
    (events, end)
}

/// Collects events; neighbouring pieces of a body are joined, as their division means nothing.
fn drain(
    engine: &mut Engine,
    mut input: &[u8],
    header_cache: &mut HeaderCache,
    events: &mut Vec<Event<'static>>,
) -> Result<(), ProtocolError> {
    while let Some(event) = engine.poll_event(&mut input, header_cache)? {
        match (events.last_mut(), event) {
            (Some(Event::ReplyBody { call: before, data: joined }), Event::ReplyBody { call, data })
                if *before == call =>
            {
                joined.to_mut().extend_from_slice(&data);
            }
            (_, event) => events.push(event.into_owned()),
        }
    }
    assert!(input.is_empty(), "poll_event returns None only when it used all input");
    Ok(())
}
