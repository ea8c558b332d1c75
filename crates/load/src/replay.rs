//! Requests of a recording, with the instants at which they are due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::sync::Arc;
use std::time::Duration;

use httperf_plan::{Client, Clients, Header, Replay, Shard};

use crate::draws::Draws;

/// A recorded request, ready to be made.
#[derive(Debug, PartialEq)]
pub struct RecordedRequest {
    /// Start, from that of the first request on.
    pub at: Duration,
    /// Number of the client that made it.
    pub client: u64,
    /// Method.
    pub method: Vec<u8>,
    /// Request target.
    pub uri: Vec<u8>,
    /// Header fields, without placeholders.
    pub headers: Vec<Header>,
    /// Body, if it has one.
    pub body: Option<Arc<[u8]>>,
    /// Status of the recorded reply.
    pub status: Option<u16>,
    /// Recorded time from the start to the end.
    pub took: Option<Duration>,
}

/// A request with the instant at which it is due.
#[derive(Clone, Debug, PartialEq)]
pub struct DueRequest {
    /// Number, from 0: the copies of the recording's first request, then those of the second, and so on.
    pub number: u64,
    /// Instant at which it is due, relative to the start of the run.
    pub at: Duration,
    /// Number of the client that makes it, copies counted.
    pub client: u64,
    /// The request.
    pub request: Arc<RecordedRequest>,
}

/// The requests that a shard makes of a recording, in the order in which they are due. A pure function of the recording,
/// the plan and the shard: all shards together make each request once.
///
/// Requests leave when no copy of a later one can be due before them, so that memory is bounded by the requests of
/// [`Replay::spread`].
#[derive(Debug)]
pub struct Requests<I: Iterator<Item = RecordedRequest>> {
    recorded: Peekable<I>,
    replay: Replay,
    client: Client,
    shard: Shard,
    /// Copies that are due later than the request that is read next.
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Number of requests read.
    read: u64,
}

/// Order of the requests that wait: by the instant, then by their numbers.
#[derive(Debug)]
struct Waiting(DueRequest);

impl<I: Iterator<Item = RecordedRequest>> Requests<I> {
    /// Requests of a recording in order of start, as a plan's replay has them, for this shard of this client.
    pub fn new(recorded: I, replay: &Replay, client: Client, shard: Shard) -> Self {
        Self {
            recorded: recorded.peekable(),
            replay: replay.clone(),
            client,
            shard,
            waiting: BinaryHeap::new(),
            read: 0,
        }
    }

    /// Takes the next request of the recording, as often as it is made here.
    fn take(&mut self, request: RecordedRequest) {
        let request = Arc::new(request);
        let copies = u64::from(self.replay.copies.get());
        for copy in 0..copies {
            let number = self.read.saturating_mul(copies).saturating_add(copy);
            let client = request.client.saturating_mul(copies).saturating_add(copy);
            let owner = match self.replay.clients {
                Clients::Recorded { .. } => client,
                Clients::Independent { .. } => number,
            };
            if !self.makes(owner) {
                continue;
            }
            let behind = if copy == 0 { Duration::ZERO } else { self.behind(client) };
            let at = self.replay.scaled(request.at.saturating_add(behind));
            self.waiting.push(Reverse(Waiting(DueRequest {
                number,
                at,
                client,
                request: Arc::clone(&request),
            })));
        }
        self.read += 1;
    }

    /// Returns whether what has this number is made here.
    fn makes(&self, number: u64) -> bool {
        let generators = u64::from(self.client.count.get());
        number % generators == u64::from(self.client.index) && self.shard.owns(number / generators)
    }

    /// The time by which a copy is behind the client that was recorded, by the recording's clock.
    fn behind(&self, client: u64) -> Duration {
        self.replay.spread.mul_f64(Draws::new(Client { index: 0, ..self.client }, client).fraction())
    }
}

impl<I: Iterator<Item = RecordedRequest>> Iterator for Requests<I> {
    type Item = DueRequest;

    fn next(&mut self) -> Option<DueRequest> {
        loop {
            let first = self.waiting.peek().map(|Reverse(Waiting(due))| due.at);
            let next = self.recorded.peek().map(|request| self.replay.scaled(request.at));
            match (first, next) {
                (Some(first), next) if next.is_none_or(|next| first <= next) => {
                    return self.waiting.pop().map(|Reverse(Waiting(due))| due);
                }
                (_, None) => return None,
                (_, Some(_)) => {
                    if let Some(request) = self.recorded.next() {
                        self.take(request);
                    }
                }
            }
        }
    }
}

