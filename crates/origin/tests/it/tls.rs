//! The server under TLS, met by real clients: BoringSSL, `openssl` and `curl`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use boring::pkey::PKey;
use boring::ssl::{
    CertificateCompressionAlgorithm, CertificateCompressor, ErrorCode, Ssl, SslContext, SslContextBuilder,
    SslMethod, SslSessionCacheMode, SslStream, SslVerifyMode, SslVersion,
};
use boring::x509::X509;
use httperf_origin::{
    ClientCertificate, Config, Credentials, Fault, Handle, Http2, KeyType, Limits, Tickets, Tls, Versions,
};
use httperf_plan::{CertificateCompression, Endpoint, Identity, TlsVersion};
use httperf_sys::tls::Session;

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

const REQUEST: &[u8] = b"GET /size/5 HTTP/1.1\r\nHost: x\r\n\r\n";
const LAST_REQUEST: &[u8] = b"GET /size/5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

fn credentials(key_type: KeyType) -> Credentials {
    Credentials::self_signed(key_type, &Config::default().listen)
}

fn tls() -> Tls {
    Tls::new(credentials(KeyType::default()))
}

fn start(tls: Tls) -> Handle {
    httperf_origin::spawn(Config { tls: Some(tls), ..Config::default() }).unwrap()
}

/// A client's side, and the sessions it was given.
struct Client {
    context: SslContext,
    sessions: Arc<Mutex<Vec<Session>>>,
}

impl Client {
    fn new(adapt: impl FnOnce(&mut SslContextBuilder)) -> Self {
        let sessions: Arc<Mutex<Vec<Session>>> = Arc::default();
        let mut builder = SslContextBuilder::new(SslMethod::tls()).unwrap();
        builder.set_verify(SslVerifyMode::NONE);
        builder.set_session_cache_mode(SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL);
        let given = Arc::clone(&sessions);
        builder.set_new_session_callback(move |ssl, session| {
            given.lock().unwrap().push(Session::new(session, ssl));
        });
        adapt(&mut builder);
        Self { context: builder.build(), sessions }
    }

    fn only(version: SslVersion) -> Self {
        Self::new(|builder| {
            builder.set_min_proto_version(Some(version)).unwrap();
            builder.set_max_proto_version(Some(version)).unwrap();
        })
    }

    /// A connection whose handshake has not begun.
    fn begin(&self, server: &Handle) -> SslStream<TcpStream> {
        SslStream::new(Ssl::new(&self.context).unwrap(), connect(server)).unwrap()
    }

    fn connect(&self, server: &Handle) -> Result<SslStream<TcpStream>, boring::ssl::Error> {
        let mut stream = self.begin(server);
        stream.connect().map(|()| stream)
    }

    /// Connects with a session that an earlier connection was given.
    fn resume(&self, server: &Handle) -> SslStream<TcpStream> {
        let session = self.sessions.lock().unwrap().last().cloned().expect("no session was given");
        let mut stream = self.begin(server);
        assert!(session.offer(stream.ssl_mut()));
        stream.connect().unwrap();
        stream
    }
}

fn connect(server: &Handle) -> TcpStream {
    let stream = TcpStream::connect(server.tcp_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// How the server ended a connection.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// With a close_notify.
    Announced,
    /// Without.
    Cut,
    /// With a reset.
    Reset,
}

/// What comes until the server closes, and how it does.
fn until_end(stream: &mut SslStream<TcpStream>) -> (String, End) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let error = loop {
        match stream.ssl_read(&mut buffer) {
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => break error,
        }
    };
    let end = match (error.code(), error.io_error().map(std::io::Error::kind)) {
        (ErrorCode::ZERO_RETURN, _) => End::Announced,
        (_, Some(ErrorKind::ConnectionReset)) => End::Reset,
        (ErrorCode::SYSCALL, None) => End::Cut,
        _ => panic!("{error}"),
    };
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

/// Asks once, and returns the reply and how the connection ended.
fn exchange(stream: &mut SslStream<TcpStream>, request: &[u8]) -> (String, End) {
    stream.write_all(request).unwrap();
    until_end(stream)
}

#[track_caller]
fn check_served(stream: &mut SslStream<TcpStream>) {
    let (reply, end) = exchange(stream, LAST_REQUEST);
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n01234"), "{reply}");
    assert_eq!(end, End::Announced);
}

/// Counts with this alone of their kind.
fn one<T: Ord + Copy + From<&'static str>>(name: &'static str) -> std::collections::BTreeMap<T, u64> {
    [(name.into(), 1)].into()
}

