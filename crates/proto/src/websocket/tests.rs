//! Both sides of a WebSocket talk to each other, cut anywhere, and to peers that break the rules.

use proptest::prelude::*;

use super::*;

const CLIENT: Role = Role::Client { seed: 7 };

fn options(role: Role) -> Options {
    Options { role, message_size: 1 << 20, deflate: None, fragment: None }
}

/// An event with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Text(String),
    Binary(Vec<u8>),
    Ping,
    Pong(Vec<u8>),
    Closed(Option<u16>, String),
    Broken(Violation),
}

/// Reads bytes that come in pieces.
fn read(connection: &mut Connection, pieces: &[&[u8]]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match connection.poll_event(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Message { kind: MessageKind::Text, data })) => {
                    seen.push(Seen::Text(String::from_utf8(data.to_vec()).expect("text is UTF-8")));
                }
                Ok(Some(Event::Message { kind: MessageKind::Binary, data })) => {
                    seen.push(Seen::Binary(data.to_vec()));
                }
                Ok(Some(Event::Ping)) => seen.push(Seen::Ping),
                Ok(Some(Event::Pong(data))) => seen.push(Seen::Pong(data.to_vec())),
                Ok(Some(Event::Closed { code, reason })) => seen.push(Seen::Closed(code, reason.to_owned())),
                Err(violation) => {
                    seen.push(Seen::Broken(violation));
                    return seen;
                }
            }
        }
        assert!(input.is_empty(), "all of a piece is used");
    }
    seen
}

fn output(connection: &mut Connection) -> Vec<u8> {
    let mut out = Vec::new();
    connection.take_output(&mut out);
    out
}

#[track_caller]
fn check_from_server(bytes: &[u8], expected: &[Seen]) {
    for cut in 0..=bytes.len() {
        let mut client = Connection::new(options(CLIENT));
        let (first, second) = bytes.split_at(cut);
        assert_eq!(read(&mut client, &[first, second]), expected, "{bytes:x?} cut at {cut}");
    }
}

fn text(text: &str) -> Seen {
    Seen::Text(text.to_owned())
}

/// The examples of RFC 6455, section 5.7, and cases of the groups 1 to 7 of the Autobahn test suite by meaning.
#[test]
fn what_servers_may_say_is_understood() {
    check_from_server(b"\x81\x05Hello", &[text("Hello")]);
    check_from_server(b"\x81\x00", &[text("")]);
    check_from_server(b"\x01\x03Hel\x80\x02lo", &[text("Hello")]);
    check_from_server(b"\x01\x03Hel\x89\x02hi\x80\x02lo", &[Seen::Ping, text("Hello")]);
    check_from_server(b"\x01\x00\x00\x00\x80\x00", &[text("")]);
    check_from_server(b"\x02\x01\xFF\x80\x01\x00", &[Seen::Binary(vec![0xFF, 0])]);
    check_from_server(b"\x8A\x02hi", &[Seen::Pong(b"hi".to_vec())]);
    // A character that is cut between fragments.
    check_from_server(b"\x01\x01\xC3\x80\x01\xA4", &[text("\u{e4}")]);
    check_from_server(b"\x88\x05\x03\xE8bye", &[Seen::Closed(Some(1000), "bye".into())]);
    check_from_server(b"\x88\x00\x81\x05Hello", &[Seen::Closed(None, String::new())]);
}

