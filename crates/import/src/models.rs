//! Traces of language models: when requests came, how many tokens they had, and how many they got. Mooncake's has an object of
//! JSON on each line, Azure's is a file of CSV:
//!
//! ```text
//! {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353]}
//! ```
//!
//! ```text
//! TIMESTAMP,ContextTokens,GeneratedTokens
//! 2023-11-16 18:15:46.6805900,374,44
//! ```
//!
//! What was asked is not in them. A request asks as many words as it had tokens; each is a token of its own in common
//! vocabularies. Each of Mooncake's `hash_ids` stands for [`BLOCK`] tokens, with all tokens before them, and for the same words
//! here: requests that began alike begin alike again. The words are a function of the ids, or of the row's number.

use std::io::BufRead;
use std::time::Duration;

use serde::Deserialize;

use crate::clock::from_rfc3339;
use crate::error::{Error, Flaw};
use crate::lines::{Ended, Lines, trimmed};
use crate::log::Stamps;
use crate::order::Order;
use crate::report::{Report, shortened};
use crate::trace::{self, Body, Head};

/// The number of tokens that an id of `hash_ids` stands for.
pub const BLOCK: usize = 512;

/// The maximum number of tokens of a request, and of an answer.
pub const TOKENS_MAX: u64 = 1 << 20;

/// The length of a line.
const LINE_MAX: usize = 1024 * 1024;

/// The first line of Azure's traces.
const AZURE_HEAD: &[u8] = b"TIMESTAMP,ContextTokens,GeneratedTokens";

/// Short words, each of which is a token with the blank before it in common vocabularies.
const WORDS: [&str; 128] = [
    "the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "was", "with", "be", "by", "on", "not",
    "he", "his", "but", "at", "are", "this", "have", "from", "or", "had", "an", "they", "which", "one",
    "you", "were", "all", "her", "she", "there", "would", "their", "we", "him", "been", "has", "when", "who",
    "will", "no", "more", "if", "out", "so", "up", "said", "what", "its", "about", "than", "into", "them",
    "can", "only", "other", "time", "new", "some", "could", "these", "two", "may", "first", "then", "do",
    "any", "like", "my", "now", "over", "such", "our", "man", "me", "even", "most", "made", "after", "also",
    "did", "many", "off", "before", "must", "well", "back", "years", "much", "where", "your", "way", "down",
    "should", "because", "long", "each", "just", "state", "people", "those", "too", "world", "little",
    "very", "good", "how", "work", "life", "day", "part", "three", "own", "here", "see", "old", "both",
    "between", "under", "never", "home", "year", "place",
];

/// The parts of a trace's requests that the trace does not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// The request target: that of chat completions, unless its path ends in another `/completions`.
    pub uri: String,
    /// The model; none is named if `None`.
    pub model: Option<String>,
}

impl Default for Asking {
    fn default() -> Self {
        Self { uri: "/v1/chat/completions".to_owned(), model: None }
    }
}

impl Asking {
    fn is_chat(&self) -> bool {
        let path = self.uri.split('?').next().unwrap_or_default();
        path.ends_with("/chat/completions") || !path.ends_with("/completions")
    }
}

/// The form of a trace of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Mooncake's.
    Mooncake,
    /// Azure's.
    Azure,
}

impl Kind {
    /// Tells the form from the first line that is not blank.
    pub(crate) fn told(line: &[u8]) -> Option<Self> {
        match () {
            () if is_azure_head(line) => Some(Self::Azure),
            () if serde_json::from_slice::<Object>(line).is_ok() => Some(Self::Mooncake),
            () => None,
        }
    }

    /// The description of a trace of the file, without its start.
    pub(crate) fn head(self) -> Head {
        let (from, resolution) = match self {
            Self::Mooncake => ("mooncake", Duration::from_millis(1)),
            Self::Azure => ("azure-llm", Duration::from_nanos(100)),
        };
        Head { from: from.to_owned(), resolution, stamps: Stamps::Start, began: 0 }
    }
}

fn is_azure_head(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    line.trim_ascii().eq_ignore_ascii_case(AZURE_HEAD)
}

/// The requests of a trace in order of start.
#[derive(Debug)]
pub(crate) struct Requests<R> {
    lines: Lines<R>,
    line: Vec<u8>,
    kind: Kind,
    asking: Asking,
    order: Order<Row>,
    /// The number of requests that have left.
    made: u64,
    report: Report,
    done: bool,
}

