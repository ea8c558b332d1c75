//! The choice of an answer to a request: from the steps of its path, and by chance for the rest.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::str::Split;
use std::time::Duration;

use httperf_proto::status::is_sent_without_content;
use httperf_proto::websocket::close::may_be_sent;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

use crate::config::{Config, Framing, parse_status};
use crate::content::Content;
use crate::delay::Delay;
use crate::fault::Fault;
use crate::http2::settings::WINDOW_MAX;
use crate::openai::{Call, Endpoint, Reply};
use crate::stream::script::{Format, Script, Wishes};
use crate::text::{Malformed, parse_size};
use crate::websocket::{self, Conversation, Manner};

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content: Content,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
    pub(crate) fault: Option<Fault>,
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
    /// The new initial window of the connection's streams, over HTTP/2.
    pub(crate) window: Option<u32>,
    /// A call of the API, which completes the answer once the request's body is there.
    pub(crate) call: Option<Box<Call>>,
    /// What is said on the WebSocket that the request asks for, if it does.
    pub(crate) websocket: Option<Box<Conversation>>,
}

impl Answer {
    /// Makes a short text with this status, without delay or fault.
    pub(crate) fn text(status: StatusCode, text: impl Into<String>) -> Self {
        Self {
            status,
            content: Content::plain(text.into()),
            framing: Framing::Length,
            delay: Duration::ZERO,
            fault: None,
            fields: Vec::new(),
            window: None,
            call: None,
            websocket: None,
        }
    }

    /// Completes an answer with the reply of the API.
    pub(crate) fn complete(&mut self, reply: Reply) {
        self.status = reply.error.unwrap_or(self.status);
        self.delay += reply.delay;
        self.fields.extend(reply.fields);
        self.set_content(reply.content);
    }

    /// Gives an answer its content. A stream, whose size is not known, comes in chunks.
    fn set_content(&mut self, content: Content) {
        if matches!(content, Content::Stream(_)) {
            self.framing = Framing::Chunked;
            self.fields.push((header::CACHE_CONTROL, HeaderValue::from_static("no-store")));
        }
        self.content = content;
    }

    /// Returns true if its stream breaks off by itself.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(&self.content, Content::Stream(script) if script.is_cut())
    }

    /// Returns true if a body follows the header.
    pub(crate) fn has_body(&self, is_head: bool) -> bool {
        !is_head && has_content(self.status) && !self.content.is_empty()
    }
}

/// Finds the answer to a request.
pub(crate) fn answer(request: &Parts, config: &Config, random: &mut Pcg64Mcg) -> Answer {
    if request.method == Method::CONNECT && !websocket::is_asked_for(request) {
        return Answer::text(StatusCode::NOT_IMPLEMENTED, "this server opens no tunnels\n");
    }
    let steps = match Steps::read(request.uri.path(), &request.headers, config) {
        Ok(steps) => steps,
        Err(malformed) => return Answer::text(StatusCode::BAD_REQUEST, format!("{malformed}\n")),
    };
    // Always drawn in this order, so that paths do not affect the later draws of a seed.
    let fault = config.faults.draw(random);
    let status = config.status.draw(random);
    let delay = config.delay.draw(random, config.limits.delay);

    let status = steps.status.unwrap_or(status);
    let fault = steps.fault.or(fault);
    let conversation = websocket::is_asked_for(request).then(|| steps.conversation(config, random.random()));
    let wishes = Wishes { is_never_cut: fault.is_some(), ..steps.wishes };
    let mut answer = Answer {
        status,
        content: if has_content(status) {
            steps.content.unwrap_or(Content::Pattern(config.size))
        } else {
            Content::Pattern(0)
        },
        framing: if has_content(status) { steps.framing.unwrap_or(config.framing) } else { Framing::Length },
        delay: match steps.delay {
            Some(asked) => asked.draw(random, config.limits.delay),
            None => delay,
        },
        fault,
        fields: steps.fields,
        window: steps.window,
        call: None,
        websocket: None,
    };
    if let Some(conversation) = conversation {
        if answer.fault.is_none() && answer.status == StatusCode::OK {
            answer.websocket = Some(Box::new(conversation));
        }
        return answer;
    }
    if steps.is_websocket {
        let mut answer = Answer::text(StatusCode::UPGRADE_REQUIRED, "this path is for WebSockets\n");
        answer.fields.push((header::UPGRADE, HeaderValue::from_static("websocket")));
        return answer;
    }
    if has_content(status) {
        // A stream goes on while other requests draw, so it has random numbers of its own.
        if let Some(events) = steps.events {
            let (format, seed) = (Format::Numbered { size: steps.size }, random.random());
            let script = Script::new(format, events, &wishes, &config.streams, config.limits.delay, seed);
            answer.set_content(Content::Stream(Box::new(script)));
        }
        if let Some(endpoint) = steps.endpoint {
            answer.call = Some(Box::new(Call { endpoint, wishes, seed: random.random() }));
        }
    }
    answer
}

