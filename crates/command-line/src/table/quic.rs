//! The parameters of QUIC, once `--http-version` asks for it.

use httperf_plan::Congestion;

use super::http2::size;
use super::rules::OVER_QUIC;
use crate::args::{Args, os_string};
use crate::grammar::{Opt, any_of};
use crate::values::seconds;

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::flag("ignore-alt-svc", "stays with TCP although a server offers HTTP/3 (--http-version=auto)")
        .details(&["Then the handshake of each connection alone says what is spoken."])
        .needs(&[any_of(&["http-version=auto"]).because("other versions learn nothing from replies")])
        .apply(|args, _| {
            args.quic.ignores_alt_svc = true;
            Ok(())
        }),
    Opt::with_value("quic-idle-timeout", "X", "gives up a connection on which nothing arrives for X seconds")
        .details(&[
            "Default: 30. The server may have a shorter time-out, which then counts for both. 0 is for ever.",
        ])
        .needs(&[OVER_QUIC])
        .sets(&["quic.idle_timeout_ns"])
        .apply(|args, value| {
            args.quic.idle_timeout = Some(seconds(value)?);
            Ok(())
        }),
    Opt::with_value(
        "quic-stream-window",
        "BYTES",
        "lets the server send up to this many bytes of a reply ahead (flow control)",
    )
    .details(&["Default: 6m. Range: 1 to 2147483647. A `k`, `m` or `g` behind the number counts in 1024s."])
    .needs(&[OVER_QUIC])
    .sets(&["quic.stream_window"])
    .apply(|args, value| {
        args.quic.stream_window = Some(size(value)?);
        Ok(())
    }),
    Opt::with_value(
        "quic-window",
        "BYTES",
        "lets the server send up to this many bytes of all replies of a connection ahead",
    )
    .details(&["Default: 15m. As --quic-stream-window."])
    .needs(&[OVER_QUIC])
    .sets(&["quic.window"])
    .apply(|args, value| {
        args.quic.window = Some(size(value)?);
        Ok(())
    }),
    Opt::with_value("quic-max-datagram", "BYTES", "sends and takes datagrams of up to this many bytes")
        .details(&[
            "Default: 1452 sent, which fits an Ethernet over IPv6, and 16384 taken. Range: 1200 to 65527 bytes of UDP \
             payload. Either end begins with 1200 and finds out how many the path carries (RFC 9000, section 14.3): over \
             loopback servers may send as large ones as are taken. 1452 has them send what they do over an Ethernet.",
        ])
        .needs(&[OVER_QUIC])
        .sets(&["quic.max_datagram", "quic.max_udp_payload"])
        .apply(|args, value| {
            args.quic.max_datagram = Some(size(value)?);
            Ok(())
        }),
    Opt::with_value("quic-congestion", "NAME", "controls congestion by cubic, newreno or bbr")
        .details(&[
            "Default: cubic (RFC 9438). newreno is that of RFC 9002, bbr an experiment of the library.",
        ])
        .needs(&[OVER_QUIC])
        .sets(&["quic.congestion"])
        .apply(|args, value| {
            args.quic.congestion = Some(match value.bytes() {
                b"cubic" => Congestion::Cubic,
                b"newreno" => Congestion::NewReno,
                b"bbr" => Congestion::Bbr,
                _ => return Err(value.expected("cubic, newreno or bbr")),
            });
            Ok(())
        }),
    Opt::with_value("quic-version", "N", "speaks this version of QUIC: 1")
        .details(&[
            "Default, and the only one: 1 (RFC 9000). Version 2 (RFC 9369) is not spoken. A server that does not know \
             version 1 fails the handshake.",
        ])
        .needs(&[OVER_QUIC])
        .apply(|_, value| {
            if value.bytes() != b"1" {
                return Err(value.expected("1 (RFC 9000), the only one spoken"));
            }
            Ok(())
        }),
    Opt::with_value("qlog", "DIR", "writes the events of the first 100 connections to files in this folder")
        .details(&[
            "As qlog in JSON-SEQ, for qvis and other tools: packets sent, received and lost, and metrics of loss \
             recovery. The file of connection 7, counted from 0, is connection-7.sqlog, and its times count from when \
             that connection began, by the clock of the run. A file ends at 16 MiB. The folder is made if it is missing, \
             and files of earlier runs are replaced. Connections with a file cost more than the others.",
        ])
        .needs(&[OVER_QUIC])
        .sets(&["quic.qlog"])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the path of a folder"));
            }
            args.quic.qlog = Some(os_string(value.bytes()));
            Ok(())
        }),
];
