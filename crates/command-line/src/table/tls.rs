//! TLS: the classic options, those of 0.9.1, and ours.

use std::fmt::Write as _;

use httperf_plan::{CertificateCompression, TlsVersion};
use httperf_proto::tls::{ABSENT_GROUPS, DEFAULT_GROUPS, GROUPS, SERVERS};

use super::rules::{NOT_OVER_QUIC, SESSIONS};
use crate::args::{Args, Protocol, os_string};
use crate::grammar::{Opt, ParseStop, Value, any_of};

/// A paragraph of each classic option that does not ask for TLS by itself.
const ONLY_WITH_TLS: &str = "Has no effect without TLS.";

/// A paragraph of each option of ours.
const IMPLIES_TLS: &str = "Implies --ssl.";

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::flag("ssl", "speaks TLS with the server")
        .classic()
        .details(&[
            "Offers TLS 1.2 and 1.3 unless --ssl-protocol, --tls-min or --tls-max say otherwise, and \
             connects to port 443 unless --port does. A https:// URL has the same effect. Certificates \
             are not checked without --ssl-verify.",
            "A handshake that fails is counted and the run goes on, unless the server answers the first \
             ten in something other than TLS. If the first one fails and none succeeds, the exit status \
             is 255.",
        ])
        .sets(&["tls"])
        .apply(|args, _| {
            args.tls.want("--ssl");
            Ok(())
        }),
    Opt::with_value(
        "ssl-ciphers",
        "L",
        "offers these cipher suites of TLS 1.2 and older, a list in OpenSSL's syntax",
    )
    .classic()
    .details(&[
        "Default: those of the library. A name that it does not have is left out, with a warning. The \
         suites of TLS 1.3 cannot be chosen: all of them are offered as long as TLS 1.3 is. If the list \
         leaves nothing, only TLS 1.3 is offered; if that is excluded (--tls-max, --ssl-protocol), the \
         list is an error.",
        ONLY_WITH_TLS,
    ])
    .conflicts(&[NOT_OVER_QUIC])
    .sets(&["tls.ciphers"])
    .apply(|args, value| {
        args.tls.ciphers = Some(value.bytes().to_vec());
        Ok(())
    }),
    Opt::flag("ssl-no-reuse", "makes a full handshake for every connection of a session")
        .classic()
        .details(&[
            "Without it, each connection of a session (--wsess and its kin) resumes the TLS session of \
             the one before. Connections that belong to no session resume nothing without --tls-resume.",
            ONLY_WITH_TLS,
        ])
        .apply(|args, _| {
            args.tls.no_reuse = true;
            Ok(())
        }),
    Opt::with_value("ssl-certificate", "FILE", "shows this certificate to a server that asks for one")
        .classic_091()
        .details(&[
            "The file holds the certificate, and then any that lead from it to a root, in PEM. Its key is \
             taken from --ssl-key, or from the same file.",
            ONLY_WITH_TLS,
        ])
        .apply(|args, value| {
            args.tls.certificate = Some(os_string(value.bytes()));
            Ok(())
        }),
    Opt::with_value("ssl-key", "FILE", "uses this private key with --ssl-certificate")
        .classic_091()
        .details(&[
            "In PEM, and not encrypted. Its certificate is taken from --ssl-certificate, or from the same \
             file.",
            ONLY_WITH_TLS,
        ])
        .apply(|args, value| {
            args.tls.key = Some(os_string(value.bytes()));
            Ok(())
        }),
    Opt::with_optional_value("ssl-verify", "yes|no", "checks the server's certificate")
        .classic_091()
        .details(&[
            "Default: no. It must lead to a root of the system, of --ssl-ca-file or of --ssl-ca-path, and \
             bear the name of the server, or its address if it has no name. 0.9.1 did not look at the \
             name.",
            "`true`, `on` and `1` mean yes, as does whatever begins with y; `false`, `off`, `0` and whatever begins with n \
             mean no.",
            ONLY_WITH_TLS,
        ])
        .apply(|args, value| {
            let text = value.given().map(<[u8]>::to_ascii_lowercase);
            args.tls.verify = match text.as_deref() {
                None | Some(b"true" | b"on" | b"1" | [b'y', ..]) => true,
                Some(b"" | b"false" | b"off" | b"0" | [b'n', ..]) => false,
                Some(_) => return Err(value.expected("yes or no")),
            };
            Ok(())
        }),
    Opt::with_value(
        "ssl-ca-file",
        "FILE",
        "trusts the certificates in this file, in PEM, beside the system's",
    )
    .classic_091()
    .details(&["Has no effect without --ssl-verify."])
    .apply(|args, value| {
        args.tls.ca_file = Some(os_string(value.bytes()));
        Ok(())
    }),
    Opt::with_value(
        "ssl-ca-path",
        "DIR",
        "trusts the certificates in the files of this directory, in PEM, beside the system's",
    )
    .classic_091()
    .details(&["The names of the files do not matter. Has no effect without --ssl-verify."])
    .apply(|args, value| {
        args.tls.ca_path = Some(os_string(value.bytes()));
        Ok(())
    }),
    Opt::with_value("ssl-protocol", "S", "speaks this version of TLS and no other")
        .classic_091()
        .details(&[
            "TLSv1.0, TLSv1.1, TLSv1.2 or TLSv1.3, also written TLSv1 or TLSv1_2; `auto` offers the usual \
             versions. --tls-min and --tls-max go before it.",
            IMPLIES_TLS,
        ])
        .conflicts(&[NOT_OVER_QUIC.when("ssl-protocol of an older version")])
        .apply(|args, value| {
            args.tls.protocol = Some(parse_protocol(value)?);
            args.tls.want("--ssl-protocol");
            Ok(())
        }),
    Opt::with_value("tls-server-name", "NAME", "calls the server by this name in TLS")
        .classic_091()
        .details(&[
            "The name is sent (SNI), and --ssl-verify looks for it. Default: --server-name or --server, \
             whichever is first a host name. Of an address nothing is sent.",
            IMPLIES_TLS,
        ])
        .apply(|args, value| {
            args.tls.server_name = Some(parse_server_name(value)?);
            args.tls.want("--tls-server-name");
            Ok(())
        }),
    Opt::with_value(
        "tls-groups",
        "LIST",
        "offers these key-exchange groups, most preferred first; `help` lists them",
    )
    .details(&[
        "Default: X25519MLKEM768:X25519:P-256:P-384. The list is separated by colons or commas. A key \
         share is sent for the first group, and for the next one too if of the two one is post-quantum \
         and the other is not. A server that wants another group asks for it (HelloRetryRequest). `help` \
         also says which servers were seen to speak each group.",
        IMPLIES_TLS,
    ])
    .sets(&["tls.groups"])
    .apply(|args, value| {
        if value.bytes() == b"help" {
            return Err(ParseStop::Print(group_table()));
        }
        args.tls.groups = Some(value.bytes().to_vec());
        args.tls.want("--tls-groups");
        Ok(())
    }),
    Opt::with_value("tls-min", "V", "offers no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3")
        .details(&["Default: 1.2, or --tls-max if that is older.", IMPLIES_TLS])
        .apply(|args, value| {
            args.tls.min = Some(parse_version(value)?);
            args.tls.want("--tls-min");
            Ok(())
        }),
    Opt::with_value("tls-max", "V", "offers no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3")
        .details(&["Default: 1.3.", IMPLIES_TLS])
        .conflicts(&[NOT_OVER_QUIC.when("tls-max below 1.3")])
        .apply(|args, value| {
            args.tls.max = Some(parse_version(value)?);
            args.tls.want("--tls-max");
            Ok(())
        }),
    Opt::with_value(
        "tls-sigalgs",
        "LIST",
        "accepts these algorithms for the server's signature, most preferred first",
    )
    .details(&[
        "Default: those of the library. Names are such as ecdsa_secp256r1_sha256 or rsa_pss_rsae_sha256, \
         separated by colons or commas.",
        IMPLIES_TLS,
    ])
    .apply(|args, value| {
        args.tls.signature_algorithms = Some(value.bytes().to_vec());
        args.tls.want("--tls-sigalgs");
        Ok(())
    }),
    Opt::with_value("tls-alpn", "LIST", "offers these application protocols (ALPN), most preferred first")
        .details(&[
            "Default: none, and no ALPN; h2 with --http-version=2, and h2,http/1.1 with \
             --http-version=auto. Separated by commas. h2 needs one of these versions, and 2 needs h2; a \
             protocol that cannot be spoken at all can only be offered with --tls-handshake-only.",
            IMPLIES_TLS,
        ])
        .apply(|args, value| {
            args.tls.alpn = Some(value.bytes().to_vec());
            args.tls.want("--tls-alpn");
            Ok(())
        }),
    Opt::with_value(
        "tls-keylog",
        "FILE",
        "appends the secrets of TLS sessions to this file, for tools that decrypt captures",
    )
    .details(&[
        "In the format of SSLKEYLOGFILE. Default: the file that the environment variable of that name \
         gives, if it is set and TLS is spoken.",
        IMPLIES_TLS,
    ])
    .apply(|args, value| {
        if value.bytes().is_empty() {
            return Err(value.expected("the path of a file"));
        }
        args.tls.key_log = Some(os_string(value.bytes()));
        args.tls.want("--tls-keylog");
        Ok(())
    }),
    Opt::with_value(
        "tls-resume",
        "PERCENT",
        "makes this share of the connections resume an earlier TLS session",
    )
    .details(&[
        "Default: 0. Range: 0 to 100. For workloads made of connections (--num-conns); those of a \
             session resume by themselves. The share holds for the run as a whole: a connection that \
             cannot resume, because no session is at hand or the server refuses it, is made up for by a \
             later one.",
        IMPLIES_TLS,
    ])
    .conflicts(&[
        any_of(SESSIONS).because("connections of a session resume unless --ssl-no-reuse is given"),
        any_of(&["ssl-no-reuse"]),
    ])
    .sets(&["tls.resumption"])
    .apply(|args, value| {
        let percent = value.real().filter(|percent| (0.0..=100.0).contains(percent));
        let percent =
            percent.ok_or_else(|| value.expected("a number from 0 to 100"))?;
        args.tls.resume = Some(percent);
        args.tls.want("--tls-resume");
        Ok(())
    }),
    Opt::flag("tls-early-data", "sends requests with the first flight of resumed handshakes (0-RTT)")
        .details(&[
            "Only requests of safe methods (GET, HEAD, OPTIONS, TRACE) without a body, because an \
             attacker can make the server see them twice. Those that the server refuses are sent again. \
             Needs TLS 1.3; in a workload made of connections it implies --tls-resume=100 unless that is \
             given.",
            IMPLIES_TLS,
        ])
        .conflicts(&[
            any_of(&["ssl-no-reuse", "tls-resume=0"]).because("only connections that resume send it"),
        ])
        .apply(|args, _| {
            args.tls.early_data = true;
            args.tls.want("--tls-early-data");
            Ok(())
        }),
    Opt::flag("tls-handshake-only", "connects, makes the handshake and closes, without a call")
        .details(&[
            "As --num-calls=0. A connection whose session ticket is needed for --tls-resume waits for it, \
             up to a second.",
            IMPLIES_TLS,
        ])
        .conflicts(&[any_of(SESSIONS), any_of(&["tls-early-data"])])
        .apply(|args, _| {
            args.tls.handshake_only = true;
            args.tls.want("--tls-handshake-only");
            Ok(())
        }),
    Opt::with_value(
        "tls-cert-compression",
        "LIST",
        "lets the server compress its certificate: zlib, brotli, or both",
    )
    .details(&["Default: neither. Separated by commas (RFC 8879; TLS 1.3 only).", IMPLIES_TLS])
    .conflicts(&[
        any_of(&["http-version=3"]).because("the library for QUIC takes no compressed certificates"),
    ])
    .apply(|args, value| {
        args.tls.certificate_compression = parse_compression(value)?;
        args.tls.want("--tls-cert-compression");
        Ok(())
    }),
];