#[test]
fn both_ends_agree_on_what_a_handshake_was() {
    let server = start(tls());
    let client = Client::new(|builder| {
        builder.set_curves_list("X25519MLKEM768:X25519").unwrap();
        builder.set_alpn_protos(b"\x08http/1.1").unwrap();
    });
    let mut stream = client.connect(&server).unwrap();
    assert_eq!(stream.ssl().selected_alpn_protocol(), Some(b"http/1.1".as_slice()));
    check_served(&mut stream);
    let cipher = stream.ssl().current_cipher().unwrap().name();
    let tls = server.stop().unwrap().tls;
    assert_eq!((tls.full, tls.resumed, tls.completed(), tls.failed_total()), (1, 0, 1, 0));
    assert_eq!((tls.versions, tls.groups), (one("TLSv1.3"), one("X25519MLKEM768")));
    assert_eq!((tls.ciphers, tls.protocols_chosen), (one(cipher), 1));
    // An ML-KEM-768 key goes one way, a ciphertext of much the same size the other.
    assert!((1184..3000).contains(&tls.handshake_bytes_received), "{}", tls.handshake_bytes_received);
    assert!((1088..4000).contains(&tls.handshake_bytes_sent), "{}", tls.handshake_bytes_sent);
}

#[test]
fn a_protocol_that_the_server_does_not_speak_is_not_chosen() {
    let server = start(tls());
    let client = Client::new(|builder| builder.set_alpn_protos(b"\x02h3").unwrap());
    let mut stream = client.connect(&server).unwrap();
    assert_eq!(stream.ssl().selected_alpn_protocol(), None);
    check_served(&mut stream);
    assert_eq!(server.stop().unwrap().tls.protocols_chosen, 0);
}

#[test]
fn http_2_is_chosen_unless_it_is_switched_off_or_tls_is_too_old_for_it() {
    let both = b"\x08http/1.1\x02h2";
    let chosen = |http2: bool, versions: Versions| {
        let tls = Tls { versions, ..tls() };
        let http2 = http2.then(Http2::default);
        let server = httperf_origin::spawn(Config { tls: Some(tls), http2, ..Config::default() }).unwrap();
        let client = Client::new(|builder| {
            builder.set_alpn_protos(both).unwrap();
            builder.set_min_proto_version(Some(SslVersion::TLS1)).unwrap();
        });
        let stream = client.connect(&server).unwrap();
        String::from_utf8_lossy(stream.ssl().selected_alpn_protocol().unwrap()).into_owned()
    };
    assert_eq!(chosen(true, Versions::default()), "h2");
    assert_eq!(chosen(true, Versions::only(TlsVersion::Tls12)), "h2");
    assert_eq!(chosen(true, Versions::only(TlsVersion::Tls11)), "http/1.1");
    assert_eq!(chosen(false, Versions::default()), "http/1.1");
}

#[test]
fn every_version_is_spoken_and_no_other_than_those_asked_for() {
    let versions = [
        (TlsVersion::Tls10, SslVersion::TLS1, "TLSv1"),
        (TlsVersion::Tls11, SslVersion::TLS1_1, "TLSv1.1"),
        (TlsVersion::Tls12, SslVersion::TLS1_2, "TLSv1.2"),
        (TlsVersion::Tls13, SslVersion::TLS1_3, "TLSv1.3"),
    ];
    for (served, _, name) in versions {
        let server = start(Tls { versions: Versions::only(served), ..tls() });
        for (_, offered, offered_name) in versions {
            let result = Client::only(offered).connect(&server);
            assert_eq!(result.is_ok(), name == offered_name, "{offered_name} to a server of {name}");
            if let Ok(mut stream) = result {
                check_served(&mut stream);
            }
        }
        let tls = server.stop().unwrap().tls;
        assert_eq!((tls.full, tls.failed_total(), tls.versions), (1, 3, one(name)), "{name}");
    }
}