#[test]
fn what_servers_may_not_say_is_named() {
    for (bytes, expected) in [
        (&b"\x83\x00"[..], Violation::Opcode),
        (b"\x8F\x00", Violation::Opcode),
        (b"\xA1\x00", Violation::ReservedBits),
        (b"\xC1\x00", Violation::NotAgreed),
        (b"\xC9\x00", Violation::NotAgreed),
        (b"\x81\x80\x00\x00\x00\x00", Violation::Masked),
        (b"\x80\x01x", Violation::Continuation),
        (b"\x01\x01x\x81\x01y", Violation::Interleaved),
        (b"\x01\x01x\x02\x01y", Violation::Interleaved),
        (b"\x09\x00", Violation::FragmentedControl),
        (b"\x89\x7E\x00\x7E", Violation::LongControl),
        (b"\x88\x01\x03", Violation::ClosePayload),
        (b"\x88\x02\x03\xED", Violation::CloseCode),
        (b"\x88\x03\x03\xE8\xFF", Violation::Utf8),
        (b"\x81\x02\xC3\x28", Violation::Utf8),
        (b"\x81\x01\xC3", Violation::Utf8),
        (b"\x01\x01\xFF", Violation::Utf8),
        (b"\x82\x7F\x00\x00\x00\x00\x00\x10\x00\x01", Violation::LongMessage { limit: 1 << 20 }),
    ] {
        let mut expected_events = Vec::new();
        if bytes.starts_with(b"\x81\x05") {
            expected_events.push(text(""));
        }
        expected_events.push(Seen::Broken(expected));
        check_from_server(bytes, &expected_events);
        let mut client = Connection::new(options(CLIENT));
        read(&mut client, &[bytes]);
        // The server is told why.
        let mut server = Connection::new(options(Role::Server));
        let told = read(&mut server, &[&output(&mut client)]);
        assert_eq!(told, [Seen::Closed(Some(expected.code()), String::new())], "{bytes:x?}");
    }
    let mut server = Connection::new(options(Role::Server));
    assert_eq!(read(&mut server, &[b"\x81\x01x"]), [Seen::Broken(Violation::Unmasked)]);
}

#[test]
fn text_that_is_broken_ends_at_the_byte() {
    let mut client = Connection::new(options(CLIENT));
    // The frame has a hundred bytes, of which the third can never be part of a character.
    assert_eq!(read(&mut client, &[b"\x81\x64ab\xFF"]), [Seen::Broken(Violation::Utf8)]);
}

#[test]
fn messages_that_add_up_beyond_the_limit_are_refused() {
    let mut client = Connection::new(Options { message_size: 8, ..options(CLIENT) });
    let seen = read(&mut client, &[b"\x81\x08abcdefgh\x02\x05abcde\x80\x04fghi"]);
    assert_eq!(seen, [text("abcdefgh"), Seen::Broken(Violation::LongMessage { limit: 8 })]);
}

#[test]
fn pings_are_answered_with_their_payload() {
    let mut client = Connection::new(options(CLIENT));
    assert_eq!(read(&mut client, &[b"\x89\x02hi\x89\x00"]), [Seen::Ping, Seen::Ping]);
    let mut server = Connection::new(options(Role::Server));
    let seen = read(&mut server, &[&output(&mut client)]);
    assert_eq!(seen, [Seen::Pong(b"hi".to_vec()), Seen::Pong(Vec::new())]);
}

#[test]
fn a_flood_of_pings_is_not_answered_without_end() {
    let mut client = Connection::new(options(CLIENT));
    let flood = [&b"\x89\x7D"[..], &[0; 125]].concat().repeat(1000);
    let seen = read(&mut client, &[&flood]);
    assert_eq!(seen.last(), Some(&Seen::Broken(Violation::Flood)));
    assert!(output(&mut client).len() < OUTPUT_MAX + 512);
    let mut taken = Connection::new(options(CLIENT));
    for ping in flood.chunks(127) {
        assert_eq!(read(&mut taken, &[ping]), [Seen::Ping], "answers that are taken are no flood");
        output(&mut taken);
    }
}

#[test]
fn either_side_closes_and_the_other_agrees() {
    let (mut client, mut server) = (Connection::new(options(CLIENT)), Connection::new(options(Role::Server)));
    client.send(MessageKind::Text, b"last");
    client.close(1000, "done");
    client.send(MessageKind::Text, b"too late");
    client.ping(b"too late");
    assert!(client.has_sent_close() && !client.is_closed());
    let seen = read(&mut server, &[&output(&mut client)]);
    assert_eq!(seen, [text("last"), Seen::Closed(Some(1000), "done".into())]);
    assert!(server.is_closed());
    let answer = output(&mut server);
    assert_eq!(answer, b"\x88\x02\x03\xE8");
    assert_eq!(read(&mut client, &[&answer, b"\x81\x01x"]), [Seen::Closed(Some(1000), String::new())]);
    assert!(client.is_closed() && !client.has_output());
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    let (mut client, mut server) = (Connection::new(options(CLIENT)), Connection::new(options(Role::Server)));
    client.close(4000, &"\u{e4}".repeat(100));
    let seen = read(&mut server, &[&output(&mut client)]);
    assert_eq!(seen, [Seen::Closed(Some(4000), "\u{e4}".repeat(61))]);
}

