//! The options of `httperf serve` that are about TLS.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use httperf_command_line::grammar::{Opt, ParseStop, any_of};
use httperf_origin::{
    BadCredentials, Ciphers, ClientCertificate, Credentials, Groups, KeyType, Tickets, Tls, Versions,
};
use httperf_origin::{parse_certificate_compression, parse_tls_version};
use httperf_plan::{CertificateCompression, Endpoint, Identity, TlsVersion};

use super::{ServeArgs, read};

/// Arguments about TLS.
#[derive(Debug, Default)]
pub(super) struct TlsArgs {
    /// True if there is to be TLS: every option here says so.
    pub(super) is_wanted: bool,
    key_type: Option<KeyType>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    /// The file for the certificate in use.
    pub(super) certificate_file: Option<PathBuf>,
    groups: Groups,
    min: Option<TlsVersion>,
    max: Option<TlsVersion>,
    ciphers: Option<Ciphers>,
    pub(super) has_no_tickets: bool,
    early_data: bool,
    requests_client_certificate: bool,
    requires_client_certificate: bool,
    certificate_compression: Vec<CertificateCompression>,
}

impl TlsArgs {
    /// Its meaning, for a server that listens there.
    pub(super) fn config(self, listen: &Endpoint) -> Result<Option<Tls>, ParseStop> {
        if !self.is_wanted {
            return Ok(None);
        }
        let versions = self.versions()?;
        let tickets = self.tickets(versions)?;
        let client_certificate = match (self.requires_client_certificate, self.requests_client_certificate) {
            (true, _) => ClientCertificate::Required,
            (false, true) => ClientCertificate::Requested,
            (false, false) => ClientCertificate::None,
        };
        Ok(Some(Tls {
            credentials: self.credentials(listen)?,
            versions,
            groups: self.groups,
            ciphers: self.ciphers,
            tickets,
            client_certificate,
            certificate_compression: self.certificate_compression,
        }))
    }

    fn versions(&self) -> Result<Versions, ParseStop> {
        let max = self.max.unwrap_or(TlsVersion::Tls13);
        let min = self.min.unwrap_or(TlsVersion::Tls12.min(max));
        Versions::new(min, max).ok_or_else(|| {
            let (min, max) = (version_name(min), version_name(max));
            ParseStop::rejected(format!(
                "--tls-min: expected a version up to {max}, which is the newest, got `{min}`"
            ))
        })
    }

    fn tickets(&self, versions: Versions) -> Result<Tickets, ParseStop> {
        if !self.early_data {
            return Ok(if self.has_no_tickets { Tickets::Off } else { Tickets::On });
        }
        if versions.max() != TlsVersion::Tls13 {
            let newest = version_name(versions.max());
            return Err(ParseStop::rejected(format!(
                "--tls-early-data: expected TLS 1.3 to be accepted, got a newest version of {newest}"
            )));
        }
        Ok(Tickets::EarlyData)
    }

    fn credentials(&self, listen: &Endpoint) -> Result<Credentials, ParseStop> {
        let Some(certificate) = &self.certificate else {
            return Ok(Credentials::self_signed(self.key_type.unwrap_or_default(), listen));
        };
        let (key_option, key) = match &self.key {
            Some(key) => ("--tls-cert-key", key),
            None => ("--tls-cert", certificate),
        };
        let unreadable = |option: &str, file: &Path, error: io::Error| {
            ParseStop::rejected(format!("{option}: cannot read `{}`: {error}", file.display()))
        };
        let certificates =
            fs::read(certificate).map_err(|error| unreadable("--tls-cert", certificate, error))?;
        let key_bytes = fs::read(key).map_err(|error| unreadable(key_option, key, error))?;
        let identity = Identity { certificates, key: key_bytes };
        Credentials::from_pem(&identity).map_err(|bad| {
            let (certificate, key) = (certificate.display(), key.display());
            ParseStop::rejected(match bad {
                BadCredentials::Certificate => {
                    format!("--tls-cert: expected a PEM certificate in `{certificate}`")
                }
                BadCredentials::Key => format!("{key_option}: expected a PEM private key in `{key}`"),
                BadCredentials::EncryptedKey => {
                    format!("{key_option}: expected a key that is not encrypted in `{key}`")
                }
                BadCredentials::Mismatch => format!(
                    "{key_option}: expected the key of the certificate in `{certificate}`, got that of another in `{key}`"
                ),
            })
        })
    }
}

