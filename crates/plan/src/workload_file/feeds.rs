//! Feeds: rows of values from CSV files and from files with a JSON object in each line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use compact_str::{CompactString, ToCompactString};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::document::View;
use super::library::{Contents, Library};
use super::names::Names;
use super::problem::{FileProblem, Problems, Source};
use crate::scenario::{AtEnd, Feed, FeedOrder, FeedRows, Value};

/// The greatest number of values in all rows of a feed.
const VALUES_MAX: usize = 100_000_000;

/// The greatest number of columns.
const COLUMNS_MAX: usize = 1000;

/// The greatest number of problems told of one file.
const PROBLEMS_OF_FILE: usize = 10;

/// A feed that was read, before its columns have slots.
pub(super) struct ReadFeed {
    pub(super) name: String,
    pub(super) order: FeedOrder,
    at_end: AtEnd,
    contents: Contents,
    columns: Vec<String>,
    values: Vec<Option<Value>>,
}

impl ReadFeed {
    /// Notes that rows set the variables of the columns.
    pub(super) fn assign(&self, names: &mut Names) {
        for column in &self.columns {
            names.assign(column);
        }
    }

    /// Returns the feed with the slots of its columns.
    pub(super) fn into_feed(self, names: &mut Names) -> Feed {
        let slots: Vec<u32> = self.columns.iter().filter_map(|column| names.slot(column)).collect();
        Feed {
            name: self.name,
            path: self.contents.path,
            sha256: self.contents.sha256,
            order: self.order,
            at_end: self.at_end,
            rows: FeedRows::new(slots.len(), self.values),
            slots,
        }
    }
}

/// Reads the feed that a table describes; `None` after a problem with it.
pub(super) fn read(
    name: &str,
    view: &View<'_>,
    library: &mut Library<'_>,
    problems: &mut Problems,
) -> Option<ReadFeed> {
    let order = match view.text("order").map(|order| order.value) {
        Some("random") => FeedOrder::Random,
        Some("cycle") => FeedOrder::Cycle,
        _ => FeedOrder::Unique,
    };
    let at_end = match view.text("at-end").map(|at_end| at_end.value) {
        Some("cycle") => AtEnd::Cycle,
        _ => AtEnd::Stop,
    };
    if view.has("at-end") && order != FeedOrder::Unique {
        problems.push(view.problem(view.key_at("at-end"), "expected `at-end` only with the order unique"));
    }
    let file = view.text("file")?;
    let path = Path::new(file.value);
    let Some(format) = format_of(path) else {
        problems.push(view.problem(file.at, unknown_format(file.value)));
        return None;
    };
    let contents = match library.feed(path) {
        Ok(contents) => contents,
        Err(message) => {
            problems.push(view.problem(file.at, message));
            return None;
        }
    };
    let shown = contents.path.display().to_string();
    let mut rows = Rows::new(&shown);
    format(&contents.bytes, &mut rows);
    let is_empty = rows.problems.is_empty() && rows.values.is_empty();
    if is_empty {
        problems
            .push(view.problem(file.at, format!("expected at least one row in `{}`, got none", file.value)));
    }
    let is_whole = rows.problems.is_empty();
    for problem in rows.problems {
        problems.push(problem);
    }
    (is_whole && !is_empty).then(|| ReadFeed {
        name: name.to_owned(),
        order,
        at_end,
        contents,
        columns: rows.columns,
        values: rows.values,
    })
}

/// Reads the rows of a feed again, from the contents of its file.
///
/// # Errors
/// All that is wrong in them.
pub fn read_rows(feed: &Feed, bytes: &[u8]) -> Result<FeedRows, Vec<FileProblem>> {
    let shown = feed.path.display().to_string();
    let mut rows = Rows::new(&shown);
    match format_of(&feed.path) {
        Some(format) => format(bytes, &mut rows),
        None => {
            rows.problem(1, b"", unknown_format(&shown));
        }
    }
    if rows.problems.is_empty() && rows.columns.len() != feed.slots.len() {
        let message = format!("expected {} columns, got {}", feed.slots.len(), rows.columns.len());
        rows.problem(1, first_line(bytes), message);
    }
    match rows.problems.is_empty() {
        true => Ok(FeedRows::new(feed.slots.len(), rows.values)),
        false => Err(rows.problems),
    }
}

/// A reader of rows.
type Format = fn(&[u8], &mut Rows<'_>);

/// Returns the reader of files whose names end like this one.
fn format_of(path: &Path) -> Option<Format> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Some(csv_rows),
        Some("jsonl" | "ndjson") => Some(json_rows),
        _ => None,
    }
}

fn unknown_format(file: &str) -> String {
    format!("expected a file that ends in .csv or .jsonl, got `{file}`")
}

/// Returns true if the run ends with the rows, given that visits take them.
pub(super) fn ends_run(feed: &Feed) -> bool {
    (feed.order, feed.at_end) == (FeedOrder::Unique, AtEnd::Stop)
}

