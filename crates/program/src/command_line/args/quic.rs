//! Arguments about QUIC.

use std::ffi::OsString;

use httperf_plan::{Congestion, MaxDatagram, QuicWindow};

use super::{Args, Version};
use crate::command_line::grammar::ParseStop;

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
    /// `--quic-version` was given; version 1 is the only one.
    pub version: bool,
    /// `--qlog`.
    pub qlog: Option<OsString>,
}

impl QuicArgs {
    /// Refuses what means nothing in the version that is spoken.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let given = [
            ("--quic-idle-timeout", self.idle_timeout.is_some()),
            ("--quic-window", self.window.is_some()),
            ("--quic-stream-window", self.stream_window.is_some()),
            ("--quic-max-datagram", self.max_datagram.is_some()),
            ("--quic-congestion", self.congestion.is_some()),
            ("--quic-version", self.version),
            ("--qlog", self.qlog.is_some()),
        ];
        if self.ignores_alt_svc && args.version() != Version::Auto {
            return Err(ParseStop::rejected(
                "--ignore-alt-svc: needs --http-version=auto, as other versions learn nothing".to_owned(),
            ));
        }
        if args.version() == Version::HTTP_3 {
            let over_tcp = [
                ("--unix-socket", args.unix_socket.is_some()),
                ("--proxy", args.sources.proxy.is_some()),
                ("--tcp-fastopen", args.sources.fast_open),
                ("--close-with-reset", args.close_with_reset),
                ("--hog", args.hog),
                ("--tcp-nodelay", !args.sources.no_delay),
                ("--kernel-sends", args.results.kernel_sends.is_some()),
            ];
            let first = over_tcp.into_iter().find(|&(_, is_given)| is_given);
            return first.map_or(Ok(()), |(option, _)| {
                Err(ParseStop::rejected(format!(
                    "{option}: expected no --http-version=3 beside it, which goes over UDP"
                )))
            });
        }
        if args.version() == Version::Auto {
            return Ok(());
        }
        let first = given.into_iter().find(|&(_, is_given)| is_given);
        first.map_or(Ok(()), |(option, _)| {
            Err(ParseStop::rejected(format!("{option}: needs --http-version=3 or auto, which go over QUIC")))
        })
    }
}
