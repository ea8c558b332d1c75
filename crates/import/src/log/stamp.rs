//! The stamps of a log: which instant they are of, how exact they are, and the fields that make them up.

use std::time::Duration;

use crate::clock::{self, Civil, SECOND, Scan};

use super::pattern::{Field, Pattern, Piece};

/// The instant of a request that a log's stamps are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The start.
    Start,
    /// The end, and the duration tells the start.
    EndWithDuration,
    /// The end, and nothing tells the start.
    EndWithoutDuration,
}

/// The note about stamps that are [`Stamps::EndWithoutDuration`].
pub(crate) const NO_START: &str =
    "the stamps are of the end of a request, and no duration tells the start: slow requests start too late";

/// The note about stamps of whole seconds.
pub(crate) const SPREAD: &str = "recorded to 1 s; the requests of a second are spread evenly within it";

/// The resolution of a log's stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resolution {
    /// Less than a microsecond.
    Nanosecond,
    /// A microsecond.
    Microsecond,
    /// A millisecond.
    Millisecond,
    /// A second: requests are spread evenly within it.
    Second,
}

impl Resolution {
    /// The resolution as a duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        match self {
            Self::Nanosecond => Duration::from_nanos(1),
            Self::Microsecond => Duration::from_micros(1),
            Self::Millisecond => Duration::from_millis(1),
            Self::Second => Duration::from_secs(1),
        }
    }
}

/// A field of a format that has the time, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TimeField {
    /// `10/Oct/2000:13:55:36 -0700`.
    Common { ends: bool, bracketed: bool },
    /// `2000-10-10T13:55:36-07:00`.
    Iso { ends: bool },
    /// Time since the epoch.
    Epoch { ends: bool, unit: EpochUnit },
    /// A part of the time, by the conversions of `strftime`.
    Parts { ends: bool, parts: Vec<Part> },
    /// The fraction of the second, in digits.
    Fraction { ends: bool, resolution: Resolution },
}

/// The unit of a time since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochUnit {
    /// Seconds with milliseconds behind the point.
    SecondAndMilliseconds,
    Millisecond,
    Microsecond,
}

/// A conversion of `strftime`, or the text between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(u8),
    Year,
    ShortYear,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Zone,
    Epoch,
    /// Letters that say nothing that others do not, such as the day of the week.
    Letters,
}

/// The choice of the fields that tell the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    /// True if the stamps are of the end of a request.
    pub(super) ends: bool,
    pub(super) resolution: Resolution,
}

impl Clock {
    /// Chooses the most exact time of a format, and has the others ignored. `None` if there is none.
    pub(super) fn choose(pattern: &mut Pattern) -> Option<Self> {
        let times: Vec<&TimeField> = pattern.pieces.iter().filter_map(time).collect();
        let composed = times.iter().copied().filter(|time| time.is_part()).map(TimeField::ends).next();
        // A fraction makes the composed time more exact.
        let fraction = times.iter().filter_map(|time| match time {
            TimeField::Fraction { resolution, .. } => Some(*resolution),
            _ => None,
        });
        let fraction = fraction.min().unwrap_or(Resolution::Second);
        let parts = times.iter().any(|time| matches!(time, TimeField::Parts { .. }));
        let composed = composed.filter(|_| parts).map(|ends| (fraction, ends, true));
        let whole = times.iter().filter(|time| !time.is_part());
        let whole = whole.map(|time| (time.resolution(), time.ends(), false));
        // Of equally exact ones the start is the better.
        let (resolution, ends, is_composed) = whole.chain(composed).min()?;
        let mut taken = false;
        for piece in &mut pattern.pieces {
            let Piece::Field(field) = piece else { continue };
            let Field::Time(time) = &*field else { continue };
            let chosen = if is_composed {
                time.is_part()
            } else {
                !taken && !time.is_part() && (time.resolution(), time.ends()) == (resolution, ends)
            };
            taken |= chosen;
            if !chosen {
                *field = time
                    .length()
                    .map_or(Field::Ignored { is_list: false }, |length| Field::OtherTime { length });
            }
        }
        Some(Self { ends, resolution })
    }
}