/// A name that can be sent; an address cannot (RFC 6066, section 3).
pub fn parse_server_name(value: Value<'_>) -> Result<Vec<u8>, ParseStop> {
    let name = value.bytes();
    let is_sendable = !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
    let is_address = std::str::from_utf8(name).is_ok_and(|name| name.parse::<std::net::IpAddr>().is_ok());
    if !is_sendable || is_address {
        return Err(value.expected("the name of a host"));
    }
    Ok(name.to_vec())
}

fn parse_protocol(value: Value<'_>) -> Result<Protocol, ParseStop> {
    let name = value.bytes().to_ascii_lowercase();
    match &name[..] {
        b"auto" => Ok(Protocol::Auto),
        b"tlsv1" | b"tlsv1.0" | b"tlsv1_0" => Ok(Protocol::Only(TlsVersion::Tls10)),
        b"tlsv1.1" | b"tlsv1_1" => Ok(Protocol::Only(TlsVersion::Tls11)),
        b"tlsv1.2" | b"tlsv1_2" => Ok(Protocol::Only(TlsVersion::Tls12)),
        b"tlsv1.3" | b"tlsv1_3" => Ok(Protocol::Only(TlsVersion::Tls13)),
        _ => Err(ParseStop::illegal("illegal SSL protocol", "the name of a protocol such as TLSv1.3", value)),
    }
}

