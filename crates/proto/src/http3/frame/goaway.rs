//! GOAWAY (RFC 9114, section 7.2.6): the end of a connection.

use super::{ErrorCode, Violation, only_integer};
#[cfg(test)]
use super::{kind, varint, write_header};

/// A GOAWAY frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoAway {
    /// From a server, the first stream of ours that was not processed: its request and later ones may be made again.
    /// That it does not grow is for the owner to check (section 5.2). From a client, the first push that is not
    /// accepted.
    pub(crate) id: u64,
}

impl GoAway {
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Violation> {
        let id = only_integer(payload, "a GOAWAY frame that is not a stream ID")?;
        if !is_request_stream(id) {
            return Err(Violation::of_connection(
                ErrorCode::H3_ID_ERROR,
                "a GOAWAY frame with a stream that cannot be a request's",
            ));
        }
        Ok(Self { id })
    }

    /// Appends the frame. We send none: what a client refuses is pushes, of which we allow none.
    #[cfg(test)]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        write_header(kind::GOAWAY, varint::size(self.id) as u64, out);
        varint::write(self.id, out);
    }
}

/// Returns whether a stream is bidirectional and a client's.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-2.1>
fn is_request_stream(id: u64) -> bool {
    id & 0x3 == 0
}
