//! Objects embedded in a page (`--wsesspage`): finds them in HTML as it arrives, and tells which ones the
//! session can fetch. Fetching is done elsewhere.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lol_html::html_content::Element;
use lol_html::send::{ElementContentHandlers, HtmlRewriter, Settings};
use lol_html::{MemorySettings, Selector};
use percent_encoding::{AsciiSet, percent_encode};
use url::{Position, Url};

/// Memory limit of a scanner in bytes, for an incomplete tag and the open elements.
const SCANNER_MEMORY_MAX: usize = 4 * 1024 * 1024;

/// Identity of the session's server in links.
#[derive(Clone, Debug)]
pub struct Site {
    root: Url,
    port: Option<u16>,
}

/// Target of a reference in a page or a reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// A resource on the session's server, by its request target.
    Local(Vec<u8>),
    /// A resource elsewhere, which the session does not fetch: its URL, for a message.
    Foreign(String),
}

/// Distinct objects of one page, over all documents (frames, redirects) that refer to them. Clones share
/// their state: the scanners of all documents of a page have one each.
///
/// An uncontended mutex costs little, and allows a session to move to its worker's thread.
#[derive(Clone, Debug)]
pub struct Objects {
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug)]
struct Seen {
    links: HashSet<Link>,
    count_max: usize,
    local_count: usize,
    foreign_count: usize,
    is_truncated: bool,
}

/// Maximum length of a reference in bytes: no server accepts such long requests (RFC 9110, section 4.1, asks
/// for 8000), and a page may have a thousand of them.
const REFERENCE_SIZE: usize = 8192;

/// Finds the objects embedded in an HTML document: `img`, `frame` and `iframe` by `src`, `object` by `data`.
/// It scans like a browser that runs scripts, so the contents of `noscript` do not count. Input may be split
/// anywhere.
///
/// A document that cannot be scanned within bounds stops the scanner, but never the session.
pub struct Scanner {
    /// `None` once it has stopped.
    rewriter: Option<Rewriter>,
    found: Arc<Mutex<Vec<Link>>>,
}

/// Discards its output.
type Rewriter = HtmlRewriter<'static, fn(&[u8])>;

impl Site {
    /// Creates the site of the server known as `host` (the value of the `Host` field) on `port`, if known as
    /// a number. `secure` is true for TLS.
    ///
    /// Links to another port or name are foreign, even if they lead to the same machine. If `host` cannot be
    /// part of a URL, only relative references are local.
    #[must_use]
    pub fn new(host: &str, port: Option<u16>, secure: bool) -> Self {
        let scheme = if secure { "https" } else { "http" };
        // An IPv6 address has brackets in a URL, but perhaps not on the command line.
        let root = Url::parse(&format!("{scheme}://{host}/"))
            .or_else(|_| Url::parse(&format!("{scheme}://[{host}]/")))
            .or_else(|_| Url::parse(&format!("{scheme}://unnamed.invalid/")))
            .expect("a constant URL is well-formed");
        Self { root, port }
    }

    /// URL of the document with this request target.
    fn document(&self, target: &[u8]) -> Url {
        let target = String::from_utf8_lossy(target);
        let url = if target.starts_with('/') {
            // Not joined, since a path may start with two slashes.
            Url::parse(&format!("{}{target}", &self.root[..Position::BeforePath]))
        } else {
            self.root.join(&target)
        };
        url.unwrap_or_else(|_| self.root.clone())
    }

    fn resolve(&self, base: &Url, reference: &str) -> Option<Link> {
        let reference = reference.trim_ascii();
        if reference.is_empty() || reference.starts_with('#') || reference.len() > REFERENCE_SIZE {
            return None;
        }
        let url = base.join(reference).ok()?;
        if url.cannot_be_a_base() {
            // `data:`, `javascript:`, `mailto:`: not fetched from a server.
            return None;
        }
        Some(if self.serves(&url) {
            Link::Local(url[Position::BeforePath..Position::AfterQuery].into())
        } else {
            Link::Foreign(url.into())
        })
    }

    fn serves(&self, url: &Url) -> bool {
        let is_known_scheme = url.scheme() == "http" || url.scheme() == self.root.scheme();
        let is_known_port = url.port().is_none()
            || url.port() == self.root.port()
            || (self.port.is_some() && url.port_or_known_default() == self.port);
        is_known_scheme && is_known_port && url.host() == self.root.host()
    }
}

