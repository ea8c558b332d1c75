//! Values on their way from a reply, through filters, to a predicate or a variable.

use std::cmp::Ordering;

use compact_str::CompactString;
use httperf_plan::scenario::Value;

/// A value, borrowed as long as possible.
#[derive(Clone, Debug)]
pub(super) enum Found<'a> {
    /// Text of a reply.
    Text(&'a str),
    /// Bytes of a reply.
    Bytes(&'a [u8]),
    /// The value of a variable, or a part of it.
    Known(&'a Value),
    /// A value made by a query or a filter.
    Owned(Value),
}

/// The result of a query or a filter: a value, or none.
pub(super) type Outcome<'a> = Result<Option<Found<'a>>, Mismatch>;

/// A query, filter or test that does not apply: a value of the wrong type, a body that is no JSON, an unset variable.
///
/// Unlike a missing value, it fails a check with `not` as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mismatch;

/// A value of either kind, to look at.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'v> {
    Null,
    Boolean(bool),
    Integer(i64),
    BigInteger(&'v str),
    Float(f64),
    Text(&'v str),
    Bytes(&'v [u8]),
    List(&'v [Value]),
    Object(&'v [(CompactString, Value)]),
}

impl<'a> Found<'a> {
    /// Makes a text of bytes; those that are not UTF-8 are replaced by U+FFFD.
    pub(super) fn text_lossy(bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(_) => Self::Owned(Value::Text(CompactString::from_utf8_lossy(bytes))),
        }
    }

    /// Makes a text that borrows nothing.
    pub(super) fn owned_text(text: &str) -> Self {
        Self::Owned(Value::Text(CompactString::new(text)))
    }

    pub(super) fn view(&self) -> View<'_> {
        match self {
            Self::Text(text) => View::Text(text),
            Self::Bytes(bytes) => View::Bytes(bytes),
            Self::Known(value) => View::from(*value),
            Self::Owned(value) => View::from(value),
        }
    }

    /// Makes a value that borrows nothing. Text that a value cannot hold in place takes the memory of `spare`.
    pub(super) fn into_value_in(self, spare: &mut CompactString) -> Value {
        match self {
            Self::Text(text) if text.len() <= spare.capacity() && spare.is_heap_allocated() => {
                let mut owned = std::mem::take(spare);
                owned.clear();
                owned.push_str(text);
                Value::Text(owned)
            }
            found => found.into_value(),
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::Text(CompactString::new(text)),
            Self::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
            Self::Known(value) => value.clone(),
            Self::Owned(value) => value,
        }
    }
}

impl<'v> View<'v> {
    /// Compares two numbers by value, or two texts; `None` if they are not both numbers or both texts.
    pub(super) fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (View::Text(left), View::Text(right)) => Some(left.cmp(right)),
            (View::Integer(left), View::Integer(right)) => Some(left.cmp(&right)),
            (View::Float(left), View::Float(right)) => left.partial_cmp(&right),
            (View::Integer(left), View::Float(right)) => order_mixed(left, right),
            (View::Float(left), View::Integer(right)) => order_mixed(right, left).map(Ordering::reverse),
            (View::BigInteger(left), right) => order_big(left, right),
            (left, View::BigInteger(right)) => order_big(right, left).map(Ordering::reverse),
            _ => None,
        }
    }

    /// Returns true if the values are equal. Numbers are equal by value, objects whatever the order of their members.
    pub(super) fn equals(self, other: Self) -> bool {
        match (self, other) {
            (View::Null, View::Null) => true,
            (View::Boolean(left), View::Boolean(right)) => left == right,
            (View::Text(left), View::Text(right)) => left == right,
            (View::Bytes(left), View::Bytes(right)) => left == right,
            (View::List(left), View::List(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| View::from(left).equals(View::from(right)))
            }
            (View::Object(left), View::Object(right)) => {
                left.len() == right.len() && left.iter().all(|member| has_member(right, member))
            }
            (left, right) => left.order(right) == Some(Ordering::Equal),
        }
    }
}

fn has_member(object: &[(CompactString, Value)], (name, value): &(CompactString, Value)) -> bool {
    object.iter().any(|(other, found)| other == name && View::from(found).equals(View::from(value)))
}

/// Compares exactly, where a conversion of the whole number to a float could round it.
fn order_mixed(whole: i64, float: f64) -> Option<Ordering> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= BOUND {
        Some(Ordering::Less)
    } else if float < -BOUND {
        Some(Ordering::Greater)
    } else {
        Some(whole.cmp(&(float.trunc() as i64)).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0))))
    }
}

