//! The form of requests.

use httperf_plan::number::{self, Base};

use crate::args::{Args, Version, os_string};
use crate::grammar::{Opt, ParseStop};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("method", "S", "uses this request method")
        .classic()
        .details(&["Default: GET. It is sent as it is. --wsesslog names its own methods."])
        .sets(&["request.method"])
        .apply(|args, value| {
            args.method = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("http-version", "A.B|2|3|auto", "speaks HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3")
        .classic()
        .details(&[
            "Default: 1.1. Requests of version 1.0 carry `Connection: keep-alive`.",
            "2 speaks HTTP/2: over TLS it is asked for in the handshake (ALPN), in the clear it begins at \
             once (prior knowledge). auto leaves it to the handshake of TLS whether HTTP/2 or HTTP/1.1 is \
             spoken, and the report says what was; in the clear nobody could choose, and it is refused.",
            "auto also learns from replies: once a server has offered HTTP/3 on its own host (Alt-Svc), new \
             connections to it go over QUIC, until the offer expires or is withdrawn. Connections that \
             are open stay as they are, and each thread learns for itself. If a connection does not reach \
             the server over QUIC, it fails, and later ones go over TCP again. Options that are about TCP, \
             such as --proxy, keep it there. 2 and 1.1 learn nothing.",
            "3 speaks HTTP/3 over QUIC, which has TLS inside: the server is an https:// URL, or --ssl is \
             given. It goes over UDP, to the same address and port.",
        ])
        .sets(&["request.version"])
        .apply(|args, value| {
            let version = parse_version(value.bytes());
            args.http_version = Some(version.ok_or_else(|| {
                ParseStop::illegal("illegal version number", "1.0, 1.1, 2, 3 or auto", value)
            })?);
            Ok(())
        }),
    Opt::with_value("add-header", "S", "adds these header lines to each request")
        .classic()
        .details(&[
            "Each line must end in `\\n`, which stands for carriage return and line feed. `\\r` is a \
             carriage return, `\\a` a line feed, `\\\\` a backslash, and a backslash with octal digits \
             the byte of that number. An empty line in it ends the header, so that a body may follow; \
             over HTTP/2 it is refused, as --body gives a body there.",
        ])
        .sets(&["request.extra_headers"])
        .apply(|args, value| {
            args.add_header = Some(value.bytes().to_vec());
            Ok(())
        }),
    Opt::with_value("add-header-file", "FILE", "adds the header lines in a file to each request")
        .classic_091()
        .details(&[
            "The bytes of the file are sent as they are, after those of --add-header; each line must end \
             in carriage return and line feed. If the file cannot be read the run goes on without it.",
        ])
        .apply(|args, value| {
            args.add_header_file = Some(os_string(value.bytes()));
            Ok(())
        }),
    Opt::flag("no-host-hdr", "leaves out the Host line")
        .classic()
        .details(&["Over HTTP/2 it leaves out `:authority`."])
        .sets(&["request.host_header"])
        .apply(|args, _| {
            args.no_host_header = true;
            Ok(())
        }),
];

/// Two numbers around a point; what follows them does not matter. Or one of the words that the classic tool refuses.
fn parse_version(text: &[u8]) -> Option<Version> {
    match text {
        b"2" => return Some(Version::HTTP_2),
        b"3" => return Some(Version::HTTP_3),
        b"auto" => return Some(Version::Auto),
        _ => {}
    }
    let major = number::scan_unsigned(text, Base::Decimal);
    let minor = number::scan_unsigned(major.rest.strip_prefix(b".")?, Base::Decimal);
    Some(Version::Numbered {
        major: u32::try_from(major.value.ok()?).ok()?,
        minor: u32::try_from(minor.value.ok()?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers_and_whatever_follows() {
        for text in ["1.0", "1.0x", "01.00", " +1.0"] {
            assert_eq!(parse_version(text.as_bytes()), Some(Version::HTTP_10), "{text}");
        }
        for text in ["2", "2.0", "2.0x"] {
            assert_eq!(parse_version(text.as_bytes()), Some(Version::HTTP_2), "{text}");
        }
        for text in ["3", "3.0", "3.0x"] {
            assert_eq!(parse_version(text.as_bytes()), Some(Version::HTTP_3), "{text}");
        }
        assert_eq!(parse_version(b"auto"), Some(Version::Auto));
        for text in
            ["", "1", "1.", ".1", "a.b", "-1.1", "1.4294967296", "2x", " 2", "3x", "4", "AUTO", "auto "]
        {
            assert_eq!(parse_version(text.as_bytes()), None, "{text}");
        }
    }
}
