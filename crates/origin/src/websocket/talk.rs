//! A WebSocket that is open: what comes is read, what is due is said.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use httperf_proto::websocket::close::NORMAL_CLOSURE;
use httperf_proto::websocket::{Connection, Deflate, Event, MessageKind, Options, Role};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::{Conversation, Manner};
use crate::delay::Delay;
use crate::link::Link;
use crate::stamps::{self, Departure};

/// The number of echoes that wait for their instants, at most: then nothing is read until some have left.
const ECHOES_MAX: usize = 10_000;

/// The size of a read.
const READ_SIZE: usize = 16 * 1024;

/// The end of a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Both sides have closed it, or the client has left.
    Closed,
    /// The server breaks off.
    Cut,
}

/// A WebSocket in progress.
struct Talk<'l> {
    link: &'l Rc<Link>,
    codec: Connection,
    conversation: Conversation,
    random: Pcg64Mcg,
    /// Echoes, each with its instant.
    echoes: VecDeque<(Instant, MessageKind, Vec<u8>)>,
    /// Messages pushed.
    pushed: u32,
    /// Messages that came, or were pushed.
    messages: u32,
    start: Instant,
    start_ns: u64,
}

/// Talks on a WebSocket that was opened, until it ends.
pub(crate) async fn converse(
    mut wire: impl AsyncRead + AsyncWrite + Unpin,
    link: &Rc<Link>,
    deflate: Option<Deflate>,
    conversation: Conversation,
) -> io::Result<End> {
    // Silence is no idleness here.
    let _open = link.prepare();
    link.shared.counts.borrow_mut().websockets += 1;
    let options = Options {
        role: Role::Server,
        message_size: link.shared.config.limits.message_size,
        deflate,
        fragment: None,
    };
    let (start, start_ns) = stamps::both_clocks();
    let mut talk = Talk {
        link,
        codec: Connection::new(options),
        random: Pcg64Mcg::seed_from_u64(conversation.seed),
        conversation,
        echoes: VecDeque::new(),
        pushed: 0,
        messages: 0,
        start,
        start_ns,
    };
    let (mut input, mut output) = (vec![0; READ_SIZE], Vec::new());
    loop {
        talk.say_due();
        talk.codec.take_output(&mut output);
        if !output.is_empty() {
            wire.write_all(&output).await?;
            wire.flush().await?;
            output.clear();
        }
        if talk.codec.is_closed() {
            return Ok(End::Closed);
        }
        if talk.is_cut() {
            // What was said last is to arrive first: a break discards what is on its way.
            link.shared.timer.sleep_until(Instant::now() + BEFORE_BREAK).await;
            return Ok(End::Cut);
        }
        let size = match talk.next_due() {
            Some(due) if talk.echoes.len() >= ECHOES_MAX => {
                link.shared.timer.sleep_until(due).await;
                continue;
            }
            Some(due) => {
                tokio::select! {
                    biased;
                    () = link.shared.timer.sleep_until(due) => continue,
                    size = wire.read(&mut input) => size?,
                }
            }
            None => wire.read(&mut input).await?,
        };
        if size == 0 || !talk.hear(&input[..size]) {
            // The close that tells a client which rule it broke.
            talk.codec.take_output(&mut output);
            wire.write_all(&output).await?;
            return Ok(End::Closed);
        }
    }
}

/// The time for the last message to arrive before a WebSocket breaks off.
const BEFORE_BREAK: Duration = Duration::from_millis(20);

impl Talk<'_> {
    /// Reads what came. Returns false if the client broke a rule.
    fn hear(&mut self, bytes: &[u8]) -> bool {
        let mut input = bytes;
        loop {
            match self.codec.poll_event(&mut input) {
                Ok(None) => return true,
                Err(_) => {
                    self.link.shared.counts.borrow_mut().requests_malformed += 1;
                    return false;
                }
                Ok(Some(Event::Message { kind, data })) => {
                    self.link.shared.counts.borrow_mut().messages_received += 1;
                    self.messages += u32::from(!matches!(self.conversation.manner, Manner::Push(_)));
                    let is_last = self.conversation.cut.is_some_and(|count| self.messages >= count);
                    if let (Manner::Echo(after), None, false) =
                        (&self.conversation.manner, self.conversation.close, is_last)
                    {
                        let due = Instant::now() + delay(after, &mut self.random, self.link);
                        self.echoes.push_back((due, kind, data.to_vec()));
                    }
                    if let (Some(code), false) =
                        (self.conversation.close, matches!(self.conversation.manner, Manner::Push(_)))
                    {
                        self.codec.close(code, "as asked");
                    }
                }
                Ok(Some(Event::Ping | Event::Pong(_) | Event::Closed { .. })) => {}
            }
        }
    }

    /// Returns the instant at which something is to be said next.
    fn next_due(&self) -> Option<Instant> {
        match &self.conversation.manner {
            Manner::Echo(_) => self.echoes.front().map(|&(due, ..)| due),
            Manner::Push(script) => (self.pushed < script.events()).then(|| self.start + script.due()),
            Manner::Silent => None,
        }
    }

    /// Says what is due.
    fn say_due(&mut self) {
        let now = Instant::now();
        while let Some(&(due, ..)) = self.echoes.front()
            && due <= now
            && let Some((_, kind, data)) = self.echoes.pop_front()
        {
            self.codec.send(kind, &data);
            self.link.shared.counts.borrow_mut().messages_sent += 1;
        }
        let Manner::Push(script) = &mut self.conversation.manner else { return };
        while self.pushed < script.events() && self.start + script.due() <= now {
            let due_ns = self.start_ns + u64::try_from(script.due().as_nanos()).unwrap_or(u64::MAX / 2);
            let count = script.together().min(script.events() - self.pushed);
            for _ in 0..count {
                let mut data = Vec::new();
                script.write_message(
                    self.pushed,
                    Departure { sent_ns: stamps::unix_ns(), due_ns },
                    &mut data,
                );
                self.codec.send(MessageKind::Text, &data);
                self.pushed += 1;
            }
            self.messages += count;
            self.link.shared.counts.borrow_mut().messages_sent += u64::from(count);
            script.advance();
        }
        if self.pushed == script.events() && !self.codec.has_sent_close() && !script.is_cut() {
            self.codec.close(self.conversation.close.unwrap_or(NORMAL_CLOSURE), "");
        }
    }

    /// Returns whether it breaks off now.
    fn is_cut(&self) -> bool {
        match &self.conversation.manner {
            Manner::Push(script) => script.is_cut() && self.pushed == script.events(),
            Manner::Echo(_) | Manner::Silent => {
                self.conversation.cut.is_some_and(|count| self.messages >= count)
            }
        }
    }
}

fn delay(after: &Delay, random: &mut Pcg64Mcg, link: &Link) -> Duration {
    after.draw(random, link.shared.config.limits.delay)
}
