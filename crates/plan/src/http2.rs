//! The HTTP/2 settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bounded;

/// The HTTP/2 settings that the client announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Http2 {
    /// The flow-control window of a stream in bytes (`SETTINGS_INITIAL_WINDOW_SIZE`). 6 MiB by default.
    pub window: Window,
    /// The flow-control window of a connection in bytes. 15 MiB by default.
    pub connection_window: ConnectionWindow,
    /// The size of the server's HPACK table in bytes (`SETTINGS_HEADER_TABLE_SIZE`). 4096 by default.
    pub header_table: HeaderTable,
    /// The size of the largest frame that the server may send, in bytes (`SETTINGS_MAX_FRAME_SIZE`). 16,384 by default.
    pub max_frame: MaxFrame,
}

/// The largest flow-control window in bytes.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.1>
const WINDOW_MAX: u32 = (1 << 31) - 1;

/// The flow-control window of a stream in bytes.
pub type Window = Bounded<1, WINDOW_MAX>;

/// The flow-control window of a connection in bytes. It starts at 65,535 and cannot shrink.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.2>
pub type ConnectionWindow = Bounded<65_535, WINDOW_MAX>;

/// The size of the HPACK table in bytes, at most 16 MiB: the server can make each connection hold this much.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
pub type HeaderTable = Bounded<0, { 16 << 20 }>;

/// The maximum frame size in bytes.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
pub type MaxFrame = Bounded<{ 1 << 14 }, { (1 << 24) - 1 }>;

/// Values like those of browsers: windows so large that only a long path makes a server wait for an update.
impl Default for Http2 {
    fn default() -> Self {
        Self {
            window: Window::constant::<{ 6 << 20 }>(),
            connection_window: ConnectionWindow::constant::<{ 15 << 20 }>(),
            header_table: HeaderTable::constant::<4096>(),
            max_frame: MaxFrame::MIN,
        }
    }
}
