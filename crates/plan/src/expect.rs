//! The reply encodings to ask for and the checks on replies.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Streams;

/// The reply encodings to ask for, the checks on replies, and those that are read as streams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replies {
    /// Accepts compressed replies (`Accept-Encoding`) and decompresses their bodies to count and check them.
    pub compressed: bool,
    /// The checks on each reply.
    pub expect: Expect,
    /// The replies that are read as streams. Event streams by default.
    #[serde(default)]
    pub streams: Streams,
}

impl Replies {
    /// Returns true if bodies must be read, to be decompressed or checked.
    #[must_use]
    pub fn reads_bodies(&self) -> bool {
        self.compressed || self.expect.size.is_some() || self.expect.sha256.is_some()
    }
}

/// The properties of a correct reply. `None` skips a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expect {
    /// The statuses allowed.
    pub statuses: Option<Statuses>,
    /// The size of the decompressed body in bytes.
    pub size: Option<SizeRange>,
    /// The SHA-256 of the decompressed body.
    pub sha256: Option<Sha256>,
}

/// An option value that does not match its syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the text does not match the expected form")]
pub struct Malformed;

/// A set of statuses from 100 to 599, written as `200,204,3xx,500-503`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Statuses {
    /// The first and the last status of each range; never empty.
    ranges: Vec<(u16, u16)>,
}

impl Statuses {
    /// Returns true if the set contains this status.
    #[must_use]
    pub fn contains(&self, status: u16) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).contains(&status))
    }
}

impl FromStr for Statuses {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let range = |entry: &str| {
            if let Some(class) = entry.strip_suffix("xx") {
                let class = status(&format!("{class}00"))?;
                return Some((class, class + 99));
            }
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            let (first, last) = (status(first)?, status(last)?);
            (first <= last).then_some((first, last))
        };
        let ranges: Option<Vec<(u16, u16)>> = text.split(',').map(range).collect();
        ranges.map(|ranges| Self { ranges }).ok_or(Malformed)
    }
}

/// Parses three digits from 100 to 599.
fn status(text: &str) -> Option<u16> {
    let is_number = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|status| is_number && (100..=599).contains(status))
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &(first, last)) in self.ranges.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match last - first {
                0 => write!(f, "{first}")?,
                99 if first % 100 == 0 => write!(f, "{}xx", first / 100)?,
                _ => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// A size or an inclusive range of sizes in bytes, written as `N` or `N-M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct SizeRange {
    min: u64,
    /// Not below `min`.
    max: u64,
}

impl SizeRange {
    /// Returns true if the range contains this size.
    #[must_use]
    pub fn contains(self, size: u64) -> bool {
        (self.min..=self.max).contains(&size)
    }
}

impl FromStr for SizeRange {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let number = |digits: &str| {
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| digits.parse().ok()).flatten().ok_or(Malformed)
        };
        let (min, max) = text.split_once('-').unwrap_or((text, text));
        let range = Self { min: number(min)?, max: number(max)? };
        if range.min <= range.max { Ok(range) } else { Err(Malformed) }
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, max } = self;
        if min == max { write!(f, "{min}") } else { write!(f, "{min}-{max}") }
    }
}

/// A SHA-256 digest, written as 64 hexadecimal digits with an optional `sha256:` before them.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Sha256(pub [u8; 32]);

impl FromStr for Sha256 {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text).as_bytes();
        let mut digest = [0; 32];
        if digits.len() != 2 * digest.len() {
            return Err(Malformed);
        }
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(Malformed);
            *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{self}")
    }
}

/// Implements serde and the schema by way of the typed form.
macro_rules! saved_as_text {
    ($($type:ty),+) => {$(
        impl TryFrom<String> for $type {
            type Error = Malformed;

            fn try_from(text: String) -> Result<Self, Malformed> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    )+};
}

saved_as_text!(Statuses, SizeRange, Sha256);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statuses_are_numbers_classes_and_ranges() {
        let statuses: Statuses = "200,204,3xx,500-503".parse().unwrap();
        for (status, expected) in
            [(200, true), (201, false), (204, true), (300, true), (399, true), (400, false), (503, true)]
        {
            assert_eq!(statuses.contains(status), expected, "{status}");
        }
        assert_eq!(statuses.to_string(), "200,204,3xx,500-503");
        assert_eq!("200-299".parse::<Statuses>().unwrap().to_string(), "2xx");
    }

    #[test]
    fn what_is_no_status_is_refused() {
        for text in
            ["", "6xx", "0xx", "xx", "20", "99", "600", "200,", "204-200", "2x", "2XX", "+20", "200 ,204"]
        {
            assert_eq!(text.parse::<Statuses>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn a_size_is_a_number_or_a_range() {
        let range: SizeRange = "10-20".parse().unwrap();
        assert_eq!([9, 10, 20, 21].map(|size| range.contains(size)), [false, true, true, false]);
        assert!("0".parse::<SizeRange>().unwrap().contains(0));
        for text in ["", "-", "1-", "-1", "20-10", "1k", "+1", "18446744073709551616"] {
            assert_eq!(text.parse::<SizeRange>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn a_digest_has_64_digits() {
        let digits = "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest: Sha256 = digits.parse().unwrap();
        assert_eq!(digest.to_string(), digits.to_lowercase());
        assert_eq!(format!("sha256:{digits}").parse(), Ok(digest));
        for text in ["", "sha256:", &digits[1..], &format!("{digits}0"), &digits.replace('B', "G"), "md5:00"]
        {
            assert_eq!(text.parse::<Sha256>(), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn expectations_are_the_same_after_they_were_saved() {
        let expect = Expect {
            statuses: Some("2xx,304".parse().unwrap()),
            size: Some("5".parse().unwrap()),
            sha256: Some(Sha256([7; 32])),
        };
        let json = serde_json::to_string(&expect).unwrap();
        assert_eq!(serde_json::from_str::<Expect>(&json).unwrap(), expect, "{json}");
    }

    proptest! {
        #[test]
        fn ranges_come_back_as_they_were_typed(first in 100..600_u16, more in 0..100_u16, min: u64, more_bytes: u32) {
            let last = (first + more).min(599);
            let statuses: Statuses = format!("{first}-{last}").parse().unwrap();
            prop_assert_eq!(statuses.to_string().parse(), Ok(statuses));
            let size: SizeRange = format!("{min}-{}", min.saturating_add(more_bytes.into())).parse().unwrap();
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
    }
}
