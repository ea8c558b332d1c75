//! Windows, settings, too much of anything, and the end of a connection.

use super::*;

// Windows of ours that the server opens too far.

#[test]
fn a_window_update_is_by_something() {
    let reason = "a WINDOW_UPDATE frame by 0";
    breaks(&server().window_update(0, 0), code::PROTOCOL_ERROR, reason);
    breaks(&server().window_update(0, 1 << 31), code::PROTOCOL_ERROR, reason);
    resets(server().window_update(1, 0), code::PROTOCOL_ERROR);
}

#[test]
fn no_window_grows_beyond_31_bits() {
    let most = (1 << 31) - 1;
    let reason = "a window beyond 2^31 - 1";
    breaks(&server().window_update(0, most), code::FLOW_CONTROL_ERROR, reason);
    breaks(&server().window_update(0, most - 65_535).window_update(0, 1), code::FLOW_CONTROL_ERROR, reason);
    resets(server().window_update(1, most), code::FLOW_CONTROL_ERROR);
    resets(server().window_update(1, most - 65_535).window_update(1, 1), code::FLOW_CONTROL_ERROR);
    let script = server().window_update(3, most - 65_535).settings(&[(setting::INITIAL_WINDOW_SIZE, 65_536)]);
    breaks(&script, code::FLOW_CONTROL_ERROR, reason);
    let script = server().settings(&[(setting::INITIAL_WINDOW_SIZE, 0)]).window_update(3, most);
    breaks(&script.settings(&[(setting::INITIAL_WINDOW_SIZE, 1)]), code::FLOW_CONTROL_ERROR, reason);
    is_passed_over(
        server().settings(&[(setting::INITIAL_WINDOW_SIZE, most)]).window_update(0, most - 65_535),
    );
}

// Settings.

#[test]
fn settings_have_values_that_they_can_have() {
    let push = "a server that enables pushing to itself";
    let window = "an initial window beyond 2^31 - 1";
    let frame = "a largest frame size that is not allowed";
    for (id, value, code, reason) in [
        (setting::ENABLE_PUSH, 1, code::PROTOCOL_ERROR, push),
        (setting::ENABLE_PUSH, 2, code::PROTOCOL_ERROR, push),
        (setting::INITIAL_WINDOW_SIZE, 1 << 31, code::FLOW_CONTROL_ERROR, window),
        (setting::INITIAL_WINDOW_SIZE, u32::MAX, code::FLOW_CONTROL_ERROR, window),
        (setting::MAX_FRAME_SIZE, 0, code::PROTOCOL_ERROR, frame),
        (setting::MAX_FRAME_SIZE, 16_383, code::PROTOCOL_ERROR, frame),
        (setting::MAX_FRAME_SIZE, 1 << 24, code::PROTOCOL_ERROR, frame),
    ] {
        breaks(&Script::new().settings(&[(id, value)]), code, reason);
        breaks(&server().settings(&[(setting::MAX_CONCURRENT_STREAMS, 5), (id, value)]), code, reason);
    }
    is_passed_over(Script::new().settings(&[
        (setting::ENABLE_PUSH, 0),
        (setting::MAX_FRAME_SIZE, (1 << 24) - 1),
        (setting::MAX_CONCURRENT_STREAMS, u32::MAX),
        (setting::HEADER_TABLE_SIZE, u32::MAX),
        (setting::MAX_HEADER_LIST_SIZE, 0),
        (0, 1),
        (8, 1),
        (0xffff, u32::MAX),
    ]));
}

#[test]
fn pushing_is_disabled() {
    let reason = "a PUSH_PROMISE frame, although pushing is disabled";
    for payload in [&b"\0\0\0\x02\x88"[..], b""] {
        let script = server().frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, payload);
        breaks(&script, code::PROTOCOL_ERROR, reason);
    }
}

#[test]
fn settings_and_pings_are_acknowledged_in_their_order() {
    let script = server().ping(*b"12345678").settings(&[]).raw(&frames::ping_ack([0; 8])).ack().ping([7; 8]);
    let outcome = play(options(), &gets(1), script.bytes());
    let expected = [
        frames::settings_ack(),
        frames::ping_ack(*b"12345678"),
        frames::settings_ack(),
        frames::ping_ack([7; 8]),
    ];
    assert_eq!(outcome.said.iter().flat_map(Frame::bytes).collect::<Vec<_>>(), expected.concat());
}

// Too much of something that brings nobody further.

