//! The settings of streams.

use crate::delay::Delay;
use crate::text::{Malformed, parse_probability};

/// The streams of a server, where a request says nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streams {
    /// The time from the header to the first event.
    pub first: Delay,
    /// The time from one write of events to the next, drawn anew for each.
    pub gap: Delay,
    /// Events in a write; 0 counts as 1.
    pub together: u32,
    /// Events of a stream; tokens of a completion. 0 counts as 1.
    pub events: u32,
    /// The probability that a stream breaks off halfway, from 0 to 1.
    pub cut: Probability,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            first: Delay::default(),
            gap: Delay::default(),
            together: 1,
            events: 16,
            cut: Probability::default(),
        }
    }
}

/// A probability: from 0 to 1. As text, `0.01` or `1%`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probability(f64);

impl Probability {
    /// Returns the number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

impl std::str::FromStr for Probability {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed::new("a probability such as 0.01 or 1%", text);
        parse_probability(text).map(Self).ok_or_else(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_a_number_or_a_percentage() {
        for (text, value) in [("0", 0.0), ("0.01", 0.01), ("1%", 0.01), ("100%", 1.0), ("1", 1.0)] {
            assert_eq!(text.parse(), Ok(Probability(value)), "{text}");
        }
        for text in ["", "%", "-0.1", "1.1", "101%", "nan", "often"] {
            let message = format!("expected a probability such as 0.01 or 1%, got `{text}`");
            assert_eq!(text.parse::<Probability>().unwrap_err().to_string(), message);
        }
    }
}