/// A request of a trace. Its body is made when it leaves: rows wait, bodies do not.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    /// The start in nanoseconds.
    start: i64,
    input: u64,
    output: u64,
    blocks: Vec<u64>,
}

/// A line of Mooncake's.
#[derive(Deserialize)]
struct Object {
    timestamp: serde_json::Number,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

impl<R: BufRead> Requests<R> {
    pub(crate) fn new(reader: R, kind: Kind, asking: Asking) -> Self {
        Self {
            lines: Lines::new(reader, LINE_MAX),
            line: Vec::new(),
            kind,
            asking,
            order: Order::new(),
            made: 0,
            report: Report::default(),
            done: false,
        }
    }

    /// The next request with its start in nanoseconds. Its `at` is zero.
    pub(crate) fn read(&mut self) -> Result<Option<(i64, trace::Request)>, Error> {
        loop {
            if let Some((at, row)) = self.order.pop() {
                self.made += 1;
                return Ok(Some((at, self.request(&row))));
            }
            if self.done {
                return Ok(None);
            }
            match self.lines.read(&mut self.line)? {
                Some(ended) => self.take(ended),
                None => self.finish()?,
            }
        }
    }

    fn take(&mut self, ended: Ended) {
        let line = trimmed(&self.line);
        let is_head = self.kind == Kind::Azure && is_azure_head(line);
        if line.trim_ascii().is_empty() || is_head {
            return;
        }
        let row = match ended {
            Ended::Cut => Err("lines that are too long"),
            Ended::Whole => row(line, self.kind),
        };
        match row {
            Ok(row) => {
                if row.output == 0 {
                    self.report.note("answers of no tokens are bounded to one");
                }
                self.report.carried += 1;
                self.order.push(row.start, row.start, row);
            }
            Err(reason) => {
                let number = self.lines.number();
                self.report.leave_out(reason, || {
                    format!("line {number}: {}", shortened(&String::from_utf8_lossy(line), 60))
                });
            }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.done = true;
        self.order.finish();
        if self.report.carried == 0 {
            let first = self.report.left_out.first();
            let reason =
                first.map_or_else(String::new, |first| format!("; {} {}", first.count, first.reason));
            let sentence = format!("expected a trace of a language model with requests, got none{reason}");
            return Err(Flaw::whole(sentence).into());
        }
        Ok(())
    }

    fn request(&self, row: &Row) -> trace::Request {
        trace::Request {
            at: Duration::ZERO,
            client: self.made - 1,
            method: "POST".to_owned(),
            uri: self.asking.uri.clone(),
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            body: Some(Body(body(row, self.made, &self.asking))),
            status: None,
            took: None,
        }
    }

    /// The account so far.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.report.clone();
        self.order.account(&mut report);
        report.note("prompts are made of as many common words as the recorded ones had tokens");
        report
    }
}

/// Reads a row, or gives the reason for which it is left out.
fn row(line: &[u8], kind: Kind) -> Result<Row, &'static str> {
    let row = match kind {
        Kind::Mooncake => object(line),
        Kind::Azure => columns(line),
    };
    let row = row.ok_or("rows that are not of the trace's form")?;
    match () {
        () if row.input == 0 => Err("requests without a token"),
        () if row.input.max(row.output) > TOKENS_MAX => Err("requests of more than 1048576 tokens"),
        () => Ok(row),
    }
}

fn object(line: &[u8]) -> Option<Row> {
    let Object { timestamp, input_length, output_length, hash_ids } = serde_json::from_slice(line).ok()?;
    const MILLISECOND: i64 = 1_000_000;
    let start = match timestamp.as_i64() {
        Some(whole) => whole.checked_mul(MILLISECOND)?,
        None => {
            let nanos = timestamp.as_f64()? * MILLISECOND as f64;
            // As far as nanoseconds can be counted.
            (nanos.abs() < 9e18).then_some(nanos as i64)?
        }
    };
    let start = (start >= 0).then_some(start)?;
    Some(Row { start, input: input_length, output: output_length, blocks: hash_ids })
}

