//! Options of the command line that a workload file sets, and those of the file alone: `[options]`.

use std::path::Path;
use std::sync::Arc;

use toml::de::DeValue;

use super::document::{self, At, View};
use super::problem::{FileProblem, Problems, Source};
use super::{OptionsFile, Reader, TEXT_SIZE_MAX, check, keys};
use crate::HttpVersion;
use crate::scenario::Reach;

/// An option of the command line that a workload file sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOption {
    /// The long name, without dashes.
    pub name: String,
    /// The values, one for each time that the option is given. A flag that is on has the value `true`.
    pub values: Vec<String>,
    /// The file and the place for messages about it.
    place: FileProblem,
}

impl FileOption {
    /// Returns a problem with this option.
    #[must_use]
    pub fn problem(&self, message: &str, hint: Option<&str>) -> FileProblem {
        self.place.clone().saying(message, hint)
    }
}

/// The key of `[options]` that turns cookies on.
const COOKIES: &str = "cookies";

/// The key of `[options]` with the lifetime of connections.
const CONNECTIONS: &str = "connections";

/// Reads a file that has no scenarios but options of the command line. Returns `None` for any other file, also for one
/// that is malformed: that is for [`read`](super::read).
///
/// # Errors
/// All that is wrong in it.
pub fn read_options(name: &Path, text: &str) -> Result<Option<OptionsFile>, Vec<FileProblem>> {
    if text.len() > TEXT_SIZE_MAX {
        return Ok(None);
    }
    let source = Arc::new(Source::new(name.display().to_string(), text));
    let mut problems = Problems::default();
    let Some(document) = document::parse(&source, &mut problems) else { return Ok(None) };
    let view = View::new(&source, &keys::OPTIONS_FILE, document.get_ref(), 0..0);
    let is_known = |key: &str| view.table.key(key).is_some();
    if !view.has("options") || !view.entries.keys().all(|key| is_known(key.get_ref())) {
        return Ok(None);
    }
    check::check(&view, &mut problems);
    let file = OptionsFile {
        base: view.text("base").map(|base| base.value.to_owned()),
        options: view.map("options").into_iter().map(|option| file_option(&view, &option)).collect(),
    };
    if problems.is_empty() { Ok(Some(file)) } else { Err(problems.into_list()) }
}

/// Returns an option with all its values.
fn file_option(view: &View<'_>, (name, value): &(At<&str>, &toml::Spanned<DeValue<'_>>)) -> FileOption {
    FileOption {
        name: name.value.to_owned(),
        values: match value.get_ref() {
            DeValue::Array(list) => {
                list.iter().filter_map(|value| document::scalar_text(value.get_ref())).collect()
            }
            scalar => document::scalar_text(scalar).into_iter().collect(),
        },
        place: view.problem(name.at.start..value.span().end, ""),
    }
}

impl Reader<'_> {
    /// Returns the version of HTTP that the run speaks.
    pub(super) fn version(&self, view: &View<'_>) -> HttpVersion {
        let options = view.map("options");
        let option = options.iter().find(|(name, _)| name.value == "http-version");
        let version = option.and_then(|(_, value)| document::scalar_text(value.get_ref()));
        self.given.version.unwrap_or(match version.as_deref() {
            Some("1.0") => HttpVersion::Http10,
            Some("2" | "2.0") => HttpVersion::Http2,
            Some("3" | "3.0") => HttpVersion::Http3,
            Some("auto") => HttpVersion::Auto,
            _ => HttpVersion::Http11,
        })
    }

    /// Returns the options that are those of the command line.
    pub(super) fn options(&self, view: &View<'_>) -> Vec<FileOption> {
        let options =
            view.map("options").into_iter().filter(|(name, _)| ![COOKIES, CONNECTIONS].contains(&name.value));
        options.map(|option| file_option(view, &option)).collect()
    }

    /// Returns the options that only the file has.
    pub(super) fn reserved_options(&mut self, view: &View<'_>) -> (bool, Reach) {
        let (mut cookies, mut connections) = (true, Reach::default());
        for (name, value) in view.map("options") {
            let expected = match (name.value, value.get_ref()) {
                (COOKIES, DeValue::Boolean(truth)) => {
                    cookies = *truth;
                    continue;
                }
                (CONNECTIONS, DeValue::String(reach)) if reach == "visit" => continue,
                (CONNECTIONS, DeValue::String(reach)) if reach == "step" => {
                    connections = Reach::Call;
                    continue;
                }
                (COOKIES, _) => "true or false",
                (CONNECTIONS, _) => "visit or step",
                _ => continue,
            };
            let got = view.source.text.get(value.span()).unwrap_or_default();
            let message = format!("expected {expected}, got `{}`", check::shortened(got.trim_matches('"')));
            self.problems.push(view.problem(value.span(), message));
        }
        (cookies, connections)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Option<&str>, &str>) {
        let read = read_options(Path::new("a.toml"), text);
        let shown = |file: OptionsFile| {
            let options = file.options.iter().map(|option| format!("{}={:?}", option.name, option.values));
            format!("{} {}", file.base.unwrap_or_default(), options.collect::<Vec<_>>().join(" "))
        };
        let problems = |problems: Vec<FileProblem>| problems[0].to_string();
        let read = read.map(|file| file.map(shown)).map_err(problems);
        assert_eq!(read, expected.map(|file| file.map(str::to_owned)).map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_file_with_options_alone_is_a_run_of_them() {
        check(
            "base = 'http://a/b'\n[options]\nrate = 5\nadd-header = ['a', 'b']\nhog = true",
            Ok(Some("http://a/b rate=[\"5\"] add-header=[\"a\", \"b\"] hog=[\"true\"]")),
        );
        check("[options]\n", Ok(Some(" ")));
    }

    #[test]
    fn any_other_file_is_for_the_reader_of_scenarios() {
        for text in [
            "",
            "base = 'http://a/'",
            "[options]\nx = 1\n[[scenario]]\nname = 'a'",
            "seed = 1\n[options]",
            "[",
        ] {
            check(text, Ok(None));
        }
    }

    #[test]
    fn values_that_no_option_can_have_are_refused() {
        check(
            "[options]\nrate = { a = 1 }",
            Err("a.toml:2:8: expected a text, a number, true, false, or a list of those, got a table\n  \
                 rate = { a = 1 }\n         ^^^^^^^^^"),
        );
    }
}