#[test]
fn every_group_is_accepted() {
    let server = start(tls());
    let groups = httperf_sys::tls::group_names();
    for group in &groups {
        let client = Client::new(|builder| builder.set_curves_list(group).unwrap());
        check_served(&mut client.connect(&server).unwrap());
    }
    let tls = server.stop().unwrap().tls;
    assert_eq!(tls.groups, groups.iter().map(|&group| (group, 1)).collect());
    assert_eq!(tls.hello_retries, 0);
}

#[test]
fn a_client_that_bets_on_another_group_is_asked_again() {
    let server = start(Tls { groups: "P-384".parse().unwrap(), ..tls() });
    let client = Client::new(|builder| builder.set_curves_list("X25519:P-384").unwrap());
    let mut stream = client.connect(&server).unwrap();
    assert!(stream.ssl().used_hello_retry_request());
    check_served(&mut stream);
    let stubborn = Client::new(|builder| builder.set_curves_list("X25519").unwrap());
    assert!(stubborn.connect(&server).is_err());
    let tls = server.stop().unwrap().tls;
    assert_eq!((tls.groups, tls.hello_retries), (one("P-384"), 1));
    assert_eq!(tls.failed, [("no shared group".to_owned(), 1)].into());
}

#[test]
fn the_cipher_list_rules_tls_1_2() {
    let ciphers = "ECDHE-ECDSA-AES256-GCM-SHA384".parse().ok();
    let server = start(Tls { ciphers, ..tls() });
    let mut stream = Client::only(SslVersion::TLS1_2).connect(&server).unwrap();
    check_served(&mut stream);
    let other = Client::new(|builder| {
        builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
        builder.set_cipher_list("ECDHE-ECDSA-AES128-GCM-SHA256").unwrap();
    });
    assert!(other.connect(&server).is_err());
    let tls = server.stop().unwrap().tls;
    assert_eq!(tls.ciphers, one("ECDHE-ECDSA-AES256-GCM-SHA384"));
    assert_eq!(tls.failed, [("no shared cipher".to_owned(), 1)].into());
}

#[test]
fn every_type_of_key_serves_a_client_that_trusts_the_certificate() {
    for key_type in KeyType::ALL {
        let credentials = credentials(key_type);
        let root = X509::from_pem(&credentials.certificates_pem()).unwrap();
        let server = start(Tls::new(credentials));
        let client = Client::new(|builder| {
            builder.cert_store_mut().add_cert(&root).unwrap();
            builder.set_verify(SslVerifyMode::PEER);
            builder.set_verify_algorithm_prefs(&ALGORITHMS).unwrap();
        });
        for host in ["localhost", "example.com"] {
            let mut stream = client.begin(&server);
            stream.ssl_mut().param_mut().set_host(host).unwrap();
            assert_eq!(stream.connect().is_ok(), host == "localhost", "{key_type} for {host}");
        }
        let mut stream = client.begin(&server);
        stream.ssl_mut().param_mut().set_ip(server.tcp_address().unwrap().ip()).unwrap();
        stream.connect().unwrap();
        check_served(&mut stream);
        let tls = server.stop().unwrap().tls;
        let expected = [("alert bad_certificate from the client".to_owned(), 1)].into();
        assert_eq!((tls.full, tls.failed), (2, expected), "{key_type}");
    }
}

/// Those of every type of key: clients mostly leave out Ed25519.
const ALGORITHMS: [boring::ssl::SslSignatureAlgorithm; 4] = {
    use boring::ssl::SslSignatureAlgorithm as Algorithm;
    [
        Algorithm::ECDSA_SECP256R1_SHA256,
        Algorithm::ECDSA_SECP384R1_SHA384,
        Algorithm::RSA_PSS_RSAE_SHA256,
        Algorithm::ED25519,
    ]
};

#[test]
fn a_certificate_of_ones_own_is_shown_with_its_chain() {
    let own = credentials(KeyType::EcdsaP384);
    let folder = tempfile::tempdir().unwrap();
    let identity = foreign_identity(folder.path());
    let mut certificates = identity.certificates.clone();
    certificates.extend(own.certificates_pem());
    let server =
        start(Tls::new(Credentials::from_pem(&Identity { certificates, key: identity.key }).unwrap()));
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    assert_eq!(stream.ssl().peer_cert_chain().unwrap().len(), 2);
    let shown = stream.ssl().peer_certificate().unwrap().to_pem().unwrap();
    assert_eq!(shown, X509::from_pem(&identity.certificates).unwrap().to_pem().unwrap());
    check_served(&mut stream);
}

