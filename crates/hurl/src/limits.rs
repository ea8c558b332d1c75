//! Limits of what is parsed.

/// The greatest size of a file in bytes.
pub const FILE_SIZE_MAX: usize = 16 * 1024 * 1024;

/// The greatest number of entries of a file.
pub const ENTRIES_MAX: usize = 10_000;

/// The greatest depth of JSON values in JSON values, as in Hurl.
pub const JSON_DEPTH_MAX: usize = 128;

/// The greatest number of problems that are reported.
pub const PROBLEMS_MAX: usize = 100;

/// The greatest number of digits in `\u{…}`.
pub(crate) const UNICODE_DIGITS_MAX: usize = 8;