fn columns(line: &[u8]) -> Option<Row> {
    let mut columns = line.split(|&byte| byte == b',').map(|column| {
        let column = column.trim_ascii();
        column.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(column)
    });
    let start = from_rfc3339(columns.next()?)?;
    let mut number = || std::str::from_utf8(columns.next()?).ok()?.parse::<u64>().ok();
    let (input, output) = (number()?, number()?);
    columns.next().is_none().then_some(Row { start, input, output, blocks: Vec::new() })
}

/// The body of the request of a row, which has this number, from 1.
fn body(row: &Row, number: u64, asking: &Asking) -> Vec<u8> {
    let mut body = Vec::with_capacity(row.input as usize * 5 + 200);
    body.push(b'{');
    if let Some(model) = &asking.model {
        body.extend_from_slice(b"\"model\":");
        body.extend_from_slice(serde_json::Value::from(&model[..]).to_string().as_bytes());
        body.push(b',');
    }
    let (start, end): (&[u8], &[u8]) = match asking.is_chat() {
        true => (b"\"messages\":[{\"role\":\"user\",\"content\":\"", b"\"}]"),
        false => (b"\"prompt\":\"", b"\""),
    };
    body.extend_from_slice(start);
    write_words(row, number, &mut body);
    body.extend_from_slice(end);
    let bound = row.output.max(1);
    let end = format!(
        ",\"max_tokens\":{bound},\"ignore_eos\":true,\"stream\":true,\"stream_options\":{{\"include_usage\":true}}}}"
    );
    body.extend_from_slice(end.as_bytes());
    body
}

/// Writes the words of a prompt, block by block: those of an id are always the same, others only in this row.
fn write_words(row: &Row, number: u64, out: &mut Vec<u8>) {
    let mut left = row.input as usize;
    let mut index = 0_u64;
    while left > 0 {
        let mut state = match row.blocks.get(index as usize) {
            Some(&id) => mix(id),
            None => mix(mix(number) ^ index.wrapping_add(1)),
        };
        let count = left.min(BLOCK);
        let mut draw = 0;
        for place in 0..count {
            // A draw is good for nine words of seven bits; eight are taken.
            if place % 8 == 0 {
                state = state.wrapping_add(GAMMA);
                draw = mix(state);
            }
            if index > 0 || place > 0 {
                out.push(b' ');
            }
            let word = WORDS.get((draw & 127) as usize).unwrap_or(&WORDS[0]);
            out.extend_from_slice(word.as_bytes());
            draw >>= 7;
        }
        left -= count;
        index += 1;
    }
}