/// A certificate and its key, made by `openssl`.
fn foreign_identity(folder: &std::path::Path) -> Identity {
    let (key, certificate) = (folder.join("key.pem"), folder.join("certificate.pem"));
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=somebody", "-days", "2"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Identity { certificates: std::fs::read(certificate).unwrap(), key: std::fs::read(key).unwrap() }
}

#[test]
fn sessions_resume_in_both_versions_unless_there_are_no_tickets() {
    for version in [SslVersion::TLS1_2, SslVersion::TLS1_3] {
        let server = start(tls());
        let client = Client::only(version);
        check_served(&mut client.connect(&server).unwrap());
        for _ in 0..2 {
            let mut stream = client.resume(&server);
            assert!(stream.ssl().session_reused(), "{version:?}");
            check_served(&mut stream);
        }
        let tls = server.stop().unwrap().tls;
        assert_eq!((tls.full, tls.resumed, tls.early_data_accepted), (1, 2, 0), "{version:?}");

        let server = start(Tls { tickets: Tickets::Off, ..self::tls() });
        let client = Client::only(version);
        check_served(&mut client.connect(&server).unwrap());
        // What a client of TLS 1.2 remembers all the same is of no use.
        if version == SslVersion::TLS1_3 {
            assert!(client.sessions.lock().unwrap().is_empty());
        } else if !client.sessions.lock().unwrap().is_empty() {
            check_served(&mut client.resume(&server));
        }
        let tls = server.stop().unwrap().tls;
        assert_eq!(tls.resumed, 0, "{version:?}");
    }
}

#[test]
fn a_session_of_another_server_begins_anew() {
    let (one, other) = (start(tls()), start(tls()));
    let client = Client::new(|_| {});
    check_served(&mut client.connect(&one).unwrap());
    let mut stream = client.resume(&other);
    assert!(!stream.ssl().session_reused());
    check_served(&mut stream);
    assert_eq!((other.stop().unwrap().tls.full, one.stop().unwrap().tls.full), (1, 1));
}

#[test]
fn a_client_that_agreed_to_http_2_and_does_not_speak_it_is_told_and_counted() {
    let server = start(tls());
    let client = Client::new(|builder| builder.set_alpn_protos(b"\x02h2").unwrap());
    let mut stream = client.connect(&server).unwrap();
    let (_, end) = exchange(&mut stream, REQUEST);
    assert_eq!(end, End::Announced);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http1, counts.connections_http2), (0, 1), "{counts}");
    assert_eq!((counts.requests, counts.requests_malformed), (0, 1), "{counts}");
}

/// A client that sends early data where it may, and has a session.
fn early_client(server: &Handle) -> Client {
    let client = Client::new(httperf_sys::tls::enable_early_data);
    check_served(&mut client.connect(server).unwrap());
    client
}

/// Offers early data with the newest session.
fn offer_early(client: &Client, server: &Handle, request: &[u8]) -> SslStream<TcpStream> {
    let session = client.sessions.lock().unwrap().last().cloned().expect("no session was given");
    let mut stream = client.begin(server);
    assert!(session.offer(stream.ssl_mut()));
    stream.connect().unwrap();
    assert!(httperf_sys::tls::in_early_data(stream.ssl()));
    stream.write_all(request).unwrap();
    stream
}

#[test]
fn early_data_is_accepted_and_answered() {
    let server = start(Tls { tickets: Tickets::EarlyData, ..tls() });
    let client = early_client(&server);
    for request in [LAST_REQUEST, REQUEST] {
        let mut stream = offer_early(&client, &server, request);
        let mut reply = [0; 15];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"HTTP/1.1 200 OK");
        assert!(httperf_sys::tls::early_data_accepted(stream.ssl()));
        if request == REQUEST {
            stream.write_all(LAST_REQUEST).unwrap();
        }
        let (rest, end) = until_end(&mut stream);
        assert!(rest.ends_with("\r\n\r\n01234"), "{rest}");
        assert_eq!(end, End::Announced);
    }
    let counts = server.stop().unwrap();
    let tls = &counts.tls;
    assert_eq!((tls.full, tls.resumed, tls.failed_total()), (1, 2, 0), "{counts}");
    assert_eq!((tls.early_data_accepted, tls.early_data_rejected), (2, 0), "{counts}");
    assert_eq!((counts.requests, counts.replies_total()), (4, 4));
}