fn parse_version(value: Value<'_>) -> Result<TlsVersion, ParseStop> {
    match value.bytes() {
        b"1.0" => Ok(TlsVersion::Tls10),
        b"1.1" => Ok(TlsVersion::Tls11),
        b"1.2" => Ok(TlsVersion::Tls12),
        b"1.3" => Ok(TlsVersion::Tls13),
        _ => match parse_protocol(value) {
            Ok(Protocol::Only(version)) => Ok(version),
            Ok(Protocol::Auto) | Err(_) => Err(value.expected("1.0, 1.1, 1.2 or 1.3")),
        },
    }
}

fn parse_compression(value: Value<'_>) -> Result<Vec<CertificateCompression>, ParseStop> {
    value
        .bytes()
        .split(|&byte| matches!(byte, b',' | b':'))
        .map(|name| match name {
            b"zlib" => Ok(CertificateCompression::Zlib),
            b"brotli" => Ok(CertificateCompression::Brotli),
            _ => Err(value.expected("zlib, brotli or both")),
        })
        .collect()
}

/// The text that `--tls-groups help` prints.
fn group_table() -> String {
    let mut table = format!(
        "{:<22} {:>6}  {:>12}  {:>12}  {:<12}  {:<7}  {}\n",
        "group", "id", "client share", "server share", "post-quantum", "default", "spoken by"
    );
    for group in GROUPS {
        let rank = DEFAULT_GROUPS.split(':').position(|name| name == group.name);
        writeln!(
            table,
            "{:<22} {:#06x}  {:>10} B  {:>10} B  {:<12}  {:<7}  {}",
            group.name,
            group.id,
            group.client_share_size,
            group.server_share_size,
            if group.is_post_quantum { "yes" } else { "no" },
            rank.map_or_else(|| "-".to_owned(), |rank| (rank + 1).to_string()),
            group.spoken_by.join(", "),
        )
        .expect("writing to a string succeeds");
    }
    table += "\nEvery group was tried with each of these servers, as it comes:\n";
    for (name, version) in SERVERS {
        writeln!(table, "  {name:<9}  {version}").expect("writing to a string succeeds");
    }
    let absent: Vec<String> = ABSENT_GROUPS.iter().map(|(name, id)| format!("{name} ({id:#06x})")).collect();
    writeln!(table, "\nNot in the TLS library of httperf (BoringSSL): {}.", absent.join(", "))
        .expect("writing to a string succeeds");
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::parsed;

    #[track_caller]
    fn check_rejected(option: &str, message: &str) {
        assert_eq!(parsed(&[option]).map(|_| "accepted"), Err(ParseStop::rejected(message)), "{option}");
    }

    #[test]
    fn a_certificate_is_checked_by_whatever_means_yes() {
        let checks = |value: &str| parsed(&[&format!("--ssl-verify{value}")]).map(|args| args.tls.verify);
        for value in ["", "=yes", "=Y", "=true", "=TRUE", "=on", "=1"] {
            assert_eq!(checks(value), Ok(true), "{value}");
        }
        for value in ["=no", "=N", "=false", "=off", "=0", "=none", "="] {
            assert_eq!(checks(value), Ok(false), "{value}");
        }
        check_rejected("--ssl-verify=always", "--ssl-verify: expected yes or no, got `always`");
    }

    #[test]
    fn options_of_ours_and_a_protocol_imply_tls_and_its_port() {
        for option in COMMAND_OPTIONS {
            let args = parsed(&[option]).unwrap();
            assert!(args.uses_tls(), "{option}");
            assert_eq!(args.port(), 443, "{option}");
        }
        for option in
            ["--ssl-no-reuse", "--ssl-verify", "--ssl-ciphers=HIGH", "--ssl-key=f", "--ssl-ca-file=f"]
        {
            assert!(!parsed(&[option]).unwrap().uses_tls(), "{option}");
        }
    }

    const COMMAND_OPTIONS: [&str; 13] = [
        "--ssl",
        "--ssl-protocol=auto",
        "--tls-server-name=h",
        "--tls-groups=X25519",
        "--tls-min=1.2",
        "--tls-max=1.3",
        "--tls-sigalgs=ed25519",
        "--tls-alpn=http/1.1",
        "--tls-keylog=f",
        "--tls-resume=50",
        "--tls-early-data",
        "--tls-handshake-only",
        "--tls-cert-compression=zlib",
    ];

    #[test]
    fn protocols_go_by_their_classic_names_in_any_case() {
        for (text, protocol) in [
            ("auto", Protocol::Auto),
            ("TLSv1", Protocol::Only(TlsVersion::Tls10)),
            ("tlsv1.0", Protocol::Only(TlsVersion::Tls10)),
            ("TLSV1_1", Protocol::Only(TlsVersion::Tls11)),
            ("TLSv1.2", Protocol::Only(TlsVersion::Tls12)),
            ("TLSv1_3", Protocol::Only(TlsVersion::Tls13)),
        ] {
            let args = parsed(&[&format!("--ssl-protocol={text}")]).unwrap();
            assert_eq!(args.tls.protocol, Some(protocol), "{text}");
        }
        for text in ["SSLv2", "SSLv3", "TLSv1.4", "1.2", ""] {
            let stop = parsed(&[&format!("--ssl-protocol={text}")]);
            let Err(ParseStop::Rejected { message, plain: Some(plain), .. }) = stop else {
                panic!("{stop:?}")
            };
            assert_eq!(message, format!("illegal SSL protocol {text}").as_bytes());
            let expected =
                format!("--ssl-protocol: expected the name of a protocol such as TLSv1.3, got `{text}`");
            assert_eq!(plain, expected.as_bytes());
        }
    }

    #[test]
    fn verification_is_on_unless_its_value_says_no() {
        for (option, expected) in [
            ("--ssl-verify", true),
            ("--ssl-verify=yes", true),
            ("--ssl-verify=Y", true),
            ("--ssl-verify=no", false),
            ("--ssl-verify=on", true),
        ] {
            assert_eq!(parsed(&[option]).unwrap().tls.verify, expected, "{option}");
        }
        assert!(!parsed(&[]).unwrap().tls.verify);
    }

    #[test]
    fn values_that_mean_nothing_are_named() {
        for (option, message) in [
            ("--tls-min=2", "--tls-min: expected 1.0, 1.1, 1.2 or 1.3, got `2`"),
            ("--tls-max=auto", "--tls-max: expected 1.0, 1.1, 1.2 or 1.3, got `auto`"),
            ("--tls-resume=101", "--tls-resume: expected a number from 0 to 100, got `101`"),
            ("--tls-resume=-1", "--tls-resume: expected a number from 0 to 100, got `-1`"),
            ("--tls-resume=nan", "--tls-resume: expected a number from 0 to 100, got `nan`"),
            ("--tls-server-name=", "--tls-server-name: expected the name of a host, got ``"),
            ("--tls-server-name=a b", "--tls-server-name: expected the name of a host, got `a b`"),
            ("--tls-server-name=::1", "--tls-server-name: expected the name of a host, got `::1`"),
            ("--tls-keylog=", "--tls-keylog: expected the path of a file, got ``"),
            (
                "--tls-cert-compression=zlib,lzma",
                "--tls-cert-compression: expected zlib, brotli or both, got `zlib,lzma`",
            ),
        ] {
            check_rejected(option, message);
        }
    }

    #[test]
    fn the_groups_are_listed_with_their_sizes() {
        let Err(ParseStop::Print(table)) = parsed(&["--tls-groups", "help"]) else {
            panic!("a table is printed")
        };
        let (groups, rest) = table.split_once("\n\n").expect("a table and what there is to say of it");
        assert_eq!(groups.lines().count(), GROUPS.len() + 1);
        for (line, group) in groups.lines().skip(1).zip(GROUPS) {
            assert!(line.starts_with(group.name) && line.ends_with(&group.spoken_by.join(", ")), "{line}");
        }
        let first = "X25519MLKEM768         0x11ec        1216 B        1120 B  yes           1        Go, Caddy, BoringSSL\n";
        assert!(groups.contains(first), "{table}");
        for (name, version) in SERVERS {
            assert!(rest.contains(name) && rest.contains(version), "{table}");
        }
        assert!(rest.contains("MLKEM768 (0x0201), SecP256r1MLKEM768 (0x11eb)"), "{table}");
    }
}