/// The rows read so far.
struct Rows<'a> {
    file: &'a str,
    columns: Vec<String>,
    values: Vec<Option<Value>>,
    problems: Vec<FileProblem>,
}

impl<'a> Rows<'a> {
    fn new(file: &'a str) -> Self {
        Self { file, columns: Vec::new(), values: Vec::new(), problems: Vec::new() }
    }

    /// Adds a problem of a line; returns false after the last that is told.
    fn problem(&mut self, line: u64, bytes: &[u8], message: String) -> bool {
        let source = Source::of_line(self.file, line, bytes);
        let end = source.text.len();
        self.problems.push(FileProblem::new(&Arc::new(source), 0..end, message));
        self.problems.len() < PROBLEMS_OF_FILE
    }

    /// Checks the names of the columns, which are on this line.
    fn check_columns(&mut self, line: u64, bytes: &[u8]) {
        if self.columns.len() > COLUMNS_MAX {
            let message = format!("expected at most {COLUMNS_MAX} columns, got {}", self.columns.len());
            self.problem(line, bytes, message);
            return;
        }
        for index in 0..self.columns.len() {
            let (before, rest) = self.columns.split_at(index);
            let Some(name) = rest.first() else { return };
            let message = match name {
                name if name.is_empty() => "expected a name for each column, got an empty one".to_owned(),
                name if before.contains(name) => format!("expected each name once, got `{name}` again"),
                _ => continue,
            };
            self.problem(line, bytes, message);
        }
    }

    /// Returns true if there is room for another row, and adds a problem if there is none.
    fn has_room(&mut self, line: u64) -> bool {
        if self.values.len() + self.columns.len() <= VALUES_MAX {
            return true;
        }
        self.problem(line, b"", format!("expected at most {VALUES_MAX} values in a feed, got more"));
        false
    }
}

/// The file without the mark that Windows' editors put before it.
fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

fn csv_rows(bytes: &[u8], rows: &mut Rows<'_>) {
    let bytes = unmarked(bytes);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = csv::ByteRecord::new();
    let mut is_first = true;
    loop {
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return,
            // Reading memory does not fail, and records may have any length.
            Err(error) => {
                rows.problem(reader.position().line(), b"", error.to_string());
                return;
            }
        }
        let position = record.position();
        let line = position.map_or(1, csv::Position::line);
        let start = position.map_or(0, |position| usize::try_from(position.byte()).unwrap_or(usize::MAX));
        let written = first_line(bytes.get(start..).unwrap_or_default());
        let Ok(fields) = record.iter().map(std::str::from_utf8).collect::<Result<Vec<&str>, _>>() else {
            if !rows.problem(line, written, "expected text in UTF-8".to_owned()) {
                return;
            }
            continue;
        };
        if is_first {
            rows.columns = fields.iter().map(|&name| name.trim().to_owned()).collect();
            rows.check_columns(line, written);
            is_first = false;
        } else if fields.len() != rows.columns.len() {
            let message = format!("expected {} values, got {}", rows.columns.len(), fields.len());
            if !rows.problem(line, written, message) {
                return;
            }
        } else if rows.has_room(line) {
            rows.values.extend(fields.iter().map(|field| Some(typed(field))));
        } else {
            return;
        }
    }
}

/// Returns the first line of a text. The quotes of CSV may go on in the next.
fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == b'\n').next().unwrap_or_default()
}

/// Returns a value of the type that is written in exactly this way, otherwise text: `7` is a number, `007` is text.
pub(super) fn typed(text: &str) -> Value {
    match text {
        "true" => return Value::Boolean(true),
        "false" => return Value::Boolean(false),
        "null" => return Value::Null,
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        return Value::Integer(number);
    }
    // A number is written in the same way wherever it is shown: not 1.0, which some write as 1.
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number.to_string() == text && format!("{number:?}") == text => {
            Value::Float(number)
        }
        _ => Value::Text(CompactString::new(text)),
    }
}

fn json_rows(bytes: &[u8], rows: &mut Rows<'_>) {
    let mut places: BTreeMap<CompactString, usize> = BTreeMap::new();
    let mut objects: Vec<Vec<(usize, Value)>> = Vec::new();
    for (index, text) in unmarked(bytes).split(|&byte| byte == b'\n').enumerate() {
        let line = index as u64 + 1;
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let message = match serde_json::from_slice::<Json>(text) {
            Ok(Json(Value::Object(fields))) => {
                let place = |(name, value): (CompactString, Value)| {
                    let next = places.len();
                    (*places.entry(name).or_insert(next), value)
                };
                objects.push(fields.into_iter().map(place).collect());
                if objects.len().saturating_mul(places.len()) > VALUES_MAX || places.len() > COLUMNS_MAX {
                    let most =
                        format!("expected at most {VALUES_MAX} values and {COLUMNS_MAX} names in a feed");
                    rows.problem(line, b"", format!("{most}, got more"));
                    return;
                }
                continue;
            }
            Ok(_) => "expected an object such as {\"user\": \"anna\"}".to_owned(),
            Err(error) => json_message(&error),
        };
        if !rows.problem(line, text, message) {
            return;
        }
    }
    let mut columns: Vec<(usize, CompactString)> =
        places.into_iter().map(|(name, place)| (place, name)).collect();
    columns.sort_unstable();
    rows.columns = columns.into_iter().map(|(_, name)| name.into_string()).collect();
    if rows.columns.is_empty() {
        return;
    }
    rows.check_columns(1, b"");
    for object in objects {
        let start = rows.values.len();
        rows.values.resize(start + rows.columns.len(), None);
        for (place, value) in object {
            if let Some(cell) = rows.values.get_mut(start + place) {
                *cell = Some(value);
            }
        }
    }
}

