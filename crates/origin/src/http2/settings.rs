//! The server's settings of HTTP/2.

use h2::server::Builder;

/// The server's settings of HTTP/2. A value out of range counts as the nearest one in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2 {
    /// Bytes of a request's body that a client may send ahead on a stream: 1 to 2³¹ - 1.
    pub window: u32,
    /// The same for all streams of a connection together: 1 to 2³¹ - 1. A connection begins with 65,535; a smaller window
    /// takes effect as those are used up.
    pub connection_window: u32,
    /// Streams that a client may have open at once.
    pub streams: u32,
    /// The largest frame that a client may send: 16,384 to 16,777,215 bytes.
    pub frame_size: u32,
    /// The size of the table with which a client may compress headers.
    pub header_table: u32,
}

impl Default for Http2 {
    fn default() -> Self {
        Self {
            window: 1 << 20,
            connection_window: 1 << 20,
            streams: 1000,
            frame_size: FRAME_SIZE_MIN,
            header_table: 4096,
        }
    }
}

impl Http2 {
    pub(super) fn builder(&self) -> Builder {
        let mut builder = Builder::new();
        builder
            .initial_window_size(self.window.clamp(1, WINDOW_MAX))
            .initial_connection_window_size(self.connection_window.clamp(1, WINDOW_MAX))
            .max_concurrent_streams(self.streams)
            .max_frame_size(self.frame_size.clamp(FRAME_SIZE_MIN, FRAME_SIZE_MAX))
            .header_table_size(self.header_table)
            .max_header_list_size(HEADER_LIST_SIZE_MAX)
            .max_send_buffer_size(SEND_BUFFER)
            .max_pending_accept_reset_streams(EARLY_RESETS_MAX)
            .data_frame_budget(DATA_FRAME_BUDGET)
            .enable_connect_protocol();
        builder
    }
}

/// The largest window.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.9.1>
pub(crate) const WINDOW_MAX: u32 = (1 << 31) - 1;

/// The bounds of a frame size; the lower one is the initial size.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
const FRAME_SIZE_MIN: u32 = 1 << 14;
const FRAME_SIZE_MAX: u32 = (1 << 24) - 1;

/// The largest header of a request, as HTTP/2 counts it. A larger one is answered 431.
const HEADER_LIST_SIZE_MAX: u32 = 1 << 20;

/// Bytes of a stream that wait to be written, for clients that do not read.
const SEND_BUFFER: usize = 64 << 10;

/// Streams that a client may open and reset before they are accepted; beyond that, the connection is ended. A client
/// that gives up on all its streams at once is no attacker.
const EARLY_RESETS_MAX: usize = 10_000;

/// The memory, as h2 reckons it, for small DATA frames that are not read yet. With small windows, all are small.
const DATA_FRAME_BUDGET: usize = 16 << 20;
