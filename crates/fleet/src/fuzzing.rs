//! A meeting as fuzzing sees it: guests that know the secret, and links on which anything may come.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::host::STRANGERS_MAX;
use crate::host_event::PeerId;
use crate::wire::{Join, STRANGER_MAX, Time};
use crate::{Guest, GuestEvent, Host, HostEvent, Nonce, Secret};

/// Ranks of the fleet.
const SIZE: u32 = 4;

/// The longest piece of arbitrary bytes.
const PIECE_MAX: usize = 255;

/// Checks, for fuzzing, that a meeting withstands what peers send and when: the input tells who comes, what each sends, what
/// is damaged on the way, and how time passes.
///
/// # Panics
/// If a stranger is heard as a rank or takes more room than it may have, if the meeting fails twice, or if something is said
/// to a rank after its end.
pub fn check_meeting(input: &[u8]) {
    let mut world = World::new();
    let mut input = input.iter().copied();
    while let Some(deed) = input.next() {
        let mut next = || input.next().unwrap_or(0);
        let link = PeerId::from(next() % 8);
        match deed % 12 {
            0 => world.connect(link, None),
            1 => world.connect(link, Some(u32::from(next()) % (SIZE + 1))),
            2 | 3 => {
                let count = usize::from(next()).min(PIECE_MAX);
                let bytes: Vec<u8> = (0..count).map(|_| next()).collect();
                world.arrive(link, &bytes);
            }
            4 => world.damage = Some((usize::from(next()), next())),
            5 => world.close(link),
            6 => world.pass(Duration::from_millis(50) * u32::from(next())),
            7 => world.host.begin(|_, rank| vec![rank as u8]),
            8 => world.host.ready(world.now.clock),
            9 => world.with_guest(link, Guest::ready),
            10 => {
                let content = vec![next(); usize::from(next())];
                world.with_guest(link, |guest| guest.second(content));
            }
            _ => match next() % 4 {
                0 => world.with_guest(link, |guest| guest.outcome(Vec::new())),
                1 => world.with_guest(link, |guest| guest.fail("a disk is full".to_owned())),
                2 => world.host.own_part_is_over(world.now),
                _ => world.host.stop(),
            },
        }
        world.settle();
    }
    // Whatever happened, patience ends.
    (0..300).for_each(|_| {
        world.pass(Duration::from_secs(1));
        world.settle();
    });
}

struct World {
    host: Host,
    now: Time,
    guests: BTreeMap<PeerId, Guest>,
    /// The number of a link is given to one peer after another; the host sees a new one each time.
    links: BTreeMap<PeerId, PeerId>,
    connected: PeerId,
    /// The byte of the next message from a guest that is changed, and how.
    damage: Option<(usize, u8)>,
    failures: u32,
}

impl World {
    fn new() -> Self {
        let mut drawn = 0_u8;
        let draw = move || {
            drawn = drawn.wrapping_add(1);
            Nonce([drawn; 32])
        };
        let patience = Duration::from_secs(10);
        Self {
            host: Host::new(join(0), secret(), Duration::ZERO, patience, draw),
            now: Time::default(),
            guests: BTreeMap::new(),
            links: BTreeMap::new(),
            connected: 0,
            damage: None,
            failures: 0,
        }
    }

    /// A peer comes: a guest that is this rank, or one that only sends what it is told to.
    fn connect(&mut self, link: PeerId, rank: Option<u32>) {
        self.close(link);
        let peer = self.connected;
        self.connected += 1;
        self.links.insert(link, peer);
        self.host.handle_connected(self.now.clock, peer, format!("link {link}"));
        if let Some(rank) = rank {
            let guest = Guest::new(join(rank), secret(), Nonce([link as u8; 32]), self.now.clock);
            self.guests.insert(peer, guest);
        }
    }

    fn arrive(&mut self, link: PeerId, bytes: &[u8]) {
        if let Some(&peer) = self.links.get(&link) {
            self.host.handle_bytes(self.now, peer, bytes);
        }
    }