#[test]
fn every_frame_of_a_client_has_a_mask_of_its_own() {
    let mut client = Connection::new(options(CLIENT));
    client.send(MessageKind::Binary, &[0; 8]);
    client.send(MessageKind::Binary, &[0; 8]);
    let bytes = output(&mut client);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    assert_eq!((first[0], first[1]), (0x82, 0x88));
    assert_ne!(first[2..6], second[2..6]);
    assert_eq!(first[2..6], first[6..10], "zeros show the mask");
}

#[test]
fn an_idle_connection_is_small() {
    let mut client = Connection::new(options(CLIENT));
    client.send(MessageKind::Text, &[b'x'; 100_000]);
    output(&mut client);
    read(
        &mut client,
        &[&[&b"\x01\x7F\0\0\0\0\0\x01\x86\xA0"[..], &[b'x'; 100_000], b"\x80\x00"].concat(), b""],
    );
    let held = client.output.capacity() + client.message.data.capacity() + client.control.capacity();
    assert!(held <= 2 * BUFFER_KEPT + 125, "{held}");
    assert!(size_of::<Connection>() <= 256, "{}", size_of::<Connection>());
}

fn sent() -> impl Strategy<Value = Vec<(u8, String)>> {
    prop::collection::vec((0_u8..3, "[a-c\u{e4}\u{1f600}]{0,300}"), 0..8)
}

proptest! {
    #[test]
    fn what_one_side_sends_the_other_reads_at_every_cut(
        sent in sent(),
        by_client: bool,
        fragment in prop::option::of(1_usize..50),
        deflate in prop::option::of((any::<bool>(), any::<bool>())),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let deflate = |swapped: bool| deflate.map(|(own, peer)| {
            let (resets_own, resets_peer) = if swapped { (peer, own) } else { (own, peer) };
            Deflate { resets_own, resets_peer }
        });
        let (sender, receiver) = if by_client { (CLIENT, Role::Server) } else { (Role::Server, CLIENT) };
        let fragment = fragment.and_then(NonZeroUsize::new);
        let mut sender = Connection::new(Options { deflate: deflate(false), fragment, ..options(sender) });
        let mut receiver = Connection::new(Options { deflate: deflate(true), ..options(receiver) });
        let mut expected = Vec::new();
        for (kind, data) in &sent {
            match kind {
                0 => {
                    sender.send(MessageKind::Text, data.as_bytes());
                    expected.push(Seen::Text(data.clone()));
                }
                1 => {
                    sender.send(MessageKind::Binary, data.as_bytes());
                    expected.push(Seen::Binary(data.clone().into_bytes()));
                }
                _ => {
                    sender.ping(data.as_bytes());
                    expected.push(Seen::Ping);
                }
            }
        }
        sender.close(1001, "");
        expected.push(Seen::Closed(Some(1001), String::new()));
        let bytes = output(&mut sender);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        places.sort_unstable();
        let (mut pieces, mut from) = (Vec::new(), 0);
        for place in places {
            pieces.push(&bytes[from..place]);
            from = place;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(read(&mut receiver, &pieces), expected);
    }

    #[test]
    fn garbage_never_breaks_the_reader(bytes: Vec<u8>, cut: prop::sample::Index) {
        let agreed = Some(Deflate::default());
        let cut = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
        for role in [CLIENT, Role::Server] {
            let fresh = || Connection::new(Options { message_size: 1000, deflate: agreed, ..options(role) });
            let whole = read(&mut fresh(), &[&bytes]);
            prop_assert_eq!(read(&mut fresh(), &[&bytes[..cut], &bytes[cut..]]), whole);
        }
    }
}
