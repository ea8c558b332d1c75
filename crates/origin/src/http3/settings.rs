//! The server's settings of HTTP/3 and QUIC.

use quinn::{TransportConfig, VarInt};

/// The server's settings of HTTP/3 and QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http3 {
    /// Bytes of a request's body that a client may send ahead on a stream.
    pub window: u32,
    /// The same for all streams of a connection together.
    pub connection_window: u32,
    /// Requests that a client may have open at once.
    pub streams: u32,
    /// True if each new connection is first sent a Retry.
    pub retries: bool,
    /// Datagrams lost at the beginning of each new connection.
    pub lost: u32,
}

impl Default for Http3 {
    fn default() -> Self {
        Self { window: 1 << 20, connection_window: 1 << 20, streams: 1000, retries: false, lost: 0 }
    }
}

impl Http3 {
    pub(super) fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        transport
            .stream_receive_window(VarInt::from_u32(self.window))
            .receive_window(VarInt::from_u32(self.connection_window))
            .max_concurrent_bidi_streams(VarInt::from_u32(self.streams))
            // Idleness is judged as it is over TCP.
            .max_idle_timeout(None);
        transport
    }
}
