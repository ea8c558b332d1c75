//! The seeds of fuzzing (`fuzz/seeds`): scripts of servers, and header blocks of other encoders. The files are those
//! that are made here; `UPDATE_SEEDS=1` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use httperf_testkit::fuzz::{REPLIES_HEADER_SIZE, check_blocks, check_replies};
use httperf_testkit::http2::frames::{self, code, flag, kind, setting};
use httperf_testkit::http2::{Reply, Script};

const OK: &[(&str, &str)] = &[(":status", "200"), ("server", "x")];

fn server() -> Script {
    Script::new()
        .settings(&[(setting::MAX_CONCURRENT_STREAMS, 100), (setting::INITIAL_WINDOW_SIZE, 1000)])
        .ack()
}

/// Scripts of servers that keep to the rules, and of such as do not.
fn scripts() -> Vec<(&'static str, Script)> {
    let full = Reply::new(200)
        .interim(103)
        .field("content-type", "text/plain")
        .field("content-length", "300")
        .field("server-timing", "cpu;dur=1")
        .body("x".repeat(300))
        .trailer("x-sum", "1");
    vec![
        ("empty", Script::new()),
        ("http1", Script::new().raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        ("settings", server()),
        ("no_settings", Script::new().head(1, OK, true)),
        ("three_replies", server().reply(3, &Reply::new(200)).reply(5, &full).reply(1, &full)),
        (
            "padded",
            server().reply(1, &full.clone().padded(5).in_pieces_of(50)).reply(5, &full.clone().padded(0)),
        ),
        ("pieces", server().head_in_pieces(1, OK, 1, false).data(1, b"", false).data(1, b"abc", true)),
        (
            "divided",
            server()
                .head(1, OK, false)
                .head(5, OK, false)
                .data(5, b"a", false)
                .data(1, b"b", true)
                .data(5, b"c", true),
        ),
        ("head", server().head(3, &[(":status", "200"), ("content-length", "1000")], true)),
        (
            "no_content",
            server().head(1, &[(":status", "304"), ("content-length", "9")], false).data(1, b"", true),
        ),
        (
            "short",
            server().head(1, &[(":status", "200"), ("content-length", "9")], false).data(
                1,
                b"12345678",
                true,
            ),
        ),
        (
            "long",
            server().head(1, &[(":status", "200"), ("content-length", "2")], false).data(1, b"123", true),
        ),
        ("two_statuses", server().head(1, &[(":status", "200"), (":status", "200")], true)),
        ("uppercase", server().head(1, &[(":status", "200"), ("Server", "x")], true)),
        (
            "upload",
            server()
                .window_update(5, 40_000)
                .settings(&[(setting::INITIAL_WINDOW_SIZE, 70_000)])
                .window_update(0, 90_000)
                .head(5, OK, true),
        ),
        ("early_reply", server().head(5, &[(":status", "413")], true).reset(5, code::NO_ERROR)),
        (
            "shrinking",
            server()
                .settings(&[(setting::INITIAL_WINDOW_SIZE, 0), (setting::MAX_CONCURRENT_STREAMS, 1)])
                .head(1, OK, true),
        ),
        (
            "table",
            server()
                .settings(&[(setting::HEADER_TABLE_SIZE, 0)])
                .raw(&frames::headers(1, b"\x20\x3f\xe1\x1f\x88", true))
                .settings(&[(setting::HEADER_TABLE_SIZE, 4096)]),
        ),
        ("pings", server().repeated(40, &frames::ping([7; 8]))),
        (
            "unknown",
            server().frame(0xfe, 0xff, 9, b"unknown").frame(kind::PRIORITY, 0, 9, &[0; 5]).head(1, OK, true),
        ),
        ("resets", server().reset(1, code::REFUSED_STREAM).reset(3, code::INTERNAL_ERROR).reset(5, 77)),
        ("goaway", server().goaway(3, code::NO_ERROR).head(1, OK, true).goaway(1, code::INTERNAL_ERROR)),
        ("goaways", server().goaway(i32::MAX as u32, 0).head(1, OK, true).goaway(3, 0).head(3, OK, true)),
        ("late", server().data(1, b"x", false).head(1, OK, false).data(1, b"late", true).reset(1, 8)),
        (
            "continuation",
            server().frame(kind::HEADERS, 0, 1, b"\x88").frame(kind::CONTINUATION, flag::END_HEADERS, 1, b""),
        ),
        (
            "continuations",
            server()
                .frame(kind::HEADERS, 0, 1, b"\x88")
                .repeated(6, &frames::frame(kind::CONTINUATION, 0, 1, b"")),
        ),
        ("push", server().frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, b"\0\0\0\x02\x88")),
        ("windows", server().window_update(0, 0).window_update(1, 1 << 30).window_update(1, 1 << 30)),
        ("closed", server().head(1, OK, true).data(1, b"x", true)),
        ("interim", server().head(1, &[(":status", "100")], false).head(1, &[(":status", "199")], true)),
        (
            "wrong_sizes",
            server().frame(kind::PRIORITY, 0, 1, b"1234").frame(kind::RST_STREAM, 0, 1, b"12345"),
        ),
    ]
}

