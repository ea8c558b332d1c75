//! MAX_PUSH_ID (RFC 9114, section 7.2.7): the pushes that a client allows. We send none, and a server may not.

use super::{ErrorCode, Violation};

/// The violation that such a frame is, whatever is in it.
pub(super) const OF_A_SERVER: Violation =
    Violation::of_connection(ErrorCode::H3_FRAME_UNEXPECTED, "a MAX_PUSH_ID frame, which only clients send");
