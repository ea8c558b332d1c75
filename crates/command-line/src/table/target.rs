//! The target: server, port and URI, also as one URL.

use super::rules::NOT_OVER_UDP;
use crate::args::{Args, TypedUrl, os_string};
use crate::grammar::{Opt, ParseStop, any_of};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("server", "HOST", "connects to this host name or address")
        .classic()
        .details(&[
            "Default: localhost. A name is resolved once, before the run; its first IPv4 address is \
             preferred to IPv6 ones. An IPv6 address is written without brackets.",
            "The value is also sent in the Host line, without the port (--server-name changes it); of a URL, \
             the port is sent too, unless it is the usual one. A URL given together with --server, --port or \
             --uri is ignored, with a warning.",
        ])
        .apply(|args, value| {
            args.server = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("server-name", "NAME", "sends this name in the Host line")
        .classic()
        .details(&[
            "Default: the value of --server, or host and port of the URL. Has no effect together with --servers. Over HTTP/2 \
             what would be in the Host line is in `:authority`.",
        ])
        .apply(|args, value| {
            args.server_name = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("servers", "FILE", "connects to the servers named in a file, in turn")
        .classic_091()
        .details(&[
            "The file holds host names or addresses, each ended by a NUL byte, or by a line end if it \
             holds no NUL. Each is resolved before the run and is used with the same port; connections \
             take them in turn. Cannot be combined with --server or a URL.",
        ])
        .apply(|args, value| {
            args.servers = Some(os_string(value.bytes()));
            Ok(())
        }),
    Opt::with_value("port", "N", "connects to this port")
        .classic()
        .details(&["Default: 80, or 443 with --ssl. Range: 0 to 65535."])
        .apply(|args, value| {
            let port = value.unsigned().and_then(|port| u16::try_from(port).ok());
            args.port = Some(port.ok_or_else(|| ParseStop::illegal("illegal port number", "a port from 0 to 65535", value))?);
            Ok(())
        }),
    Opt::with_value("uri", "S", "asks for this URI")
        .classic()
        .details(&[
            "Default: /. It is sent as it is, unchecked, but for the placeholders that --body describes. \
             With --wset it is what every generated name begins with, and has none.",
        ])
        .sets(&["uris"])
        .apply(|args, value| {
            args.uri = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("unix-socket", "PATH", "connects to this unix-domain socket instead of a TCP port")
        .details(&["--server and --server-name then only choose the Host line, and nothing is resolved."])
        .conflicts(&[
            any_of(&["proxy", "connect-to", "all-addresses"]),
            any_of(&["tcp-fastopen", "tos", "dscp"]).because("such a socket speaks no TCP"),
            any_of(&["clock=kernel", "kernel-sends"]).because("the kernel stamps nothing that goes that way"),
            NOT_OVER_UDP,
        ])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the path of a socket"));
            }
            args.unix_socket = Some(os_string(value.bytes()));
            Ok(())
        }),
];

/// Takes a word that is not an option: a target, or something that is only remembered.
pub(super) fn word(args: &mut Args, word: &[u8]) -> Result<(), ParseStop> {
    match TypedUrl::from_word(word) {
        Some(url) => args.typed_urls.push(url),
        None => args.stray_words.push(word.to_vec()),
    }
    Ok(())
}
