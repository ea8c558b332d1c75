//! From what was typed about TLS to how connections are secured. Reads the certificates and keys that options name,
//! and lets the library judge the rest.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use httperf_plan::{Identity, Quic, Resumption, Tls, TlsVersion, Trust};
use httperf_proto::tls::{ABSENT_GROUPS, CipherList, ConfigError, are_certificates, cipher_list};
use httperf_run::resolve;
use thiserror::Error;

use super::{file_name, text};
use crate::args::{Args, Protocol, Version};

/// Errors in the options of TLS.
#[derive(Debug, Error)]
pub enum TlsError {
    /// The oldest version is newer than the newest.
    #[error("--tls-min: expected a version up to {max}, which is the newest, got `{min}`")]
    Versions {
        /// The oldest.
        min: &'static str,
        /// The newest.
        max: &'static str,
    },
    /// Early data without TLS 1.3.
    #[error("--tls-early-data: expected TLS 1.3 to be offered, got a newest version of {0}")]
    EarlyDataVersion(&'static str),
    /// An application protocol that cannot be spoken.
    #[error(
        "--tls-alpn: expected http/1.0, http/1.1, or h2 with --http-version=2 or auto (anything with \
         --tls-handshake-only), got `{0}`"
    )]
    Protocol(String),
    /// Only others than the one that is to be spoken.
    #[error("--tls-alpn: expected h2 in the list with --http-version=2, got `{0}`")]
    WithoutHttp2(String),
    /// Anything but the one protocol of QUIC that is spoken.
    #[error("--tls-alpn: expected h3 alone with --http-version=3, got `{0}`")]
    OtherThanHttp3(String),
    /// A version that HTTP/2 must not be spoken over (RFC 9113, section 9.2).
    #[error(
        "{option}: expected TLS 1.2 or newer with --http-version={version}, got a newest version of {max}"
    )]
    TooOldForHttp2 {
        /// The option that has it.
        option: &'static str,
        /// The version to be spoken.
        version: Version,
        /// The newest version.
        max: &'static str,
    },
    /// A certificate and key that cannot be used. The beginning is the classic tool's.
    #[error("SSL certificate and key failed consistency check: {0}")]
    Identity(String),
    /// A file or a directory of certificates to trust that cannot be used.
    #[error("{option}: {reason} `{path}`", path = path.display())]
    Trust {
        /// The option that names it.
        option: &'static str,
        /// The problem, up to its path.
        reason: String,
        /// Its path.
        path: PathBuf,
    },
    /// The library refuses a list.
    #[error("{option}: {reason}")]
    Refused {
        /// The option that has it.
        option: &'static str,
        /// The mistake in it.
        reason: String,
    },
}

/// The TLS of connections; `None` if they have none.
pub(super) fn plan(args: &Args, warn: &mut dyn FnMut(String)) -> Result<Option<Tls>, TlsError> {
    if !args.uses_tls() {
        return Ok(None);
    }
    let given = &args.tls;
    let (min, max) = versions(args)?;
    let ciphers = given.ciphers.as_deref().map(text);
    let list = ciphers.as_deref().map(cipher_list);
    let leaves_any = list.as_ref().is_none_or(CipherList::leaves_any);
    // As with OpenSSL, what has no suite is not offered.
    let min = if leaves_any || max < TlsVersion::Tls13 { min } else { max };
    let tls = Tls {
        min,
        max,
        ciphers,
        groups: given.groups.as_deref().map(text),
        signature_algorithms: given.signature_algorithms.as_deref().map(text),
        alpn: alpn(args, max)?,
        identity: identity(args)?,
        verify: Some(trust(args)?).filter(|_| given.verify),
        certificate_compression: given.certificate_compression.clone(),
        key_log: key_log(args, std::env::var_os("SSLKEYLOGFILE")),
        resumption: resumption(args, max)?,
        early_data: given.early_data,
    };
    check(args, &tls)?;
    if let Some(list) = &list {
        warn_of_left_out(list, leaves_any, &text(given.ciphers.as_deref().unwrap_or_default()), warn);
    }
    Ok(Some(tls))
}