fn version_name(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::Tls10 => "1.0",
        TlsVersion::Tls11 => "1.1",
        TlsVersion::Tls12 => "1.2",
        TlsVersion::Tls13 => "1.3",
    }
}

const IMPLIES_TLS: &str = "Implies --tls.";

pub(super) const OPTIONS: &[Opt<ServeArgs>] = &[
    Opt::flag("tls", "speaks TLS on every connection")
        .common()
        .details(&["The certificate signs itself; it is for localhost, 127.0.0.1, ::1 and the address of \
             --listen, and valid for 30 days. Of the application protocols that a client offers (ALPN) \
             the server takes h2 before http/1.1; without such an offer it speaks HTTP/1. --no-http2 \
             leaves h2 out."])
        .apply(|args, _| {
            args.tls.is_wanted = true;
            Ok(())
        }),
    Opt::with_value("tls-key-type", "TYPE", "makes the certificate with a key of this type")
        .details(&[
            "Default: ecdsa-p256. The others: ecdsa-p384, rsa-2048, rsa-3072, rsa-4096 and ed25519, which \
             few clients take.",
            IMPLIES_TLS,
        ])
        .conflicts(&[any_of(&["tls-cert"]).because("its key has a type already")])
        .apply(|args, value| {
            let key_type = read(value, str::parse)?;
            wanted(args).key_type = Some(key_type);
            Ok(())
        }),
    Opt::with_value("tls-cert", "FILE", "shows the certificate in this file instead of making one")
        .details(&[
            "The file holds the certificate, and then any that lead from it to a root, in PEM. Its key is \
             taken from --tls-cert-key, or from the same file.",
            IMPLIES_TLS,
        ])
        .apply(|args, value| {
            wanted(args).certificate = Some(value.os_str().into());
            Ok(())
        }),
    Opt::with_value("tls-cert-key", "FILE", "uses the private key in this file with --tls-cert")
        .details(&["In PEM, and not encrypted.", IMPLIES_TLS])
        .needs(&[any_of(&["tls-cert"])])
        .apply(|args, value| {
            wanted(args).key = Some(value.os_str().into());
            Ok(())
        }),
    Opt::with_value("tls-write-cert", "FILE", "writes the certificate to this file, for clients to trust")
        .details(&[
            "In PEM, before the first line on stdout. A file that is there already is overwritten.",
            IMPLIES_TLS,
        ])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the path of a file"));
            }
            wanted(args).certificate_file = Some(value.os_str().into());
            Ok(())
        }),
    Opt::with_value("tls-groups", "LIST", "accepts these key-exchange groups and no others")
        .details(&[
            "Default: all that the library has. The list is separated by colons or commas, as in \
             X25519MLKEM768:X25519. Of those that both sides have, the client's most preferred is used; \
             if it sent no key share for that, it is asked for one (HelloRetryRequest).",
            IMPLIES_TLS,
        ])
        .apply(|args, value| {
            wanted(args).groups = read(value, str::parse)?;
            Ok(())
        }),
    Opt::with_value("tls-min", "V", "accepts no version of TLS older than this: 1.0, 1.1, 1.2 or 1.3")
        .details(&["Default: 1.2, or --tls-max if that is older.", IMPLIES_TLS])
        .apply(|args, value| {
            wanted(args).min = Some(read(value, parse_tls_version)?);
            Ok(())
        }),
    Opt::with_value("tls-max", "V", "accepts no version of TLS newer than this: 1.0, 1.1, 1.2 or 1.3")
        .details(&["Default: 1.3.", IMPLIES_TLS])
        .apply(|args, value| {
            wanted(args).max = Some(read(value, parse_tls_version)?);
            Ok(())
        }),
    Opt::with_value(
        "tls-ciphers",
        "LIST",
        "accepts these cipher suites of TLS 1.2 and older, a list in OpenSSL's syntax",
    )
    .details(&[
        "Default: those of the library. A name that it does not have is an error. The suites of TLS 1.3 \
         cannot be chosen.",
        IMPLIES_TLS,
    ])
    .apply(|args, value| {
        wanted(args).ciphers = Some(read(value, str::parse)?);
        Ok(())
    }),
    Opt::with_value("tls-tickets", "on|off", "gives clients tickets to resume their sessions with, or none")
        .details(&["Default: on. Without tickets, every handshake is a full one.", IMPLIES_TLS])
        .apply(|args, value| {
            wanted(args).has_no_tickets = match value.bytes() {
                b"on" => false,
                b"off" => true,
                _ => return Err(value.expected("on or off")),
            };
            Ok(())
        }),
    Opt::flag("tls-early-data", "accepts requests with the first flight of resumed handshakes (0-RTT)")
        .details(&["Nothing guards against their replay. Needs TLS 1.3 and tickets.", IMPLIES_TLS])
        .conflicts(&[any_of(&["tls-tickets=off"])])
        .apply(|args, _| {
            wanted(args).early_data = true;
            Ok(())
        }),
    Opt::flag("tls-request-client-cert", "asks clients for a certificate, and goes on without one")
        .details(&["Any certificate will do, whoever issued it.", IMPLIES_TLS])
        .apply(|args, _| {
            wanted(args).requests_client_certificate = true;
            Ok(())
        }),
    Opt::flag(
        "tls-require-client-cert",
        "asks clients for a certificate, and fails the handshake without one",
    )
    .details(&["Any certificate will do, whoever issued it.", IMPLIES_TLS])
    .apply(|args, _| {
        wanted(args).requires_client_certificate = true;
        Ok(())
    }),
    Opt::with_value(
        "tls-cert-compression",
        "LIST",
        "compresses the certificate for clients that can take that: zlib, brotli or both",
    )
    .details(&[
        "Default: it is not compressed. Separated by colons or commas. For TLS 1.3 only.",
        IMPLIES_TLS,
    ])
    .apply(|args, value| {
        let ways = read(value, parse_certificate_compression)?;
        wanted(args).certificate_compression = ways;
        Ok(())
    }),
];