#[test]
fn early_data_may_be_http_2() {
    let tls = Tls { tickets: Tickets::EarlyData, ..tls() };
    let server = httperf_origin::spawn(Config { tls: Some(tls), size: 5, ..Config::default() }).unwrap();
    let client = Client::new(|builder| {
        httperf_sys::tls::enable_early_data(builder);
        builder.set_alpn_protos(b"\x02h2").unwrap();
    });
    // The preface, empty SETTINGS, and HEADERS of stream 1 that ask for / of x.
    let request = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(),
        b"\0\0\0\x04\0\0\0\0\0",
        b"\0\0\x06\x01\x05\0\0\0\x01\x82\x87\x84\x41\x01x",
    ]
    .concat();
    let answered = |stream: &mut SslStream<TcpStream>| {
        let mut bytes = Vec::new();
        let mut buffer = [0; 1000];
        while !bytes.ends_with(b"01234") {
            let size = stream.read(&mut buffer).unwrap();
            assert!(size > 0, "{bytes:?}");
            bytes.extend_from_slice(&buffer[..size]);
        }
    };
    let mut stream = client.connect(&server).unwrap();
    stream.write_all(&request).unwrap();
    answered(&mut stream);
    let mut stream = offer_early(&client, &server, &request);
    answered(&mut stream);
    assert!(httperf_sys::tls::early_data_accepted(stream.ssl()));
    // What is answered behind the handshake shows that the server has finished it too.
    stream.write_all(b"\0\0\x06\x01\x05\0\0\0\x03\x82\x87\x84\x41\x01x").unwrap();
    answered(&mut stream);
    drop(stream);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_http2, counts.tls.early_data_accepted), (2, 1), "{counts}");
    assert_eq!((counts.requests, counts.requests_malformed), (3, 0), "{counts}");
}

#[test]
fn early_data_that_the_server_cannot_read_is_rejected_and_counted() {
    let server = start(Tls { tickets: Tickets::EarlyData, ..tls() });
    let client = early_client(&server);
    // Its tickets mean nothing to this one.
    let other = start(Tls { tickets: Tickets::EarlyData, ..tls() });
    let mut stream = offer_early(&client, &other, REQUEST);
    let error = stream.ssl_read(&mut [0; 10]).unwrap_err();
    assert!(httperf_sys::tls::reset_early_data_reject(stream.ssl_mut(), error.code().as_raw()));
    stream.connect().unwrap();
    check_served(&mut stream);
    let counts = other.stop().unwrap();
    let tls = &counts.tls;
    assert_eq!((tls.full, tls.early_data_accepted, tls.early_data_rejected), (1, 0, 1), "{counts}");
    assert_eq!(counts.requests, 1);
}

#[test]
fn a_client_that_leaves_after_its_early_data_has_failed_its_handshake() {
    let server = start(Tls { tickets: Tickets::EarlyData, ..tls() });
    let client = early_client(&server);
    let mut stream = offer_early(&client, &server, b"GET / HTTP/1.1\r\nHo");
    stream.get_ref().shutdown(Shutdown::Write).unwrap();
    stream.get_mut().read_to_end(&mut Vec::new()).unwrap();
    let counts = server.stop().unwrap();
    let expected = [("closed by the client".to_owned(), 1)].into();
    assert_eq!((counts.tls.completed(), counts.tls.failed), (1, expected));
}

