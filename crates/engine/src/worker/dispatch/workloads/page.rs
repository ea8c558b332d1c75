//! The page at which a session is: its objects, and those that replies add.

use httperf_load::page::{Link, Objects, Scanner, Site, resolve_location};
use httperf_proto::http1;

/// The page at which a session is.
pub(super) struct Page {
    site: Site,
    /// The objects known so far; `None` before the first page.
    objects: Option<Objects>,
}

impl Page {
    /// `port`: where the server listens, if it is known by a number. `secure`: over TLS.
    pub(super) fn new(host: &str, port: Option<u16>, secure: bool) -> Self {
        Self { site: Site::new(host, port, secure), objects: None }
    }

    /// Goes to the next page.
    pub(super) fn start(&mut self, uri: &[u8], objects_max: usize) {
        self.objects = Some(Objects::new(&self.site, uri, objects_max));
    }

    /// Takes the header block of the reply to `uri`. Returns the parser for its body, if that is a page, and the links
    /// that the header block has.
    pub(super) fn handle_head(&self, uri: &[u8], head: &[u8]) -> (Option<Scanner>, Vec<Link>) {
        let (mut scanner, mut links) = (None, Vec::new());
        let Some(objects) = &self.objects else { return (scanner, links) };
        for (name, value) in http1::fields(head) {
            if name.eq_ignore_ascii_case(b"content-type") && is_html(value) {
                scanner = Some(Scanner::new(&self.site, uri, objects));
            } else if name.eq_ignore_ascii_case(b"location") {
                links.extend(resolve_location(&self.site, uri, value).filter(|link| objects.admit(link)));
            }
        }
        (scanner, links)
    }
}

/// Returns whether a `Content-Type` is HTML, whatever its parameters.
fn is_html(content_type: &[u8]) -> bool {
    let media_type = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(b"text/html")
}
