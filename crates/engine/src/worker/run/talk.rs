//! A call that opens a WebSocket, and what is said there.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::Duration;

use httperf_load::websocket::Talk as Script;
use httperf_plan::{Answer, Plan, WebSocket, Workload};
use httperf_proto::list::elements;
use httperf_proto::request::Request;
use httperf_proto::websocket::close::{self, GOING_AWAY, NORMAL_CLOSURE};
use httperf_proto::websocket::{self, Accepted, Event, MessageKind, Offer, Refusal, Violation};
use httperf_proto::{HeaderBlock, http1};
use httperf_stats::{CauseKind, FailureCause, Instant, Mismatch, Recorder, WebSocketEnd};

use crate::worker::ConnectionKey;

/// Messages that are searched for the one that an echo repeats, from the oldest on.
const SEARCHED_MAX: usize = 1024;

/// Pings without a pong that are remembered.
const PINGS_MAX: usize = 16;

/// Messages that are sent at one wake-up: a WebSocket that is far behind does not hold up the others.
const SENT_AT_ONCE: u32 = 64;

/// Messages without an answer that a WebSocket has at most; then the next one waits for an answer, and is late.
const AWAITED_MAX: usize = 1 << 20;

/// The number of decompressed bytes after which the others have their turn.
const DECOMPRESSED_AT_ONCE: u64 = 256 * 1024;

/// A WebSocket that a call opens.
#[derive(Debug)]
pub(super) struct Talk {
    /// The request of a scenario whose WebSocket it is; `None` for that of the plan.
    step: Option<u32>,
    /// The text of its messages, if a step has filled it in.
    text: Option<Rc<[u8]>>,
    /// The number of its call.
    serial: u64,
    stage: Stage,
    /// The header block by which the server agrees to it, until it is open.
    head: Option<HeaderBlock>,
    /// `None` until it is open.
    open: Option<Open>,
    /// The reason to give it up, if its server has broken a rule or gone beyond a limit.
    fault: Option<FailureCause>,
}

/// A WebSocket that is open.
#[derive(Debug)]
struct Open {
    codec: websocket::Connection,
    connection: ConnectionKey,
    at: Instant,
    /// The number of messages sent.
    sent: u64,
    /// The time from the opening to the instant at which the next message is due, by its schedule if it has one.
    next: Duration,
    next_ping: Option<Instant>,
    /// Messages that are to be answered, in order.
    awaited: VecDeque<Awaited>,
    pings: VecDeque<(u64, Instant)>,
    pings_sent: u64,
    last_push: Option<Instant>,
    wire_sent: u64,
    wire_received: u64,
    /// Bytes that came and are not decompressed yet.
    backlog: Vec<u8>,
    /// The end in words, and whether it was that of an error, once the server has closed it.
    close: Option<(String, bool)>,
}

/// A message that is to be answered.
#[derive(Clone, Copy, Debug)]
struct Awaited {
    due: Instant,
    sent: Instant,
    /// The hash of its payload, which its echo has as well.
    digest: u64,
}

/// The life of a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The server has not agreed to it.
    Opening,
    /// Messages are sent.
    Talking,
    /// Those that were sent are still to be answered.
    Finishing,
    /// We have closed it at this instant.
    Closing(Instant),
}

/// What came of a WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::worker) struct Said {
    /// Both sides have closed it.
    pub(in crate::worker) is_over: bool,
    /// The server has broken the protocol, or takes no more: it is to be given up.
    pub(in crate::worker) is_broken: bool,
    /// The instant at which it is to be looked after again.
    pub(in crate::worker) wake: Option<Instant>,
}

/// The end of a WebSocket, as its call has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TalkEnd {
    /// The instant of its opening.
    pub(super) opened: Instant,
    pub(super) mismatch: Option<Mismatch>,
}

/// The parts of a run that a WebSocket works with.
pub(super) struct TalkCx<'c> {
    pub(super) plan: &'c Plan,
    pub(super) recorder: &'c mut Recorder,
    /// The instant at which the call was due.
    pub(super) due: Instant,
    /// The present instant.
    pub(super) now: Instant,
    /// The bytes that are to go out.
    pub(super) out: &'c mut Vec<u8>,
}