/// The odd number nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// D. Stafford's thirteenth mixer of 64 bits, by which SplitMix64 draws.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(GAMMA);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn read(text: &str, model: Option<&str>) -> Result<(Vec<(i64, serde_json::Value)>, Report), Error> {
        let kind = Kind::told(text.trim_ascii_start().lines().next().unwrap_or_default().as_bytes()).unwrap();
        let asking = Asking { model: model.map(str::to_owned), ..Asking::default() };
        let mut requests = Requests::new(text.as_bytes(), kind, asking);
        let mut read = Vec::new();
        while let Some((at, request)) = requests.read()? {
            assert_eq!(request.client, read.len() as u64);
            read.push((at, serde_json::from_slice(&request.body.unwrap().0).unwrap()));
        }
        Ok((read, requests.report()))
    }

    fn words(body: &serde_json::Value) -> Vec<&str> {
        body["messages"][0]["content"].as_str().unwrap().split(' ').collect()
    }

    /// Starts, tokens asked, tokens answered.
    #[track_caller]
    fn check(text: &str, expected: &[(i64, usize, u64)]) {
        let (read, _) = read(text, None).unwrap();
        let found: Vec<(i64, usize, u64)> = read
            .iter()
            .map(|(at, body)| (*at, words(body).len(), body["max_tokens"].as_u64().unwrap()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_different_and_short() {
        let different: BTreeSet<&str> = WORDS.into_iter().collect();
        assert_eq!(different.len(), WORDS.len());
        assert!(
            WORDS.iter().all(|word| word.len() <= 8 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
        );
    }

    #[test]
    fn rows_of_mooncake_are_in_milliseconds() {
        check(
            "\n{\"timestamp\": 0, \"input_length\": 6, \"output_length\": 5, \"hash_ids\": [1]}\n\
             {\"timestamp\": 2500.5, \"input_length\": 1, \"output_length\": 0}\r\n\
             {\"timestamp\": 1000, \"input_length\": 1025, \"output_length\": 9, \"hash_ids\": [1, 2, 3]}",
            &[(0, 6, 5), (1_000_000_000, 1025, 9), (2_500_500_000, 1, 1)],
        );
    }

    #[test]
    fn rows_of_azure_have_a_date() {
        check(
            "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n\
             2024-05-10 00:00:00.009930+00:00,\"12\",1\n",
            &[(1_700_158_546_680_590_000, 374, 44), (1_715_299_200_009_930_000, 12, 1)],
        );
    }

    #[test]
    fn a_body_asks_for_all_tokens_and_a_stream() {
        let text = r#"{"timestamp": 0, "input_length": 2, "output_length": 5, "hash_ids": [7]}"#;
        let body = |model| read(text, model).unwrap().0.remove(0).1;
        let named = body(Some("a\"b"));
        assert_eq!((&named["model"], &named["ignore_eos"]), (&"a\"b".into(), &true.into()));
        assert_eq!(named["stream_options"]["include_usage"], true);
        assert!(body(None).get("model").is_none());
    }

    #[test]
    fn completions_take_the_words_as_their_prompt() {
        let row = Row { start: 0, input: 3, output: 5, blocks: Vec::new() };
        for (uri, key) in
            [("/v1/completions?a", "prompt"), ("/x/chat/completions", "messages"), ("/", "messages")]
        {
            let asking = Asking { uri: uri.to_owned(), model: None };
            let body: serde_json::Value = serde_json::from_slice(&body(&row, 1, &asking)).unwrap();
            assert!(body.get(key).is_some(), "{uri}: {body}");
        }
    }

    #[test]
    fn rows_that_share_leading_ids_share_leading_words() {
        let row = |ids: &str, length: usize| {
            format!(r#"{{"timestamp": 0, "input_length": {length}, "output_length": 1, "hash_ids": {ids}}}"#)
        };
        let text =
            [row("[1, 2]", 1000), row("[1, 3]", 1024), row("[1, 2]", 700), row("[]", 600), row("[]", 600)];
        let (read, _) = read(&text.join("\n"), None).unwrap();
        let [first, second, third, fourth, fifth] = [0, 1, 2, 3, 4].map(|index: usize| words(&read[index].1));
        assert_eq!(first[..512], second[..512]);
        assert_ne!(first[512..532], second[512..532]);
        assert_eq!(first[..700], third[..]);
        assert_ne!(fourth[..20], fifth[..20]);
        assert_ne!(fourth[..20], first[..20]);
        let different: BTreeSet<&str> = first.iter().copied().collect();
        assert!(different.len() > 100, "{different:?}");
    }

    #[test]
    fn the_same_file_gives_the_same_words() {
        let text = r#"{"timestamp": 0, "input_length": 12, "output_length": 5, "hash_ids": [7]}"#;
        let (first, _) = read(text, None).unwrap();
        assert_eq!(
            words(&first[0].1).join(" "),
            "year his only which after some these has they their be after"
        );
    }

    #[test]
    fn what_is_no_row_is_left_out_and_counted() {
        let (read, report) = read(
            "TIMESTAMP,ContextTokens,GeneratedTokens\nx,1,1\n2023-11-16 18:15:46,0,1\n2023-11-16 18:15:46,1\n\
             2023-11-16 18:15:46,1,1,1\n2023-11-16 18:15:46,1,1048577\n2023-11-16 18:15:46,1,0\n",
            None,
        )
        .unwrap();
        assert_eq!((read.len(), report.carried), (1, 1));
        let left_out: Vec<(&str, u64)> =
            report.left_out.iter().map(|group| (&group.reason[..], group.count)).collect();
        assert_eq!(
            left_out,
            [
                ("rows that are not of the trace's form", 3),
                ("requests without a token", 1),
                ("requests of more than 1048576 tokens", 1)
            ]
        );
    }

    #[test]
    fn a_trace_without_requests_is_refused() {
        let error = read("TIMESTAMP,ContextTokens,GeneratedTokens\nx\n", None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected a trace of a language model with requests, got none; 1 rows that are not of the trace's form"
        );
    }

    #[test]
    fn other_lines_are_of_no_such_trace() {
        for line in ["", "{}", "{\"timestamp\": 1}", "timestamp,input", "{\"httperf-trace\":1}"] {
            assert_eq!(Kind::told(line.as_bytes()), None, "{line}");
        }
    }
}