#[test]
fn a_client_certificate_can_be_asked_for_and_insisted_on() {
    let folder = tempfile::tempdir().unwrap();
    let identity = foreign_identity(folder.path());
    let anonymous = || Client::new(|_| {});
    let named = || {
        Client::new(|builder| {
            builder.set_certificate(&X509::from_pem(&identity.certificates).unwrap()).unwrap();
            builder.set_private_key(&PKey::private_key_from_pem(&identity.key).unwrap()).unwrap();
        })
    };
    for (wanted, seen) in
        [(ClientCertificate::None, 0), (ClientCertificate::Requested, 1), (ClientCertificate::Required, 1)]
    {
        let server = start(Tls { client_certificate: wanted, ..tls() });
        let known = named();
        check_served(&mut known.connect(&server).unwrap());
        check_served(&mut known.resume(&server));
        // With TLS 1.3 a client learns of the refusal only after its handshake.
        let result = anonymous().connect(&server).map(|mut stream| {
            stream.write_all(LAST_REQUEST).unwrap();
            stream.ssl_read(&mut [0; 10]).is_ok()
        });
        let is_refused = wanted == ClientCertificate::Required;
        assert_eq!(result.is_ok_and(|is_answered| is_answered), !is_refused, "{wanted:?}");
        let tls = server.stop().unwrap().tls;
        assert_eq!((tls.client_certificates, tls.resumed), (seen, 1), "{wanted:?}");
        let reasons: Vec<&str> = tls.failed.keys().map(String::as_str).collect();
        let expected: &[&str] = if is_refused { &["peer did not return a certificate"] } else { &[] };
        assert_eq!(reasons, expected, "{wanted:?}");
    }
}

/// Counts what it decompresses.
struct Brotli(Arc<Mutex<u64>>);

impl CertificateCompressor for Brotli {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::BROTLI;
    const CAN_COMPRESS: bool = false;
    const CAN_DECOMPRESS: bool = true;

    fn decompress<W: std::io::Write>(&self, mut input: &[u8], output: &mut W) -> std::io::Result<()> {
        *self.0.lock().unwrap() += 1;
        brotli::BrotliDecompress(&mut input, output)
    }
}

/// Counts what it decompresses.
struct Zlib(Arc<Mutex<u64>>);

impl CertificateCompressor for Zlib {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::ZLIB;
    const CAN_COMPRESS: bool = false;
    const CAN_DECOMPRESS: bool = true;

    fn decompress<W: std::io::Write>(&self, input: &[u8], output: &mut W) -> std::io::Result<()> {
        *self.0.lock().unwrap() += 1;
        std::io::copy(&mut flate2::read::ZlibDecoder::new(input), output).map(drop)
    }
}

#[test]
fn certificates_are_compressed_for_clients_that_can_take_it() {
    use CertificateCompression as Way;

    for ways in [vec![Way::Zlib], vec![Way::Brotli], vec![Way::Brotli, Way::Zlib]] {
        let certificate_compression = ways.clone();
        let server = start(Tls { certificate_compression, ..Tls::new(credentials(KeyType::Rsa2048)) });
        let decompressed: Arc<Mutex<u64>> = Arc::default();
        let client = Client::new(|builder| {
            builder.add_certificate_compression_algorithm(Brotli(Arc::clone(&decompressed))).unwrap();
            builder.add_certificate_compression_algorithm(Zlib(Arc::clone(&decompressed))).unwrap();
        });
        for _ in 0..2 {
            check_served(&mut client.connect(&server).unwrap());
        }
        check_served(&mut Client::new(|_| {}).connect(&server).unwrap());
        let tls = server.stop().unwrap().tls;
        assert_eq!((tls.full, tls.compressed_certificates), (3, 2), "{ways:?}");
        assert_eq!(*decompressed.lock().unwrap(), 2, "{ways:?}");
    }
}

