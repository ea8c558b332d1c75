//! Header blocks of replies, handed out whole.

use std::rc::Rc;

use crate::content::Coding;
use crate::http1;

/// The header block of a reply in HTTP/1's form: the bytes from the status line to the empty line. A copy shares them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderBlock {
    bytes: Rc<[u8]>,
    marks: Marks,
}

/// Fields that few replies have: most header blocks need not be searched for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    sets_cookies: bool,
    has_coding: bool,
}

const SET_COOKIE: &[u8] = b"set-cookie";
const CONTENT_ENCODING: &[u8] = b"content-encoding";

impl HeaderBlock {
    /// Makes a header block of its bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), marks: Marks::of(bytes) }
    }

    /// Makes a header block of bytes that were read before.
    pub(crate) fn marked(bytes: &[u8], marks: Marks) -> Self {
        debug_assert_eq!(marks, Marks::of(bytes), "{}", String::from_utf8_lossy(bytes));
        Self { bytes: bytes.into(), marks }
    }

    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the values of `Set-Cookie`.
    pub fn cookies(&self) -> impl Iterator<Item = &[u8]> {
        let values = self.marks.sets_cookies.then(|| http1::values(&self.bytes, SET_COOKIE));
        values.into_iter().flatten()
    }

    /// Returns the coding of the body; `None` if it is unknown, or if there are several.
    #[must_use]
    pub fn coding(&self) -> Option<Coding> {
        if self.marks.has_coding { Coding::of(&self.bytes) } else { Some(Coding::Identity) }
    }
}

impl Marks {
    /// Searches a header block.
    pub(crate) fn of(head: &[u8]) -> Self {
        let has = |name| http1::values(head, name).next().is_some();
        Self { sets_cookies: has(SET_COOKIE), has_coding: has(CONTENT_ENCODING) }
    }

    /// Takes note of a field.
    pub(crate) fn add(&mut self, name: &[u8]) {
        self.sets_cookies |= name.eq_ignore_ascii_case(SET_COOKIE);
        self.has_coding |= name.eq_ignore_ascii_case(CONTENT_ENCODING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_and_coding_are_found_where_they_are() {
        for (fields, cookies, coding) in [
            ("", &[][..], Some(Coding::Identity)),
            ("SET-COOKIE: a=1\r\nX: y\r\nset-cookie: b=2\r\n", &["a=1", "b=2"], Some(Coding::Identity)),
            ("Content-Encoding: gzip\r\n", &[], Some(Coding::Gzip)),
            ("content-encoding: x\r\nSet-Cookie2: c\r\n", &[], None),
        ] {
            let block = HeaderBlock::new(format!("HTTP/1.1 200 OK\r\n{fields}\r\n").as_bytes());
            let found: Vec<&[u8]> = block.cookies().collect();
            assert_eq!(found, cookies.iter().map(|cookie| cookie.as_bytes()).collect::<Vec<_>>(), "{fields}");
            assert_eq!(block.coding(), coding, "{fields}");
        }
    }
}