    fn close(&mut self, link: PeerId) {
        if let Some(peer) = self.links.remove(&link) {
            self.host.handle_closed(self.now, peer, "its connection was closed");
            self.guests.remove(&peer);
        }
    }

    fn with_guest(&mut self, link: PeerId, command: impl FnOnce(&mut Guest)) {
        if let Some(guest) = self.links.get(&link).and_then(|peer| self.guests.get_mut(peer)) {
            command(guest);
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now.clock += time;
        self.now.wall += time;
        self.host.handle_timeout(self.now);
        self.guests.values_mut().for_each(|guest| guest.handle_timeout(self.now.clock));
    }

    /// Carries bytes to and fro until nobody has any, and looks at what happened.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            while let Some((peer, bytes)) = self.host.poll_transmit() {
                is_quiet = false;
                if let Some(guest) = self.guests.get_mut(&peer) {
                    guest.handle_bytes(self.now, &bytes);
                }
            }
            let mut sent = Vec::new();
            for (&peer, guest) in &mut self.guests {
                let mut is_over = false;
                while let Some(event) = guest.poll_event() {
                    assert!(!is_over, "a guest that has ended is told of nothing: {event:?}");
                    is_over = matches!(
                        event,
                        GuestEvent::Bye | GuestEvent::Refused { .. } | GuestEvent::Lost { .. }
                    );
                }
                sent.extend(std::iter::from_fn(|| guest.poll_transmit()).map(|bytes| (peer, bytes)));
            }
            for (peer, mut bytes) in sent {
                is_quiet = false;
                if let Some((place, how)) = self.damage.take() {
                    let place = place % bytes.len();
                    bytes[place] ^= how;
                }
                self.host.handle_bytes(self.now, peer, &bytes);
            }
            while let Some(peer) = self.host.poll_close() {
                is_quiet = false;
                self.links.retain(|_, its| *its != peer);
                if let Some(mut guest) = self.guests.remove(&peer) {
                    guest.handle_closed("its connection was closed");
                }
            }
            while let Some(event) = self.host.poll_event() {
                is_quiet = false;
                self.check(&event);
            }
            if is_quiet {
                break;
            }
        }
        let (count, bytes) = self.host.strangers();
        assert!(count <= STRANGERS_MAX && bytes <= count * (2 * STRANGER_MAX + PIECE_MAX));
    }

    fn check(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Second { rank, .. }
            | HostEvent::Outcome { rank, .. }
            | HostEvent::StopAsked { rank }
            | HostEvent::Complaint { rank, .. }
            | HostEvent::Lost { rank, .. } => {
                let known = self.host.known(*rank);
                assert!(known.is_some_and(|known| known.join.rank == *rank), "{event:?} is of a rank");
            }
            HostEvent::Failed(_) => {
                self.failures += 1;
                assert_eq!(self.failures, 1, "a meeting fails once");
            }
            _ => {}
        }
    }
}

fn secret() -> Secret {
    Secret::new("known")
}

fn join(rank: u32) -> Join {
    Join {
        rank,
        size: SIZE,
        host: format!("n{rank}"),
        version: "1.0.0".to_owned(),
        digest: "ab".to_owned(),
        problems: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_meeting_that_goes_well_and_one_that_is_damaged_are_withstood() {
        let come = |link: u8| [1, link, link];
        let mut good: Vec<u8> = (1..4).flat_map(come).collect();
        good.extend([7, 0, 8, 0, 9, 1, 9, 2, 9, 3, 10, 1, 5, 5, 11, 2, 0, 11, 0, 2]);
        check_meeting(&good);
        for place in 0..64 {
            let damaged = [vec![4, 0, place, 1], good.clone()].concat();
            check_meeting(&damaged);
        }
    }

    proptest! {
        #[test]
        fn any_course_of_a_meeting_is_withstood(input in prop::collection::vec(any::<u8>(), 0..300)) {
            check_meeting(&input);
        }
    }
}
