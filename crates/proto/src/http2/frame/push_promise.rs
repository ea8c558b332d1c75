//! PUSH_PROMISE (RFC 9113, section 6.6): a stream that a server opens. We never allow it, so any such frame
//! is an error.

use super::{ErrorCode, FrameHeader, Violation};

/// A PUSH_PROMISE frame; no value of this type exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushPromise {}

impl PushPromise {
    pub(super) fn parse(_: FrameHeader, _: &[u8]) -> Result<Self, Violation> {
        Err(Violation::of_connection(
            ErrorCode::PROTOCOL_ERROR,
            "a PUSH_PROMISE frame, although pushing is disabled",
        ))
    }
}
