//! Inspection of replies: decompressed as they arrive, and compared with the expected ones.

use std::io::{self, Write};

use httperf_plan::{Expect, Plan};
use httperf_proto::HeaderBlock;
use httperf_proto::content::{Coding, Decoder};
use httperf_stats::Mismatch;
use sha2::{Digest, Sha256};

/// The body of a reply as it comes.
#[derive(Debug)]
pub(super) struct Inspection {
    /// `None` once it cannot be decompressed.
    decoder: Option<Decoder<Seen>>,
    is_compressed: bool,
    /// A byte of it arrived. A reply to HEAD, for one, has a coding and no body.
    has_begun: bool,
}

/// The result of inspecting a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// Bytes of the body decompressed, if it came compressed.
    pub(super) decoded_size: Option<u64>,
    /// The first difference from the expected reply.
    pub(super) mismatch: Option<Mismatch>,
}

/// Size and digest of a body, decompressed, so far.
#[derive(Debug)]
struct Seen {
    size: u64,
    /// Bytes it may have.
    limit: u64,
    /// Its digest, if that is expected to be another's.
    digest: Option<Sha256>,
}

impl Inspection {
    /// Begins with the header block of a reply.
    pub(super) fn new(head: &HeaderBlock, plan: &Plan) -> Self {
        let seen = Seen::new(plan);
        let coding = head.coding();
        Self {
            decoder: coding.and_then(|coding| Decoder::new(coding, seen).ok()),
            is_compressed: coding != Some(Coding::Identity),
            has_begun: false,
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.has_begun |= !bytes.is_empty();
        if let Some(decoder) = &mut self.decoder
            && decoder.push(bytes).is_err()
        {
            self.decoder = None;
        }
    }

    /// Returns whether some of the body is not decompressed yet.
    pub(super) fn is_behind(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::is_behind)
    }

    /// Decompresses some more of it.
    pub(super) fn go_on(&mut self) {
        if let Some(decoder) = &mut self.decoder
            && decoder.is_behind()
            && decoder.go_on().is_err()
        {
            self.decoder = None;
        }
    }

    /// The body is complete. Returns its size and digest, if it could be decompressed.
    fn finish(self, plan: &Plan) -> Option<(Seen, Option<u64>)> {
        if !self.has_begun {
            return Some((Seen::new(plan), None));
        }
        let seen = self.decoder?.finish().ok()?;
        let decoded_size = self.is_compressed.then_some(seen.size);
        Some((seen, decoded_size))
    }
}

/// Judges a complete reply by its status, and by its body if that was inspected.
pub(super) fn judge(plan: &Plan, status: u16, inspection: Option<Inspection>) -> Finding {
    let Expect { statuses, size, sha256 } = &plan.replies.expect;
    let body = inspection.map(|inspection| inspection.finish(plan));
    let decoded_size = body.as_ref().and_then(|body| body.as_ref()?.1);
    let mismatch = if statuses.as_ref().is_some_and(|statuses| !statuses.contains(status)) {
        Some(Mismatch::Status)
    } else {
        match body {
            None => None,
            Some(None) => Some(Mismatch::Undecodable),
            Some(Some((seen, _))) if size.is_some_and(|size| !size.contains(seen.size)) => {
                Some(Mismatch::Size)
            }
            Some(Some((seen, _))) => {
                let digest = seen.digest.map(Digest::finalize);
                let is_other = digest.zip(*sha256).is_some_and(|(own, expected)| own[..] != expected.0);
                is_other.then_some(Mismatch::Hash)
            }
        }
    };
    Finding { decoded_size, mismatch }
}

impl Seen {
    fn new(plan: &Plan) -> Self {
        let digest = plan.replies.expect.sha256.map(|_| Sha256::new());
        Self { size: 0, limit: plan.limits.decoded_size, digest }
    }
}

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.size += bytes.len() as u64;
        if self.size > self.limit {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use httperf_testkit::sim::{Edit, connections};

    use super::*;

    /// `abc` as `gzip -n` has it.
    const GZIP: &[u8] =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00";
    const SHA256: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn expecting(expect: &[(&str, &str)]) -> Plan {
        let mut plan = connections(1, 1, 1);
        for &(what, value) in expect {
            plan.change(|plan| {
                let expect = &mut plan.replies.expect;
                match what {
                    "status" => expect.statuses = Some(value.parse().unwrap()),
                    "size" => expect.size = Some(value.parse().unwrap()),
                    "hash" => expect.sha256 = Some(value.parse().unwrap()),
                    _ => panic!("nothing is expected of a {what}"),
                }
            });
        }
        plan
    }

    fn found(plan: &Plan, header: &str, body: &[u8]) -> Finding {
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n");
        let mut inspection = Inspection::new(&HeaderBlock::new(head.as_bytes()), plan);
        body.chunks(5).for_each(|bytes| inspection.push(bytes));
        judge(plan, 200, Some(inspection))
    }

    #[track_caller]
    fn check(
        expect: &[(&str, &str)],
        header: &str,
        body: &[u8],
        decoded: Option<u64>,
        mismatch: Option<Mismatch>,
    ) {
        let finding = found(&expecting(expect), header, body);
        assert_eq!(finding, Finding { decoded_size: decoded, mismatch }, "{expect:?}");
    }

    #[test]
    fn a_body_is_held_against_size_and_digest() {
        check(&[], "", b"abc", None, None);
        check(&[("size", "3"), ("hash", SHA256)], "", b"abc", None, None);
        check(&[("size", "4-9")], "", b"abc", None, Some(Mismatch::Size));
        check(&[("hash", SHA256)], "", b"abd", None, Some(Mismatch::Hash));
        check(&[("size", "0")], "", b"", None, None);
        check(&[("size", "1")], "", b"", None, Some(Mismatch::Size));
    }

    #[test]
    fn a_compressed_body_is_judged_by_what_it_was() {
        let gzip = "Content-Encoding: gzip\r\n";
        check(&[("size", "3"), ("hash", SHA256)], gzip, GZIP, Some(3), None);
        check(&[("size", "23")], gzip, GZIP, Some(3), Some(Mismatch::Size));
        check(&[], gzip, &GZIP[..22], None, Some(Mismatch::Undecodable));
        check(&[], gzip, b"abc", None, Some(Mismatch::Undecodable));
        check(&[], "Content-Encoding: compress\r\n", b"abc", None, Some(Mismatch::Undecodable));
        check(&[], gzip, b"", None, None);
    }

    #[test]
    fn the_status_comes_first() {
        let plan = expecting(&[("status", "3xx"), ("size", "5")]);
        assert_eq!(found(&plan, "", b"abc").mismatch, Some(Mismatch::Status));
        assert_eq!(judge(&expecting(&[("status", "2xx")]), 200, None).mismatch, None);
        assert_eq!(judge(&expecting(&[("status", "2xx")]), 404, None).mismatch, Some(Mismatch::Status));
    }

    #[test]
    fn a_body_beyond_the_limit_is_given_up() {
        let mut plan = expecting(&[]);
        plan.change(|plan| plan.limits.decoded_size = 2);
        let finding = found(&plan, "Content-Encoding: gzip\r\n", GZIP);
        assert_eq!(finding, Finding { decoded_size: None, mismatch: Some(Mismatch::Undecodable) });
    }
}