#[test]
fn frames_that_bring_no_call_further_have_a_limit_in_a_row() {
    let reason = "too many frames in a row that bring no reply further";
    let begun = || server().head(1, OK, false);
    for frame in [
        frames::ping([0; 8]),
        frames::ping_ack([0; 8]),
        frames::settings(&[]),
        frames::settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535)]),
        frames::settings_ack(),
        frames::window_update(0, 1),
        frames::window_update(1, 1),
        frames::frame(kind::PRIORITY, 0, 1, &[0; 5]),
        frames::frame(kind::PRIORITY, 0, 1001, &[0; 5]),
        frames::frame(0x20, 0, 0, b""),
        frames::frame(0x20, 0, 1, b"payload"),
        frames::data(1, b"", false),
        frames::padded_data(1, b"", 0, false),
        frames::padded_data(1, b"", 9, false),
        frames::goaway(3, 0),
    ] {
        breaks(&begun().repeated(21, &frame), code::ENHANCE_YOUR_CALM, reason);
        // A frame that does bring one further is the beginning of another row.
        let script = begun().repeated(20, &frame).data(1, b"x", false).repeated(20, &frame);
        assert_eq!(play(options(), &gets(2), script.bytes()).end, Ok(()));
    }
}

#[test]
fn one_frame_of_settings_does_not_change_windows_again_and_again() {
    let many: Vec<_> = (0..21).map(|size| (setting::INITIAL_WINDOW_SIZE, size)).collect();
    let reason = "too many frames in a row that bring no reply further";
    breaks(&server().settings(&many), code::ENHANCE_YOUR_CALM, reason);
    is_passed_over(server().settings(&[(setting::INITIAL_WINDOW_SIZE, 65_535); 300]));
}

#[test]
fn frames_on_streams_that_have_ended_bring_no_call_further() {
    let reason = "too many frames in a row that bring no reply further";
    let script = server().head(1, OK, true).repeated(21, &frames::reset(1, 0));
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    let script = server().head(1, OK, true).repeated(21, &frames::window_update(1, 1));
    breaks(&script, code::ENHANCE_YOUR_CALM, reason);
    // A stream that we have reset.
    let late = frames::data(1, b"late", false);
    breaks(&server().data(1, b"", true).repeated(21, &late), code::ENHANCE_YOUR_CALM, reason);
    let late = frames::headers(1, b"\x88", false);
    breaks(&server().data(1, b"", true).repeated(21, &late), code::ENHANCE_YOUR_CALM, reason);
}

#[test]
fn resets_have_a_limit_in_a_row() {
    let reason = "too many streams reset in a row";
    let script = (0..6).fold(server(), |script, stream| script.reset(2 * stream + 1, code::REFUSED_STREAM));
    let outcome = play(options(), &gets(7), script.bytes());
    assert_eq!(outcome.end, broken(code::ENHANCE_YOUR_CALM, reason));
    assert_eq!(outcome.events, (0..6).map(returned).collect::<Vec<_>>(), "none is lost");
    // Those that we have to reset count as well.
    let script = (0..6).fold(server(), |script, stream| script.data(2 * stream + 1, b"", true));
    let outcome = play(options(), &gets(7), script.bytes());
    assert_eq!(outcome.end, broken(code::ENHANCE_YOUR_CALM, reason));
    assert_eq!(outcome.events, (0..6).map(failed).collect::<Vec<_>>());
    // A reply ends the row.
    let script = (0..5).fold(server(), |script, stream| script.reset(2 * stream + 1, code::REFUSED_STREAM));
    let script = (6..11).fold(script.head(11, OK, true), |script, stream| script.reset(2 * stream + 1, 0));
    assert_eq!(play(options(), &gets(12), script.bytes()).end, Ok(()));
}

#[test]
fn a_goaway_too_many_loses_no_call() {
    let script = server().repeated(19, &frames::ping([0; 8])).goaway(0, 0);
    let outcome =
        breaks(&script, code::ENHANCE_YOUR_CALM, "too many frames in a row that bring no reply further");
    assert_eq!(outcome.events, [returned(0), returned(1), Event::Draining, Event::Drained]);
}

#[test]
fn a_server_that_does_not_read_what_it_asks_for_is_left() {
    let mut engine = common::connection(Options::default(), &gets(1));
    let settings = server();
    let begun = settings.head(1, OK, false);
    assert_eq!(engine.poll_event(common::NOW, &mut begun.bytes()), Ok(Some(started(0, 200))));
    // Nothing of this is written any more. Each row is short enough, and yet there is no end of answers.
    let row = Script::new().repeated(9_000, &frames::ping([0; 8])).data(1, b"x", false);
    let mut kept = 0;
    let end = (0..1000).find_map(|_| {
        kept = kept.max(engine.poll_transmit(common::NOW).len());
        engine.handle_blocked();
        engine.poll_event(common::NOW, &mut row.bytes()).err()
    });
    let reason = "a server that does not read the answers to its frames";
    assert_eq!(end.map_or(Ok(()), Err), broken(code::ENHANCE_YOUR_CALM, reason));
    assert!(kept < 2 << 20, "{kept} bytes");
}

// The end of a connection.

