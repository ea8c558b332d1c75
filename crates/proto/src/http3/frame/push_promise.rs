//! PUSH_PROMISE (RFC 9114, section 7.2.5): a reply that a server will send unasked. We never allow one, so any such
//! frame is an error.

use super::{ErrorCode, Violation, varint};

/// A PUSH_PROMISE frame; no value of this type exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushPromise {}

impl PushPromise {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Violation> {
        Err(match varint::read(payload) {
            Some(_) => Violation::of_connection(
                ErrorCode::H3_ID_ERROR,
                "a PUSH_PROMISE frame, although no push ID was allowed",
            ),
            None => Violation::of_connection(
                ErrorCode::H3_FRAME_ERROR,
                "a PUSH_PROMISE frame that ends within its push ID",
            ),
        })
    }
}
