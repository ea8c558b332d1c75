//! The properties that fuzzing checks, with bytes that look right often enough to reach every state.

use httperf_proto::http2::hpack::{Encoder, Indexing};
use httperf_testkit::fuzz::{
    REPLIES_HEADER_SIZE, check_blocks, check_cuts, check_event_stream, check_garbage, check_replies,
    check_websocket,
};
use proptest::prelude::*;

/// Bytes that look like replies often enough to reach every state.
fn reply_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(&b"HTTP/1.1 200 OK\r\n"[..]),
        1 => Just(&b"HTTP/1.0 404 \n"[..]),
        1 => Just(&b"HTTP/1.1 100 Continue\r\n\r\n"[..]),
        1 => Just(&b"HTTP/1.1 304\r\n"[..]),
        2 => Just(&b"Content-Length: 3\r\n"[..]),
        1 => Just(&b"Content-Length: 4, 4\n"[..]),
        2 => Just(&b"Transfer-Encoding: chunked\r\n"[..]),
        1 => Just(&b"Connection: close\r\n"[..]),
        4 => Just(&b"\r\n"[..]),
        1 => Just(&b"\n"[..]),
        2 => Just(&b"abc"[..]),
        2 => Just(&b"3\r\nabc\r\n"[..]),
        2 => Just(&b"0\r\n\r\n"[..]),
        1 => Just(&b"\0"[..]),
        1 => Just(&b": \r"[..]),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn the_same_bytes_give_the_same_events_wherever_they_are_cut(
        bytes in reply_like(),
        cut in 0usize..200,
        calls in 0u8..4,
        head in any::<bool>(),
    ) {
        check_cuts(&bytes, cut, calls, head);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        check_cuts(&bytes, cut, 2, false);
    }
}

#[test]
fn what_is_too_short_says_nothing() {
    check_replies(b"");
    check_replies(b"\0\0\0");
    check_replies(b"\0\0\0\0");
}

/// A frame of a kind that there is, on a stream that there may be, whose payload is often right.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let block = prop::sample::select(vec![
        &[(":status", "200")][..],
        &[(":status", "204"), ("content-length", "5")],
        &[(":status", "103")],
        &[("x-sum", "1")],
        &[(":status", "200"), ("content-length", "3"), ("server-timing", "x")],
    ])
    .prop_map(|fields| {
        let (mut encoder, mut block) = (Encoder::new(4096), Vec::new());
        for (name, value) in fields {
            encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Without, &mut block);
        }
        block
    });
    let payload = prop_oneof![
        3 => block,
        2 => prop::collection::vec(any::<u8>(), 0..12),
        2 => prop::sample::select(vec![vec![], vec![0; 4], vec![0, 0, 1, 0], vec![0; 8], vec![0, 4, 0, 0, 0, 9]]),
    ];
    let flags = prop::sample::select(vec![0_u8, 1, 4, 5, 8, 0x25]);
    (0..11_u8, flags, prop::sample::select(vec![0_u8, 1, 3, 5, 7, 9, 2]), payload).prop_map(
        |(kind, flags, stream, payload)| {
            let length = u8::try_from(payload.len()).expect("it is short");
            [&[0, 0, length, kind, flags, 0, 0, 0, stream][..], &payload].concat()
        },
    )
}

proptest! {
    #[test]
    fn where_replies_are_cut_makes_no_difference(
        header in any::<[u8; REPLIES_HEADER_SIZE]>(),
        frames in prop::collection::vec(frame(), 0..30),
    ) {
        let [kind, _, middle, cut] = header;
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        check_replies(&[&[kind, 0, middle, cut][..], &settings, &frames.concat()].concat());
    }
}

#[test]
fn tables_may_be_resized_in_any_way() {
    check_blocks(
        b"\xff\xff\x00\x00\x00\x02a:\xff\xff\x10\x00\x00\x01\x82\xff\xff\xff\xff\x00\x04\x3f\xe1\x1f\x88",
    );
    check_blocks(b"\xff\xff\x00");
    check_blocks(b"\x00\x10short");
}

proptest! {
    #[test]
    fn any_bytes_are_blocks(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_blocks(&bytes);
        let sized = [&u16::try_from(bytes.len()).expect("it is short").to_be_bytes()[..], &bytes].concat();
        check_blocks(&sized.repeat(3));
    }
}

#[test]
fn garbage_never_panics() {
    for seed in 0..200_u32 {
        let bytes: Vec<u8> = (0..seed * 3)
            .map(|index| (index.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(97)) as u8)
            .collect();
        check_garbage(&bytes);
    }
    // Records of every type with a plausible header.
    for kind in 0..=255_u8 {
        check_garbage(&[5, 3, 3, 0, 4, kind, 0, 0, 0, kind, 3, 3, 0, 1, 0]);
    }
}

proptest! {
    #[test]
    fn event_streams_have_the_same_events_wherever_they_are_cut(
        size in any::<u8>(),
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    &b"data:"[..], b"data", b"event: x", b"id: 7", b"retry: 5", b":", b"\r", b"\n", b"\r\n", b"\n\n",
                    b"{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}", b"[DONE]", b"\xEF\xBB\xBF",
                ])
                .prop_map(<[u8]>::to_vec),
                prop::collection::vec(any::<u8>(), 0..20),
            ],
            0..40,
        ),
    ) {
        check_event_stream(&[vec![size], parts.concat()].concat());
    }

    #[test]
    fn websockets_have_the_same_events_wherever_they_are_cut(
        first in any::<u8>(),
        frames in prop::collection::vec(
            (any::<u8>(), any::<bool>(), 0..1200_usize, prop::collection::vec(any::<u8>(), 0..40)),
            0..12,
        ),
    ) {
        let mut bytes = vec![first];
        for (start, is_masked, size, payload) in frames {
            // Most of them are frames that may be: with a known opcode, and without reserved bits.
            bytes.push(if start & 0x30 == 0x30 { start } else { start & 0xCF & !(start & 4) });
            let payload = if size > 1000 { payload.repeat(40) } else { payload };
            let mask = u8::from(is_masked) << 7;
            match payload.len() {
                0..=125 => bytes.push(mask | payload.len() as u8),
                longer => bytes.extend([&[mask | 126][..], &(longer as u16).to_be_bytes()].concat()),
            }
            bytes.extend(is_masked.then_some([0_u8; 4]).iter().flatten());
            bytes.extend(payload);
        }
        check_websocket(&bytes);
    }
}