impl Talk {
    /// A WebSocket that the call with this number is to open.
    pub(super) fn new(step: Option<u32>, text: Option<Rc<[u8]>>, serial: u64) -> Self {
        Self { step, text, serial, stage: Stage::Opening, head: None, open: None, fault: None }
    }

    fn websocket<'p>(&self, plan: &'p Plan) -> &'p WebSocket {
        plan.websocket(self.step).expect("a call that opens a WebSocket has one in its plan")
    }

    fn script<'p>(&self, plan: &'p Plan) -> Script<'p> {
        Script::new(self.websocket(plan), plan.client, self.serial)
    }

    /// Returns the connection on which it is open.
    pub(super) fn connection(&self) -> Option<ConnectionKey> {
        self.open.as_ref().map(|open| open.connection)
    }

    /// Returns the instant by which the server must do what is awaited of it, if anything is.
    pub(super) fn deadline(&self, plan: &Plan) -> Option<Instant> {
        let open = self.open.as_ref()?;
        let since = match self.stage {
            Stage::Closing(since) => since,
            _ => open.awaited.front()?.sent,
        };
        plan.timeouts.reply().map(|limit| since + limit)
    }

    /// Takes the reason to give it up, if there is one.
    pub(super) fn take_fault(&mut self) -> Option<FailureCause> {
        self.fault.take()
    }

    /// Takes the header block of the reply.
    pub(super) fn take_head(&mut self, head: HeaderBlock) {
        self.head = Some(head);
    }

    /// Returns what the server says about refusing it: the words behind the status, and when to come again.
    pub(super) fn refusal(&self) -> String {
        let head = self.head.as_ref().map_or(&b""[..], HeaderBlock::as_bytes);
        let line = String::from_utf8_lossy(head.split(|&byte| byte == b'\r').next().unwrap_or_default());
        let status: Vec<&str> = line.split_whitespace().skip(1).collect();
        let again = http1::values(head, b"retry-after").next();
        let again = again.map(|value| format!(" (Retry-After: {})", String::from_utf8_lossy(value)));
        status.join(" ") + &again.unwrap_or_default()
    }

    /// Returns whether some of what came is not decompressed yet.
    pub(super) fn is_behind(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.backlog.is_empty())
    }

    /// Returns whether it is open.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The server has agreed to it, at `at`, by the header block that was taken.
    pub(super) fn begin(
        &mut self,
        cx: &mut TalkCx<'_>,
        connection: ConnectionKey,
        request: &Request,
        is_http1: bool,
        (sent, at): (Option<Instant>, Instant),
    ) -> Said {
        let websocket = self.websocket(cx.plan);
        let head = self.head.take();
        let accepted = match accept(request, head.as_ref().map_or(b"", HeaderBlock::as_bytes), is_http1) {
            Ok(accepted) => accepted,
            Err(refusal) => {
                self.fault = Some(CauseKind::WebSocketViolation.with(refusal.to_string()));
                cx.recorder.websocket(cx.due, |figures| figures.violate(refusal.to_string()));
                return Said { is_broken: true, ..Said::default() };
            }
        };
        cx.recorder.websocket_opened(cx.due, sent, at, accepted.deflate.is_some());
        // Its opening is answered; each message awaits its own answer.
        cx.recorder.reply_settled(at);
        let options = websocket::Options {
            role: websocket::Role::Client { seed: self.script(cx.plan).mask_seed() },
            message_size: cx.plan.limits.message_size,
            deflate: accepted.deflate,
            fragment: websocket.fragment.and_then(|size| NonZeroUsize::new(size.get() as usize)),
        };
        self.stage = Stage::Talking;
        self.open = Some(Open {
            codec: websocket::Connection::new(options),
            connection,
            at,
            sent: 0,
            next: Duration::ZERO,
            next_ping: websocket.ping_every.map(|time| at + time),
            awaited: VecDeque::new(),
            pings: VecDeque::new(),
            pings_sent: 0,
            last_push: None,
            wire_sent: 0,
            wire_received: 0,
            backlog: Vec::new(),
            close: None,
        });
        self.go_on(cx)
    }

    /// Bytes have come, by the clock of the kernel or ours at `at`.
    pub(super) fn handle_bytes(&mut self, cx: &mut TalkCx<'_>, bytes: &[u8], at: Instant) -> Said {
        let Some(open) = &mut self.open else { return Said::default() };
        open.wire_received += bytes.len() as u64;
        let expect = cx.plan.websocket(self.step).map_or(Answer::Nothing, |websocket| websocket.expect);
        let backlog = std::mem::take(&mut open.backlog);
        let joined;
        let all = match &backlog[..] {
            [] => bytes,
            older => {
                joined = [older, bytes].concat();
                &joined[..]
            }
        };
        let step_size = open.codec.step_size();
        let (mut input, mut rest) = all.split_at(all.len().min(step_size));
        let end = open.codec.decompressed() + DECOMPRESSED_AT_ONCE;
        let broken = loop {
            let has_worked = open.codec.decompressed() >= end;
            match open.codec.poll_event(&mut input) {
                Ok(None) if rest.is_empty() => break None,
                Ok(None) if has_worked => {
                    // The others have their turn.
                    open.backlog = rest.to_vec();
                    break None;
                }
                Ok(None) => (input, rest) = rest.split_at(rest.len().min(step_size)),
                Ok(Some(Event::Message { data, .. })) => {
                    cx.recorder.message_received(at, data.len() as u64);
                    let digest = if expect == Answer::Echo { digest(data) } else { 0 };
                    open.take_message(expect, digest, at, cx.recorder);
                }
                Ok(Some(Event::Ping)) => {}
                Ok(Some(Event::Pong(data))) => {
                    if let Ok(number) = data.try_into().map(u64::from_be_bytes) {
                        open.take_pong(number, at, cx.recorder);
                    }
                }
                Ok(Some(Event::Closed { code, reason })) => {
                    open.close = Some(match self.stage {
                        Stage::Closing(_) => {
                            (format!("client {}", close::words(Some(NORMAL_CLOSURE))), false)
                        }
                        _ => {
                            let is_meant = matches!(code, Some(NORMAL_CLOSURE | GOING_AWAY) | None);
                            (format!("server {}{}", close::words(code), told(reason)), !is_meant)
                        }
                    });
                }
                Err(violation) => break Some(violation),
            }
        };
        if let Some(violation) = broken {
            self.fault = Some(match violation {
                Violation::LongMessage { .. } => CauseKind::LimitExceeded.with(format!("{violation} came")),
                _ => CauseKind::WebSocketViolation.with(violation.to_string()),
            });
            cx.recorder.websocket(cx.due, |figures| match violation {
                Violation::LongMessage { .. } => figures.give_up(&format!("{violation} came")),
                _ => figures.violate(violation.to_string()),
            });
            self.flush(cx);
            return Said { is_broken: true, ..Said::default() };
        }
        self.go_on(cx)
    }

    /// An instant at which something may be due has come.
    pub(super) fn wake(&mut self, cx: &mut TalkCx<'_>) -> Said {
        self.go_on(cx)
    }

    /// Sends no further messages: the run's time is over. It is closed when those that it sent are answered.
    pub(super) fn finish(&mut self, cx: &mut TalkCx<'_>) -> Said {
        if self.stage == Stage::Talking {
            self.stage = Stage::Finishing;
        }
        self.go_on(cx)
    }

    /// Returns whether it goes on when no more is offered: visits do, and it ends by itself.
    pub(super) fn goes_on(&self, plan: &Plan) -> bool {
        let websocket = self.websocket(plan);
        let is_counted = websocket.messages.is_some() && websocket.message.is_some();
        matches!(plan.workload, Workload::Scenarios(_)) && (is_counted || websocket.lasts.is_some())
    }

    /// Sends what is due, and closes it if nothing is left to do. Returns what came of it.
    fn go_on(&mut self, cx: &mut TalkCx<'_>) -> Said {
        let is_behind = self.send_due(cx);
        let Some(open) = &mut self.open else { return Said::default() };
        if self.stage == Stage::Finishing && open.awaited.is_empty() {
            self.stage = Stage::Closing(cx.now);
            open.codec.close(NORMAL_CLOSURE, "");
        }
        self.flush(cx);
        let is_over = self.open.as_ref().is_some_and(|open| open.codec.is_closed());
        let wake = if is_behind { Some(cx.now) } else { self.next_instant(cx.plan) };
        Said { is_over, is_broken: false, wake }
    }

    /// Sends the messages and pings that are due. Returns whether more are due than are sent at once.
    fn send_due(&mut self, cx: &mut TalkCx<'_>) -> bool {
        let (websocket, script) = (self.websocket(cx.plan), self.script(cx.plan));
        let Some(open) = &mut self.open else { return false };
        if open.close.is_some() || !matches!(self.stage, Stage::Talking) {
            return false;
        }
        let ends_at = websocket.lasts.map(|time| open.at + time);
        let mut payload = Vec::new();
        for _ in 0..SENT_AT_ONCE {
            let due = open.message_due(websocket, cx.now);
            let is_last = websocket.messages.is_some_and(|count| open.sent >= count.get());
            // What was due before its end is sent, however late.
            let is_over = ends_at.is_some_and(|end| cx.now >= end && due.is_none_or(|due| due >= end));
            if is_last || is_over {
                self.stage = Stage::Finishing;
                return false;
            }
            let Some(due) = due.filter(|due| *due <= cx.now) else { break };
            payload.clear();
            match &self.text {
                Some(text) => payload.extend_from_slice(text),
                None => script.write_message(open.sent, &mut payload),
            }
            open.send(websocket, &script, &payload, due, cx);
        }
        open.ping(websocket, cx);
        open.message_due(websocket, cx.now).is_some_and(|due| due <= cx.now)
    }

    /// Returns the instant at which the next message or ping is due, or its end.
    fn next_instant(&self, plan: &Plan) -> Option<Instant> {
        let open = self.open.as_ref().filter(|_| self.stage == Stage::Talking)?;
        let websocket = self.websocket(plan);
        let is_scheduled = websocket.every.is_some() && websocket.message.is_some();
        let message = (is_scheduled && open.awaited.len() < AWAITED_MAX).then(|| open.at + open.next);
        let end = websocket.lasts.map(|time| open.at + time);
        [message, open.next_ping, end].into_iter().flatten().min()
    }

    /// Hands out what the codec has for the server.
    fn flush(&mut self, cx: &mut TalkCx<'_>) {
        if let Some(open) = &mut self.open {
            let size = cx.out.len();
            open.codec.take_output(cx.out);
            open.wire_sent += (cx.out.len() - size) as u64;
        }
    }

    /// Ends it at `at`: both sides have closed it if `is_over`. Returns the end, if it was open.
    pub(super) fn end(
        &mut self,
        fate: Fate,
        due: Instant,
        at: Instant,
        recorder: &mut Recorder,
    ) -> Option<TalkEnd> {
        let open = self.open.take()?;
        let (end, is_error) = match (fate, open.close) {
            (Fate::Closed, Some((close, is_error))) => (WebSocketEnd::Closed { close }, is_error),
            (Fate::Unfinished, _) => (WebSocketEnd::Unfinished, false),
            (Fate::Closed | Fate::Cut, _) => (WebSocketEnd::Cut, true),
        };
        let is_unfinished = end == WebSocketEnd::Unfinished;
        for awaited in &open.awaited {
            recorder.websocket(awaited.due, |figures| match is_unfinished {
                true => figures.unfinished_messages.add(at - awaited.due),
                false => figures.unanswered += 1,
            });
            // At the end of the run, the server still owes its answer.
            if !is_unfinished {
                recorder.reply_given_up(at);
            }
        }
        recorder.websocket_ended(due, end, at - open.at, [open.wire_sent, open.wire_received]);
        let is_unexpected = is_error || !is_unfinished && !open.awaited.is_empty();
        Some(TalkEnd { opened: open.at, mismatch: is_unexpected.then_some(Mismatch::Close) })
    }
}