fn versions(args: &Args) -> Result<(TlsVersion, TlsVersion), TlsError> {
    let given = &args.tls;
    let usual = Tls::default();
    let (protocol_min, protocol_max) = match given.protocol {
        Some(Protocol::Only(version)) => (version, version),
        Some(Protocol::Auto) | None => (usual.min, usual.max),
    };
    let max = given.max.unwrap_or(protocol_max.max(given.min.unwrap_or(protocol_max)));
    let min = given.min.unwrap_or(protocol_min.min(max));
    if min > max {
        return Err(TlsError::Versions { min: version_name(min), max: version_name(max) });
    }
    Ok((min, max))
}

fn version_name(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::Tls10 => "1.0",
        TlsVersion::Tls11 => "1.1",
        TlsVersion::Tls12 => "1.2",
        TlsVersion::Tls13 => "1.3",
    }
}

/// The protocols offered: those that were typed, or else those that the version of HTTP needs.
fn alpn(args: &Args, max: TlsVersion) -> Result<Vec<Vec<u8>>, TlsError> {
    const HTTP_2: &[u8] = b"h2";
    const HTTP_3: &[u8] = b"h3";
    let version = args.version();
    let list = match (&args.tls.alpn, version) {
        (Some(list), _) => list,
        (None, Version::HTTP_2) => HTTP_2,
        (None, Version::HTTP_3) => HTTP_3,
        (None, Version::Auto) => &b"h2,http/1.1"[..],
        (None, Version::Numbered { .. }) => return Ok(Vec::new()),
    };
    let protocols: Vec<Vec<u8>> = list.split(|&byte| byte == b',').map(<[u8]>::to_vec).collect();
    let is_spoken = |protocol: &Vec<u8>| match &protocol[..] {
        b"http/1.0" | b"http/1.1" => version != Version::HTTP_3,
        protocol if protocol == HTTP_3 => version == Version::HTTP_3,
        protocol => protocol == HTTP_2 && version.may_be_http2(),
    };
    if let Some(other) = protocols.iter().find(|protocol| !is_spoken(protocol))
        && !args.tls.handshake_only
    {
        return Err(TlsError::Protocol(text(other)));
    }
    let offers_http2 = protocols.iter().any(|protocol| protocol == HTTP_2);
    if version == Version::HTTP_3 && protocols != [HTTP_3] {
        return Err(TlsError::OtherThanHttp3(text(list)));
    }
    if version == Version::HTTP_2 && !offers_http2 {
        return Err(TlsError::WithoutHttp2(text(list)));
    }
    if version.may_be_http2() && offers_http2 && max < TlsVersion::Tls12 {
        let option = if args.tls.max.is_some() { "--tls-max" } else { "--ssl-protocol" };
        return Err(TlsError::TooOldForHttp2 { option, version, max: version_name(max) });
    }
    Ok(protocols)
}

fn resumption(args: &Args, max: TlsVersion) -> Result<Resumption, TlsError> {
    let given = &args.tls;
    if given.early_data && max < TlsVersion::Tls13 {
        return Err(TlsError::EarlyDataVersion(version_name(max)));
    }
    if args.session.is_some() {
        return Ok(if given.no_reuse { Resumption::Never } else { Resumption::WithinSession });
    }
    match given.resume {
        Some(percent) if percent > 0.0 => Ok(Resumption::Share(percent / 100.0)),
        None if given.early_data => Ok(Resumption::Share(1.0)),
        Some(_) | None => Ok(Resumption::Never),
    }
}

/// The certificate and key to show: one file may hold both. Whether they belong together is the library's to say.
fn identity(args: &Args) -> Result<Option<Identity>, TlsError> {
    let given = &args.tls;
    let Some(certificate) = given.certificate.as_ref().or(given.key.as_ref()) else { return Ok(None) };
    let key = given.key.as_ref().unwrap_or(certificate);
    let read = |option: &str, file: &OsStr| {
        fs::read(file).map_err(|error| {
            TlsError::Identity(format!("{option}: cannot read `{}`: {error}", file_name(file)))
        })
    };
    Ok(Some(Identity {
        certificates: read(certificate_option(args), certificate)?,
        key: read(key_option(args), key)?,
    }))
}

/// The option that names the file of the certificate, and that of the key.
fn certificate_option(args: &Args) -> &'static str {
    if args.tls.certificate.is_some() { "--ssl-certificate" } else { "--ssl-key" }
}

fn key_option(args: &Args) -> &'static str {
    if args.tls.key.is_some() { "--ssl-key" } else { "--ssl-certificate" }
}