fn time(piece: &Piece) -> Option<&TimeField> {
    match piece {
        Piece::Field(Field::Time(time)) => Some(time),
        _ => None,
    }
}

impl TimeField {
    fn ends(&self) -> bool {
        match self {
            Self::Common { ends, .. }
            | Self::Iso { ends }
            | Self::Epoch { ends, .. }
            | Self::Parts { ends, .. }
            | Self::Fraction { ends, .. } => *ends,
        }
    }

    /// True for a part of a time that several fields make up.
    fn is_part(&self) -> bool {
        matches!(self, Self::Parts { .. } | Self::Fraction { .. })
    }

    fn resolution(&self) -> Resolution {
        match self {
            Self::Common { .. } | Self::Iso { .. } | Self::Parts { .. } => Resolution::Second,
            Self::Epoch { unit, .. } => match unit {
                EpochUnit::SecondAndMilliseconds | EpochUnit::Millisecond => Resolution::Millisecond,
                EpochUnit::Microsecond => Resolution::Microsecond,
            },
            Self::Fraction { resolution, .. } => *resolution,
        }
    }

    /// Reads the text of the field into a time. Returns false if it is not of this kind.
    pub(super) fn read(&self, text: &[u8], time: &mut Time) -> bool {
        let whole = match self {
            Self::Common { bracketed, .. } => {
                let inner = if *bracketed {
                    text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"))
                } else {
                    Some(text)
                };
                inner.and_then(clock::from_common)
            }
            Self::Iso { .. } => clock::from_rfc3339(text),
            Self::Epoch { unit, .. } => match unit {
                EpochUnit::SecondAndMilliseconds => clock::from_seconds(text),
                EpochUnit::Millisecond => number(text).and_then(|number| number.checked_mul(1_000_000)),
                EpochUnit::Microsecond => number(text).and_then(|number| number.checked_mul(1_000)),
            },
            Self::Parts { parts, .. } => return read_parts(parts, text, time).is_some(),
            Self::Fraction { .. } => {
                let mut scan = Scan(text);
                let Some(nanos) = scan.fraction().filter(|_| scan.0.is_empty()) else { return false };
                time.civil.nanos = nanos;
                return true;
            }
        };
        time.whole = whole;
        whole.is_some()
    }
}

/// A time while its parts are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Time {
    whole: Option<i64>,
    civil: Civil,
    has_parts: bool,
}

impl Time {
    /// The instant in nanoseconds since the epoch, if there is one.
    pub(super) fn instant(&self) -> Option<i64> {
        match self.whole {
            Some(whole) => whole.checked_add(self.civil.nanos),
            None if self.has_parts => self.civil.since_epoch(),
            None => None,
        }
    }
}

fn number(text: &[u8]) -> Option<i64> {
    let mut scan = Scan(text);
    scan.number().filter(|_| scan.0.is_empty())
}

fn read_parts(parts: &[Part], text: &[u8], time: &mut Time) -> Option<()> {
    let mut scan = Scan(text);
    time.has_parts = true;
    for part in parts {
        let civil = &mut time.civil;
        match part {
            Part::Text(expected) => scan.byte(*expected)?,
            Part::Year => civil.year = scan.digits(4)?,
            Part::ShortYear => civil.year = 2000 + scan.digits(2)?,
            Part::Month => civil.month = scan.digits(2)?,
            Part::MonthName => {
                civil.month = scan.month()?;
                letters(&mut scan);
            }
            Part::Day => {
                let _ = scan.byte(b' ');
                civil.day = scan.number()?;
            }
            Part::Hour => civil.hour = scan.digits(2)?,
            Part::Minute => civil.minute = scan.digits(2)?,
            Part::Second => civil.second = scan.digits(2)?,
            Part::Zone => civil.ahead = scan.zone()?,
            Part::Epoch => time.whole = scan.number()?.checked_mul(SECOND),
            Part::Letters => letters(&mut scan),
        }
    }
    scan.0.is_empty().then_some(())
}

fn letters(scan: &mut Scan<'_>) {
    let count = scan.0.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    scan.0 = scan.0.get(count..).unwrap_or_default();
}
