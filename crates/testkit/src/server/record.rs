//! Observations of a scripted server.

use std::time::Instant;

/// Record of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// Port of the client.
    pub peer_port: u16,
    /// Instant of acceptance.
    pub accepted: Instant,
    /// Results of reads, up to a total limit.
    pub reads: Vec<Read>,
    /// Requests found in the bytes read.
    pub requests: Vec<Received>,
    /// End of the connection; `None` while it is open.
    pub ended: Option<Ended>,
}

impl ConnectionRecord {
    /// All bytes sent by the client.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.reads.iter().flat_map(|read| read.bytes.iter().copied()).collect()
    }
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Instant of the read.
    pub at: Instant,
    /// Bytes read.
    pub bytes: Vec<u8>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Instant at which its last byte was read.
    pub at: Instant,
    /// Bytes, head and body.
    pub bytes: Vec<u8>,
}

impl Received {
    /// First line without its line end.
    #[must_use]
    pub fn line(&self) -> String {
        let end = self.bytes.iter().position(|&byte| byte == b'\n').unwrap_or(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..end]).trim_end().to_owned()
    }

    /// Body: everything after the head.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        let head = super::requests::head_size(&self.bytes).unwrap_or(self.bytes.len());
        &self.bytes[head..]
    }
}

/// End of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Instant at which the end was noticed.
    pub at: Instant,
    /// Kind of end.
    pub how: End,
}

/// Kind of end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed it in an orderly way.
    ClientFin,
    /// The client reset it.
    ClientRst,
    /// The script reset it.
    ServerRst,
    /// The server was stopped while it was open.
    Stopped,
    /// A read failed in another way.
    Failed,
}