/// Target of a `Location` field in the reply to a request for `document_uri`; `None` if it cannot be fetched.
#[must_use]
pub fn resolve_location(site: &Site, document_uri: &[u8], location: &[u8]) -> Option<Link> {
    site.resolve(&site.document(document_uri), &reference(location))
}

/// Returns a reference as text. If it is not UTF-8, its bytes beyond ASCII are percent-encoded, as browsers do.
pub(crate) fn reference(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => percent_encode(bytes, BEYOND_ASCII).to_string().into(),
    }
}

/// Nothing of ASCII: what is beyond it is always encoded.
const BEYOND_ASCII: &AsciiSet = &AsciiSet::EMPTY;

impl Objects {
    /// Creates the objects of the page at `page_uri`, which is not one of them: at most `count_max` local
    /// ones and as many foreign ones. Further objects are left out.
    #[must_use]
    pub fn new(site: &Site, page_uri: &[u8], count_max: usize) -> Self {
        let page = site.document(page_uri);
        let page = Link::Local(page[Position::BeforePath..Position::AfterQuery].into());
        let seen = Seen {
            links: HashSet::from([page]),
            count_max,
            local_count: 0,
            foreign_count: 0,
            is_truncated: false,
        };
        Self { seen: Arc::new(Mutex::new(seen)) }
    }

    /// Returns true if `link` is new to the page and within its limit; it counts as seen from now on.
    #[must_use]
    pub fn admit(&self, link: &Link) -> bool {
        let mut seen = lock(&self.seen);
        if seen.links.contains(link) {
            return false;
        }
        let count_max = seen.count_max;
        let count = match link {
            Link::Local(_) => &mut seen.local_count,
            Link::Foreign(_) => &mut seen.foreign_count,
        };
        if *count == count_max {
            seen.is_truncated = true;
            return false;
        }
        *count += 1;
        seen.links.insert(link.clone())
    }

    /// Returns true if objects were left out at the limit.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        lock(&self.seen).is_truncated
    }
}

impl Scanner {
    /// Creates a scanner for the document at `document_uri`, which is the page of `objects` or a part of it.
    #[must_use]
    pub fn new(site: &Site, document_uri: &[u8], objects: &Objects) -> Self {
        static EMBEDDING: LazyLock<Selector> = LazyLock::new(|| {
            "img, frame, iframe, object, base".parse().expect("a list of element names is a selector")
        });
        let found = Arc::default();
        let mut document = Document {
            base: site.document(document_uri),
            is_base_given: false,
            site: site.clone(),
            objects: objects.clone(),
            found: Arc::clone(&found),
        };
        let handler = ElementContentHandlers::default().element(move |element: &mut Element<'_, '_, _>| {
            document.handle_element(element);
            Ok(())
        });
        let memory = MemorySettings::new().with_max_allowed_memory_usage(SCANNER_MEMORY_MAX);
        let settings = Settings::new_send()
            .append_element_content_handler((Cow::Borrowed(&*EMBEDDING), handler))
            .with_memory_settings(memory)
            .with_adjust_charset_on_meta_tag(true)
            .with_strict(false);
        let discard: fn(&[u8]) = |_| ();
        Self { rewriter: Some(HtmlRewriter::new(settings, discard)), found }
    }

    /// Scans more of the document.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some(rewriter) = &mut self.rewriter else { return };
        if rewriter.write(bytes).is_err() {
            self.rewriter = None;
        }
    }

    /// Takes the links found since the last call, in the order of the document.
    pub fn take_found(&mut self) -> Vec<Link> {
        std::mem::take(&mut lock(&self.found))
    }

    /// Returns true if the scanner gave up, so objects may have been missed.
    #[must_use]
    pub fn has_stopped(&self) -> bool {
        self.rewriter.is_none()
    }
}

impl fmt::Debug for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scanner")
            .field("found", &lock(&self.found))
            .field("has_stopped", &self.has_stopped())
            .finish_non_exhaustive()
    }
}

/// State of a document during the scan.
struct Document {
    /// Base of relative references.
    base: Url,
    is_base_given: bool,
    site: Site,
    objects: Objects,
    found: Arc<Mutex<Vec<Link>>>,
}