#[test]
fn replies_are_as_long_as_without_tls_and_counted_alike() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    stream.write_all(b"GET /size/5m HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let post = b"POST /size/3m HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n";
    stream.write_all(post).unwrap();
    stream.write_all(&vec![b'x'; 300_000]).unwrap();
    let (replies, end) = until_end(&mut stream);
    assert_eq!(end, End::Announced);
    let counts = server.stop().unwrap();
    assert_eq!((counts.bytes_sent, counts.replies_total()), (replies.len() as u64, 2));
    assert!(replies.len() > 8 << 20);
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    // More than sockets hold, so that records wait half written while the fault behind them is due.
    stream
        .write_all(b"GET /size/9m HTTP/1.1\r\nHost: x\r\n\r\nGET /fault/no-length/size/9m HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    thread::sleep(Duration::from_millis(100));
    let (replies, end) = until_end(&mut stream);
    assert!(replies.len() > 18 << 20);
    assert_eq!(end, End::Announced);
}

#[test]
fn a_close_is_announced_unless_it_is_in_the_middle() {
    let server = start(tls());
    let client = Client::new(|_| {});
    for (fault, end) in [
        (Fault::Close, End::Announced),
        (Fault::Garbage, End::Announced),
        (Fault::NoLength, End::Announced),
        (Fault::BadChunk, End::Announced),
        (Fault::Truncate, End::Cut),
        (Fault::Reset, End::Reset),
        (Fault::ResetBody, End::Reset),
    ] {
        let mut stream = client.connect(&server).unwrap();
        let request = format!("GET /fault/{fault}/size/20 HTTP/1.1\r\nHost: x\r\n\r\n");
        let (reply, how) = exchange(&mut stream, request.as_bytes());
        assert_eq!(how, end, "{fault}: {reply}");
        if fault == Fault::Truncate {
            assert!(reply.ends_with("\r\n\r\n0123456789"), "{reply}");
        }
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.tls.full, counts.requests, counts.tls.broken.len()), (7, 7, 0), "{counts}");
}

#[test]
fn replies_that_leave_the_connection_usable_leave_it_so_under_tls() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    for path in ["fault/interim", "fault/huge-header", "fault/surplus", "fault/trickle/size/3", "trailers/9"]
    {
        stream.write_all(format!("GET /{path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
    }
    let (replies, end) = exchange(&mut stream, LAST_REQUEST);
    assert!(replies.ends_with("\r\n\r\n01234"));
    assert_eq!(end, End::Announced);
    let counts = server.stop().unwrap();
    assert_eq!((counts.tls.full, counts.connections, counts.replies_total()), (1, 1, 6));
}

#[test]
fn a_client_that_says_it_closes_is_told_the_same() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    stream.shutdown().unwrap();
    assert_eq!(until_end(&mut stream), (String::new(), End::Announced));
    let mut rude = Client::new(|_| {}).connect(&server).unwrap();
    rude.get_ref().shutdown(Shutdown::Write).unwrap();
    assert_eq!(until_end(&mut rude), (String::new(), End::Announced));
    assert_eq!(server.stop().unwrap().tls.unannounced_closes, 1);
}

#[test]
fn idle_connections_and_slow_handshakes_are_closed() {
    let limits = Limits { idle: Duration::from_millis(500), ..Limits::default() };
    let server = httperf_origin::spawn(Config { tls: Some(tls()), limits, ..Config::default() }).unwrap();
    let mut silent = connect(&server);
    let mut half = connect(&server);
    half.write_all(b"\x16\x03\x01\x02\x00\x01\x00").unwrap();
    let mut idle = Client::new(|_| {}).connect(&server).unwrap();
    assert_eq!(until_end(&mut idle), (String::new(), End::Announced));
    assert_eq!(silent.read(&mut [0; 10]).unwrap(), 0);
    // The rest of the hello was never read, nor sent.
    assert_eq!(half.read(&mut [0; 10]).unwrap(), 0);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections_idled_out, counts.tls.full), (3, 1));
}

#[test]
fn a_stalled_handshake_holds_up_nobody_else() {
    let server = start(tls());
    let mut stalled: Vec<TcpStream> = (0..20).map(|_| connect(&server)).collect();
    for stream in &mut stalled {
        stream.write_all(b"\x16\x03\x01").unwrap();
    }
    check_served(&mut Client::new(|_| {}).connect(&server).unwrap());
    drop(stalled);
    assert_eq!(server.stop().unwrap().tls.full, 1);
}

#[test]
fn what_is_not_tls_is_counted_and_turned_away() {
    let server = start(tls());
    let offences: [(&[u8], &str); 5] = [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "http request"),
        (b"\xff\xfe nothing that anybody knows\r\n", "wrong version number"),
        (b"", "closed by the client before it said anything"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "closed by the client"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "alert handshake_failure from the client"),
    ];
    for (offence, _) in offences {
        let mut stream = connect(&server);
        stream.write_all(offence).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // An alert, or nothing; in any case the end, and not a reset that could cost the client the alert.
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    check_served(&mut Client::new(|_| {}).connect(&server).unwrap());
    let counts = server.stop().unwrap();
    let expected = offences.map(|(_, reason)| (reason.to_owned(), 1));
    assert_eq!(counts.tls.failed, expected.into());
    assert_eq!((counts.tls.full, counts.connections, counts.requests), (1, 6, 1));
}

