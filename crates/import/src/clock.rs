//! Instants as logs and recordings write them: nanoseconds since the epoch, from text and back.

/// Nanoseconds of a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// A date and a time of day, as they are read piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// The month, from 1.
    pub(crate) month: i64,
    /// The day of the month, from 1.
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) nanos: i64,
    /// The seconds by which the clock is ahead of UTC.
    pub(crate) ahead: i64,
}

impl Default for Civil {
    fn default() -> Self {
        Self { year: 1970, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanos: 0, ahead: 0 }
    }
}

impl Civil {
    /// The instant, in nanoseconds since the epoch; `None` if there is no such day or time.
    pub(crate) fn since_epoch(&self) -> Option<i64> {
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let days = match self.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        let fits = (1..=days).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            // The 60th is a leap second.
            && (0..=60).contains(&self.second);
        if !fits {
            return None;
        }
        let of_day = self.hour * 3600 + self.minute * 60 + self.second;
        let seconds = days_from_epoch(self.year, self.month, self.day) * 86_400 + of_day - self.ahead;
        i64::try_from(i128::from(seconds) * i128::from(SECOND) + i128::from(self.nanos)).ok()
    }
}

/// The days from the epoch to a day. The year is taken to begin in March, so that the day of a leap year is its last.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year - 719_468
}