/// How a WebSocket ends for its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its reply was complete.
    Closed,
    /// Its call ended before.
    Cut,
    /// The run ended before.
    Unfinished,
}

impl Open {
    /// Returns the instant at which the next message is due; `None` if it waits for an answer, or there is none.
    fn message_due(&self, websocket: &WebSocket, now: Instant) -> Option<Instant> {
        websocket.message.as_ref()?;
        match websocket.every {
            _ if self.awaited.len() >= AWAITED_MAX => None,
            Some(_) => Some(self.at + self.next),
            None => self.awaited.is_empty().then_some(now),
        }
    }

    fn send(
        &mut self,
        websocket: &WebSocket,
        script: &Script<'_>,
        payload: &[u8],
        due: Instant,
        cx: &mut TalkCx<'_>,
    ) {
        let kind = match &websocket.message {
            Some(message) if message.binary => MessageKind::Binary,
            _ => MessageKind::Text,
        };
        self.codec.send(kind, payload);
        let is_expected = websocket.expect != Answer::Nothing;
        cx.recorder.message_sent(due, payload.len() as u64, is_expected);
        if is_expected {
            cx.recorder.reply_awaited(cx.now);
            let digest = if websocket.expect == Answer::Echo { digest(payload) } else { 0 };
            self.awaited.push_back(Awaited { due, sent: cx.now, digest });
        }
        self.sent += 1;
        self.next = script.due(self.sent, self.next).unwrap_or_default();
    }

