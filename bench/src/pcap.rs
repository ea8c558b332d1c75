//! Capture files with nanosecond times, as far as the benches need them: times of TCP segments.
//!
//! The format is the classic one: <https://www.ietf.org/archive/id/draft-gharris-opsawg-pcap-01.html>

use std::collections::HashSet;
use std::net::Ipv4Addr;

use anyhow::{Context, bail, ensure};

const FILE_HEADER_SIZE: usize = 24;
const RECORD_HEADER_SIZE: usize = 16;
/// Times in nanoseconds, written by a machine with the same byte order.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const ETHERNET_HEADER_SIZE: usize = 14;

/// A TCP segment over IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Nanoseconds since 1970.
    pub(crate) time_ns: u64,
    pub(crate) source: (Ipv4Addr, u16),
    pub(crate) destination_port: u16,
    pub(crate) sequence: u32,
    pub(crate) payload_size: usize,
}

/// Times of all first SYNs in a capture of IPv4 SYN packets, in nanoseconds since 1970, in order.
///
/// A retransmitted SYN has the addresses, ports and sequence number of the first, and is skipped.
pub(crate) fn syn_times_ns(capture: &[u8]) -> anyhow::Result<Vec<u64>> {
    let mut seen = HashSet::new();
    let mut times: Vec<u64> = segments(capture)?
        .into_iter()
        .filter(|segment| seen.insert((segment.source, segment.destination_port, segment.sequence)))
        .map(|segment| segment.time_ns)
        .collect();
    times.sort_unstable();
    Ok(times)
}

/// All segments of a capture of TCP over IPv4, in order.
pub(crate) fn segments(capture: &[u8]) -> anyhow::Result<Vec<Segment>> {
    ensure!(capture.len() >= FILE_HEADER_SIZE, "the capture has no header");
    let (magic, link_type) = (u32_at(capture, 0)?, u32_at(capture, 20)?);
    if magic != MAGIC_NANOSECONDS || link_type != LINK_TYPE_ETHERNET {
        bail!("expected an Ethernet capture with nanoseconds, got type {link_type}, magic number {magic:#x}");
    }

    let mut segments = Vec::new();
    let mut rest = &capture[FILE_HEADER_SIZE..];
    // A truncated record is the end of a capture that was stopped.
    while rest.len() >= RECORD_HEADER_SIZE {
        let time_ns = u64::from(u32_at(rest, 0)?) * 1_000_000_000 + u64::from(u32_at(rest, 4)?);
        let size = u32_at(rest, 8)? as usize;
        let Some(packet) = rest.get(RECORD_HEADER_SIZE..RECORD_HEADER_SIZE + size) else { break };
        segments.push(segment(time_ns, packet)?);
        rest = &rest[RECORD_HEADER_SIZE + size..];
    }
    Ok(segments)
}

fn segment(time_ns: u64, packet: &[u8]) -> anyhow::Result<Segment> {
    let ip = packet.get(ETHERNET_HEADER_SIZE..).context("a packet without an IP header")?;
    let ip_header_size = usize::from(ip.first().context("a packet without an IP header")? & 0x0f) * 4;
    let address: [u8; 4] =
        ip.get(12..16).context("a packet with half an IP header")?.try_into().expect("four bytes were taken");
    let tcp = ip.get(ip_header_size..ip_header_size + 20).context("a packet without a TCP header")?;
    let tcp_header_size = usize::from(tcp[12] >> 4) * 4;
    let total_size = usize::from(network_u16(&ip[2..]));
    Ok(Segment {
        time_ns,
        source: (address.into(), network_u16(tcp)),
        destination_port: network_u16(&tcp[2..]),
        sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        payload_size: total_size.saturating_sub(ip_header_size + tcp_header_size),
    })
}

fn network_u16(bytes: &[u8]) -> u16 {
    u16::from_be_bytes([bytes[0], bytes[1]])
}

fn u32_at(bytes: &[u8], at: usize) -> anyhow::Result<u32> {
    let bytes = bytes.get(at..at + 4).context("the capture ends within a number")?;
    Ok(u32::from_ne_bytes(bytes.try_into().expect("four bytes were taken")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capture(packets: &[(u32, u32, u16, u32)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in [MAGIC_NANOSECONDS, 0, 0, 0, 96, LINK_TYPE_ETHERNET] {
            bytes.extend(field.to_ne_bytes());
        }
        for &(seconds, nanoseconds, port, sequence) in packets {
            let mut packet = vec![0; ETHERNET_HEADER_SIZE];
            packet.extend([0x45, 0]);
            // Twenty bytes of IP, twenty of TCP, and seven of payload that are not in the capture.
            packet.extend(47_u16.to_be_bytes());
            packet.extend([0; 8]);
            packet.extend([127, 0, 0, 1, 127, 0, 0, 1]);
            packet.extend(port.to_be_bytes());
            packet.extend(80_u16.to_be_bytes());
            packet.extend(sequence.to_be_bytes());
            packet.extend([0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0]);
            for field in [seconds, nanoseconds, packet.len() as u32, packet.len() as u32] {
                bytes.extend(field.to_ne_bytes());
            }
            bytes.extend(packet);
        }
        bytes
    }

    #[test]
    fn a_segment_has_addresses_and_size() {
        let expected = Segment {
            time_ns: 1_000_000_005,
            source: (Ipv4Addr::LOCALHOST, 1000),
            destination_port: 80,
            sequence: 7,
            payload_size: 7,
        };
        assert_eq!(segments(&capture(&[(1, 5, 1000, 7)])).unwrap(), [expected]);
    }

    #[test]
    fn a_syn_sent_again_counts_once() {
        let bytes = capture(&[(1, 5, 1000, 7), (1, 9, 1001, 8), (2, 5, 1000, 7), (2, 6, 1000, 99)]);
        assert_eq!(syn_times_ns(&bytes).unwrap(), [1_000_000_005, 1_000_000_009, 2_000_000_006]);
    }

    #[test]
    fn a_last_record_cut_short_is_left_out() {
        let bytes = capture(&[(1, 5, 1000, 7), (1, 9, 1001, 8)]);
        assert_eq!(syn_times_ns(&bytes[..bytes.len() - 1]).unwrap(), [1_000_000_005]);
    }

    #[test]
    fn microsecond_captures_are_refused() {
        let mut bytes = capture(&[]);
        bytes[..4].copy_from_slice(&0xa1b2_c3d4_u32.to_ne_bytes());
        assert!(syn_times_ns(&bytes).is_err());
    }
}