#[derive(serde::Deserialize)]
struct Story {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    header_table_size: Option<u16>,
    wire: String,
}

/// The first blocks of each story, each with its size before it.
fn stories() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hpack");
    let mut seeds = Vec::new();
    for encoder in ["go-hpack", "nghttp2-change-table-size", "swift-nio-hpack-huffman"] {
        for number in ["00", "03"] {
            let file = folder.join(encoder).join(format!("story_{number}.json"));
            let Ok(text) = fs::read(file) else { continue };
            let story: Story = serde_json::from_slice(&text).expect("a story");
            let mut seed = Vec::new();
            for case in story.cases.iter().take(5) {
                if let Some(size) = case.header_table_size {
                    seed.extend([0xff, 0xff]);
                    seed.extend(size.to_be_bytes());
                }
                let digit =
                    |place| u8::from_str_radix(&case.wire[place..place + 2], 16).expect("hexadecimal digits");
                let block: Vec<u8> = (0..case.wire.len()).step_by(2).map(digit).collect();
                seed.extend(u16::try_from(block.len()).expect("it is short").to_be_bytes());
                seed.extend(block);
            }
            seeds.push((format!("{encoder}_{number}"), seed));
        }
    }
    seeds.push((
        "odd".to_owned(),
        b"\x00\x06\x40\x01x\x7f\x81\x27\x00\x02\x88\x20\x00\x05\x00\x84\xff\xff\xff".to_vec(),
    ));
    seeds
}

/// All seeds by their files.
fn seeds() -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut seeds = BTreeMap::new();
    for (number, (name, script)) in scripts().into_iter().enumerate() {
        let bytes = script.bytes();
        // Half of them with other options, and the second half of the calls in the middle.
        let middle = u16::try_from(bytes.len() / 2).expect("it is short").to_be_bytes();
        let header: [u8; REPLIES_HEADER_SIZE] = [number as u8 % 16, middle[0], middle[1], 100];
        seeds.insert(folder.join("http2_reply").join(name), [&header[..], bytes].concat());
    }
    for (name, seed) in stories() {
        seeds.insert(folder.join("hpack").join(name), seed);
    }
    seeds
}

#[test]
fn the_seeds_of_fuzzing_are_as_they_are_made_here() {
    for (path, bytes) in seeds() {
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, &bytes).expect("a file");
        }
        assert_eq!(fs::read(&path).ok(), Some(bytes), "{}: UPDATE_SEEDS=1 writes it anew", path.display());
    }
}

#[test]
fn the_seeds_of_fuzzing_are_no_findings() {
    for (_, script) in scripts() {
        for kind in 0..16 {
            for middle in [0, 9, 60] {
                check_replies(&[&[kind, 0, middle, 128][..], script.bytes()].concat());
            }
        }
    }
    for (_, blocks) in stories() {
        check_blocks(&blocks);
    }
}
