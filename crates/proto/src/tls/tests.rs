//! The client against a server of the same library, in memory.

use std::collections::VecDeque;
use std::io::{self, Write as _};

use boring::asn1::Asn1Time;
use boring::bn::BigNum;
use boring::ec::{EcGroup, EcKey};
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::{PKey, Private};
use boring::ssl::{
    AlpnError, Ssl, SslContext, SslContextBuilder, SslMethod, SslStream, SslVersion, select_next_proto,
};
use boring::x509::extension::SubjectAlternativeName;
use boring::x509::{X509, X509NameBuilder};

use super::*;

/// Returns a self-signed certificate for `name`, valid for ten days.
fn certificate(name: &str) -> (X509, PKey<Private>) {
    let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
    let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(&subject).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(FAR).unwrap()).unwrap();
    let names = SubjectAlternativeName::new().dns(name).build(&builder.x509v3_context(None, None)).unwrap();
    builder.append_extension(&names).unwrap();
    builder.sign(&key, MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

/// The end of the test certificates, 2100-01-01.
const FAR: i64 = 4_102_444_800;

/// The server's end of the wire.
#[derive(Debug, Default)]
struct Pipe {
    incoming: VecDeque<u8>,
    outgoing: Vec<u8>,
}

impl io::Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { self.incoming.read(out) }
    }
}

impl io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a server that may be set up further.
fn server(name: &str) -> (SslContextBuilder, X509) {
    let (certificate, key) = certificate(name);
    let mut builder = SslContextBuilder::new(SslMethod::tls()).unwrap();
    builder.set_certificate(&certificate).unwrap();
    builder.set_private_key(&key).unwrap();
    builder.set_min_proto_version(Some(SslVersion::TLS1)).unwrap();
    (builder, certificate)
}

/// A client and a server, and the wire between them.
struct Pair {
    client: Client,
    lane: Lane,
    server: SslStream<Pipe>,
    server_ready: bool,
    /// The cuts in the bytes to the client.
    cut: usize,
}

impl Pair {
    fn new(server: &SslContext, client: Client) -> Self {
        let server = SslStream::new(Ssl::new(server).unwrap(), Pipe::default()).unwrap();
        Self { client, lane: Lane::new(1 << 16), server, server_ready: false, cut: usize::MAX }
    }

    /// Moves the client's bytes to the server and lets it act.
    fn feed_server(&mut self) {
        let mut bytes = Vec::new();
        self.lane.poll_transmit(&mut bytes);
        self.server.get_mut().incoming.extend(bytes);
        if !self.server_ready {
            // One that waits continues later; one that failed has sent an alert.
            self.server_ready = self.server.accept().is_ok();
        }
    }

    /// Moves the server's bytes to the client, a piece at a time.
    fn feed_client(&mut self, mut act: impl FnMut(&mut Client, &mut Lane)) {
        let bytes = std::mem::take(&mut self.server.get_mut().outgoing);
        for piece in bytes.chunks(self.cut) {
            self.lane.room()[..piece.len()].copy_from_slice(piece);
            self.lane.fill(piece.len());
            act(&mut self.client, &mut self.lane);
        }
    }

    /// Completes the handshake, or says why not.
    fn shake_hands(&mut self) -> Result<Progress, Failure> {
        let begun = self.client.advance(&mut self.lane);
        self.feed_server();
        begun.and_then(|_| self.go_on())
    }

    /// Goes on with a handshake in which it is the client's turn.
    fn go_on(&mut self) -> Result<Progress, Failure> {
        let mut last = Ok(Progress::Pending);
        for _ in 0..8 {
            self.feed_client(|client, lane| {
                if last.is_ok() {
                    last = client.advance(lane);
                    if last == Ok(Progress::EarlyDataRejected) {
                        last = client.advance(lane);
                    }
                }
            });
            if last.is_err() {
                break;
            }
            self.feed_server();
        }
        last
    }

    /// The plaintext of the server's bytes.
    fn client_reads(&mut self) -> (Vec<u8>, Result<Read, Failure>) {
        let (mut plaintext, mut last) = (Vec::new(), Ok(Read::Pending));
        let mut room = [0; 1000];
        self.feed_client(|client, lane| {
            loop {
                last = client.read(lane, &mut room);
                match last {
                    Ok(Read::Plaintext(count)) => plaintext.extend_from_slice(&room[..count]),
                    _ => break,
                }
            }
        });
        (plaintext, last)
    }

