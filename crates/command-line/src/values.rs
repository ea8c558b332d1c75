//! Parsers of values that several options share.

use std::ffi::OsString;
use std::num::NonZeroU32;

use crate::args::STDOUT;
use crate::grammar::{ParseStop, Value};

/// Reads a number of at most `max`.
pub fn bounded(value: Value<'_>, max: u32) -> Option<u32> {
    let number = u32::try_from(value.unsigned()?).ok()?;
    (number <= max).then_some(number)
}

/// Reads a number above 0.
pub fn positive(value: Value<'_>) -> Result<NonZeroU32, ParseStop> {
    positive_of("a number", value)
}

/// Reads a number above 0; `what` it is, such as `a number of bytes`. Of one that is too large, the message says what the
/// largest is.
pub(crate) fn positive_of(what: &str, value: Value<'_>) -> Result<NonZeroU32, ParseStop> {
    let is_large = || {
        let digits = value.bytes();
        digits.iter().all(u8::is_ascii_digit) && digits.iter().any(|&digit| digit != b'0')
    };
    let expected = || match is_large() {
        true => format!("{what} from 1 to {}", u32::MAX),
        false => format!("{what} above 0"),
    };
    nonzero(value).ok_or_else(|| value.expected(&expected()))
}

/// Reads a number above 0; `None` for anything else.
pub(crate) fn nonzero(value: Value<'_>) -> Option<NonZeroU32> {
    value.unsigned().and_then(|number| u32::try_from(number).ok()).and_then(NonZeroU32::new)
}

/// Longest time that an option takes, in seconds: some 31 years. Sums of several fit every counter.
pub const SECONDS_MAX: u32 = 1_000_000_000;

/// Reads a time in seconds, from 0 to [`SECONDS_MAX`].
pub fn seconds(value: Value<'_>) -> Result<f64, ParseStop> {
    let seconds = value.seconds().filter(|seconds| (0.0..=SECONDS_MAX.into()).contains(seconds));
    let expected =
        || value.expected(&format!("a number of seconds from 0 to {SECONDS_MAX}, or a time such as 500ms"));
    seconds.ok_or_else(expected)
}

/// The meaning of `-` for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdoutMeans {
    /// Standard output.
    Itself,
    /// Nothing: the report goes there.
    Nothing,
}

/// Reads the name of a file.
pub fn file(place: &mut Option<OsString>, value: Value<'_>, stdout: StdoutMeans) -> Result<(), ParseStop> {
    if value.bytes().is_empty() || value.os_str() == STDOUT && stdout == StdoutMeans::Nothing {
        return Err(value.expected("the name of a file"));
    }
    *place = Some(value.os_str().to_owned());
    Ok(())
}
