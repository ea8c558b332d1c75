//! The next local port of each source address (`--hog`).

use std::collections::HashMap;
use std::net::IpAddr;

/// First port that needs no privilege.
const FIRST: u16 = 1024;

/// Goes round the ports of each address.
#[derive(Debug, Default)]
pub(super) struct Ports {
    next: HashMap<IpAddr, u16>,
}

impl Ports {
    /// How many ports an address has.
    pub(super) const COUNT: u32 = u16::MAX as u32 - FIRST as u32 + 1;

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
}
