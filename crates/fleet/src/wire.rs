//! Messages between ranks as bytes: the length of what follows (4 bytes, big-endian), the kind (1 byte), the content.
//!
//! Before a peer has shown that it knows the secret, it can only send what fits into [`STRANGER_MAX`] bytes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::secret::{Nonce, Tag};

/// The first bytes of a guest: name and version of the protocol.
pub(crate) const MAGIC: [u8; 16] = *b"httperf fleet 1\n";

/// The longest message of a peer that has not shown yet that it knows the secret.
pub(crate) const STRANGER_MAX: usize = 128;

/// The longest message: room for the result of any run.
pub(crate) const MESSAGE_MAX: usize = 256 * 1024 * 1024;

/// A message of a rank to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Guest: wants to join, as this rank.
    Hello { rank: u32, nonce: Nonce },
    /// Host: asks for a proof that the guest knows the secret.
    Challenge { nonce: Nonce },
    /// Guest: that proof.
    Proof { tag: Tag },
    /// Host: proves the same in turn.
    Welcome { tag: Tag },
    /// Guest: describes itself.
    Join(Join),
    /// Host: cannot take the guest, or has to send all away.
    Refused { reason: String },
    /// Host: asks for the time.
    Ping { number: u32 },
    /// Guest: the time.
    Pong { number: u32, time: Time },
    /// Host: announces a run. The content is the program's.
    Round { content: Vec<u8> },
    /// Guest: its workers are ready to start.
    Ready,
    /// Host: the start, on the guest's clock.
    Start { at: Duration },
    /// Guest: what happened in a second. The content is the program's.
    Second { content: Vec<u8> },
    /// Either: the run is to end now.
    Stop,
    /// Guest: what it measured. The content is the program's.
    Outcome { content: Vec<u8> },
    /// Guest: it cannot go on.
    Failed { reason: String },
    /// Either: is still there.
    Beat,
    /// Host: there is nothing left to do.
    Bye,
}

/// A process as it describes itself when it joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// Its rank.
    pub rank: u32,
    /// The number of ranks that it knows of.
    pub size: u32,
    /// The name of its machine.
    pub host: String,
    /// The version of the program.
    pub version: String,
    /// The digest of its plan. All have to have the same.
    pub digest: String,
    /// Sentences about what would spoil a measurement on its machine.
    pub problems: Vec<String>,
}

/// An instant, by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// The clock of the run: monotonic, from an origin of the machine's own.
    pub clock: Duration,
    /// The time since 1970 by the clock on the wall.
    pub wall: Duration,
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Malformed {
    #[error("a message of {0} bytes is too long")]
    TooLong(usize),
    #[error("a message of kind {0} is malformed")]
    Content(u8),
}

impl Message {
    /// Appends the message to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend([0; 4]);
        let kind = match self {
            Self::Hello { rank, nonce } => {
                out.push(1);
                out.extend(MAGIC);
                out.extend(rank.to_be_bytes());
                out.extend(nonce.0);
                None
            }
            Self::Challenge { nonce } => Some((2, &nonce.0[..])),
            Self::Proof { tag } => Some((3, &tag.0[..])),
            Self::Welcome { tag } => Some((4, &tag.0[..])),
            Self::Join(join) => {
                out.push(5);
                let json = serde_json::to_vec(join).expect("it is plain data with names for keys");
                out.extend(json);
                None
            }
            Self::Refused { reason } => Some((6, reason.as_bytes())),
            Self::Ping { number } => {
                out.push(7);
                out.extend(number.to_be_bytes());
                None
            }
            Self::Pong { number, time } => {
                out.push(8);
                out.extend(number.to_be_bytes());
                out.extend(nanos(time.clock));
                out.extend(nanos(time.wall));
                None
            }
            Self::Round { content } => Some((9, &content[..])),
            Self::Ready => Some((10, &[][..])),
            Self::Start { at } => {
                out.push(11);
                out.extend(nanos(*at));
                None
            }
            Self::Second { content } => Some((12, &content[..])),
            Self::Stop => Some((13, &[][..])),
            Self::Outcome { content } => Some((14, &content[..])),
            Self::Failed { reason } => Some((15, reason.as_bytes())),
            Self::Beat => Some((16, &[][..])),
            Self::Bye => Some((17, &[][..])),
        };
        if let Some((kind, content)) = kind {
            out.push(kind);
            out.extend(content);
        }
        let length = u32::try_from(out.len() - begin - 4).expect("no message is that long");
        out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Reads kind and content.
    fn read(body: &[u8]) -> Result<Self, Malformed> {
        let (&kind, content) = body.split_first().ok_or(Malformed::Content(0))?;
        let read = || {
            Some(match kind {
                1 => {
                    let rest = content.strip_prefix(&MAGIC)?;
                    let (rank, nonce) = rest.split_first_chunk()?;
                    Self::Hello { rank: u32::from_be_bytes(*rank), nonce: Nonce(nonce.try_into().ok()?) }
                }
                2 => Self::Challenge { nonce: Nonce(content.try_into().ok()?) },
                3 => Self::Proof { tag: Tag(content.try_into().ok()?) },
                4 => Self::Welcome { tag: Tag(content.try_into().ok()?) },
                5 => Self::Join(serde_json::from_slice(content).ok()?),
                6 => Self::Refused { reason: text(content)? },
                7 => Self::Ping { number: u32::from_be_bytes(content.try_into().ok()?) },
                8 => {
                    let (number, times) = content.split_first_chunk()?;
                    let (clock, wall) = times.split_first_chunk()?;
                    let time = Time { clock: duration(*clock), wall: duration(wall.try_into().ok()?) };
                    Self::Pong { number: u32::from_be_bytes(*number), time }
                }
                9 => Self::Round { content: content.to_vec() },
                10 => empty(content, Self::Ready)?,
                11 => Self::Start { at: duration(content.try_into().ok()?) },
                12 => Self::Second { content: content.to_vec() },
                13 => empty(content, Self::Stop)?,
                14 => Self::Outcome { content: content.to_vec() },
                15 => Self::Failed { reason: text(content)? },
                16 => empty(content, Self::Beat)?,
                17 => empty(content, Self::Bye)?,
                _ => return None,
            })
        };
        read().ok_or(Malformed::Content(kind))
    }
}

