//! Numbers whose type states their bounds.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A whole number from `MIN` to `MAX`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Bounded<const MIN: u32, const MAX: u32>(u32);

/// A whole number that is out of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected a number from {min} to {max}, got {given}")]
pub struct OutOfBounds {
    /// The least value allowed.
    pub min: u32,
    /// The greatest value allowed.
    pub max: u32,
    /// The value given.
    pub given: u32,
}

impl<const MIN: u32, const MAX: u32> Bounded<MIN, MAX> {
    /// The least value.
    pub const MIN: Self = Self(MIN);

    /// The greatest value.
    pub const MAX: Self = Self(MAX);

    /// Creates a constant; compilation fails if it is out of bounds.
    #[must_use]
    pub const fn constant<const NUMBER: u32>() -> Self {
        const { assert!(MIN <= NUMBER && NUMBER <= MAX, "the number is within bounds") }
        Self(NUMBER)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> TryFrom<u32> for Bounded<MIN, MAX> {
    type Error = OutOfBounds;

    fn try_from(given: u32) -> Result<Self, OutOfBounds> {
        let is_within = (MIN..=MAX).contains(&given);
        if is_within { Ok(Self(given)) } else { Err(OutOfBounds { min: MIN, max: MAX, given }) }
    }
}

impl<const MIN: u32, const MAX: u32> From<Bounded<MIN, MAX>> for u32 {
    fn from(number: Bounded<MIN, MAX>) -> Self {
        number.0
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Bounded<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Bounded_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "format": "uint32", "minimum": MIN, "maximum": MAX })
    }
}

/// A share above 0 and below 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Fraction(f64);

/// A number that is not above 0 and below 1.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("expected a number between 0 and 1, got {0}")]
pub struct NotAFraction(pub f64);

impl Fraction {
    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Fraction {
    type Error = NotAFraction;

    fn try_from(given: f64) -> Result<Self, NotAFraction> {
        if given > 0.0 && given < 1.0 { Ok(Self(given)) } else { Err(NotAFraction(given)) }
    }
}

impl From<Fraction> for f64 {
    fn from(fraction: Fraction) -> Self {
        fraction.0
    }
}

impl JsonSchema for Fraction {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Fraction".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "format": "double", "exclusiveMinimum": 0, "exclusiveMaximum": 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_out_of_bounds_is_refused() {
        let read =
            |json: &str| serde_json::from_str::<Bounded<2, 4>>(json).map_err(|error| error.to_string());
        assert_eq!(read("2"), Ok(Bounded::MIN));
        assert_eq!(read("4"), Ok(Bounded::MAX));
        assert_eq!(read("3"), Ok(Bounded::constant::<3>()));
        for number in ["1", "5"] {
            let error = read(number).unwrap_err();
            assert!(error.contains(&format!("expected a number from 2 to 4, got {number}")), "{error}");
        }
        assert_eq!(serde_json::to_string(&Bounded::<2, 4>::MIN).unwrap(), "2");
    }

    #[test]
    fn a_fraction_is_between_0_and_1() {
        assert_eq!(Fraction::try_from(0.5).map(Fraction::get), Ok(0.5));
        for number in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
            assert!(Fraction::try_from(number).is_err(), "{number}");
        }
        assert_eq!(serde_json::to_string(&Fraction(0.25)).unwrap(), "0.25");
    }
}
