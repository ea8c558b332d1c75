//! CANCEL_PUSH (RFC 9114, section 7.2.3): a push that will not be. We never allow a push, so any such frame is an
//! error.

use super::{ErrorCode, Violation, only_integer};

/// A CANCEL_PUSH frame; no value of this type exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelPush {}

impl CancelPush {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Violation> {
        only_integer(payload, "a CANCEL_PUSH frame that is not a push ID")?;
        Err(Violation::of_connection(
            ErrorCode::H3_ID_ERROR,
            "a CANCEL_PUSH frame, although no push ID was allowed",
        ))
    }
}