    fn ping(&mut self, websocket: &WebSocket, cx: &mut TalkCx<'_>) {
        let (Some(every), Some(due)) = (websocket.ping_every, self.next_ping) else { return };
        if due > cx.now {
            return;
        }
        // A pause of this program is not made up for by a burst of pings.
        let mut next = due + every;
        while next <= cx.now {
            next = next + every;
        }
        self.next_ping = Some(next);
        self.codec.ping(&self.pings_sent.to_be_bytes());
        if self.pings.len() == PINGS_MAX {
            self.pings.pop_front();
        }
        self.pings.push_back((self.pings_sent, cx.now));
        self.pings_sent += 1;
        cx.recorder.websocket(due, |figures| figures.pings += 1);
    }

    fn take_message(&mut self, expect: Answer, digest: u64, at: Instant, recorder: &mut Recorder) {
        let answered = match expect {
            Answer::Echo => {
                let searched = self.awaited.iter().take(SEARCHED_MAX);
                let place = searched.into_iter().position(|awaited| awaited.digest == digest);
                place.and_then(|place| self.awaited.remove(place))
            }
            Answer::Any => self.awaited.pop_front(),
            Answer::Nothing => None,
        };
        match answered {
            Some(Awaited { due, sent, .. }) => {
                recorder.reply_settled(at.max(sent));
                recorder.websocket(due, |figures| figures.answer(due, sent, at.max(sent)));
            }
            None => {
                let last = self.last_push.replace(at);
                let since = at - last.unwrap_or(self.at);
                recorder.websocket(at, |figures| figures.push(since, last.is_none()));
            }
        }
    }

