//! What a scripted server saw of a connection.

use std::time::Instant;

/// One connection, from its acceptance on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionRecord {
    /// The port that the client came from.
    pub peer_port: u16,
    /// When it was accepted.
    pub accepted: Instant,
    /// What each read returned, up to a limit in all.
    pub reads: Vec<Read>,
    /// The requests found in what was read.
    pub requests: Vec<Received>,
    /// How it ended; `None` while it is open.
    pub ended: Option<Ended>,
}

impl ConnectionRecord {
    /// Everything that the client sent.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.reads.iter().flat_map(|read| read.bytes.iter().copied()).collect()
    }
}

/// What one read returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// When.
    pub at: Instant,
    /// What.
    pub bytes: Vec<u8>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// When its last byte was read.
    pub at: Instant,
    /// Its bytes, head and body.
    pub bytes: Vec<u8>,
}

impl Received {
    /// The first line without its line end.
    #[must_use]
    pub fn line(&self) -> String {
        let end = self.bytes.iter().position(|&byte| byte == b'\n').unwrap_or(self.bytes.len());
        String::from_utf8_lossy(&self.bytes[..end]).trim_end().to_owned()
    }

    /// What follows the head.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        let head = super::requests::head_size(&self.bytes).unwrap_or(self.bytes.len());
        &self.bytes[head..]
    }
}

/// How and when a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it was noticed.
    pub at: Instant,
    /// Who did it.
    pub how: End,
}

/// Who ended a connection, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client closed in an orderly way.
    ClientFin,
    /// The client reset the connection.
    ClientRst,
    /// The script reset the connection.
    ServerRst,
    /// The server was stopped while the connection was open.
    Stopped,
    /// Reading failed in another way.
    Failed,
}
