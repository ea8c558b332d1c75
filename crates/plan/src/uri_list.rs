//! The file that `--wlog` names: a list of URIs that requests use in turn.

use thiserror::Error;

use crate::NonEmpty;

/// The reason why a file has no URIs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The file is empty.
    #[error("the list of URIs is empty")]
    Empty,
    /// The file has only separators.
    #[error("the list does not contain any valid URIs")]
    NoUris,
}

impl Error {
    /// Returns the message of the classic tool, with the name of the file.
    #[must_use]
    pub fn message(self, file_name: &str) -> String {
        match self {
            Self::Empty => format!("file {file_name} is empty"),
            Self::NoUris => format!("{file_name} does not contain any valid URIs"),
        }
    }
}

/// Parses the URIs of a file, in order.
///
/// A file with a NUL byte is in the classic form: URIs separated by NUL, in which all other bytes belong to the URIs.
/// A file without one is text with a URI on each line; lines end with LF or CR LF. In both forms, the separator after
/// the last URI is optional. Empty entries are skipped, as are lines of only white space in a text file.
///
/// # Errors
///
/// If the file is empty or has only separators.
pub fn parse(bytes: &[u8]) -> Result<NonEmpty<Vec<u8>>, Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let uris: Vec<Vec<u8>> = if bytes.contains(&0) {
        bytes.split(|&byte| byte == 0).filter(|uri| !uri.is_empty()).map(<[u8]>::to_vec).collect()
    } else {
        bytes
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    NonEmpty::try_from(uris).map_err(|_| Error::NoUris)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&[u8]]) {
        assert_eq!(parse(bytes).unwrap().into_vec(), expected);
    }

    #[test]
    fn uris_are_separated_by_nul() {
        check(b"/a\0/b\0/c\0", &[b"/a", b"/b", b"/c"]);
        check(b"/a\0/b", &[b"/a", b"/b"]);
        check(b"\0\0/a\0\0/b\0\0", &[b"/a", b"/b"]);
    }

    #[test]
    fn a_line_feed_is_part_of_a_uri_when_there_is_a_nul() {
        check(b"/a\n/b\0/c\r\n\0 \0", &[b"/a\n/b", b"/c\r\n", b" "]);
    }

    #[test]
    fn a_file_without_nul_has_one_uri_on_each_line() {
        check(b"/a\n/b c\n/d", &[b"/a", b"/b c", b"/d"]);
        check(b"/a\r\n\r\n  \n\t\r\n/b\r\n", &[b"/a", b"/b"]);
        check(b"/a", &[b"/a"]);
    }

    #[test]
    fn a_file_without_uris_is_an_error() {
        assert_eq!(parse(b""), Err(Error::Empty));
        assert_eq!(parse(b"\0\0"), Err(Error::NoUris));
        assert_eq!(parse(b"\r\n \n"), Err(Error::NoUris));
    }

    #[test]
    fn messages_are_the_classic_ones() {
        assert_eq!(Error::Empty.message("u.log"), "file u.log is empty");
        assert_eq!(Error::NoUris.message("u.log"), "u.log does not contain any valid URIs");
    }

    proptest! {
        #[test]
        fn a_list_joined_with_nul_comes_back(
            uris in prop::collection::vec(prop::collection::vec(1..=255_u8, 1..12), 1..12),
        ) {
            let mut file = uris.join(&0);
            file.push(0);
            prop_assert_eq!(parse(&file).map(NonEmpty::into_vec), Ok(uris));
        }
    }
}
