//! `--title` and `--label`: names that a user gives pages and pictures. Their words are the same in every command.

use httperf_report::headings::Names;

use super::grammar::{ParseStop, Value};

/// Help of `--title`.
pub const TITLE_HELP: &str = "titles the page and the pictures";

/// More about `--title`.
pub const TITLE_DETAILS: &[&str] = &[
    "In place of what was measured, such as the URL, which is then named below. What a page says of the server stays its \
     heading.",
];

/// Help of `--label`.
pub const LABEL_HELP: &str = "names the run on the page and the pictures, as in \"before\"";

/// More about `--label`.
pub const LABEL_DETAILS: &[&str] =
    &["It stands before the date. `httperf plot` names the lines of several results."];

/// Takes the value of `--title`.
///
/// # Errors
/// It is empty.
pub fn title(names: &mut Names, value: Value<'_>) -> Result<(), ParseStop> {
    names.title = Some(text(value)?);
    Ok(())
}

/// Takes the value of `--label`.
///
/// # Errors
/// It is empty.
pub fn label(names: &mut Names, value: Value<'_>) -> Result<(), ParseStop> {
    names.label = Some(text(value)?);
    Ok(())
}

/// Takes a text.
///
/// # Errors
/// It is empty.
pub fn text(value: Value<'_>) -> Result<String, ParseStop> {
    match String::from_utf8_lossy(value.bytes()).trim() {
        "" => Err(value.expected("some text")),
        text => Ok(text.to_owned()),
    }
}