    /// Returns a session for another connection to resume.
    fn session(&mut self) -> Session {
        self.shake_hands().unwrap();
        httperf_sys::tls::flush(self.server.ssl_mut());
        assert_eq!(self.client_reads().1, Ok(Read::Pending));
        self.client.take_sessions().pop().expect("the server gives a session")
    }

    fn client_writes(&mut self, plaintext: &[u8]) -> usize {
        let taken = self.client.write(&mut self.lane, plaintext).unwrap();
        self.feed_server();
        taken
    }

    fn server_reads(&mut self) -> Vec<u8> {
        let mut room = vec![0; 1 << 17];
        let mut plaintext = Vec::new();
        while let Ok(count) = self.server.ssl_read(&mut room) {
            plaintext.extend_from_slice(&room[..count]);
        }
        plaintext
    }
}

fn client(options: &Options) -> Client {
    Client::new(&Context::new(options).unwrap(), Some("server"), None, None)
}

fn only(version: Version) -> Options {
    Options { min: Some(version), max: Some(version), ..Options::default() }
}

#[test]
fn every_version_carries_data_both_ways() {
    let server = server("server").0.build();
    for (version, name) in [
        (Version::Tls10, "TLSv1"),
        (Version::Tls11, "TLSv1.1"),
        (Version::Tls12, "TLSv1.2"),
        (Version::Tls13, "TLSv1.3"),
    ] {
        let mut pair = Pair::new(&server, client(&only(version)));
        assert_eq!(pair.shake_hands(), Ok(Progress::Done), "{name}");
        let handshake = pair.client.handshake();
        assert_eq!((handshake.version, handshake.kind, handshake.hello_retry), (name, Kind::Full, false));
        assert_eq!(pair.client_writes(b"request"), 7);
        assert_eq!(pair.server_reads(), b"request");
        pair.server.write_all(b"reply").unwrap();
        assert_eq!(pair.client_reads(), (b"reply".to_vec(), Ok(Read::Pending)));
    }
}

#[test]
fn where_the_servers_bytes_are_cut_does_not_show() {
    let server = server("server").0.build();
    for cut in [1, 2, 5, 100, 1000] {
        let mut pair = Pair::new(&server, client(&Options::default()));
        pair.cut = cut;
        assert_eq!(pair.shake_hands(), Ok(Progress::Done), "cut at {cut}");
        let body = vec![7; 40_000];
        pair.server.write_all(&body).unwrap();
        assert_eq!(pair.client_reads().0, body, "cut at {cut}");
    }
}

#[test]
fn a_record_larger_than_the_room_for_plaintext_is_read_in_pieces() {
    let server = server("server").0.build();
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    let body: Vec<u8> = (0..8193).map(|number| number as u8).collect();
    pair.server.write_all(&body).unwrap();
    assert_eq!(pair.client_reads(), (body, Ok(Read::Pending)));
}

#[test]
fn each_group_agrees_and_costs_the_bytes_of_its_key_shares() {
    let mut builder = server("server").0;
    let all: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
    builder.set_curves_list(&all.join(":")).unwrap();
    let server = builder.build();
    let cost = |name: &str| {
        let options = Options { groups: Some(name.to_owned()), ..Options::default() };
        let mut pair = Pair::new(&server, client(&options));
        assert_eq!(pair.shake_hands(), Ok(Progress::Done), "{name}");
        let handshake = pair.client.handshake();
        assert_eq!(handshake.group, Some(name));
        (handshake.sent.cast_signed(), handshake.received.cast_signed())
    };
    let (sent, received) = cost("X25519");
    for group in GROUPS {
        let (more_sent, more_received) = cost(group.name);
        let expected = (i64::from(group.client_share_size) - 32, i64::from(group.server_share_size) - 32);
        // An ECDSA signature may be a few bytes longer or shorter.
        assert!((more_sent - sent - expected.0).abs() <= 16, "{}: {more_sent} bytes sent", group.name);
        assert!((more_received - received - expected.1).abs() <= 16, "{}", group.name);
    }
}

#[test]
fn a_server_without_the_offered_key_share_asks_for_another() {
    let mut builder = server("server").0;
    builder.set_curves_list("P-384").unwrap();
    let mut pair = Pair::new(&builder.build(), client(&Options::default()));
    assert_eq!(pair.shake_hands(), Ok(Progress::Done));
    let handshake = pair.client.handshake();
    assert_eq!((handshake.hello_retry, handshake.group), (true, Some("P-384")));
}

