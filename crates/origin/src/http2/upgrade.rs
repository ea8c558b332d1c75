//! The upgrade from HTTP/1.1 to HTTP/2 on the same connection, without TLS: `Upgrade: h2c`.
//!
//! RFC 9113 has dropped it, but clients still use it. The request that asks for it is answered on stream 1. h2 does not
//! support that: it finds the request behind the client's preface and first SETTINGS, as if the client had sent it there.
//!
//! <https://www.rfc-editor.org/rfc/rfc7540#section-3.2>

use std::io;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use httperf_proto::http2::hpack::{DEFAULT_TABLE_SIZE, Encoder, Indexing};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::driver::serve;
use super::frames::{FRAME_HEADER_SIZE, HEADERS, PREFACE, SETTINGS, frame_header, payload_size};
use super::settings::FRAME_SIZE_MIN;
use crate::link::Link;
use crate::reply::lists;
use crate::wire::{Wire, within};

/// A request that asks for an upgrade, translated to HTTP/2.
#[derive(Debug)]
pub(crate) struct Upgrade {
    /// Its settings: the payload of a SETTINGS frame.
    settings: Vec<u8>,
    /// Its header, as the payload of a HEADERS frame.
    header_block: Vec<u8>,
}

impl Upgrade {
    /// Translates a request that asks for an upgrade and may have it. A request with a body may not, and is answered over
    /// HTTP/1.1.
    pub(crate) fn asked_for(request: &Parts, body: &Incoming, link: &Link) -> Option<Self> {
        let shared = &link.shared;
        let headers = &request.headers;
        let is_possible = shared.config.http2.is_some()
            && shared.acceptor.is_none()
            && request.version == Version::HTTP_11
            && request.method != Method::CONNECT
            && body.is_end_stream();
        let asks = is_possible
            && lists(headers, &header::UPGRADE, "h2c")
            && lists(headers, &header::CONNECTION, "upgrade")
            && lists(headers, &header::CONNECTION, "http2-settings");
        if !asks {
            return None;
        }
        let mut settings = headers.get_all(&HTTP2_SETTINGS).into_iter();
        let (Some(only), None) = (settings.next(), settings.next()) else { return None };
        let settings = URL_SAFE_NO_PAD.decode(only).ok()?;
        let header_block = header_block(request);
        let fits = settings.len().is_multiple_of(SETTING_SIZE)
            && settings.len() <= SETTINGS_SIZE_MAX
            && header_block.len() <= FRAME_SIZE_MIN as usize;
        fits.then_some(Self { settings, header_block })
    }
}

const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// The size of a setting: an identifier and a value.
const SETTING_SIZE: usize = 6;

/// The largest settings of a request; HTTP/2 defines only a few.
const SETTINGS_SIZE_MAX: usize = 100 * SETTING_SIZE;

/// Encodes the header of a request in HPACK, without a change to the table that the client's later requests use.
fn header_block(request: &Parts) -> Vec<u8> {
    let mut encoder = Encoder::new(DEFAULT_TABLE_SIZE);
    let mut block = Vec::new();
    let mut add = |name: &str, value: &[u8]| {
        encoder.encode(name.as_bytes(), value, Indexing::Without, &mut block);
    };
    add(":method", request.method.as_str().as_bytes());
    add(":scheme", b"http");
    let host = request.headers.get(header::HOST).map(HeaderValue::as_bytes);
    let authority = request.uri.authority().map(|authority| authority.as_str().as_bytes());
    if let Some(authority) = authority.or(host) {
        add(":authority", authority);
    }
    add(":path", request.uri.path_and_query().map_or("/", |path| path.as_str()).as_bytes());
    for (name, value) in &request.headers {
        if is_end_to_end(name, request) && (name != header::TE || value == "trailers") {
            add(name.as_str(), value.as_bytes());
        }
    }
    block
}

/// Returns true if a field applies beyond this connection of HTTP/1.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2>
fn is_end_to_end(name: &HeaderName, request: &Parts) -> bool {
    let is_hop_by_hop = matches!(
        name.as_str(),
        "host"
            | "connection"
            | "upgrade"
            | "http2-settings"
            | "keep-alive"
            | "proxy-connection"
            | "transfer-encoding"
    );
    !is_hop_by_hop && (name == header::TE || !lists(&request.headers, &header::CONNECTION, name.as_str()))
}

/// Accepts the upgrade and serves HTTP/2.
pub(crate) async fn upgrade(mut wire: Wire, link: &Rc<Link>, upgrade: Upgrade) -> io::Result<()> {
    wire.write_all(SWITCHING).await?;
    match opening(&mut wire, upgrade).await? {
        Some(opening) => {
            wire.put_back(opening.into());
            {
                let mut counts = link.shared.counts.borrow_mut();
                counts.connections_http1 -= 1;
                counts.http2_upgrades += 1;
            }
            Box::pin(serve(wire, link)).await;
        }
        None => {
            link.shared.counts.borrow_mut().requests_malformed += 1;
            within(link.shared.config.limits.linger, wire.close()).await;
        }
    }
    Ok(())
}

/// Reads the client's preface and SETTINGS, and adds its request. `None` if the client begins in another way.
async fn opening(wire: &mut Wire, upgrade: Upgrade) -> io::Result<Option<Vec<u8>>> {
    let Upgrade { settings, header_block } = upgrade;
    let mut opening = vec![0; PREFACE.len()];
    wire.read_exact(&mut opening).await?;
    let mut header = [0; FRAME_HEADER_SIZE];
    wire.read_exact(&mut header).await?;
    let size = payload_size(&header);
    let is_right = opening == PREFACE && header[3..] == [SETTINGS, 0, 0, 0, 0, 0];
    if !is_right || settings.len() + size > FRAME_SIZE_MIN as usize {
        return Ok(None);
    }
    // The settings of the request need no acknowledgement of their own, so they share a frame with the first SETTINGS.
    opening.extend_from_slice(&frame_header(SETTINGS, 0, 0, settings.len() + size));
    opening.extend_from_slice(&settings);
    let rest = opening.len();
    opening.resize(rest + size, 0);
    wire.read_exact(&mut opening[rest..]).await?;
    let flags = END_STREAM | END_HEADERS;
    opening.extend_from_slice(&frame_header(HEADERS, flags, 1, header_block.len()));
    opening.extend_from_slice(&header_block);
    Ok(Some(opening))
}

const SWITCHING: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

/// Flags of HEADERS: <https://www.rfc-editor.org/rfc/rfc9113#section-6.2>
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