#[test]
fn a_connection_that_breaks_off_tls_later_is_counted() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    stream.get_mut().write_all(b"\x17\x03\x03\x00\x20 these bytes are under no key.....").unwrap();
    stream.get_mut().read_to_end(&mut Vec::new()).unwrap();
    let tls = server.stop().unwrap().tls;
    assert_eq!((tls.full, tls.failed_total(), tls.broken.values().sum::<u64>()), (1, 0, 1), "{tls:?}");
}

#[test]
fn a_connection_over_the_limit_is_reset_before_any_handshake() {
    let limits = Limits { connections: Some(1), ..Limits::default() };
    let server = httperf_origin::spawn(Config { tls: Some(tls()), limits, ..Config::default() }).unwrap();
    let mut kept = Client::new(|_| {}).connect(&server).unwrap();
    assert!(Client::new(|_| {}).connect(&server).is_err());
    check_served(&mut kept);
    let counts = server.stop().unwrap();
    assert_eq!((counts.connections, counts.connections_refused, counts.tls.failed_total()), (1, 1, 0));
}

#[test]
fn a_unix_socket_speaks_tls_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("origin.sock");
    let listen = Endpoint::Unix(path.clone());
    let server = httperf_origin::spawn(Config { listen, tls: Some(tls()), ..Config::default() }).unwrap();
    let client = Client::new(|_| {});
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = SslStream::new(Ssl::new(&client.context).unwrap(), stream).unwrap();
    stream.connect().unwrap();
    stream.write_all(LAST_REQUEST).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.ends_with("\r\n\r\n01234"), "{reply}");
    assert_eq!(server.stop().unwrap().tls.full, 1);
}

#[test]
fn a_server_that_stops_says_so() {
    let server = start(tls());
    let mut stream = Client::new(|_| {}).connect(&server).unwrap();
    stream.write_all(REQUEST).unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    server.stop().unwrap();
    assert_eq!(until_end(&mut stream).1, End::Announced);
}

#[test]
fn curl_trusts_the_certificate_and_gets_its_reply() {
    let credentials = credentials(KeyType::default());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    std::fs::write(&root, credentials.certificates_pem()).unwrap();
    let server = start(Tls::new(credentials));
    let port = server.tcp_address().unwrap().port();
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("https://{host}:{port}/size/5");
        let output = run(Command::new("curl")
            .args(["-sS", "--max-time", "20", "--noproxy", "*", "--cacert"])
            .arg(&root)
            .arg(&url));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "01234", "{output:?}");
    }
    assert_eq!(server.stop().unwrap().tls.full, 2);
}

#[test]
fn openssl_resumes_its_session() {
    let server = start(tls());
    let address = server.tcp_address().unwrap().to_string();
    for version in ["-tls1_2", "-tls1_3"] {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("session");
        for (option, expected) in [("-sess_out", "New, TLSv1"), ("-sess_in", "Reused, TLSv1")] {
            let mut command = Command::new("openssl");
            command.args(["s_client", "-connect", &address, version, "-ign_eof", option]).arg(&session);
            let output = run_with(&mut command, LAST_REQUEST);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(printed.contains(expected), "{version} {option}: {output:?}");
            assert!(printed.contains("\r\n\r\n01234"), "{version} {option}: {printed}");
        }
    }
    let counts = server.stop().unwrap();
    assert_eq!((counts.tls.full, counts.tls.resumed, counts.tls.failed_total()), (2, 2, 0), "{counts}");
}

fn run(command: &mut Command) -> Output {
    run_with(command, b"")
}

/// Runs a command to its end, and not for ever.
fn run_with(command: &mut Command, input: &[u8]) -> Output {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn a_client_that_asks_for_nothing_gets_its_tickets_too() {
    let server = start(tls());
    let client = Client::new(|_| {});
    let mut stream = client.connect(&server).unwrap();
    stream.get_ref().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    assert!(stream.ssl_read(&mut [0; 1]).is_err());
    assert!(!client.sessions.lock().unwrap().is_empty());
}