#[test]
fn a_session_resumes_in_both_ways_of_doing_it() {
    let server = server("server").0.build();
    for version in [Version::Tls12, Version::Tls13] {
        let context = Context::new(&Options { sessions: true, ..only(version) }).unwrap();
        let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, None));
        let session = pair.session();
        let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, Some(&session)));
        pair.shake_hands().unwrap();
        let handshake = pair.client.handshake();
        assert_eq!((handshake.kind, handshake.signature), (Kind::Resumed, None), "{version:?}");
    }
}

#[test]
fn sessions_are_kept_only_if_they_are_wanted() {
    let server = server("server").0.build();
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    httperf_sys::tls::flush(pair.server.ssl_mut());
    assert_eq!(pair.client_reads().1, Ok(Read::Pending));
    assert!(pair.client.take_sessions().is_empty());
}

/// Returns a server and a client's context that both take early data, and a session that allows it.
fn with_early_data() -> (SslContextBuilder, Context, X509) {
    let (mut builder, certificate) = server("server");
    httperf_sys::tls::enable_early_data(&mut builder);
    let options = Options { sessions: true, early_data: true, ..Options::default() };
    (builder, Context::new(&options).unwrap(), certificate)
}

#[test]
fn early_data_arrives_with_the_first_flight() {
    let (builder, context, _) = with_early_data();
    let server = builder.build();
    let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, None));
    let session = pair.session();
    assert_eq!(pair.client.early_data(), EarlyData::None);

    let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, Some(&session)));
    assert_eq!(pair.client.advance(&mut pair.lane), Ok(Progress::EarlyData));
    let hello_size = pair.lane.outgoing_size() as u64;
    assert_eq!(pair.client_writes(b"GET / HTTP/1.1\r\n\r\n"), 18);
    assert_eq!(pair.server_reads(), b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(pair.client.early_data(), EarlyData::Offered);
    let mut last = Ok(Progress::Pending);
    pair.feed_client(|client, lane| last = client.advance(lane));
    assert_eq!(last, Ok(Progress::Done));
    assert_eq!(pair.client.early_data(), EarlyData::Accepted);
    let handshake = pair.client.handshake();
    assert_eq!(handshake.kind, Kind::EarlyData);
    assert!(handshake.sent < hello_size + 200, "early data is no part of the handshake: {}", handshake.sent);
}

#[test]
fn refused_early_data_is_to_be_sent_again() {
    let (builder, context, _) = with_early_data();
    let server = builder.build();
    let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, None));
    let session = pair.session();

    // Another server knows neither the session nor what is in the early data.
    let other = with_early_data().0.build();
    let mut pair = Pair::new(&other, Client::new(&context, Some("server"), None, Some(&session)));
    assert_eq!(pair.client.advance(&mut pair.lane), Ok(Progress::EarlyData));
    pair.client_writes(b"early");
    let mut seen = Vec::new();
    pair.feed_client(|client, lane| {
        seen.push(client.advance(lane));
        seen.push(client.advance(lane));
    });
    assert_eq!(seen, [Ok(Progress::EarlyDataRejected), Ok(Progress::Done)]);
    assert_eq!(pair.client.early_data(), EarlyData::Rejected);
    assert_eq!(pair.client.handshake().kind, Kind::Full);
    pair.client_writes(b"again");
    assert_eq!(pair.server_reads(), b"again");
}

#[test]
fn early_data_beyond_what_the_server_takes_is_left_over() {
    let (builder, context, _) = with_early_data();
    let server = builder.build();
    let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, None));
    let session = pair.session();
    let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, Some(&session)));
    pair.client.advance(&mut pair.lane).unwrap();
    let taken = pair.client_writes(&vec![1; 100_000]);
    assert!((1..100_000).contains(&taken), "{taken}");
    let early = pair.server_reads();
    pair.feed_client(|client, lane| assert_eq!(client.advance(lane), Ok(Progress::Done)));
    assert_eq!(pair.client.early_data(), EarlyData::Accepted);
    assert_eq!(pair.client_writes(&vec![2; 100_000 - taken]), 100_000 - taken);
    assert_eq!(early.len() + pair.server_reads().len(), 100_000);
}