fn nanos(duration: Duration) -> [u8; 8] {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).to_be_bytes()
}

fn duration(bytes: [u8; 8]) -> Duration {
    Duration::from_nanos(u64::from_be_bytes(bytes))
}

fn empty(content: &[u8], message: Message) -> Option<Message> {
    content.is_empty().then_some(message)
}

/// A text of a peer, without what would confuse a terminal.
fn text(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    Some(text.chars().filter(|char| !char.is_control()).collect())
}

/// Puts messages together from bytes as they arrive.
#[derive(Debug)]
pub(crate) struct Incoming {
    bytes: Vec<u8>,
    /// The longest message that is taken now.
    longest: usize,
}

impl Incoming {
    /// For a peer that has not shown yet that it knows the secret.
    pub(crate) fn of_stranger() -> Self {
        Self { bytes: Vec::new(), longest: STRANGER_MAX }
    }

    /// Takes longer messages from now on.
    pub(crate) fn trust(&mut self) {
        self.longest = MESSAGE_MAX;
    }

    /// Takes bytes that have arrived.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Bytes of messages that are not complete.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn kept(&self) -> usize {
        self.bytes.len()
    }

    /// Takes the next message, if it is complete.
    ///
    /// # Errors
    /// If the bytes are none. Nothing can be read after that.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, Malformed> {
        let Some((length, _)) = self.bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.longest {
            return Err(Malformed::TooLong(length));
        }
        let Some(body) = self.bytes.get(4..4 + length) else { return Ok(None) };
        let message = Message::read(body)?;
        self.bytes.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn examples() -> Vec<Message> {
        let join = Join {
            rank: 1,
            size: 4,
            host: "n1".to_owned(),
            version: "1.0.0".to_owned(),
            digest: "ab".to_owned(),
            problems: vec!["few ports".to_owned()],
        };
        let time = Time { clock: Duration::from_nanos(12), wall: Duration::from_secs(1_700_000_000) };
        let content = || b"{}".to_vec();
        vec![
            Message::Hello { rank: 3, nonce: Nonce([7; 32]) },
            Message::Challenge { nonce: Nonce([8; 32]) },
            Message::Proof { tag: Tag([9; 32]) },
            Message::Welcome { tag: Tag([10; 32]) },
            Message::Join(join),
            Message::Refused { reason: "plans differ".to_owned() },
            Message::Ping { number: 5 },
            Message::Pong { number: 5, time },
            Message::Round { content: content() },
            Message::Ready,
            Message::Start { at: Duration::from_millis(1) },
            Message::Second { content: content() },
            Message::Stop,
            Message::Outcome { content: content() },
            Message::Failed { reason: "disk full".to_owned() },
            Message::Beat,
            Message::Bye,
        ]
    }

    fn bytes_of(messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        messages.iter().for_each(|message| message.write(&mut bytes));
        bytes
    }

    #[test]
    fn messages_are_read_as_they_were_written_wherever_they_are_cut() {
        let (all, bytes) = (examples(), bytes_of(&examples()));
        for cut in 0..=bytes.len() {
            let mut incoming = Incoming::of_stranger();
            incoming.trust();
            let mut read = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                incoming.add(part);
                while let Some(message) = incoming.next().expect("they are messages") {
                    read.push(message);
                }
            }
            assert_eq!(read, all, "cut at {cut}");
        }
    }

    #[test]
    fn a_stranger_cannot_announce_a_long_message() {
        let mut incoming = Incoming::of_stranger();
        incoming.add(&1_000_000_u32.to_be_bytes());
        assert_eq!(incoming.next(), Err(Malformed::TooLong(1_000_000)));
        for hello in &examples()[..4] {
            assert!(bytes_of(std::slice::from_ref(hello)).len() <= STRANGER_MAX, "{hello:?}");
        }
    }

    #[test]
    fn control_characters_of_a_peer_are_left_out() {
        let mut incoming = Incoming::of_stranger();
        incoming.add(&bytes_of(&[Message::Failed { reason: "a\u{1b}[2Jb\n".to_owned() }]));
        assert_eq!(incoming.next(), Ok(Some(Message::Failed { reason: "a[2Jb".to_owned() })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut incoming = Incoming::of_stranger();
            incoming.trust();
            incoming.add(&bytes);
            while let Ok(Some(_)) = incoming.next() {}
        }
    }
}
