//! What is sent on a WebSocket, and when: a pure function of the client, the number of the call and that of the message.

use std::io::Write;
use std::time::Duration;

use httperf_plan::{Client, Every, Payload, Process, WebSocket, WebSocketMessage};

use crate::draws::Draws;
use crate::requests::Fill;

/// Random numbers of a WebSocket that are not those of a message.
const OF_OPENING: u64 = u64::MAX;

/// What is sent on the WebSocket that a call opens.
#[derive(Clone, Copy, Debug)]
pub struct Talk<'p> {
    websocket: &'p WebSocket,
    client: Client,
    call: u64,
}

/// Random numbers of the time before a message, which differ from those of its text.
const OF_INTERVAL: u64 = 1 << 63;

/// Letters with which numbered messages are filled.
const FILLING: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

impl<'p> Talk<'p> {
    /// What the call with this number says.
    #[must_use]
    pub fn new(websocket: &'p WebSocket, client: Client, call: u64) -> Self {
        Self { websocket, client, call }
    }

    /// The nonce of the opening handshake (RFC 6455, section 4.1).
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.draws(OF_OPENING).uuid().to_be_bytes()
    }

    /// The seed of the keys with which frames are masked.
    #[must_use]
    pub fn mask_seed(&self) -> u64 {
        let mut draws = self.draws(OF_OPENING);
        draws.uuid();
        draws.next()
    }

    /// Appends message `number`, from 0. Nothing is appended if the plan has no messages.
    pub fn write_message(&self, number: u64, out: &mut Vec<u8>) {
        let Some(WebSocketMessage { payload, .. }) = &self.websocket.message else { return };
        match payload {
            Payload::Numbered(size) => {
                let end = out.len() + size.get() as usize;
                write!(out, "{number} ").expect("writing to memory does not fail");
                while out.len() < end {
                    let room = end - out.len();
                    out.extend_from_slice(&FILLING[..room.min(FILLING.len())]);
                }
            }
            Payload::Text(template) => {
                Fill::of_message(self.client, self.call, number).write(template, out);
            }
        }
    }

    /// The time from the opening to the instant at which message `number` is due, where `before` is that time for the
    /// message before it; `None` if the message is due when that one is answered.
    #[must_use]
    pub fn due(&self, number: u64, before: Duration) -> Option<Duration> {
        let Every { period, process } = self.websocket.every?;
        if number == 0 {
            return Some(Duration::ZERO);
        }
        let share = || self.draws(number ^ OF_INTERVAL).fraction();
        let interval = match process {
            // Whole multiples: rounding does not add up.
            Process::Even => return Some(saturating_product(period, number)),
            Process::Uniform => period.mul_f64(2.0 * share()),
            Process::Poisson => period.mul_f64(-(1.0 - share()).ln()),
        };
        Some(before.saturating_add(interval))
    }

    fn draws(&self, number: u64) -> Draws {
        Draws::of_visit(self.client, number, self.call)
    }
}

fn saturating_product(period: Duration, number: u64) -> Duration {
    let nanos = period.as_nanos().saturating_mul(number.into());
    u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use httperf_plan::Template;

    use super::*;

    fn websocket(payload: Payload) -> WebSocket {
        let message = Some(WebSocketMessage { binary: false, payload });
        WebSocket { message, ..WebSocket::default() }
    }

    fn message(websocket: &WebSocket, call: u64, number: u64) -> String {
        let mut out = Vec::new();
        Talk::new(websocket, Client::default(), call).write_message(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn messages_begin_with_their_number_and_have_their_size() {
        let of_size = |size| websocket(Payload::Numbered(NonZeroU32::new(size).unwrap()));
        assert_eq!(message(&of_size(8), 0, 17), "17 abcde");
        assert_eq!(message(&of_size(40), 3, 5).len(), 40);
        // A number is never cut: echoes are told apart by it.
        assert_eq!(message(&of_size(1), 0, 123), "123 ");
    }

    #[test]
    fn text_is_filled_in_for_each_message() {
        let text = websocket(Payload::Text(Template::parse(b"<{seq}> {rand:0-999999}").unwrap()));
        let (first, second) = (message(&text, 4, 0), message(&text, 4, 1));
        assert!(first.starts_with("<0> ") && second.starts_with("<1> ") && first[4..] != second[4..]);
        assert_eq!(message(&text, 4, 1), second);
        assert_ne!(message(&text, 5, 1), second);
    }

    #[test]
    fn nonces_and_masks_differ_from_call_to_call() {
        let websocket = WebSocket::default();
        let of = |call| Talk::new(&websocket, Client::default(), call);
        assert_ne!(of(0).nonce(), of(1).nonce());
        assert_ne!(of(0).mask_seed(), of(1).mask_seed());
        assert_eq!(of(7).nonce(), of(7).nonce());
    }

    #[test]
    fn the_schedule_keeps_its_mean() {
        let period = Duration::from_millis(10);
        for process in [Process::Even, Process::Uniform, Process::Poisson] {
            let websocket = WebSocket { every: Some(Every { period, process }), ..WebSocket::default() };
            let talk = Talk::new(&websocket, Client::default(), 9);
            let mut at = Duration::ZERO;
            for number in 0..=10_000 {
                let next = talk.due(number, at).unwrap();
                assert!(next >= at);
                at = next;
            }
            // 10,000 exponential intervals of 10 ms: 100 s, with a standard deviation of 1 s.
            assert!((96.0..104.0).contains(&at.as_secs_f64()), "{process:?}: {at:?}");
        }
        assert_eq!(Talk::new(&WebSocket::default(), Client::default(), 0).due(3, period), None);
    }
}