#[test]
fn a_checked_certificate_must_be_trusted_and_bear_the_name() {
    let (builder, certificate) = server("right");
    let server = builder.build();
    let trusting = Options { trust: Some(certificate.to_pem().unwrap()), ..Options::default() };
    let outcome = |options: &Options, name: &str| {
        let context = Context::new(options).unwrap();
        Pair::new(&server, Client::new(&context, Some(name), None, None)).shake_hands()
    };
    assert_eq!(outcome(&trusting, "right"), Ok(Progress::Done));
    let wrong = outcome(&trusting, "wrong").unwrap_err().reason;
    assert!(wrong.starts_with("certificate not trusted: ") && wrong.contains("ostname"), "{wrong}");
    let stranger = Options { trust: Some(Vec::new()), ..Options::default() };
    let unknown = outcome(&stranger, "right").unwrap_err().reason;
    assert!(unknown.starts_with("certificate not trusted: self"), "{unknown}");
    assert_eq!(outcome(&Options::default(), "wrong"), Ok(Progress::Done), "unchecked, any will do");
}

#[test]
fn an_alert_of_the_server_is_named() {
    let mut builder = server("server").0;
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    let mut pair = Pair::new(&builder.build(), client(&only(Version::Tls13)));
    assert_eq!(pair.shake_hands().unwrap_err().reason, "alert protocol_version from the server");
}

#[test]
fn what_is_not_tls_fails_the_handshake_with_its_reason() {
    for (bytes, reason) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "wrong version number"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "alert handshake_failure from the server"),
    ] {
        let mut lane = Lane::new(100);
        let mut client = client(&Options::default());
        client.advance(&mut lane).unwrap();
        lane.room()[..bytes.len()].copy_from_slice(bytes);
        lane.fill(bytes.len());
        assert_eq!(client.advance(&mut lane).unwrap_err().reason, reason);
    }
}

#[test]
fn what_happens_to_one_connection_does_not_reach_another() {
    let server = server("server").0.build();
    let mut lane = Lane::new(100);
    let mut first = client(&Options::default());
    first.advance(&mut lane).unwrap();
    lane.room()[..10].copy_from_slice(b"0123456789");
    lane.fill(10);
    assert!(first.advance(&mut lane).is_err());
    first.close(&mut lane);
    drop(first);
    let mut second = Pair::new(&server, client(&Options::default()));
    assert_eq!(second.shake_hands(), Ok(Progress::Done));
}

#[test]
fn either_side_says_when_it_sends_nothing_more() {
    let server = server("server").0.build();
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    pair.server.write_all(b"bye").unwrap();
    pair.server.shutdown().unwrap();
    assert_eq!(pair.client_reads(), (b"bye".to_vec(), Ok(Read::Closed)));
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    pair.client.close(&mut pair.lane);
    pair.feed_server();
    let error = pair.server.ssl_read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.code(), boring::ssl::ErrorCode::ZERO_RETURN);
}

#[test]
fn the_protocol_is_the_one_that_alpn_chose() {
    let mut builder = server("server").0;
    builder.set_alpn_select_callback(|_, offered| {
        select_next_proto(b"\x08http/1.0\x08http/1.1", offered).ok_or(AlpnError::NOACK)
    });
    let server = builder.build();
    let options = Options { alpn: vec![b"http/1.1".to_vec()], ..Options::default() };
    let mut pair = Pair::new(&server, client(&options));
    pair.shake_hands().unwrap();
    assert_eq!(pair.client.handshake().protocol, Some(&b"http/1.1"[..]));
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    assert_eq!(pair.client.handshake().protocol, None);
}

#[test]
fn the_servers_certificate_is_described() {
    let server = server("server").0.build();
    let mut pair = Pair::new(&server, client(&Options::default()));
    pair.shake_hands().unwrap();
    let shown = |now| pair.client.certificate(now).unwrap();
    let expected =
        Certificate { subject: "CN=server".into(), key: "EC P-256".into(), chain_length: 1, days_left: 2 };
    assert_eq!(shown(FAR - 3 * 86_400 + 1), expected);
    assert_eq!(shown(FAR + 1).days_left, -1);
    assert_eq!(shown(FAR + 86_401).days_left, -2);
}

