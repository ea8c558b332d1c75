//! How HTTP/2 is spoken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How HTTP/2 is spoken, where it is: what we let the server do, and how a connection comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Http2 {
    /// Bytes of a reply that the server may send before it hears that more are welcome: 1 to 2^31 - 1.
    pub window: u32,
    /// The same for all replies of a connection together: 65,535, which cannot be undercut, to 2^31 - 1.
    pub connection_window: u32,
    /// Bytes of the table that the server may compress header fields with.
    pub header_table: u32,
    /// Bytes of the largest frame that the server may send: 2^14 to 2^24 - 1.
    pub max_frame: u32,
    /// Whether connections in the clear begin with HTTP/1.1 and ask for HTTP/2 (RFC 7540, section 3.2), and speak
    /// HTTP/1.1 if the server does not take it up. Otherwise the server is known to speak it.
    pub upgrade: bool,
}

impl Http2 {
    /// The largest window.
    pub const WINDOW_MAX: u32 = (1 << 31) - 1;

    /// The least window of a connection.
    pub const CONNECTION_WINDOW_MIN: u32 = 65_535;

    /// The least and the most that the largest frame may be.
    pub const MAX_FRAME: std::ops::RangeInclusive<u32> = 1 << 14..=(1 << 24) - 1;
}

/// As browsers have it: a window that no server waits for, but at the end of a long path.
impl Default for Http2 {
    fn default() -> Self {
        Self {
            window: 6 << 20,
            connection_window: 15 << 20,
            header_table: 4096,
            max_frame: 1 << 14,
            upgrade: false,
        }
    }
}