/// Returns the message of an error in a line of JSON, without its place, which is shown in another form.
fn json_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    format!("expected a JSON object ({})", message.strip_suffix(&place).unwrap_or(&message))
}

/// A JSON value, with the members of objects in order.
struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Boolean(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number)
            .map_or_else(|_| Value::BigInteger(number.to_compact_string()), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(CompactString::new(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Json(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members: Vec<(CompactString, Value)> = Vec::new();
        while let Some((name, Json(value))) = map.next_entry::<String, Json>()? {
            members.push((name.into(), value));
        }
        let mut names = BTreeSet::new();
        if let Some((name, _)) = members.iter().find(|(name, _)| !names.insert(name)) {
            return Err(A::Error::custom(format_args!("each name once, got `{name}` again")));
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn a_value_has_a_type_if_it_is_written_as_that_type_writes_it() {
        for (written, expected) in [
            ("7", Value::Integer(7)),
            ("-7", Value::Integer(-7)),
            ("007", text("007")),
            ("+7", text("+7")),
            (" 7", text(" 7")),
            ("9223372036854775808", text("9223372036854775808")),
            ("1.5", Value::Float(1.5)),
            ("1.50", text("1.50")),
            ("1.0", text("1.0")),
            ("1e3", text("1e3")),
            ("inf", text("inf")),
            ("NaN", text("NaN")),
            ("true", Value::Boolean(true)),
            ("True", text("True")),
            ("null", Value::Null),
            ("", text("")),
        ] {
            assert_eq!(typed(written), expected, "{written}");
        }
    }

    fn rows_of(read: fn(&[u8], &mut Rows<'_>), file: &str) -> (Vec<String>, Vec<Option<Value>>, Vec<String>) {
        let mut rows = Rows::new("feed");
        read(file.as_bytes(), &mut rows);
        let problems = rows
            .problems
            .iter()
            .map(|problem| problem.to_string().lines().next().unwrap_or_default().to_owned());
        (rows.columns, rows.values, problems.collect())
    }

    #[test]
    fn the_first_record_of_a_csv_file_has_the_names() {
        let (columns, values, problems) = rows_of(csv_rows, "\u{feff}user, age\n\"a, b\",7\n\"c\nd\",\n");
        assert_eq!((&columns[..], &problems[..]), (&["user".to_owned(), "age".to_owned()][..], &[][..]));
        let expected = [text("a, b"), Value::Integer(7), text("c\nd"), text("")];
        assert_eq!(values, expected.map(Some));
    }

    #[test]
    fn a_csv_file_is_refused_by_line() {
        let problems = |file| rows_of(csv_rows, file).2;
        assert_eq!(
            problems("a,b\n1,2\n3\n4,5,6\n"),
            ["feed:3:1: expected 2 values, got 1", "feed:4:1: expected 2 values, got 3"]
        );
        assert_eq!(problems("a,a\n1,2\n"), ["feed:1:1: expected each name once, got `a` again"]);
        assert_eq!(problems("a,\n1,2\n"), ["feed:1:1: expected a name for each column, got an empty one"]);
    }

    #[test]
    fn each_line_of_a_jsonl_file_is_an_object() {
        let (columns, values, problems) =
            rows_of(json_rows, "\u{feff}{\"a\":1}\n\n{\"b\":[1.5,null],\"a\":\"x\"}\n{}\n");
        assert_eq!((&columns[..], &problems[..]), (&["a".to_owned(), "b".to_owned()][..], &[][..]));
        let list = Value::List(vec![Value::Float(1.5), Value::Null]);
        let expected = [Some(Value::Integer(1)), None, Some(text("x")), Some(list), None, None];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_jsonl_file_is_refused_by_line() {
        let problems = |file| rows_of(json_rows, file).2;
        assert_eq!(
            problems("{\"a\":1}\n[1]\n"),
            ["feed:2:1: expected an object such as {\"user\": \"anna\"}"]
        );
        assert_eq!(
            problems("{\"a\":1,\"a\":2}\n{\"a\"\n"),
            [
                "feed:1:1: expected a JSON object (each name once, got `a` again)",
                "feed:2:1: expected a JSON object (EOF while parsing an object)"
            ]
        );
    }
}
