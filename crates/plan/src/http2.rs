//! How HTTP/2 is spoken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bounded;

/// How HTTP/2 is spoken, where it is: what we let the server do, and how a connection comes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Http2 {
    /// Bytes of a reply that the server may send before it hears that more are welcome.
    pub window: Window,
    /// The same for all replies of a connection together.
    pub connection_window: ConnectionWindow,
    /// Bytes of the table that the server may compress header fields with.
    pub header_table: HeaderTable,
    /// Bytes of the largest frame that the server may send.
    pub max_frame: MaxFrame,
    /// Whether connections in the clear begin with HTTP/1.1 and ask for HTTP/2 (RFC 7540, section 3.2), and speak
    /// HTTP/1.1 if the server does not take it up. Otherwise the server is known to speak it.
    pub upgrade: bool,
}

/// The largest window.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.1>
const WINDOW_MAX: u32 = (1 << 31) - 1;

/// The window of a stream in bytes.
pub type Window = Bounded<1, WINDOW_MAX>;

/// The window of a connection in bytes, which begins with 65,535 and cannot be made smaller.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2>
pub type ConnectionWindow = Bounded<65_535, WINDOW_MAX>;

/// The size of the table of header fields in bytes: the server can make each connection hold that much.
pub type HeaderTable = Bounded<0, { 16 << 20 }>;

/// The size of the largest frame in bytes.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
pub type MaxFrame = Bounded<{ 1 << 14 }, { (1 << 24) - 1 }>;

/// As browsers have it: a window that no server waits for, but at the end of a long path.
impl Default for Http2 {
    fn default() -> Self {
        Self {
            window: Window::constant::<{ 6 << 20 }>(),
            connection_window: ConnectionWindow::constant::<{ 15 << 20 }>(),
            header_table: HeaderTable::constant::<4096>(),
            max_frame: MaxFrame::MIN,
            upgrade: false,
        }
    }
}
