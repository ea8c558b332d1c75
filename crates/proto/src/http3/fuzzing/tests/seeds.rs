//! The seeds of fuzzing HTTP/3 (`fuzz/seeds`): streams with frames, and the sections of another encoder. The files are
//! those that are made here; `UPDATE_SEEDS=1` writes them anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::http3::{check_frames, check_qpack};

/// What the first byte of a stream says.
const REQUEST: u8 = 0;
const CONTROL: u8 = 1;

/// Streams of servers that keep to the rules, and of such as do not.
const STREAMS: [(&str, u8, &[u8]); 10] = [
    ("reply", REQUEST, b"\x01\x04\0\0\xd9\xc4\x00\x05hello\x00\x00\x01\x02\0\0"),
    ("interim", REQUEST, b"\x01\x03\0\0\xd8\x01\x03\0\0\xd9\x40\x00\x80\0\0\x03abc"),
    ("grease", REQUEST, b"\x21\x03abc\x01\x03\0\0\xd9\x7f\xff\x00"),
    ("cut", REQUEST, b"\x01\x03\0\0\xd9\x00\x44\x00abc"),
    ("push", REQUEST, b"\x05\x04\x00\0\0\xd1"),
    ("long_section", REQUEST, b"\x01\x44\x00"),
    ("control", CONTROL, b"\x00\x04\x09\x01\x50\x00\x07\x40\x64\x06\x80\0\x07\x01\x08\x07\x01\x04"),
    ("repeated", CONTROL, b"\x00\x04\x04\x01\x00\x01\x00"),
    ("no_settings", CONTROL, b"\x00\x07\x01\x00"),
    ("of_http2", CONTROL, b"\x00\x04\x00\x21\x00\x06\x08abcdefgh"),
];

#[derive(serde::Deserialize)]
struct Story {
    capacity: u16,
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    encoder: String,
    section: String,
}

/// The first sections of some stories with their instructions.
fn stories() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/qpack");
    let story = |number| {
        let text = fs::read(folder.join(format!("story_{number}.json"))).expect("a story");
        let story: Story = serde_json::from_slice(&text).expect("a story");
        let mut seed = story.capacity.to_be_bytes().to_vec();
        for case in story.cases.iter().take(5) {
            put_part(0, &hex(&case.encoder), &mut seed);
            put_part(1, &hex(&case.section), &mut seed);
        }
        // A cancellation by the server's decoder.
        put_part(3, b"\x44", &mut seed);
        (format!("ls-qpack_{number}"), seed)
    };
    ["07", "17", "19"].map(story).into()
}

fn put_part(kind: u8, bytes: &[u8], seed: &mut Vec<u8>) {
    seed.push(kind);
    seed.extend(u16::try_from(bytes.len()).expect("it is short").to_be_bytes());
    seed.extend(bytes);
}

fn hex(digits: &str) -> Vec<u8> {
    let digit = |place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// All seeds by their files.
fn seeds() -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let streams = STREAMS.map(|(name, kind, bytes)| {
        (folder.join("http3_frames").join(name), [&[kind, 5][..], bytes].concat())
    });
    let sections = stories().into_iter().map(|(name, seed)| (folder.join("qpack").join(name), seed));
    streams.into_iter().chain(sections).collect()
}

#[test]
fn the_seeds_of_fuzzing_http3_are_as_they_are_made_here() {
    for (path, bytes) in seeds() {
        if std::env::var_os("UPDATE_SEEDS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, &bytes).expect("a file");
        }
        assert_eq!(fs::read(&path).ok(), Some(bytes), "{}: UPDATE_SEEDS=1 writes it anew", path.display());
    }
}

#[test]
fn the_seeds_of_fuzzing_http3_are_no_findings() {
    for (_, kind, bytes) in STREAMS {
        for cut in 0..=bytes.len() {
            let cut = u8::try_from(cut).expect("it is short");
            check_frames(&[&[kind, cut][..], bytes].concat());
        }
    }
    for (_, seed) in stories() {
        check_qpack(&seed);
    }
}
