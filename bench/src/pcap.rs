//! Capture files with nanosecond times, as far as the schedule bench needs them: when each SYN passed.
//!
//! The format is the classic one: <https://www.ietf.org/archive/id/draft-gharris-opsawg-pcap-01.html>

use std::collections::HashSet;

use anyhow::{Context, bail, ensure};

const FILE_HEADER_SIZE: usize = 24;
const RECORD_HEADER_SIZE: usize = 16;
/// Times in nanoseconds, written by a machine of our own byte order.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const ETHERNET_HEADER_SIZE: usize = 14;

/// The times in nanoseconds since 1970, in order, of all first SYNs in a capture of IPv4 SYN packets.
///
/// A SYN that was sent again has the addresses, ports and sequence number of the first, and is left out.
pub(crate) fn syn_times_ns(capture: &[u8]) -> anyhow::Result<Vec<u64>> {
    ensure!(capture.len() >= FILE_HEADER_SIZE, "the capture has no header");
    let (magic, link_type) = (u32_at(capture, 0)?, u32_at(capture, 20)?);
    if magic != MAGIC_NANOSECONDS || link_type != LINK_TYPE_ETHERNET {
        bail!("expected an Ethernet capture with nanoseconds, got type {link_type}, magic number {magic:#x}");
    }

    let mut seen = HashSet::new();
    let mut times = Vec::new();
    let mut rest = &capture[FILE_HEADER_SIZE..];
    // A record that is cut short is the end of a capture that was stopped.
    while rest.len() >= RECORD_HEADER_SIZE {
        let (seconds, nanoseconds) = (u32_at(rest, 0)?, u32_at(rest, 4)?);
        let size = u32_at(rest, 8)? as usize;
        let Some(packet) = rest.get(RECORD_HEADER_SIZE..RECORD_HEADER_SIZE + size) else { break };
        if seen.insert(identity(packet)?) {
            times.push(u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds));
        }
        rest = &rest[RECORD_HEADER_SIZE + size..];
    }
    times.sort_unstable();
    Ok(times)
}

/// Source address, ports and sequence number.
fn identity(packet: &[u8]) -> anyhow::Result<[u8; 12]> {
    let ip = packet.get(ETHERNET_HEADER_SIZE..).context("a packet without an IP header")?;
    let ip_header_size = usize::from(ip.first().context("a packet without an IP header")? & 0x0f) * 4;
    let mut identity = [0; 12];
    identity[..4].copy_from_slice(ip.get(12..16).context("a packet with half an IP header")?);
    let tcp = ip.get(ip_header_size..ip_header_size + 8).context("a packet without a TCP header")?;
    identity[4..].copy_from_slice(tcp);
    Ok(identity)
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
            let mut packet = vec![0; ETHERNET_HEADER_SIZE + 20];
            packet[ETHERNET_HEADER_SIZE] = 0x45;
            packet.extend(port.to_be_bytes());
            packet.extend(80_u16.to_be_bytes());
            packet.extend(sequence.to_be_bytes());
            for field in [seconds, nanoseconds, packet.len() as u32, packet.len() as u32] {
                bytes.extend(field.to_ne_bytes());
            }
            bytes.extend(packet);
        }
        bytes
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
