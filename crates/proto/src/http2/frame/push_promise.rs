//! PUSH_PROMISE (RFC 9113, section 6.6): a server begins a stream by itself. We never allow that, so it is an error; what
//! is in it does not matter.

use super::{ErrorCode, FrameHeader, Violation};

/// A PUSH_PROMISE frame: there is none that could be read.
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
