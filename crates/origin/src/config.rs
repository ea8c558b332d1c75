//! The configuration of the server, and its values as text.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use httperf_plan::Endpoint;
use hyper::StatusCode;
use rand::{Rng, RngExt as _};

use crate::bucket::ServerCapacity;
use crate::delay::Delay;
use crate::fault::FaultMix;
use crate::http2::settings::Http2;
use crate::http3::settings::Http3;
use crate::limits::Limits;
use crate::stream::settings::Streams;
use crate::text::Malformed;
use crate::tls::settings::Tls;

/// The configuration of a server. By default it answers `200` with 1024 bytes at once, without faults, on a loopback
/// port that the kernel picks.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address to listen on; port 0 lets the kernel pick one.
    pub listen: Endpoint,
    /// The settings of TLS, which every connection then speaks.
    pub tls: Option<Tls>,
    /// The settings of HTTP/2, for clients that want it; `None` turns it off.
    pub http2: Option<Http2>,
    /// The settings of HTTP/3, which is then spoken on the UDP port of the same number. It needs TLS and a TCP address.
    pub http3: Option<Http3>,
    /// Bytes in a reply's body.
    pub size: u64,
    /// The time that a reply takes.
    pub delay: Delay,
    /// The statuses of replies.
    pub status: StatusMix,
    /// The framing of bodies.
    pub framing: Framing,
    /// The number of replies after which a connection is closed.
    pub close_after: Option<CloseAfter>,
    /// The rate of replies that the server can sustain.
    pub capacity: Option<ServerCapacity>,
    /// The streams of events, where a request says nothing else.
    pub streams: Streams,
    /// The faults of replies, with their probabilities.
    pub faults: FaultMix,
    /// Time between two bytes of a [`Fault::Trickle`](crate::Fault::Trickle) reply.
    pub trickle: Duration,
    /// The number of requests, from the first on, whose arrival and reply are stamped
    /// ([`Counts::stamps`](crate::Counts::stamps)).
    pub stamps: usize,
    /// The seed of all random draws; the same requests in the same order meet the same draws.
    pub seed: u64,
    /// Bounds on what clients may make the server hold or do.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: Endpoint::Tcp((Ipv4Addr::LOCALHOST, 0).into()),
            tls: None,
            http2: Some(Http2::default()),
            http3: None,
            size: 1024,
            delay: Delay::default(),
            status: StatusMix::default(),
            framing: Framing::Length,
            close_after: None,
            capacity: None,
            streams: Streams::default(),
            faults: FaultMix::default(),
            trickle: Duration::from_millis(10),
            stamps: 0,
            seed: 1,
            limits: Limits::default(),
        }
    }
}

/// The framing of a body: the mark of its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length`.
    Length,
    /// Chunks; over HTTP/2 and HTTP/3, the end of the stream alone.
    Chunked,
    /// The same, with a `Server-Checksum` trailer: the FNV-1a hash (64 bits, hexadecimal) of the body. It is sent
    /// whether or not the client announced that it takes trailers.
    Trailers,
}

/// The end of a connection after its `replies`-th reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseAfter {
    /// Replies on a connection; 0 behaves as 1.
    pub replies: u64,
    /// True if the last reply announces the end with `Connection: close`. Over HTTP/2, a GOAWAY precedes it, and requests
    /// that were on their way are answered too; over HTTP/3, a GOAWAY too, and those behind it are rejected.
    pub announced: bool,
}

/// An address to listen on, as text: `ADDR:PORT`, or `unix:PATH` for a unix-domain socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub Endpoint);

impl FromStr for ListenAddress {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed::new("an address such as 127.0.0.1:8080 or unix:/run/test.sock", text);
        if let Some(path) = text.strip_prefix("unix:") {
            if path.is_empty() {
                return Err(malformed());
            }
            return Ok(Self(Endpoint::Unix(PathBuf::from(path))));
        }
        let address = match text.strip_prefix("localhost:") {
            Some(port) => (Ipv4Addr::LOCALHOST, port.parse().map_err(|_| malformed())?).into(),
            None => text.parse::<SocketAddr>().map_err(|_| malformed())?,
        };
        Ok(Self(Endpoint::Tcp(address)))
    }
}

/// The statuses of replies, each with its weight: `200:95,503:5`, or just `503`.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusMix {
    /// Never empty; weights are finite, none is negative, and their sum is above 0.
    weights: Vec<(StatusCode, f64)>,
}

