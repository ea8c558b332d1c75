//! The QUIC settings.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bounded;

/// The QUIC settings that the client announces, and its congestion control (RFC 9000, RFC 9002).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quic {
    /// The time after which a connection on which nothing arrives is gone, in nanoseconds. 30 s by default.
    #[serde(rename = "idle_timeout_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub idle_timeout: Duration,
    /// The flow-control window of a connection in bytes. 15 MiB by default.
    pub window: QuicWindow,
    /// The flow-control window of a stream in bytes. 6 MiB by default.
    pub stream_window: QuicWindow,
    /// The size of the largest datagram that path MTU discovery may find, in bytes of UDP payload. 1452 by default.
    pub max_datagram: MaxDatagram,
    /// The size of the largest datagram that the client takes (`max_udp_payload_size`), in bytes of UDP payload. 16,384 by default,
    /// 1452 in results from versions that had one size for both directions.
    #[serde(default = "one_size")]
    pub max_udp_payload: MaxDatagram,
    /// The congestion control. CUBIC by default.
    pub congestion: Congestion,
    /// Goes over to HTTP/3 where the version is left to the server and it offers that (`Alt-Svc`, RFC 7838). On by default, off
    /// in results from versions that did not learn of it.
    #[serde(default)]
    pub follows_alt_svc: bool,
    /// A folder for files with the events of the first 100 connections, as qlog in JSON-SEQ. None by default.
    #[serde(default, with = "crate::text::optional_path")]
    #[schemars(with = "Option<crate::text::Text>")]
    pub qlog: Option<PathBuf>,
}

/// A flow-control window in bytes.
pub type QuicWindow = Bounded<1, { i32::MAX as u32 }>;

/// The size of a datagram in bytes of UDP payload.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-14>
pub type MaxDatagram = Bounded<1200, 65_527>;

/// An algorithm of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// CUBIC (RFC 9438).
    Cubic,
    /// BBR, an experiment of the library.
    Bbr,
    /// New Reno (RFC 9002, section 7).
    NewReno,
}

const fn one_size() -> MaxDatagram {
    MaxDatagram::constant::<1452>()
}

/// Windows as over HTTP/2. Datagrams that fit an Ethernet over IPv6 are sent; a server that finds a better path may use it.
impl Default for Quic {
    fn default() -> Self {
        Self {
            idle_timeout: Duration::from_secs(30),
            window: QuicWindow::constant::<{ 15 << 20 }>(),
            stream_window: QuicWindow::constant::<{ 6 << 20 }>(),
            max_datagram: MaxDatagram::constant::<1452>(),
            max_udp_payload: MaxDatagram::constant::<16_384>(),
            congestion: Congestion::Cubic,
            follows_alt_svc: true,
            qlog: None,
        }
    }
}