    fn take_pong(&mut self, number: u64, at: Instant, recorder: &mut Recorder) {
        let Some(place) = self.pings.iter().position(|&(ping, _)| ping == number) else { return };
        // A server need not answer the pings before the one that it answers (RFC 6455, section 5.5.3).
        let (_, sent) = self.pings.drain(..=place).next_back().expect("the range has the place");
        recorder.websocket(sent, |figures| figures.pong(at.max(sent) - sent));
    }
}

/// Checks the header block by which a server agrees.
fn accept(request: &Request, head: &[u8], is_http1: bool) -> Result<Accepted, Refusal> {
    let sent = |name: &'static [u8]| {
        let fields = request.header_fields().filter(move |(its, _)| its.eq_ignore_ascii_case(name));
        fields.map(|(_, value)| value)
    };
    let offer = Offer {
        deflate: sent(b"sec-websocket-extensions").next().is_some(),
        protocols: sent(b"sec-websocket-protocol")
            .flat_map(elements)
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    };
    let key = sent(b"sec-websocket-key").next().filter(|_| is_http1);
    offer.check(key, |name| http1::values(head, name))
}

/// The reason of a close in the server's words, behind a colon; empty if there is none.
fn told(reason: &str) -> String {
    let words: Vec<&str> =
        reason.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
    let words = words.join(" ");
    if words.trim().is_empty() { String::new() } else { format!(": {}", words.trim()) }
}

/// The hash of a payload, by which its echo is known.
fn digest(payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(payload);
    hasher.finish()
}

/// The check that a reply fails, as the end of its WebSocket or, without one, its status.
pub(super) fn mismatch(end: Option<TalkEnd>, status: u16) -> Option<Mismatch> {
    match end {
        Some(end) => end.mismatch,
        // That of an error says all there is to say.
        None => (status < 400).then_some(Mismatch::Status),
    }
}
