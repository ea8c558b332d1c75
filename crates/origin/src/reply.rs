//! The steps from a request to its reply, whatever the protocol: read the request's body, wait until the reply is due,
//! count both.

use std::future::Future;
use std::time::Instant;

use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;

use crate::bucket::QueueFull;
use crate::fault::Fault;
use crate::link::{Ending, Link};
use crate::route::{self, Answer};
use crate::shared::Shared;

/// The value of the `Server` field.
pub(crate) const SERVER_NAME: &str = "httperf";

/// Finds the answer to a request and returns it when it is due. `body` reads the request's body.
pub(crate) async fn prepare<E>(
    link: &Link,
    request: &Parts,
    body: impl Future<Output = Result<(), E>>,
) -> (Answer, Ending) {
    let shared = &link.shared;
    shared.counts.borrow_mut().requests += 1;
    let received = link.read_at();
    let mut answer = route::answer(request, &shared.config, &mut shared.random.borrow_mut());
    if body.await.is_err() {
        shared.counts.borrow_mut().requests_malformed += 1;
        answer = Answer::text(StatusCode::BAD_REQUEST, "the body of the request could not be read\n");
    }

    let preparing = link.prepare();
    if let Some(bucket) = &shared.bucket {
        let token = bucket.borrow_mut().take(Instant::now());
        match token {
            Ok(due) => shared.timer.sleep_until(due).await,
            Err(QueueFull) => {
                shared.counts.borrow_mut().replies_queue_full += 1;
                answer = Answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many requests are waiting\n");
            }
        }
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
    (answer, ending)
}

fn count(shared: &Shared, answer: &Answer) {
    let mut counts = shared.counts.borrow_mut();
    if let Some(fault) = answer.fault {
        counts.add_fault(fault);
    }
    if answer.fault.is_none_or(Fault::completes_reply) {
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
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|given| given.trim().eq_ignore_ascii_case(word))
}
