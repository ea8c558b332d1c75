//! Whole files of text.

use std::io::Read;

use crate::error::{Error, Flaw};

/// The length of a file that is read as a whole: 64 MiB.
const LENGTH_MAX: u64 = 64 * 1024 * 1024;

/// Reads all of a stream as text, without the mark that some editors put before it.
pub(crate) fn read_text(reader: impl Read) -> Result<String, Error> {
    let mut bytes = Vec::new();
    reader.take(LENGTH_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LENGTH_MAX) {
        return Err(
            Flaw::whole(format!("expected a file of at most {LENGTH_MAX} bytes, got a longer one")).into()
        );
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..valid).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', before).count();
            let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let line = u64::try_from(line).unwrap_or(u64::MAX).saturating_add(1);
            Err(Flaw::at(line, "expected text in UTF-8").column(valid - start + 1).into())
        }
    }
}
