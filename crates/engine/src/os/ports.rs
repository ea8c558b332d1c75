//! The next local port of each source address (`--hog`).

use std::collections::HashMap;
use std::net::IpAddr;

/// First port that needs no privilege.
const FIRST: u16 = 1024;

/// How many ports are tried for a connection after all of them were found in use. To try them all takes a
/// tenth of a second, for which the schedule cannot wait each time.
const ATTEMPTS_MIN: u32 = 256;

/// How many more are tried after each port that was found: so searches in vain stay a small part of the work.
const ATTEMPTS_EARNED: u32 = 4;

/// Goes round the ports of each address.
#[derive(Debug, Default)]
pub(super) struct Ports {
    next: HashMap<IpAddr, u16>,
    /// How many ports are tried on addresses that have been full.
    attempts: HashMap<IpAddr, u32>,
}

impl Ports {
    /// How many ports an address has.
    const COUNT: u32 = u16::MAX as u32 - FIRST as u32 + 1;

    /// How many ports of this address to try for a connection.
    pub(super) fn attempts(&self, address: IpAddr) -> u32 {
        self.attempts.get(&address).copied().unwrap_or(Self::COUNT)
    }

    /// Whether one of them was free.
    pub(super) fn note(&mut self, address: IpAddr, found: bool) {
        if !found {
            self.attempts.insert(address, ATTEMPTS_MIN);
        } else if let Some(attempts) = self.attempts.get_mut(&address) {
            *attempts = (*attempts + ATTEMPTS_EARNED).min(Self::COUNT);
        }
    }

    /// The next port to try for this address, from 1024 upward and round again.
    pub(super) fn next(&mut self, address: IpAddr) -> u16 {
        let next = self.next.entry(address).or_insert(FIRST);
        let port = *next;
        *next = port.checked_add(1).unwrap_or(FIRST);
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_go_round_for_each_address_by_itself() {
        let mut ports = Ports::default();
        let (one, two) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        let first: Vec<u16> = (0..Ports::COUNT).map(|_| ports.next(one)).collect();
        assert_eq!((first[0], first[1], first.last()), (1024, 1025, Some(&u16::MAX)));
        assert_eq!(ports.next(one), 1024);
        assert_eq!(ports.next(two), 1024);
    }

    #[test]
    fn an_address_without_a_free_port_is_not_searched_through_each_time() {
        let mut ports = Ports::default();
        let (one, two) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        ports.note(one, true);
        assert_eq!(ports.attempts(one), Ports::COUNT);
        ports.note(one, false);
        assert_eq!((ports.attempts(one), ports.attempts(two)), (256, Ports::COUNT));
        ports.note(one, true);
        assert_eq!(ports.attempts(one), 260);
        (0..Ports::COUNT).for_each(|_| ports.note(one, true));
        assert_eq!(ports.attempts(one), Ports::COUNT);
    }
}