/// Returns true if replies of this status carry content.
fn has_content(status: StatusCode) -> bool {
    !is_sent_without_content(status.as_u16())
}

/// The reply that a path asks for.
#[derive(Debug, Default)]
struct Steps {
    status: Option<StatusCode>,
    content: Option<Content>,
    framing: Option<Framing>,
    delay: Option<Delay>,
    fault: Option<Fault>,
    fields: Vec<(HeaderName, HeaderValue)>,
    window: Option<u32>,
    /// Bytes that `/size/N` asks for, if it does.
    size: u64,
    /// Events of a stream.
    events: Option<u32>,
    wishes: Wishes,
    endpoint: Option<Endpoint>,
    /// A step asks for a WebSocket.
    is_websocket: bool,
    /// Messages that are pushed on a WebSocket.
    pushes: Option<u32>,
    /// Nothing is said on a WebSocket.
    is_silent: bool,
    /// The code with which a WebSocket is closed.
    close: Option<u16>,
}

impl Steps {
    /// Reads a path. A path whose first step is unknown asks for nothing.
    fn read(path: &str, headers: &HeaderMap, config: &Config) -> Result<Self, Malformed> {
        let mut steps = Self::default();
        let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
        let mut is_first = true;
        while let Some(name) = parts.next() {
            let known = steps.step(name, &mut parts, headers, config)?;
            if !known && is_first {
                break;
            }
            if !known && !name.is_empty() {
                return Err(Malformed::new(
                    "size, delay, status, chunked, trailers, fault, sse, first, gap, together, cut, ws, push, silent, \
                     close, cookie, page, redirect, alt-svc, h2-window or v1",
                    name,
                ));
            }
            is_first = false;
        }
        if steps.events.is_some() && steps.size > config.limits.event_size {
            return Err(Malformed::new("a smaller size of events", &steps.size.to_string()));
        }
        Ok(steps)
    }