/// The roots that options name. They must be usable even if nothing is to be checked.
fn trust(args: &Args) -> Result<Trust, TlsError> {
    let mut roots = Vec::new();
    if let Some(file) = &args.tls.ca_file {
        let option = "--ssl-ca-file";
        let certificates = fs::read(file).map_err(|error| unusable(option, file, &error))?;
        append(&mut roots, option, Path::new(file), &certificates)?;
    }
    if let Some(path) = &args.tls.ca_path {
        let option = "--ssl-ca-path";
        let files = certificate_files(path).map_err(|error| unusable(option, path, &error))?;
        if files.is_empty() {
            return Err(TlsError::Trust {
                option,
                reason: "expected files with PEM certificates in".to_owned(),
                path: path.into(),
            });
        }
        for (file, certificates) in &files {
            append(&mut roots, option, file, certificates)?;
        }
    }
    Ok(Trust { roots })
}

fn unusable(option: &'static str, path: &OsString, error: &io::Error) -> TlsError {
    TlsError::Refused { option, reason: format!("cannot read `{}`: {error}", file_name(path)) }
}

/// A larger file in a directory of certificates is something else.
const CERTIFICATE_FILE_SIZE_MAX: u64 = 1 << 20;

/// Those files of a directory that hold certificates, with their contents, in the order of their names.
fn certificate_files(directory: &OsStr) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(Path::new(directory))?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    // The folder may hold other things; reading a pipe would wait for its writer.
    let is_candidate = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|entry| entry.is_file() && entry.len() <= CERTIFICATE_FILE_SIZE_MAX)
    };
    let files = paths.into_iter().filter(is_candidate);
    let read = files.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)));
    Ok(read
        .filter(|(_, bytes)| String::from_utf8_lossy(bytes).contains("-----BEGIN CERTIFICATE-----"))
        .collect())
}

/// Adds certificates that can be read.
fn append(
    roots: &mut Vec<u8>,
    option: &'static str,
    file: &Path,
    certificates: &[u8],
) -> Result<(), TlsError> {
    if !are_certificates(certificates) {
        let reason = "expected PEM certificates in".to_owned();
        return Err(TlsError::Trust { option, reason, path: file.to_owned() });
    }
    roots.extend_from_slice(certificates);
    roots.push(b'\n');
    Ok(())
}

/// `--tls-keylog`, or else what the environment says.
fn key_log(args: &Args, environment: Option<OsString>) -> Option<PathBuf> {
    let named = args.tls.key_log.clone().or(environment)?;
    (!named.is_empty()).then(|| named.into())
}

/// Lets the library judge what only it knows. The file for secrets is left alone until the run.
fn check(args: &Args, tls: &Tls) -> Result<(), TlsError> {
    let judged = Tls { key_log: None, ..tls.clone() };
    let judged = match args.version() {
        Version::HTTP_3 => httperf_engine::quic_context(&Quic::default(), &judged).map(drop),
        _ => httperf_engine::tls_context(&judged).map(drop),
    };
    let Err(httperf_engine::TlsError::Config(error)) = judged else { return Ok(()) };
    let refused = |option, reason| Err(TlsError::Refused { option, reason });
    let named = |file: &Option<OsString>, other: &Option<OsString>| {
        file.as_deref().or(other.as_deref()).map(file_name).unwrap_or_default()
    };
    let certificate = named(&args.tls.certificate, &args.tls.key);
    let key = named(&args.tls.key, &args.tls.certificate);
    let (certificate_option, key_option) = (certificate_option(args), key_option(args));
    match error {
        ConfigError::Group(name) => {
            let is_absent = ABSENT_GROUPS.iter().any(|(absent, _)| absent.eq_ignore_ascii_case(&name));
            let why = if is_absent { ", which BoringSSL does not have" } else { "" };
            refused("--tls-groups", format!("expected names that --tls-groups=help lists, got `{name}`{why}"))
        }
        ConfigError::GroupOverQuic(name) => refused(
            "--tls-groups",
            format!("expected groups that QUIC's library has, got {name}, which is there over TCP alone"),
        ),
        ConfigError::Ciphers(list) => refused(
            "--ssl-ciphers",
            format!(
                "expected a cipher suite of TLS 1.2 or older that BoringSSL has, as TLS 1.3 is not offered, got `{list}`"
            ),
        ),
        ConfigError::SignatureAlgorithm(name) => {
            refused("--tls-sigalgs", format!("expected names such as ecdsa_secp256r1_sha256, got `{name}`"))
        }
        ConfigError::Protocol => {
            refused("--tls-alpn", "expected names of 1 to 255 bytes, separated by commas".to_owned())
        }
        ConfigError::Certificate => {
            let why = match args.tls.certificate {
                Some(_) => "",
                None => " beside the key, as no --ssl-certificate names a file of its own",
            };
            Err(TlsError::Identity(format!(
                "{certificate_option}: expected a PEM certificate in `{certificate}`{why}"
            )))
        }
        ConfigError::Key => {
            let why = match args.tls.key {
                Some(_) => "",
                None => " beside the certificate, as no --ssl-key names a file of its own",
            };
            Err(TlsError::Identity(format!("{key_option}: expected a PEM private key in `{key}`{why}")))
        }
        ConfigError::EncryptedKey => Err(TlsError::Identity(format!(
            "{key_option}: expected a key that is not encrypted in `{key}` (`openssl pkey -in KEY -out NEW` decrypts it)"
        ))),
        ConfigError::Mismatch => Err(TlsError::Identity(format!(
            "{key_option}: expected the key of the certificate in `{certificate}`, got that of another in `{key}`"
        ))),
        ConfigError::Roots => {
            refused("--ssl-ca-file", "expected PEM certificates that can be read".to_owned())
        }
        ConfigError::Library(reason) => refused("--ssl", reason),
    }
}