impl Waiting {
    fn order(&self) -> (Duration, u64) {
        (self.0.at, self.0.number)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use httperf_plan::{Recorded, RecordedForm, Sha256};
    use proptest::prelude::*;

    use super::*;

    fn replay(speed: f64, copies: u32, spread: Duration, clients: Clients) -> Replay {
        let copies = NonZeroU32::new(copies).unwrap();
        let recorded = Recorded {
            path: "log".into(),
            size: 0,
            sha256: Sha256([0; 32]),
            form: RecordedForm::Trace,
            from: "combined".into(),
            stamps: "start".into(),
            resolution: Duration::ZERO,
            began: String::new(),
            length: Duration::ZERO,
            requests: 0,
            clients: 0,
            busiest: 1,
            left_out: Vec::new(),
            notes: Vec::new(),
        };
        let streams = NonZeroU32::MIN;
        Replay { recorded, speed, copies, spread, clients, streams, all_methods: false, bodies: Vec::new() }
    }

    fn apart() -> Clients {
        Clients::Recorded { connections: NonZeroU32::MIN, cookies: true, idle: Duration::ZERO }
    }

    fn independent() -> Clients {
        Clients::Independent { connections: NonZeroU32::MIN }
    }

    fn recorded(requests: &[(u64, u64)]) -> Vec<RecordedRequest> {
        let request = |&(ms, client): &(u64, u64)| RecordedRequest {
            at: Duration::from_millis(ms),
            client,
            method: b"GET".to_vec(),
            uri: format!("/{ms}").into(),
            headers: Vec::new(),
            body: None,
            status: None,
            took: None,
        };
        requests.iter().map(request).collect()
    }

    fn due(replay: &Replay, requests: &[(u64, u64)], client: Client, shard: Shard) -> Vec<(u64, u128, u64)> {
        let requests = Requests::new(recorded(requests).into_iter(), replay, client, shard);
        requests.map(|due| (due.number, due.at.as_micros(), due.client)).collect()
    }

    const THREE: &[(u64, u64)] = &[(0, 0), (1000, 1), (2500, 0)];

    #[test]
    fn requests_are_due_when_they_were_recorded_divided_by_the_speed() {
        let of =
            |speed| due(&replay(speed, 1, Duration::ZERO, apart()), THREE, Client::default(), Shard::WHOLE);
        assert_eq!(of(1.0), [(0, 0, 0), (1, 1_000_000, 1), (2, 2_500_000, 0)]);
        assert_eq!(of(4.0), [(0, 0, 0), (1, 250_000, 1), (2, 625_000, 0)]);
        assert_eq!(of(0.5), [(0, 0, 0), (1, 2_000_000, 1), (2, 5_000_000, 0)]);
    }

    #[test]
    fn copies_are_clients_of_their_own_that_keep_their_distance() {
        let replay = replay(2.0, 3, Duration::from_secs(10), apart());
        let due = due(&replay, THREE, Client::default(), Shard::WHOLE);
        assert!(due.is_sorted_by_key(|(_, at, _)| *at));
        assert_eq!(due.len(), 9);
        for client in 0..3 {
            let own: Vec<u128> =
                due.iter().filter(|(_, _, of)| *of == client).map(|(_, at, _)| *at).collect();
            assert_eq!((own.len(), own[1] - own[0]), (2, 1_250_000), "client {client}");
            assert!(own[0] < 5_000_000 && (client == 0) == (own[0] == 0), "client {client}");
        }
    }

    #[test]
    fn a_client_stays_with_its_shard() {
        let requests: Vec<(u64, u64)> = (0..100).map(|number| (number, number % 7)).collect();
        let replay = replay(1.0, 2, Duration::ZERO, apart());
        for index in 0..3 {
            let shard = Shard { index, count: 3 };
            let own = due(&replay, &requests, Client::default(), shard);
            assert!(own.iter().all(|(_, _, client)| client % 3 == u64::from(index)));
        }
    }

    proptest! {
        #[test]
        fn generators_and_shards_make_each_request_once(
            gaps in proptest::collection::vec((0u64..2000, 0u64..5), 0..60),
            copies in 1u32..4,
            spread in 0u64..5000,
            are_independent: bool,
        ) {
            let mut at = 0;
            let requests: Vec<(u64, u64)> = gaps.iter().map(|&(gap, client)| { at += gap; (at, client) }).collect();
            let clients = if are_independent { independent() } else { apart() };
            let replay = replay(1.0, copies, Duration::from_millis(spread), clients);
            let whole = due(&replay, &requests, Client::default(), Shard::WHOLE);
            prop_assert!(whole.is_sorted_by_key(|(number, at, _)| (*at, *number)) || copies > 1);
            prop_assert!(whole.is_sorted_by_key(|(_, at, _)| *at));
            prop_assert_eq!(whole.len(), requests.len() * copies as usize);
            let mut parts = Vec::new();
            for generator in 0..2 {
                for index in 0..3 {
                    let shard = Shard { index, count: 3 };
                    let part = due(&replay, &requests, Client::new(generator, 2), shard);
                    prop_assert!(part.is_sorted_by_key(|(_, at, _)| *at));
                    parts.extend(part);
                }
            }
            parts.sort_unstable();
            let mut expected = whole;
            expected.sort_unstable();
            prop_assert_eq!(parts, expected);
        }
    }
}