/// The part of the arguments that an option about TLS is for.
fn wanted(args: &mut ServeArgs) -> &mut TlsArgs {
    args.tls.is_wanted = true;
    &mut args.tls
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;

    use super::super::settings;
    use super::*;

    fn tls(argv: &[&str]) -> Tls {
        settings(&words(argv)).unwrap().config.tls.expect("TLS is wanted")
    }

    #[track_caller]
    fn check_rejected(argv: &[&str], expected: &str) {
        assert_eq!(settings(&words(argv)).unwrap_err(), ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn every_option_about_tls_implies_it() {
        for option in OPTIONS.iter().map(|option| option.text) {
            let value = match option.long {
                // Read below.
                "tls-cert" | "tls-cert-key" => continue,
                "tls-key-type" => "=ecdsa-p384",
                "tls-write-cert" => "=file",
                "tls-groups" => "=X25519",
                "tls-min" | "tls-max" => "=1.2",
                "tls-ciphers" => "=HIGH",
                "tls-tickets" => "=on",
                "tls-cert-compression" => "=zlib",
                _ => "",
            };
            let argument = format!("--{}{value}", option.long);
            assert!(settings(&words(&[&argument])).unwrap().config.tls.is_some(), "{argument}");
        }
    }

    #[test]
    fn every_option_finds_its_place() {
        let tls = tls(&[
            "--tls-groups=P-384,X25519",
            "--tls-min=1.1",
            "--tls-max=1.2",
            "--tls-ciphers=AES128-SHA",
            "--tls-tickets=off",
            "--tls-cert-compression=brotli",
            "--tls-request-client-cert",
        ]);
        assert_eq!(tls.groups, "P-384:X25519".parse().unwrap());
        assert_eq!(Some(tls.versions), Versions::new(TlsVersion::Tls11, TlsVersion::Tls12));
        assert_eq!(tls.ciphers, "AES128-SHA".parse().ok());
        assert_eq!(tls.tickets, Tickets::Off);
        assert_eq!(tls.certificate_compression, [CertificateCompression::Brotli]);
        assert_eq!(tls.client_certificate, ClientCertificate::Requested);
        let settings = settings(&words(&["--tls-write-cert=x"])).unwrap();
        assert_eq!(settings.certificate_file, Some("x".into()));
    }

    #[test]
    fn what_is_not_said_follows_from_what_is() {
        let with_tls = |argv: &[&str]| tls(&[&["--tls"], argv].concat());
        assert_eq!(with_tls(&[]).versions, Versions::default());
        assert_eq!(with_tls(&["--tls-max=1.0"]).versions, Versions::only(TlsVersion::Tls10));
        assert_eq!(with_tls(&[]).tickets, Tickets::On);
        assert_eq!(with_tls(&["--tls-early-data"]).tickets, Tickets::EarlyData);
        let both = with_tls(&["--tls-require-client-cert", "--tls-request-client-cert"]);
        assert_eq!(both.client_certificate, ClientCertificate::Required);
    }

    #[test]
    fn a_bad_value_is_answered_with_what_would_do() {
        for (argument, expected) in [
            (
                "--tls-key-type=dsa",
                "--tls-key-type: expected ecdsa-p256, ecdsa-p384, rsa-2048, rsa-3072, rsa-4096 or ed25519, got `dsa`",
            ),
            (
                "--tls-groups=X25519,P-257",
                "--tls-groups: expected key-exchange groups such as X25519MLKEM768, X25519, P-256 or P-384, got \
                 `X25519,P-257`",
            ),
            ("--tls-min=2", "--tls-min: expected 1.0, 1.1, 1.2 or 1.3, got `2`"),
            ("--tls-max=auto", "--tls-max: expected 1.0, 1.1, 1.2 or 1.3, got `auto`"),
            (
                "--tls-ciphers=RC4-MD5",
                "--tls-ciphers: expected cipher suites of TLS 1.2 or older that BoringSSL has, got `RC4-MD5`",
            ),
            ("--tls-tickets=maybe", "--tls-tickets: expected on or off, got `maybe`"),
            (
                "--tls-cert-compression=zstd",
                "--tls-cert-compression: expected zlib, brotli or both, got `zstd`",
            ),
            ("--tls-write-cert=", "--tls-write-cert: expected the path of a file, got ``"),
        ] {
            check_rejected(&[argument], expected);
        }
    }

    #[test]
    fn options_that_do_not_fit_together_are_refused() {
        for (argv, expected) in [
            (
                &["--tls-min=1.3", "--tls-max=1.2"][..],
                "--tls-min: expected a version up to 1.2, which is the newest, got `1.3`",
            ),
            (
                &["--tls-early-data", "--tls-max=1.2"],
                "--tls-early-data: expected TLS 1.3 to be accepted, got a newest version of 1.2",
            ),
            (
                &["--tls-early-data", "--tls-tickets=off"],
                "--tls-early-data cannot be used with --tls-tickets=off",
            ),
            (&["--tls-cert-key=x"], "--tls-cert-key needs --tls-cert"),
            (
                &["--tls-cert=x", "--tls-key-type=ed25519"],
                "--tls-key-type cannot be used with --tls-cert: its key has a type already",
            ),
        ] {
            check_rejected(argv, expected);
        }
    }
}