/// Says which names of a cipher list change nothing, and what the list comes to if that is nothing.
fn warn_of_left_out(list: &CipherList, leaves_any: bool, given: &str, warn: &mut dyn FnMut(String)) {
    let quoted = |names: &[&str]| format!("`{}`", names.join("`, `"));
    let (newest, unknown): (Vec<&str>, Vec<&str>) =
        list.unknown.iter().map(String::as_str).partition(|name| TLS13_SUITES.contains(name));
    let only = "only TLS 1.3 is offered, with all of its suites";
    if !newest.is_empty() {
        let names = quoted(&newest);
        warn(format!(
            "warning: --ssl-ciphers: suites of TLS 1.3 cannot be chosen, and all of them are offered: {names}"
        ));
    }
    if !unknown.is_empty() {
        let names = quoted(&unknown);
        let effect = if leaves_any { String::new() } else { format!("; {only}") };
        warn(format!(
            "warning: --ssl-ciphers: BoringSSL has no cipher suite of TLS 1.2 or older called {names}{effect}"
        ));
    } else if !leaves_any {
        warn(format!("warning: --ssl-ciphers: `{given}` leaves no cipher suite of TLS 1.2 or older; {only}"));
    }
}

/// The suites that BoringSSL always offers with TLS 1.3 (RFC 8446, appendix B.4).
const TLS13_SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/// Returns a server's name for TLS: the first of these that is a host name, in the form that is sent.
pub(super) fn server_name(candidates: &[Option<&[u8]>]) -> Option<String> {
    candidates.iter().flatten().find_map(|name| resolve::server_name(&text(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse::words;

    fn planned(argv: &[&str]) -> (Result<Option<Tls>, TlsError>, Vec<String>) {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        let mut warnings = Vec::new();
        let tls = plan(&args, &mut |warning| warnings.push(warning));
        (tls, warnings)
    }

    #[track_caller]
    fn tls(argv: &[&str]) -> Tls {
        planned(argv).0.unwrap().expect("TLS was asked for")
    }

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        assert_eq!(planned(argv).0.map(|_| "a plan").unwrap_err().to_string(), expected, "{argv:?}");
    }

    #[test]
    fn without_tls_there_is_nothing_to_plan() {
        assert_eq!(planned(&["--ssl-ciphers=NONSENSE", "--ssl-verify"]).0.unwrap(), None);
    }

    #[test]
    fn versions_default_to_the_usual_two_and_follow_one_another() {
        use TlsVersion::{Tls10, Tls11, Tls12, Tls13};
        for (argv, expected) in [
            (&["--ssl"][..], (Tls12, Tls13)),
            (&["--ssl-protocol=TLSv1.1"], (Tls11, Tls11)),
            (&["--ssl-protocol=auto"], (Tls12, Tls13)),
            (&["--tls-max=1.1"], (Tls11, Tls11)),
            (&["--tls-min=1.0"], (Tls10, Tls13)),
            (&["--tls-min=1.0", "--tls-max=1.2"], (Tls10, Tls12)),
            (&["--ssl-protocol=TLSv1.2", "--tls-min=1.3"], (Tls13, Tls13)),
            (&["--ssl-protocol=TLSv1.2", "--tls-max=1.3"], (Tls12, Tls13)),
        ] {
            let tls = tls(argv);
            assert_eq!((tls.min, tls.max), expected, "{argv:?}");
        }
        check_error(
            &["--tls-min=1.3", "--tls-max=1.2"],
            "--tls-min: expected a version up to 1.2, which is the newest, got `1.3`",
        );
    }

    #[test]
    fn which_connections_resume_follows_from_the_workload() {
        for (argv, expected) in [
            (&["--ssl"][..], Resumption::Never),
            (&["--tls-resume=0"], Resumption::Never),
            (&["--tls-resume=30"], Resumption::Share(0.3)),
            (&["--tls-early-data"], Resumption::Share(1.0)),
            (&["--tls-early-data", "--tls-resume=50"], Resumption::Share(0.5)),
            (&["--ssl", "--wsess=1,1,0"], Resumption::WithinSession),
            (&["--ssl", "--wsess=1,1,0", "--ssl-no-reuse"], Resumption::Never),
        ] {
            assert_eq!(tls(argv).resumption, expected, "{argv:?}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (argv, message) in [
            (
                &["--tls-early-data", "--tls-max=1.2"][..],
                "--tls-early-data: expected TLS 1.3 to be offered, got a newest version of 1.2",
            ),
            (
                &["--tls-early-data", "--ssl-protocol=TLSv1.2"],
                "--tls-early-data: expected TLS 1.3 to be offered, got a newest version of 1.2",
            ),
            (
                &["--tls-alpn=h2,http/1.1"],
                "--tls-alpn: expected http/1.0, http/1.1, or h2 with --http-version=2 or auto (anything with \
                 --tls-handshake-only), got `h2`",
            ),
            (
                &["--ssl", "--http-version=2", "--tls-alpn=http/1.1"],
                "--tls-alpn: expected h2 in the list with --http-version=2, got `http/1.1`",
            ),
            (
                &["--http-version=auto", "--tls-max=1.1"],
                "--tls-max: expected TLS 1.2 or newer with --http-version=auto, got a newest version of 1.1",
            ),
            (
                &["--http-version=2", "--ssl-protocol=TLSv1"],
                "--ssl-protocol: expected TLS 1.2 or newer with --http-version=2, got a newest version of 1.0",
            ),
        ] {
            check_error(argv, message);
        }
        assert_eq!(tls(&["--tls-alpn=h2", "--tls-handshake-only"]).alpn, [b"h2"]);
    }

    #[test]
    fn the_version_of_http_says_what_is_offered_unless_an_option_does() {
        let alpn = |argv: &[&str]| tls(argv).alpn.join(&b' ');
        for (argv, expected) in [
            (&["--ssl"][..], ""),
            (&["--ssl", "--http-version=1.0"], ""),
            (&["--ssl", "--http-version=2"], "h2"),
            (&["--ssl", "--http-version=auto"], "h2 http/1.1"),
            (&["--http-version=2", "--tls-alpn=http/1.1,h2"], "http/1.1 h2"),
            (&["--http-version=auto", "--tls-alpn=http/1.1"], "http/1.1"),
            (&["--http-version=auto", "--tls-alpn=http/1.1", "--tls-max=1.1"], "http/1.1"),
            (&["--http-version=2", "--tls-alpn=h2,x", "--tls-handshake-only"], "h2 x"),
        ] {
            assert_eq!(alpn(argv), expected.as_bytes(), "{argv:?}");
        }
    }

    #[test]
    fn names_that_the_library_does_not_have_are_refused() {
        for (argv, message) in [
            (
                &["--tls-groups=X25519:P-255"][..],
                "--tls-groups: expected names that --tls-groups=help lists, got `P-255`",
            ),
            (
                &["--tls-groups=secp256r1mlkem768"],
                "--tls-groups: expected names that --tls-groups=help lists, got `secp256r1mlkem768`, which BoringSSL does \
                 not have",
            ),
            (
                &["--tls-max=1.2", "--ssl-ciphers=NOPE"],
                "--ssl-ciphers: expected a cipher suite of TLS 1.2 or older that BoringSSL has, as TLS 1.3 is not offered, \
                 got `NOPE`",
            ),
            (
                &["--ssl-protocol=TLSv1.2", "--ssl-ciphers=TLS_AES_128_GCM_SHA256"],
                "--ssl-ciphers: expected a cipher suite of TLS 1.2 or older that BoringSSL has, as TLS 1.3 is not offered, \
                 got `TLS_AES_128_GCM_SHA256`",
            ),
            (
                &["--tls-sigalgs=rsa_md5"],
                "--tls-sigalgs: expected names such as ecdsa_secp256r1_sha256, got `rsa_md5`",
            ),
        ] {
            check_error(argv, message);
        }
    }

    #[test]
    fn a_cipher_list_that_leaves_nothing_leaves_tls_13() {
        use TlsVersion::{Tls10, Tls12, Tls13};
        let only = "only TLS 1.3 is offered, with all of its suites";
        let none = "warning: --ssl-ciphers: BoringSSL has no cipher suite of TLS 1.2 or older called";
        let newest =
            "warning: --ssl-ciphers: suites of TLS 1.3 cannot be chosen, and all of them are offered:";
        let nothing = |list: &str| {
            format!("warning: --ssl-ciphers: `{list}` leaves no cipher suite of TLS 1.2 or older; {only}")
        };
        for (argv, min, warnings) in [
            (&["--ssl-ciphers=ECDHE-RSA-AES128-GCM-SHA256"][..], Tls12, vec![]),
            (
                &["--ssl-ciphers=RC4-SHA:ECDHE-RSA-AES128-GCM-SHA256:SEED-SHA"],
                Tls12,
                vec![format!("{none} `RC4-SHA`, `SEED-SHA`")],
            ),
            // The fifth example of the classic manual page.
            (
                &["--ssl-ciphers=EXP-RC4-MD5:EXP-RC2-CBC-MD5"],
                Tls13,
                vec![format!("{none} `EXP-RC4-MD5`, `EXP-RC2-CBC-MD5`; {only}")],
            ),
            (&["--ssl-ciphers=RC4-MD5", "--tls-min=1.0"], Tls13, vec![format!("{none} `RC4-MD5`; {only}")]),
            (
                &["--ssl-ciphers=TLS_AES_128_GCM_SHA256:AES128-SHA", "--tls-min=1.0"],
                Tls10,
                vec![format!("{newest} `TLS_AES_128_GCM_SHA256`")],
            ),
            (
                &["--ssl-ciphers=TLS_AES_128_GCM_SHA256"],
                Tls13,
                vec![format!("{newest} `TLS_AES_128_GCM_SHA256`"), nothing("TLS_AES_128_GCM_SHA256")],
            ),
            (&["--ssl-ciphers=ALL:!ALL"], Tls13, vec![nothing("ALL:!ALL")]),
            (&["--ssl-ciphers="], Tls13, vec![nothing("")]),
        ] {
            let (tls, said) = planned(&[&["--ssl"], argv].concat());
            let tls = tls.unwrap().expect("TLS was asked for");
            assert_eq!((tls.min, tls.max, said), (min, Tls13, warnings), "{argv:?}");
        }
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let [made, other] =
            ["client", "other"].map(|name| httperf_certificates::Identity::self_signed(name).unwrap());
        fs::write(path("cert"), made.certificate_pem()).unwrap();
        fs::write(path("key"), made.key_pem()).unwrap();
        fs::write(path("both"), [made.certificate_pem(), made.key_pem()].concat()).unwrap();
        fs::write(path("other"), other.key_pem()).unwrap();
        fs::write(
            path("encrypted"),
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        )
        .unwrap();
        fs::write(path("text"), "text").unwrap();
        fs::write(path("malformed"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .unwrap();
        fs::create_dir(path("broken")).unwrap();
        fs::copy(path("malformed"), path("broken/ca.pem")).unwrap();
        fs::create_dir(path("good")).unwrap();
        fs::copy(path("cert"), path("good/ca.pem")).unwrap();
        let pipe = path("good/pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("empty/readme"), "no certificate").unwrap();

        let with = |certificate: &str, key: &str| {
            let argv = [
                "--ssl".to_owned(),
                format!("--ssl-certificate={}", path(certificate)),
                format!("--ssl-key={}", path(key)),
            ];
            planned(&argv.each_ref().map(String::as_str)).0
        };
        assert!(with("cert", "key").unwrap().unwrap().identity.is_some());
        let both = format!("--ssl-certificate={}", path("both"));
        assert!(tls(&["--ssl", &both]).identity.is_some());
        let both = format!("--ssl-key={}", path("both"));
        assert!(tls(&["--ssl", &both]).identity.is_some());
        let prefix = "SSL certificate and key failed consistency check: ";
        for (certificate, key, reason) in [
            ("text", "key", format!("--ssl-certificate: expected a PEM certificate in `{}`", path("text"))),
            ("cert", "text", format!("--ssl-key: expected a PEM private key in `{}`", path("text"))),
            (
                "cert",
                "other",
                format!(
                    "--ssl-key: expected the key of the certificate in `{}`, got that of another in `{}`",
                    path("cert"),
                    path("other")
                ),
            ),
            (
                "cert",
                "encrypted",
                format!(
                    "--ssl-key: expected a key that is not encrypted in `{}` (`openssl pkey -in KEY -out NEW` decrypts it)",
                    path("encrypted")
                ),
            ),
            (
                "missing",
                "key",
                format!(
                    "--ssl-certificate: cannot read `{}`: No such file or directory (os error 2)",
                    path("missing")
                ),
            ),
        ] {
            assert_eq!(with(certificate, key).unwrap_err().to_string(), format!("{prefix}{reason}"));
        }

        let trusting = |option: &str, name: &str| {
            planned(&["--ssl", "--ssl-verify", &format!("{option}={}", path(name))]).0
        };
        assert!(trusting("--ssl-ca-file", "cert").unwrap().unwrap().verify.is_some());
        assert!(
            trusting("--ssl-ca-path", "good").unwrap().unwrap().verify.is_some(),
            "a pipe is passed over"
        );
        let unchecked = format!("--ssl-ca-file={}", path("missing"));
        assert!(planned(&["--ssl", &unchecked]).0.is_err(), "even if nothing is to be checked");
        for (option, name, reason) in [
            ("--ssl-ca-file", "text", format!("expected PEM certificates in `{}`", path("text"))),
            ("--ssl-ca-file", "malformed", format!("expected PEM certificates in `{}`", path("malformed"))),
            ("--ssl-ca-path", "broken", format!("expected PEM certificates in `{}`", path("broken/ca.pem"))),
            (
                "--ssl-ca-path",
                "empty",
                format!("expected files with PEM certificates in `{}`", path("empty")),
            ),
            (
                "--ssl-ca-file",
                "missing",
                format!("cannot read `{}`: No such file or directory (os error 2)", path("missing")),
            ),
        ] {
            assert_eq!(trusting(option, name).unwrap_err().to_string(), format!("{option}: {reason}"));
        }
    }

    #[test]
    fn the_option_for_secrets_goes_before_the_environment() {
        let args = |argv: &[&str]| {
            let mut args = Args::default();
            args.parse(&words(argv)).unwrap();
            args
        };
        let environment = |name: &str| Some(OsString::from(name));
        assert_eq!(key_log(&args(&["--ssl"]), environment("e")), Some("e".into()));
        assert_eq!(key_log(&args(&["--tls-keylog=o"]), environment("e")), Some("o".into()));
        assert_eq!(key_log(&args(&["--ssl"]), environment("")), None);
    }

    #[test]
    fn a_server_is_called_by_the_first_host_name_there_is() {
        let first = |names: &[&str]| {
            let names: Vec<Option<&[u8]>> = names.iter().map(|name| Some(name.as_bytes())).collect();
            server_name(&names)
        };
        assert_eq!(first(&["a.example", "b.example"]).as_deref(), Some("a.example"));
        assert_eq!(first(&["127.0.0.1", "B.Example.:8443"]).as_deref(), Some("b.example"));
        assert_eq!(first(&["::1", "[::1]", "10.0.0.1:80", ""]), None);
        assert_eq!(first(&["bücher.example"]).as_deref(), Some("xn--bcher-kva.example"));
    }
}