    /// Reads one step with its argument. Returns false if the name is unknown.
    fn step(
        &mut self,
        name: &str,
        arguments: &mut Split<'_, char>,
        headers: &HeaderMap,
        config: &Config,
    ) -> Result<bool, Malformed> {
        let mut argument = || arguments.next().unwrap_or("");
        match name {
            "size" => {
                self.size = parse_size(argument())?;
                self.content = Some(Content::Pattern(self.size));
            }
            "sse" => {
                self.events = Some(match argument() {
                    "" => config.streams.events,
                    events => count(events, 1..=config.limits.events, "a number of events above 0")?,
                });
            }
            "ws" => self.is_websocket = true,
            "push" => {
                self.is_websocket = true;
                self.pushes =
                    Some(count(argument(), 1..=config.limits.events, "a number of messages above 0")?);
            }
            "silent" => (self.is_websocket, self.is_silent) = (true, true),
            "close" => {
                let code = argument();
                let known = code.parse().ok().filter(|&code| may_be_sent(code));
                self.close = Some(known.ok_or_else(|| Malformed::new("a code such as 1000 or 4000", code))?);
                self.is_websocket = true;
            }
            "first" => self.wishes.first = Some(argument().parse()?),
            "gap" => self.wishes.gap = Some(argument().parse()?),
            "together" => {
                let range = 1..=config.limits.events_together;
                self.wishes.together = Some(count(argument(), range, "a number of events above 0")?);
            }
            "cut" => self.wishes.cut = Some(count(argument(), 0..=u32::MAX, "a number of events")?),
            "v1" => {
                let path: Vec<&str> = arguments.collect();
                self.endpoint = Some(Endpoint::read(&path.join("/")));
            }
            "chunked" | "trailers" => {
                self.content = Some(Content::Pattern(parse_size(argument())?));
                self.framing = Some(if name == "chunked" { Framing::Chunked } else { Framing::Trailers });
            }
            "delay" => self.delay = Some(argument().parse()?),
            "status" => {
                let status = argument();
                let malformed = || Malformed::new("a status from 200 to 599", status);
                self.status = Some(parse_status(status).ok_or_else(malformed)?);
            }
            "fault" => self.fault = Some(argument().parse()?),
            "cookie" => self.set_cookies(headers),
            "page" => {
                let images = count(argument(), 0..=config.limits.page_images, "a number of images")?;
                self.content = Some(page(images));
            }
            "redirect" => {
                self.status = Some(StatusCode::FOUND);
                self.content = Some(Content::plain("see /\n".to_owned()));
                self.fields.push((header::LOCATION, HeaderValue::from_static("/")));
            }
            "alt-svc" => {
                let value = argument();
                let malformed = || Malformed::new("a field value, percent-encoded", value);
                let field = decoded(value).and_then(|value| HeaderValue::from_bytes(&value).ok());
                self.fields.push((header::ALT_SVC, field.ok_or_else(malformed)?));
            }
            "h2-window" => {
                let window = argument();
                let size = parse_size(window)?;
                let size = u32::try_from(size).ok().filter(|&size| size <= WINDOW_MAX);
                self.window = Some(size.ok_or_else(|| Malformed::new("a window below 2g", window))?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is said on the WebSocket that the request asks for.
    fn conversation(&self, config: &Config, seed: u64) -> Conversation {
        let manner = match self.pushes {
            _ if self.is_silent => Manner::Silent,
            Some(messages) => {
                let format = Format::Numbered { size: self.size };
                let longest = config.limits.delay;
                Manner::Push(Box::new(Script::new(
                    format,
                    messages,
                    &self.wishes,
                    &config.streams,
                    longest,
                    seed,
                )))
            }
            None => Manner::Echo(self.wishes.gap.unwrap_or_default()),
        };
        Conversation { manner, close: self.close, cut: self.wishes.cut, seed }
    }

    /// Sets a cookie that counts visits and one that stays the same, and shows the cookies received.
    fn set_cookies(&mut self, headers: &HeaderMap) {
        let mut visits: u32 = 0;
        let mut text = "cookies received:\n".to_owned();
        for value in headers.get_all(header::COOKIE) {
            for pair in String::from_utf8_lossy(value.as_bytes()).split("; ") {
                if let Some(count) = pair.strip_prefix("visits=") {
                    visits = count.parse().unwrap_or(0);
                }
                text.push_str(pair);
                text.push('\n');
            }
        }
        let visits = HeaderValue::try_from(format!("visits={}; Path=/", visits.wrapping_add(1)))
            .expect("a number makes a valid field value");
        self.fields.push((header::SET_COOKIE, visits));
        self.fields.push((header::SET_COOKIE, HeaderValue::from_static("theme=plain; Path=/; HttpOnly")));
        self.content = Some(Content::plain(text));
    }
}

/// Reads a number of events.
fn count(text: &str, range: RangeInclusive<u32>, expected: &'static str) -> Result<u32, Malformed> {
    let count = text.parse().ok().filter(|count| range.contains(count));
    count.ok_or_else(|| Malformed::new(expected, text))
}

/// Decodes what is percent-encoded (RFC 3986, section 2.1). `None` if it is malformed.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        plain.push(if byte == b'%' { (digit()? * 16 + digit()?) as u8 } else { byte });
    }
    Some(plain)
}

fn page(images: u32) -> Content {
    let mut html =
        "<!DOCTYPE html>\n<html>\n<head><title>A page of images</title></head>\n<body>\n".to_owned();
    for index in 0..images {
        writeln!(html, "<img src=\"/size/1000?i={index}\" alt=\"\">").expect("a String takes any text");
    }
    html.push_str("</body>\n</html>\n");
    Content::Text(html.into(), "text/html; charset=utf-8")
}

#[cfg(test)]
mod tests {
    use hyper::Request;
    use rand::SeedableRng as _;

    use super::*;

    fn ask(config: &Config, uri: &str, cookie: Option<&str>) -> Answer {
        let mut request = Request::get(uri);
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        answer(&parts, config, &mut Pcg64Mcg::seed_from_u64(1))
    }

    fn answer_to(uri: &str) -> Answer {
        ask(&Config::default(), uri, None)
    }

    #[test]
    fn a_path_that_asks_for_nothing_gets_the_configured_reply() {
        let config = Config {
            size: 5,
            status: "404".parse().unwrap(),
            delay: "1ms".parse().unwrap(),
            framing: Framing::Chunked,
            ..Config::default()
        };
        for uri in ["/", "/index.html", "/0/1/2.html", "/sizes/7", "//size/7", "http://other/x", "/?/size/7"]
        {
            let answer = ask(&config, uri, None);
            assert_eq!(answer.status, 404, "{uri}");
            assert_eq!(answer.content, Content::Pattern(5), "{uri}");
            assert_eq!(answer.delay, Duration::from_millis(1), "{uri}");
            assert_eq!(answer.framing, Framing::Chunked, "{uri}");
        }
    }

    #[test]
    fn steps_add_up() {
        let answer = answer_to("/status/503/chunked/2k/delay/5ms/fault/bad-chunk/?query");
        assert_eq!(answer.status, 503);
        assert_eq!(answer.content, Content::Pattern(2048));
        assert_eq!(answer.framing, Framing::Chunked);
        assert_eq!(answer.delay, Duration::from_millis(5));
        assert_eq!(answer.fault, Some(Fault::BadChunk));
        assert_eq!(answer_to("/h2-window/1k/size/5").window, Some(1024));
    }

    #[test]
    fn a_stream_is_asked_for_in_any_order_of_steps() {
        let script = |uri: &str| match answer_to(uri).content {
            Content::Stream(script) => script,
            content => panic!("{uri}: {content:?}"),
        };
        let expected = script("/sse/9/first/5ms/gap/2ms/together/3/cut/4/size/100");
        assert_eq!(script("/size/100/cut/4/together/3/gap/2ms/first/5ms/sse/9"), expected);
        assert_eq!(expected.due_of_last(9), Duration::from_millis(9));
        assert!(expected.is_cut() && !script("/sse/9/cut/4/fault/trickle").is_cut());
        let answer = answer_to("/sse/9/trailers/5");
        assert_eq!(answer.framing, Framing::Chunked);
        assert_eq!(answer.fields, [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))]);
        assert!(matches!(answer_to("/sse/9/status/204").content, Content::Pattern(0)));
    }