/// Compares a whole number beyond 64 bits, by its digits, with another number.
fn order_big(digits: &str, other: View<'_>) -> Option<Ordering> {
    let (magnitude, is_negative) = digits.strip_prefix('-').map_or((digits, false), |rest| (rest, true));
    let far = if is_negative { Ordering::Less } else { Ordering::Greater };
    match other {
        View::Integer(_) => Some(far),
        View::BigInteger(other) => match (is_negative, other.strip_prefix('-')) {
            (false, None) => Some((magnitude.len(), magnitude).cmp(&(other.len(), other))),
            (true, Some(other)) => Some((other.len(), other).cmp(&(magnitude.len(), magnitude))),
            _ => Some(far),
        },
        View::Float(float) => digits.parse::<f64>().ok()?.partial_cmp(&float),
        _ => None,
    }
}

impl<'v> From<&'v Value> for View<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => View::Null,
            Value::Boolean(value) => View::Boolean(*value),
            Value::Integer(value) => View::Integer(*value),
            Value::BigInteger(digits) => View::BigInteger(digits),
            Value::Float(value) => View::Float(*value),
            Value::Text(value) => View::Text(value),
            Value::Bytes(value) => View::Bytes(value),
            Value::List(value) => View::List(value),
            Value::Object(value) => View::Object(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value_and_exactly() {
        let order = |whole, float| View::Integer(whole).order(View::Float(float));
        assert_eq!(order(1, 1.0), Some(Ordering::Equal));
        assert_eq!(order(0, -0.0), Some(Ordering::Equal));
        assert_eq!(order(1, 1.5), Some(Ordering::Less));
        assert_eq!(order(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(order(i64::MAX, 9_223_372_036_854_775_808.0), Some(Ordering::Less));
        assert_eq!(order(i64::MIN, -9_223_372_036_854_775_808.0), Some(Ordering::Equal));
        assert_eq!(order(9_007_199_254_740_993, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(order(0, f64::INFINITY), Some(Ordering::Less));
        assert_eq!(order(0, f64::NAN), None);
    }

    #[test]
    fn large_whole_numbers_are_ordered_by_their_digits() {
        let ordered = [
            View::Float(-1e30),
            View::BigInteger("-100000000000000000000"),
            View::BigInteger("-9223372036854775809"),
            View::Integer(i64::MIN),
            View::Integer(0),
            View::Integer(i64::MAX),
            View::BigInteger("9223372036854775808"),
            View::BigInteger("9223372036854775809"),
            View::BigInteger("100000000000000000000"),
            View::Float(1e30),
        ];
        for (place, left) in ordered.into_iter().enumerate() {
            for (other, right) in ordered.into_iter().enumerate() {
                assert_eq!(left.order(right), Some(place.cmp(&other)), "{left:?} and {right:?}");
            }
        }
        assert_eq!(View::BigInteger("10000000000000000000").order(View::Float(1e19)), Some(Ordering::Equal));
        assert_eq!(View::BigInteger("9223372036854775808").order(View::Text("9223372036854775808")), None);
    }

    #[test]
    fn a_text_in_the_memory_of_another_is_the_same() {
        let long = CompactString::from("a value that is too long to be kept in place");
        for text in ["", "short", "another that is long enough for it", &"x".repeat(200)] {
            for mut spare in [CompactString::default(), CompactString::from("b"), long.clone()] {
                let value = Found::Text(text).into_value_in(&mut spare);
                assert_eq!(value, Value::Text(text.into()));
            }
        }
    }

    #[test]
    fn objects_are_equal_in_any_order() {
        let object = |names: &[&str]| {
            Value::Object(names.iter().map(|&name| (name.into(), Value::Text(name.into()))).collect())
        };
        let equal = |left: &Value, right: &Value| View::from(left).equals(View::from(right));
        assert!(equal(&object(&["a", "bb"]), &object(&["bb", "a"])));
        assert!(!equal(&object(&["a", "bb"]), &object(&["bb"])));
        assert!(!equal(&Value::List(vec![]), &Value::Object(vec![])));
    }

    proptest! {
        #[test]
        fn order_is_that_of_wide_integers(whole: i64, other: i32) {
            let order = View::Integer(whole).order(View::Float(f64::from(other)));
            prop_assert_eq!(order, Some(whole.cmp(&i64::from(other))));
        }
    }
}