impl Document {
    fn handle_element(&mut self, element: &Element<'_, '_, lol_html::send::SendHandlerTypes>) {
        let name = element.tag_name();
        let attribute = match name.as_str() {
            "base" => "href",
            "object" => "data",
            _ => "src",
        };
        let Some(value) = element.get_attribute(attribute) else { return };
        let reference = htmlize::unescape_attribute(&value);
        if name == "base" {
            self.set_base(&reference);
            return;
        }
        let link = self.site.resolve(&self.base, &reference);
        if let Some(link) = link.filter(|link| self.objects.admit(link)) {
            lock(&self.found).push(link);
        }
    }

    /// Sets the base. Only the first `base` of a document counts.
    fn set_base(&mut self, href: &str) {
        if self.is_base_given {
            return;
        }
        self.is_base_given = true;
        if let Ok(base) = self.base.join(href.trim_ascii()) {
            self.base = base;
        }
    }
}

/// The guarded values are consistent between any two statements, so a panic elsewhere is harmless.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE_URI: &[u8] = b"/dir/page.html?x=1";

    fn site() -> Site {
        Site::new("www.example.com", Some(8080), false)
    }

    /// Formats links: local targets as they are, foreign URLs in angle brackets.
    fn outline(links: Vec<Link>) -> Vec<String> {
        links
            .into_iter()
            .map(|link| match link {
                Link::Local(target) => String::from_utf8(target).unwrap(),
                Link::Foreign(url) => format!("<{url}>"),
            })
            .collect()
    }

    fn scanner(count_max: usize) -> Scanner {
        Scanner::new(&site(), PAGE_URI, &Objects::new(&site(), PAGE_URI, count_max))
    }

    fn found<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut scanner = scanner(100);
        let mut found = Vec::new();
        for part in parts {
            scanner.push(part);
            found.extend(scanner.take_found());
        }
        assert!(!scanner.has_stopped());
        outline(found)
    }

    #[track_caller]
    fn check(html: &str, expected: &[&str]) {
        let html = html.as_bytes();
        for cut in 0..=html.len() {
            assert_eq!(found([&html[..cut], &html[cut..]]), expected, "cut at byte {cut}");
        }
        assert_eq!(found(html.chunks(1)), expected, "byte by byte");
    }

    /// Checks the target of a reference, both in an `img` and in a `Location` field.
    #[track_caller]
    fn check_reference(reference: &str, expected: &[&str]) {
        check(&format!("<img src=\"{reference}\">"), expected);
        let location = resolve_location(&site(), PAGE_URI, reference.as_bytes());
        assert_eq!(outline(location.into_iter().collect()), expected);
    }

    #[test]
    fn a_reference_that_is_too_long_is_skipped() {
        let long = "x".repeat(REFERENCE_SIZE + 1);
        let page = format!("<img src=/{long}><img src=/short>");
        assert_eq!(found([page.as_bytes()]), ["/short"]);
    }

    #[test]
    fn embedded_objects_are_found_in_order() {
        check(
            "<html><frame src=a.html><IMG class=x SRC='b.gif'><iframe width=1 src=\"c.html\"></iframe>\
             <object data=d.swf src=no.gif><img alt=x></object><p src=no.gif><a href=no.html></a>",
            &["/dir/a.html", "/dir/b.gif", "/dir/c.html", "/dir/d.swf"],
        );
    }

    #[test]
    fn values_may_be_quoted_either_way_or_not_at_all() {
        check(
            "<img src=a.gif><img src = 'b \"b\".gif'><img src\n=\n\"c'c.gif\"/><img src=d.gif/><img/src=e>",
            &["/dir/a.gif", "/dir/b%20%22b%22.gif", "/dir/c'c.gif", "/dir/d.gif/", "/dir/e"],
        );
    }

    #[test]
    fn entities_in_values_are_decoded() {
        check(
            "<img src='/a?b=1&amp;c=2'><img src=/&#x64;&#101;><img src='/?a&copy=1'><img src='/&eacute;'>",
            &["/a?b=1&c=2", "/de", "/?a&copy=1", "/%C3%A9"],
        );
    }

    #[test]
    fn comments_scripts_and_text_hold_no_objects() {
        check(
            "<!-- <img src=no1> --><script>'<img src=no2>'</script><style><img src=no3></style>\
             <textarea><img src=no4></textarea><title><img src=no5></title>&lt;img src=no6><img src=yes>",
            &["/dir/yes"],
        );
    }

    #[test]
    fn fallbacks_for_frames_and_scripts_are_not_fetched() {
        check("<iframe src=a><img src=no></iframe><noscript><img src=no></noscript>", &["/dir/a"]);
    }

    #[test]
    fn references_are_relative_to_the_page() {
        check_reference("a.gif", &["/dir/a.gif"]);
        check_reference("./b/../a.gif", &["/dir/a.gif"]);
        check_reference("../a.gif", &["/a.gif"]);
        check_reference("../../a.gif", &["/a.gif"]);
        check_reference("/a.gif", &["/a.gif"]);
        check_reference("?y=2", &["/dir/page.html?y=2"]);
        check_reference("a.gif#part", &["/dir/a.gif"]);
        check_reference("  a.gif\n", &["/dir/a.gif"]);
        check_reference("a?b?c=/../d", &["/dir/a?b?c=/../d"]);
    }

    #[test]
    fn urls_of_the_same_server_are_local_with_and_without_the_port() {
        check_reference("http://www.example.com/a", &["/a"]);
        check_reference("http://WWW.example.com:8080", &["/"]);
        check_reference("//www.example.com/a", &["/a"]);
        check_reference("http://www.example.com:80/a", &["/a"]);
    }

    #[test]
    fn urls_of_other_servers_are_foreign() {
        for foreign in [
            "http://example.com/a",
            "http://www.example.com.evil/a",
            "http://www.example.com:8081/a",
            "https://www.example.com/a",
            "ftp://www.example.com/a",
        ] {
            check_reference(foreign, &[&format!("<{foreign}>")]);
        }
        check_reference("//other/a", &["<http://other/a>"]);
    }

    #[test]
    fn urls_without_a_server_are_skipped() {
        for nothing in [
            "",
            " ",
            "#part",
            "data:image/gif;base64,AAAA",
            "javascript:x()",
            "mailto:a@b",
            "http://[/",
            "about:blank",
        ] {
            check_reference(nothing, &[]);
        }
    }

    #[test]
    fn a_base_element_affects_what_follows() {
        check(
            "<img src=a><base href='/other/'><img src=a><base href=/third/><img src=b><base target=x>",
            &["/dir/a", "/other/a", "/other/b"],
        );
        check("<base href='http://cdn/x/'><img src=a><img src=/b>", &["<http://cdn/x/a>", "<http://cdn/b>"]);
        check("<base target=x><base href=/x/><img src=a>", &["/x/a"]);
        check("<base href='http://['><img src=a>", &["/dir/a"]);
    }

    #[test]
    fn an_object_is_found_once_and_the_page_itself_never() {
        check(
            "<img src=a><img src=./a><img src='?x=1'><img src=a#b><img src=http://x/><img src=http://x>",
            &["/dir/a", "<http://x/>"],
        );
    }

    #[test]
    fn documents_of_one_page_share_what_was_seen() {
        let objects = Objects::new(&site(), b"/", 10);
        let mut page = Scanner::new(&site(), b"/", &objects);
        page.push(b"<iframe src=f/frame></iframe><img src=/a>");
        assert_eq!(outline(page.take_found()), ["/f/frame", "/a"]);
        let mut frame = Scanner::new(&site(), b"/f/frame", &objects);
        frame.push(b"<frame src=frame><frame src=..><img src=/a><img src=b>");
        assert_eq!(outline(frame.take_found()), ["/f/b"]);
        assert!(!objects.admit(&resolve_location(&site(), b"/x", b"/f/b").unwrap()));
    }

    #[test]
    fn objects_beyond_the_limit_are_left_out() {
        let objects = Objects::new(&site(), b"/", 2);
        let mut scanner = Scanner::new(&site(), b"/", &objects);
        scanner.push(b"<img src=//x/1><img src=a><img src=b>");
        assert!(!objects.is_truncated());
        scanner.push(b"<img src=a><img src=//x/2>");
        assert!(!objects.is_truncated());
        scanner.push(b"<img src=c><img src=//x/3>");
        assert!(objects.is_truncated());
        assert_eq!(outline(scanner.take_found()), ["<http://x/1>", "/a", "/b", "<http://x/2>"]);
    }

    #[test]
    fn a_secure_site_takes_both_schemes() {
        let site = Site::new("h", Some(8443), true);
        let local =
            |location: &[u8]| outline(resolve_location(&site, b"/d/", location).into_iter().collect());
        assert_eq!(local(b"https://h/a"), ["/a"]);
        assert_eq!(local(b"https://h:8443/a"), ["/a"]);
        assert_eq!(local(b"http://h/a"), ["/a"]);
        assert_eq!(local(b"a"), ["/d/a"]);
        assert_eq!(local(b"//i/a"), ["<https://i/a>"]);
    }

    #[test]
    fn a_host_may_be_an_address_or_have_a_port_or_be_no_name_at_all() {
        let local = |host: &str, port, location: &[u8]| {
            let site = Site::new(host, port, false);
            outline(resolve_location(&site, b"/d/", location).into_iter().collect())
        };
        assert_eq!(local("127.0.0.1", Some(80), b"http://127.0.0.1/a"), ["/a"]);
        assert_eq!(local("::1", Some(8080), b"http://[::1]:8080/a"), ["/a"]);
        assert_eq!(local("[::1]:8080", None, b"http://[::1]:8080/a"), ["/a"]);
        assert_eq!(local("www:81", Some(8080), b"http://www:81/a"), ["/a"]);
        assert_eq!(local("www:81", Some(8080), b"http://www/a"), ["/a"]);
        assert_eq!(local("no host", Some(80), b"a"), ["/d/a"]);
        assert_eq!(local("no host", Some(80), b"http://www/a"), ["<http://www/a>"]);
        assert_eq!(local("", None, b"a"), ["/d/a"]);
    }

    #[test]
    fn the_uri_of_a_document_may_be_odd() {
        let local = |uri: &[u8]| outline(resolve_location(&site(), uri, b"a").into_iter().collect());
        assert_eq!(local(b"//x/y"), ["//x/a"]);
        assert_eq!(local(b"http://www.example.com/x/y"), ["/x/a"]);
        assert_eq!(local(b"x/y"), ["/x/a"]);
        assert_eq!(local(b""), ["/a"]);
        assert_eq!(local(b"/\xff/y"), ["/%EF%BF%BD/a"]);
    }

    #[test]
    fn the_declared_encoding_of_a_page_is_used() {
        let found = found([&b"<meta charset=windows-1252><img src=\xe9.gif>"[..]]);
        assert_eq!(found, ["/dir/%C3%A9.gif"]);
    }

    #[test]
    fn a_scanner_stops_when_a_tag_grows_without_end() {
        let mut scanner = scanner(100);
        scanner.push(b"<img src=a><img src=b");
        for _ in 0..SCANNER_MEMORY_MAX / 1_000_000 + 2 {
            scanner.push(&[b'x'; 1_000_000]);
        }
        assert!(scanner.has_stopped());
        scanner.push(b"><img src=c>");
        assert_eq!(outline(scanner.take_found()), ["/dir/a"]);
    }

    #[test]
    fn a_scanner_can_move_to_another_thread() {
        fn is_send<T: Send>(_: &T) {}
        is_send(&scanner(1));
    }

    proptest! {
        #[test]
        fn splitting_the_input_makes_no_difference(
            parts in prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..25),
            cuts in prop::collection::vec(0..200_usize, 0..5),
        ) {
            let html = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut < html.len()).collect();
            cuts.extend([0, html.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &html[pair[0]..pair[1]]);
            prop_assert_eq!(found(pieces), found([&html[..]]));
        }

        #[test]
        fn any_bytes_are_scanned(html: Vec<u8>, uri: Vec<u8>, host in ".{0,8}") {
            let site = Site::new(&host, None, false);
            let mut scanner = Scanner::new(&site, &uri, &Objects::new(&site, &uri, 5));
            scanner.push(&html);
            prop_assert!(scanner.take_found().len() <= 10);
        }

        #[test]
        fn a_local_target_starts_with_a_slash_and_has_no_blanks(uri: Vec<u8>, location: Vec<u8>) {
            if let Some(Link::Local(target)) = resolve_location(&site(), &uri, &location) {
                prop_assert!(target.starts_with(b"/"));
                prop_assert!(target.iter().all(u8::is_ascii_graphic));
            }
        }
    }

    /// Pieces of HTML that make good and bad documents in any order.
    const PARTS: [&str; 24] = [
        "<img src=a>",
        "<img src='b'",
        ">",
        "<iframe ",
        "src=\"c.html\"",
        "<object data=d>",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<base href=/x/>",
        "'",
        "\"",
        " ",
        "&amp;",
        "é",
        "<",
        "/",
        "text",
        "<svg>",
        "</svg>",
        "<![CDATA[",
        "]]>",
        "<noscript>",
    ];
}