    #[test]
    fn the_api_is_found_behind_other_steps() {
        let call = |uri: &str| answer_to(uri).call;
        assert!(call("/v2/models").is_none() && call("/").is_none());
        assert_eq!(call("/v1/models").unwrap().endpoint, Endpoint::Models);
        assert_eq!(call("/v1/models/x").unwrap().endpoint, Endpoint::Unknown);
        assert_eq!(call("/v1").unwrap().endpoint, Endpoint::Unknown);
        let call = call("/delay/1ms/together/2/v1/chat/completions").unwrap();
        assert_eq!(call.wishes.together, Some(2));
    }

    #[test]
    fn a_path_that_asks_for_nonsense_is_told_so() {
        for uri in [
            "/size/x",
            "/size",
            "/size/",
            "/status/99",
            "/fault/oops",
            "/size/5/oops",
            "/page/-1",
            "/page/9999999",
            "/h2-window/2g",
            "/alt-svc/%2",
            "/alt-svc/%0A",
        ] {
            assert_eq!(answer_to(uri).status, 400, "{uri}");
        }
        let text = Content::plain("expected a status from 200 to 599, got `99`\n".to_owned());
        assert_eq!(answer_to("/status/99").content, text);
    }

    #[test]
    fn statuses_without_content_have_none() {
        for status in [204, 205, 304] {
            let answer = answer_to(&format!("/chunked/100/status/{status}"));
            assert_eq!((answer.content, answer.framing), (Content::Pattern(0), Framing::Length), "{status}");
        }
    }

    #[test]
    fn other_ways_to_the_server_are_what_the_path_says() {
        let answer = answer_to("/alt-svc/h3=%22:443%22;%20ma=5/size/3");
        let value = HeaderValue::from_static("h3=\":443\"; ma=5");
        assert_eq!(answer.fields, [(header::ALT_SVC, value)]);
        assert_eq!(answer.content, Content::Pattern(3));
    }

    #[test]
    fn visits_are_counted_in_a_cookie() {
        let answer = ask(&Config::default(), "/cookie", Some("visits=41; other=x"));
        let set: Vec<&str> = answer.fields.iter().map(|(_, value)| value.to_str().unwrap()).collect();
        assert_eq!(set, ["visits=42; Path=/", "theme=plain; Path=/; HttpOnly"]);
        let shown = Content::plain("cookies received:\nvisits=41\nother=x\n".to_owned());
        assert_eq!(answer.content, shown);
    }

    #[test]
    fn a_page_has_the_images_asked_for() {
        let Content::Text(html, media_type) = answer_to("/page/3").content else { panic!("a page is text") };
        assert_eq!(media_type, "text/html; charset=utf-8");
        let html = String::from_utf8(html.to_vec()).unwrap();
        assert_eq!(html.matches("<img src=\"/size/1000?i=").count(), 3);
        assert!(html.contains("/size/1000?i=2\""));
    }

    #[test]
    fn a_tunnel_is_refused() {
        let (parts, ()) = Request::connect("example.com:443").body(()).unwrap().into_parts();
        let answer = answer(&parts, &Config::default(), &mut Pcg64Mcg::seed_from_u64(1));
        assert_eq!(answer.status, StatusCode::NOT_IMPLEMENTED);
    }

    #[test]
    fn a_seed_draws_the_same_statuses_whatever_paths_ask_for() {
        let config = Config { status: "200:1,503:1".parse().unwrap(), ..Config::default() };
        let statuses = |other: &str| -> Vec<StatusCode> {
            let mut random = Pcg64Mcg::seed_from_u64(5);
            (0..100)
                .map(|turn| {
                    let uri = if turn % 2 == 0 { "/" } else { other };
                    let (parts, ()) = Request::get(uri).body(()).unwrap().into_parts();
                    answer(&parts, &config, &mut random).status
                })
                .step_by(2)
                .collect()
        };
        assert_eq!(statuses("/"), statuses("/status/404/delay/1ms"));
    }
}