#[test]
fn goaway_returns_what_is_beyond_its_last_stream_or_fails_it_with_the_code_of_an_error() {
    let script = server().goaway(5, code::NO_ERROR).goaway(1, code::INTERNAL_ERROR).head(1, OK, true);
    let outcome = play(options(), &gets(4), script.bytes());
    let expected = [
        returned(3),
        Event::Draining,
        failed(1),
        failed(2),
        started(0, 200),
        head(0, OK_TEXT),
        common::last(0, 14, 0, 0),
    ];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn goaway_that_says_more_later_changes_nothing() {
    let script = server().goaway(1, code::NO_ERROR).goaway(7, code::NO_ERROR).head(1, OK, true);
    let outcome = play(options(), &gets(2), script.bytes());
    let expected =
        [returned(1), Event::Draining, started(0, 200), head(0, OK_TEXT), common::last(0, 14, 0, 0)];
    assert_eq!((outcome.end, outcome.events), (Ok(()), expected.to_vec()));
}

#[test]
fn the_end_of_draining_is_told_once() {
    let script = server().goaway(0, 0).goaway(0, 0).goaway(0, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [returned(0), Event::Draining, Event::Drained]);
    let script = server().goaway(1, 0).head(1, OK, true).goaway(1, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    let expected = [Event::Draining, started(0, 200), head(0, OK_TEXT), common::last(0, 14, 0, 0)];
    assert_eq!(outcome.events, expected);
    let script = server().goaway(1, 0).reset(1, 0).goaway(1, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [Event::Draining, failed(0), Event::Drained]);
}

#[test]
fn a_call_whose_reply_has_begun_was_processed_whatever_the_server_says() {
    let events = [started(0, 200), head(0, OK_TEXT), failed(0)];
    let script = server().head(1, OK, false).reset(1, code::REFUSED_STREAM);
    assert_eq!(play(options(), &gets(1), script.bytes()).events, events);
    let script = server().head(1, OK, false).goaway(0, 0);
    let outcome = play(options(), &gets(1), script.bytes());
    assert_eq!(outcome.events, [&events[..], &[Event::Draining, Event::Drained]].concat());
}

#[test]
fn a_server_that_ends_in_the_middle_of_anything_leaves_its_calls_pending() {
    let reply =
        Reply::new(200).interim(103).field("server", "x").body("hello").trailer("x-sum", "1").padded(3);
    let script = server()
        .ack()
        .ping([0; 8])
        .reply(1, &reply)
        .head_in_pieces(3, &[(":status", "200"), ("content-length", "4")], 1, false)
        .window_update(0, 7)
        .data(3, b"1234", true)
        .raw(&frames::frame(0x20, 0, 0, b"unknown"))
        .goaway(5, 0)
        .head(5, OK, true);
    for size in 0..=script.bytes().len() {
        let mut engine = common::connection(options(), &gets(3));
        let (events, end) = common::feed(&mut engine, &[&script.bytes()[..size]], &mut Vec::new());
        assert_eq!(end, Ok(()), "{size} bytes");
        let pending: Vec<_> = engine.pending().collect();
        common::check_calls(&events, &pending, 3);
        let expected = if pending.is_empty() { Ok(()) } else { Err(httperf_proto::ProtocolError::Truncated) };
        assert_eq!(engine.handle_eof(), expected, "{size} bytes");
        assert_eq!(engine.capacity(), 0);
        assert_eq!(pending.is_empty(), size == script.bytes().len());
    }
}

#[test]
fn a_server_of_which_nothing_comes_behind_its_goaway_leaves_its_calls_pending() {
    let script = server().goaway(3, code::NO_ERROR);
    let outcome = play(options(), &gets(2), script.bytes());
    assert_eq!((outcome.events, outcome.pending.len()), (vec![Event::Draining], 2));
}

#[test]
fn calls_that_wait_for_a_stream_are_not_forgotten_when_the_server_ends() {
    let mut engine = common::connection(options(), &[]);
    let settings = Script::new().settings(&[(setting::MAX_CONCURRENT_STREAMS, 1)]);
    assert_eq!(common::feed(&mut engine, &[settings.bytes()], &mut Vec::new()), (Vec::new(), Ok(())));
    for call in 0..2 {
        let get = request("GET", b"");
        engine.submit(common::NOW, httperf_proto::CallId(call), get).expect("there is room");
    }
    common::flush(&mut engine);
    // The second could go out now, and yet there is nobody any more.
    let reply = Script::new().head(1, OK, true);
    let mut input = reply.bytes();
    while engine.poll_event(common::NOW, &mut input).expect("the server is right").is_some() {}
    assert_eq!(engine.handle_eof(), Err(httperf_proto::ProtocolError::Truncated));
    assert_eq!(engine.pending().collect::<Vec<_>>(), [httperf_proto::CallId(1)]);
}

#[test]
fn codes_that_nobody_knows_are_kept_apart_only_as_far_as_there_is_room() {
    let mut engine = common::connection(Options::default(), &gets(1));
    let script = (0..1000).fold(server(), |script, unknown| script.goaway(1, 1000 + unknown));
    let (events, end) = common::feed(&mut engine, &[script.bytes()], &mut Vec::new());
    assert_eq!((events, end), (vec![Event::Draining], Ok(())));
    let goaways = engine.take_counts().goaways;
    // 64, and the one that stands for all others.
    assert!(goaways.len() <= 65, "{}", goaways.len());
    assert_eq!(goaways.iter().map(|&(_, count)| count).sum::<u64>(), 1000);
}
