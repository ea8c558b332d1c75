//! Arguments about QUIC.

use std::ffi::OsString;

use httperf_plan::{Congestion, MaxDatagram, QuicWindow};

/// Arguments about QUIC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QuicArgs {
    /// `--quic-idle-timeout` in seconds.
    pub idle_timeout: Option<f64>,
    /// `--quic-window` in bytes.
    pub window: Option<QuicWindow>,
    /// `--quic-stream-window` in bytes.
    pub stream_window: Option<QuicWindow>,
    /// `--quic-max-datagram` in bytes.
    pub max_datagram: Option<MaxDatagram>,
    /// `--quic-congestion`.
    pub congestion: Option<Congestion>,
    /// `--ignore-alt-svc`.
    pub ignores_alt_svc: bool,
    /// `--qlog`.
    pub qlog: Option<OsString>,
}