#[test]
fn options_that_the_library_cannot_follow_are_refused() {
    let refusal = |options: Options| Context::new(&options).unwrap_err();
    let groups = |list: &str| Options { groups: Some(list.into()), ..Options::default() };
    assert_eq!(refusal(groups("X25519:P-257")), ConfigError::Group("P-257".into()));
    let ciphers = Options { ciphers: Some("NO-SUCH:NOR-THIS".into()), ..Options::default() };
    assert_eq!(refusal(ciphers.clone()), ConfigError::Ciphers("NO-SUCH:NOR-THIS".into()));
    let newest = Options { min: Some(Version::Tls13), ..ciphers };
    assert!(Context::new(&newest).is_ok(), "TLS 1.3 has suites of its own");
    let algorithms =
        Options { signature_algorithms: Some("rsa_pss_rsae_sha256:x".into()), ..Options::default() };
    assert_eq!(refusal(algorithms), ConfigError::SignatureAlgorithm("x".into()));
    let roots = Options { trust: Some(b"not PEM".to_vec()), ..Options::default() };
    assert_eq!(refusal(roots), ConfigError::Roots);
    let alpn = Options { alpn: vec![Vec::new()], ..Options::default() };
    assert_eq!(refusal(alpn), ConfigError::Protocol);
}

#[test]
fn a_certificate_and_its_key_must_be_readable_and_belong_together() {
    let (shown, key) = certificate("client");
    let pem = shown.to_pem().unwrap();
    let key_pem = key.private_key_to_pem_pkcs8().unwrap();
    let other = certificate("other").1.private_key_to_pem_pkcs8().unwrap();
    let encrypted =
        key.private_key_to_pem_pkcs8_passphrase(boring::symm::Cipher::aes_128_cbc(), b"secret").unwrap();
    let outcome = |certificates: &[u8], key: &[u8]| {
        let identity = Identity { certificates: certificates.to_vec(), key: key.to_vec() };
        Context::new(&Options { identity: Some(identity), ..Options::default() }).map(drop)
    };
    assert_eq!(outcome(&pem, &key_pem), Ok(()));
    assert_eq!(outcome(b"nonsense", &key_pem), Err(ConfigError::Certificate));
    assert_eq!(outcome(&pem, b"nonsense"), Err(ConfigError::Key));
    assert_eq!(outcome(&pem, &encrypted), Err(ConfigError::EncryptedKey));
    assert_eq!(outcome(&pem, &other), Err(ConfigError::Mismatch));
}

#[test]
fn names_of_ciphers_that_the_library_lacks_are_sorted_out() {
    let list = cipher_list("ECDHE-RSA-AES128-GCM-SHA256:RC4-MD5,!aNULL HIGH:NOPE:ECDHE+AESGCM");
    assert_eq!(list.unknown, ["RC4-MD5", "NOPE"]);
    assert!(list.usable.starts_with("ECDHE-RSA-AES128-GCM-SHA256:"), "{}", list.usable);
    assert!(list.usable.ends_with("HIGH:ECDHE+AESGCM"), "{}", list.usable);
    let levelled = cipher_list("HIGH@SECLEVEL=0");
    assert_eq!((levelled.usable.as_str(), levelled.unknown), ("HIGH", vec!["@SECLEVEL=0".to_owned()]));
}

#[test]
fn a_name_that_is_given_twice_counts_once() {
    let twice = Options {
        groups: Some("X25519:P-256:x25519:prime256v1".into()),
        signature_algorithms: Some("ed25519:ed25519".into()),
        ..Options::default()
    };
    assert!(Context::new(&twice).is_ok());
}

fn is_record_header(flight: &[u8], position: usize) -> bool {
    let mut start = 0;
    while start + 5 <= position {
        start += 5 + usize::from(u16::from_be_bytes([flight[start + 3], flight[start + 4]]));
    }
    position >= start
}

#[test]
fn a_flight_that_was_tampered_with_never_passes() {
    let server = server("server").0.build();
    for version in [Version::Tls12, Version::Tls13] {
        let context = Context::new(&only(version)).unwrap();
        for position in (0..600).step_by(11) {
            let mut pair = Pair::new(&server, Client::new(&context, Some("server"), None, None));
            pair.client.advance(&mut pair.lane).unwrap();
            pair.feed_server();
            let flight = &mut pair.server.get_mut().outgoing;
            let position = position % flight.len();
            if is_record_header(flight, position) {
                // Some versions ignore the version in it.
                continue;
            }
            flight[position] ^= 0x10;
            let outcome = pair.go_on();
            assert_ne!(outcome, Ok(Progress::Done), "{version:?}, byte {position}");
        }
    }
}
