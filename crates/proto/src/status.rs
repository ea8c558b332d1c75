//! What follows from the status of a reply alone. All versions of HTTP ask here, and the test server too.

/// `Switching Protocols` ends HTTP on a connection of HTTP/1, so it is final although it is a 1xx.
pub(crate) const SWITCHING_PROTOCOLS: u16 = 101;

/// `Reset Content` has no content, but its fields frame it as those of any other reply.
pub(crate) const RESET_CONTENT: u16 = 205;

/// Returns whether a number is a status. Those from 600 on count as 5xx (RFC 9110, section 15).
pub(crate) fn is_status(number: u64) -> bool {
    (100..=999).contains(&number)
}

/// Returns whether a reply of this status precedes the final one.
pub(crate) fn is_interim(status: u16) -> bool {
    matches!(status, 100..=199) && status != SWITCHING_PROTOCOLS
}

/// Returns whether a reply of this status has no content, whatever its fields say (RFC 9112, section 6.3; RFC 9110,
/// section 6.4.1).
#[must_use]
pub fn forbids_content(status: u16) -> bool {
    matches!(status, 100..=199 | 204 | 304)
}

/// Returns whether a server sends no content with this status: besides those that [forbid it](forbids_content), 205
/// (RFC 9110, section 15.3.6).
#[must_use]
pub fn is_sent_without_content(status: u16) -> bool {
    forbids_content(status) || status == RESET_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_content_follows() {
        for (status, interim, forbids, without) in [
            (100, true, true, true),
            (101, false, true, true),
            (102, true, true, true),
            (103, true, true, true),
            (199, true, true, true),
            (200, false, false, false),
            (201, false, false, false),
            (203, false, false, false),
            (204, false, true, true),
            (205, false, false, true),
            (206, false, false, false),
            (303, false, false, false),
            (304, false, true, true),
            (305, false, false, false),
            (404, false, false, false),
            (599, false, false, false),
            (999, false, false, false),
        ] {
            let told = (is_interim(status), forbids_content(status), is_sent_without_content(status));
            assert_eq!(told, (interim, forbids, without), "{status}");
        }
    }

    #[test]
    fn a_status_has_three_digits() {
        let found = [0, 99, 100, 599, 600, 999, 1000].map(is_status);
        assert_eq!(found, [false, false, true, true, true, true, false]);
    }
}