impl Default for StatusMix {
    fn default() -> Self {
        Self::always(StatusCode::OK)
    }
}

impl StatusMix {
    /// Gives every reply the same status.
    #[must_use]
    pub fn always(status: StatusCode) -> Self {
        Self { weights: vec![(status, 1.0)] }
    }

    /// Draws the status of the next reply.
    pub fn draw(&self, random: &mut impl Rng) -> StatusCode {
        let (last, _) = *self.weights.last().expect("a mix is never empty");
        if self.weights.len() == 1 {
            return last;
        }
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let mut left = random.random::<f64>() * total;
        for &(status, weight) in &self.weights {
            if left < weight {
                return status;
            }
            left -= weight;
        }
        last
    }
}

impl FromStr for StatusMix {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed =
            || Malformed::new("statuses from 200 to 599 with weights, such as 200:95,503:5", text);
        let mut weights = Vec::new();
        for part in text.split(',') {
            let (status, weight) = part.split_once(':').unwrap_or((part, "1"));
            let weight: f64 = weight.parse().map_err(|_| malformed())?;
            if !weight.is_finite() || weight < 0.0 {
                return Err(malformed());
            }
            weights.push((parse_status(status).ok_or_else(malformed)?, weight));
        }
        // Rounding falls back to the last entry, whose weight must not be 0.
        weights.retain(|&(_, weight)| weight > 0.0);
        if weights.is_empty() || !weights.iter().map(|(_, weight)| weight).sum::<f64>().is_finite() {
            return Err(malformed());
        }
        Ok(Self { weights })
    }
}

/// Reads a final status; interim ones cannot be asked for.
pub(crate) fn parse_status(text: &str) -> Option<StatusCode> {
    let status: u16 = text.parse().ok()?;
    if !(200..=599).contains(&status) {
        return None;
    }
    StatusCode::from_u16(status).ok()
}

/// The URL of a server.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    /// The address it listens on.
    pub endpoint: &'a Endpoint,
    /// True if it speaks TLS.
    pub is_tls: bool,
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.endpoint {
            Endpoint::Tcp(address) if self.is_tls => write!(f, "https://{address}/"),
            Endpoint::Tcp(address) => write!(f, "http://{address}/"),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn addresses_are_numeric_or_local() {
        let tcp = |text: &str| ListenAddress(Endpoint::Tcp(text.parse().unwrap()));
        assert_eq!("127.0.0.1:80".parse(), Ok(tcp("127.0.0.1:80")));
        assert_eq!("localhost:0".parse(), Ok(tcp("127.0.0.1:0")));
        assert_eq!("[::1]:80".parse(), Ok(tcp("[::1]:80")));
        assert_eq!("unix:a b".parse(), Ok(ListenAddress(Endpoint::Unix("a b".into()))));
        for text in ["", "80", "localhost", "localhost:x", "unix:", "example.com:80", "127.0.0.1:70000"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_is_named_as_a_client_would_name_it() {
        for (text, is_tls, shown) in [
            ("127.0.0.1:80", false, "http://127.0.0.1:80/"),
            ("[::1]:443", true, "https://[::1]:443/"),
            ("unix:/tmp/s", true, "unix:/tmp/s"),
        ] {
            let ListenAddress(endpoint) = text.parse().unwrap();
            assert_eq!(Location { endpoint: &endpoint, is_tls }.to_string(), shown);
        }
    }

    #[test]
    fn statuses_come_in_proportion_to_their_weights() {
        let mix: StatusMix = "200:3,404:0,503:1".parse().unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let drawn: Vec<u16> = (0..10_000).map(|_| mix.draw(&mut random).as_u16()).collect();
        let share = |status| drawn.iter().filter(|&&drawn| drawn == status).count() as f64 / 10_000.0;
        assert_eq!(share(404), 0.0);
        assert!((share(200) - 0.75).abs() < 0.02, "{}", share(200));
        assert!((share(503) - 0.25).abs() < 0.02, "{}", share(503));
    }

    #[test]
    fn a_single_status_needs_no_weight() {
        let mix: StatusMix = "503".parse().unwrap();
        assert_eq!(mix, StatusMix::always(StatusCode::SERVICE_UNAVAILABLE));
    }

    #[test]
    fn interim_and_impossible_statuses_are_refused() {
        for text in ["", "100", "600", "abc", "200:", "200:x", "200:-1", "200:0", "200,,503", "200:1e999"] {
            assert!(text.parse::<StatusMix>().is_err(), "{text}");
        }
    }
}