/// Writes an instant as RFC 3339 has it, in UTC, with as many digits as it needs.
#[must_use]
pub fn to_rfc3339(nanos: i64) -> String {
    let (seconds, fraction) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // A year that is not too late, from which on a few steps lead to the right one.
    let mut year = 1970 + days.div_euclid(366).min(days.div_euclid(365));
    while days_from_epoch(year + 1, 1, 1) <= days {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days_from_epoch(year, month + 1, 1) <= days {
        month += 1;
    }
    let day = days - days_from_epoch(year, month, 1) + 1;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let digits = format!("{fraction:09}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{point}{digits}Z")
}

/// Reads an instant as RFC 3339 and ISO 8601 write it: `2000-10-10T13:55:36.5-07:00`. Without a zone it is in UTC.
pub(crate) fn from_rfc3339(text: &[u8]) -> Option<i64> {
    let mut scan = Scan(text);
    let mut civil = Civil { year: scan.digits(4)?, ..Civil::default() };
    scan.byte(b'-')?;
    civil.month = scan.digits(2)?;
    scan.byte(b'-')?;
    civil.day = scan.digits(2)?;
    scan.any_of(b"T t")?;
    scan.time(&mut civil)?;
    if scan.any_of(b".,").is_some() {
        civil.nanos = scan.fraction()?;
    }
    civil.ahead = if scan.0.is_empty() { 0 } else { scan.zone()? };
    if scan.0.is_empty() { civil.since_epoch() } else { None }
}

/// Reads an instant of the common log format: `10/Oct/2000:13:55:36 -0700`.
pub(crate) fn from_common(text: &[u8]) -> Option<i64> {
    let mut scan = Scan(text);
    let mut civil = scan.common()?;
    scan.byte(b' ')?;
    civil.ahead = scan.zone()?;
    if scan.0.is_empty() { civil.since_epoch() } else { None }
}

/// Reads an instant as HAProxy writes it: `06/Feb/2009:12:14:14.655`, in the zone of the server, which is taken for UTC.
pub(crate) fn from_haproxy(text: &[u8]) -> Option<i64> {
    let mut scan = Scan(text);
    let mut civil = scan.common()?;
    scan.byte(b'.')?;
    civil.nanos = scan.fraction()?;
    if scan.0.is_empty() { civil.since_epoch() } else { None }
}

/// Reads seconds with up to nine digits behind the point, as nanoseconds: `1700000000.123`.
pub(crate) fn from_seconds(text: &[u8]) -> Option<i64> {
    let mut scan = Scan(text);
    let whole = scan.number()?;
    let nanos = if scan.byte(b'.').is_some() { scan.fraction()? } else { 0 };
    if !scan.0.is_empty() {
        return None;
    }
    whole.checked_mul(SECOND)?.checked_add(nanos)
}

/// Text that is read from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scan<'a>(pub(crate) &'a [u8]);

impl Scan<'_> {
    /// Takes a date and a time as the common log format has them, up to the second.
    fn common(&mut self) -> Option<Civil> {
        let mut civil = Civil { day: self.digits(2)?, ..Civil::default() };
        self.byte(b'/')?;
        civil.month = self.month()?;
        self.byte(b'/')?;
        civil.year = self.digits(4)?;
        self.byte(b':')?;
        self.time(&mut civil)?;
        Some(civil)
    }

    /// Takes this byte.
    pub(crate) fn byte(&mut self, expected: u8) -> Option<()> {
        self.any_of(&[expected])
    }

    /// Takes a byte that is one of these.
    fn any_of(&mut self, expected: &[u8]) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        expected.contains(first).then(|| self.0 = rest)
    }

    /// Takes a number with exactly this many digits.
    pub(crate) fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let mut value = 0i64;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        }
        self.0 = rest;
        Some(value)
    }

    /// Takes a number of one digit or more.
    pub(crate) fn number(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 { None } else { self.digits(count) }
    }

    /// Takes the digits of a fraction, as nanoseconds. Those beyond the ninth are dropped.
    pub(crate) fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let mut nanos = self.digits(count.min(9))?;
        for _ in count..9 {
            nanos *= 10;
        }
        self.0 = self.0.get(count.saturating_sub(9)..)?;
        Some(nanos)
    }

    /// Takes `13:55:36`.
    pub(crate) fn time(&mut self, civil: &mut Civil) -> Option<()> {
        civil.hour = self.digits(2)?;
        self.byte(b':')?;
        civil.minute = self.digits(2)?;
        self.byte(b':')?;
        civil.second = self.digits(2)?;
        Some(())
    }

    /// Takes the first letters of a month's English name, as its number.
    pub(crate) fn month(&mut self) -> Option<i64> {
        const NAMES: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
        let (name, rest) = self.0.split_at_checked(3)?;
        let at = NAMES.chunks(3).position(|month| month == name)?;
        self.0 = rest;
        i64::try_from(at).ok().map(|at| at + 1)
    }

    /// Takes a zone, `Z`, `-0700` or `-07:00`, as seconds ahead of UTC.
    pub(crate) fn zone(&mut self) -> Option<i64> {
        let (&sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match sign {
            b'Z' | b'z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.digits(2)?;
        let _ = self.byte(b':');
        let minutes = self.digits(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn instants_are_read_in_each_form() {
        const OCTOBER: i64 = 971_211_336 * SECOND;
        for (read, text, expected) in [
            (from_common as fn(&[u8]) -> Option<i64>, "10/Oct/2000:13:55:36 -0700", Some(OCTOBER)),
            (from_common, "10/Oct/2000:20:55:36 +0000", Some(OCTOBER)),
            (from_common, "31/Feb/2000:13:55:36 -0700", None),
            (from_common, "10/Okt/2000:13:55:36 -0700", None),
            (from_common, "10/Oct/2000:13:55:36", None),
            (from_common, "-", None),
            (from_rfc3339, "2000-10-10T13:55:36-07:00", Some(OCTOBER)),
            (from_rfc3339, "2000-10-10 20:55:36.25Z", Some(OCTOBER + SECOND / 4)),
            (from_rfc3339, "2000-10-10T20:55:36.1234567899Z", Some(OCTOBER + 123_456_789)),
            (from_rfc3339, "2000-10-10T20:55:36", Some(OCTOBER)),
            (from_rfc3339, "2000-10-10T24:55:36Z", None),
            (from_rfc3339, "2000-02-29T00:00:00Z", Some(951_782_400 * SECOND)),
            (from_rfc3339, "1900-02-29T00:00:00Z", None),
            (from_rfc3339, "9999-01-01T00:00:00Z", None),
            (from_rfc3339, "1969-12-31T23:59:59Z", Some(-SECOND)),
            (from_seconds, "1700000000.123", Some(1_700_000_000_123_000_000)),
            (from_seconds, "5", Some(5 * SECOND)),
            (from_seconds, "99999999999999", None),
            (from_seconds, "1.", None),
            (from_seconds, "-1.5", None),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in any::<i64>()) {
            let text = to_rfc3339(nanos);
            prop_assert_eq!(from_rfc3339(text.as_bytes()), Some(nanos), "{}", text);
        }
    }
}
