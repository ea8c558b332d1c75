//! The steps from a request to its reply, whatever the protocol: read the request's body, wait until the reply is due,
//! count both.

use std::future::Future;
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use httperf_proto::list::has_word;
use httperf_proto::status::forbids_content;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode, Version};

use crate::bucket::QueueFull;
use crate::config::Framing;
use crate::content::Checksum;
use crate::fault::{FILLER_LINES, FILLER_SIZE, Fault};
use crate::grpc;
use crate::intake::Intake;
use crate::link::{Ending, Link};
use crate::openai;
use crate::route::{self, Answer};
use crate::shared::Shared;

/// The value of the `Server` field.
pub(crate) const SERVER_NAME: &str = "httperf";

/// Finds the answer to a request and returns it when it is due. `body` reads the request's body into `intake`, unless the
/// answer is not to wait for it.
pub(crate) async fn prepare<E>(
    link: &Rc<Link>,
    request: &Parts,
    intake: &Intake,
    body: impl Future<Output = Result<(), E>>,
) -> (Answer, Ending) {
    let shared = &link.shared;
    shared.counts.borrow_mut().requests += 1;
    let received = link.read_at();
    let mut answer = route::answer(request, &shared.config, &mut shared.random.borrow_mut());
    let call = answer.call.take();
    if call.is_some() || grpc::is_called(request) {
        intake.keep(shared.config.limits.request_kept);
    }
    // Those of a stream are counted as they go.
    let mut tokens = 0;
    let is_read = answer.fault != Some(Fault::StopSending);
    if is_read && body.await.is_err() {
        shared.counts.borrow_mut().requests_malformed += 1;
        answer = Answer::text(StatusCode::BAD_REQUEST, "the body of the request could not be read\n");
    } else if let Some(call) = &call {
        let reply = if answer.status.is_success() {
            call.answer(&request.method, request.uri.path(), intake.kept().as_deref(), &shared.config)
        } else {
            openai::Reply::instead(answer.status)
        };
        tokens = reply.tokens;
        answer.complete(reply);
    }

    let preparing = link.prepare();
    if let Some(bucket) = &shared.bucket {
        let token = bucket.borrow_mut().take(Instant::now());
        match token {
            Ok(due) => shared.timer.sleep_until(due).await,
            Err(QueueFull) => {
                shared.counts.borrow_mut().replies_queue_full += 1;
                answer = Answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many requests are waiting\n");
                tokens = 0;
                if call.is_some() {
                    answer.complete(openai::Reply::overloaded());
                }
            }
        }
    }
    let is_said = answer.fields.iter().any(|(name, _)| name == header::ALT_SVC);
    if let Some(elsewhere) = &shared.alt_svc
        && request.version != Version::HTTP_3
        && !is_said
    {
        answer.fields.push((header::ALT_SVC, elsewhere.clone()));
    }
    if !answer.delay.is_zero() {
        shared.timer.sleep_until(Instant::now() + answer.delay).await;
    }
    drop(preparing);
    link.begin_stamp(request, received);

    let mut ending = link.count_reply();
    if answer.fault == Some(Fault::Goaway) {
        ending = Ending::Announced;
    }
    count(shared, &answer);
    shared.counts.borrow_mut().tokens += u64::from(tokens);
    (answer, ending)
}

fn count(shared: &Shared, answer: &Answer) {
    let mut counts = shared.counts.borrow_mut();
    if let Some(fault) = answer.fault {
        counts.add_fault(fault);
    }
    let is_reply = !answer.is_cut() && answer.websocket.is_none();
    if answer.fault.is_none_or(Fault::completes_reply) && is_reply {
        counts.add_reply(answer.status.as_u16());
    }
}

/// Adds the fields that do not concern the framing of the reply.
pub(crate) fn add_fields(headers: &mut HeaderMap, answer: &Answer) {
    headers.insert(header::SERVER, HeaderValue::from_static(SERVER_NAME));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(answer.content.media_type()));
    for (name, value) in &answer.fields {
        headers.append(name.clone(), value.clone());
    }
}

/// Returns true if one of these fields is a list (RFC 9110, section 5.6.1) that contains this word.
pub(crate) fn lists(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    has_word(headers.get_all(name).into_iter().map(HeaderValue::as_bytes), word)
}

/// Makes the header of a reply over HTTP/2 or HTTP/3.
pub(crate) fn framed_head(answer: &Answer, is_head: bool) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    add_fields(headers, answer);
    let date = httpdate::fmt_http_date(SystemTime::now());
    headers.insert(header::DATE, HeaderValue::try_from(date).expect("a date is a valid field value"));
    match length(answer) {
        Length::Stated(size) => drop(headers.insert(header::CONTENT_LENGTH, size.into())),
        Length::Nonsense => {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("plenty"));
        }
        Length::Open => {}
    }
    if has_framed_trailers(answer, is_head) {
        headers.insert(header::TRAILER, HeaderValue::from_static("server-checksum"));
    }
    if answer.fault == Some(Fault::HugeHeader) {
        let filler = HeaderValue::try_from("x".repeat(FILLER_SIZE)).expect("letters are a valid field value");
        for index in 0..FILLER_LINES {
            let name = HeaderName::try_from(format!("filler-{index:03}")).expect("this is a field name");
            headers.insert(name, filler.clone());
        }
    }
    response
}

/// The `content-length` of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    Stated(u64),
    Nonsense,
    Open,
}

/// Chooses the `content-length` of a reply over HTTP/2 or HTTP/3.
fn length(answer: &Answer) -> Length {
    match answer.fault {
        Some(Fault::BadLength) => Length::Nonsense,
        Some(Fault::NoLength | Fault::BadChunk) => Length::Open,
        None | Some(Fault::Trickle | Fault::Goaway) if answer.framing != Framing::Length => Length::Open,
        _ if forbids_content(answer.status.as_u16()) => Length::Open,
        _ => answer.content.size().map_or(Length::Open, Length::Stated),
    }
}

/// Returns true if trailers follow the body of a reply over HTTP/2 or HTTP/3.
pub(crate) fn has_framed_trailers(answer: &Answer, is_head: bool) -> bool {
    matches!(answer.fault, None | Some(Fault::Goaway)) && answer.framing == Framing::Trailers && !is_head
}

/// Makes the header of an interim reply.
pub(crate) fn interim(status: StatusCode) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = status;
    response
}

/// Makes the `103` of [`Fault::Interim`].
pub(crate) fn early_hints() -> Response<()> {
    let mut hints = interim(StatusCode::EARLY_HINTS);
    hints.headers_mut().insert(header::LINK, HeaderValue::from_static("</style.css>; rel=preload"));
    hints
}

/// Makes the trailers of a body with this checksum.
pub(crate) fn trailers(checksum: &Checksum) -> HeaderMap {
    let value = HeaderValue::try_from(checksum.to_string()).expect("digits are a valid field value");
    HeaderMap::from_iter([(SERVER_CHECKSUM, value)])
}

const SERVER_CHECKSUM: HeaderName = HeaderName::from_static("server-checksum");
