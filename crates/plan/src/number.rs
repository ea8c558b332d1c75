//! Numbers as the classic tool reads them, in the syntax of `strtoul` and `strtod` (strtoul(3), strtod(3)).
//!
//! There is one difference: a negative number is refused where an unsigned one is expected, instead of wrapping round.

/// The result of scanning a number at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scanned<'a, T> {
    /// The number, or the reason why there is none.
    pub value: Result<T, Flaw>,
    /// The text after the number; the whole text if there is none.
    pub rest: &'a [u8],
}

/// The reason why a text has no usable number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The text does not begin with a number.
    Missing,
    /// The number is negative.
    Negative,
    /// The number is too large or too close to 0 to be represented.
    OutOfRange,
}

/// The base of a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Decimal.
    Decimal,
    /// Hexadecimal after `0x`, octal after a leading `0`, otherwise decimal.
    Detected,
}

/// Parses the whole text as an unsigned decimal number.
#[must_use]
pub fn unsigned(text: &[u8]) -> Option<u64> {
    let scanned = scan_unsigned(text, Base::Decimal);
    scanned.value.ok().filter(|_| scanned.rest.is_empty())
}

/// Parses the whole text as a real number.
#[must_use]
pub fn real(text: &[u8]) -> Option<f64> {
    let scanned = scan_real(text);
    scanned.value.ok().filter(|_| scanned.rest.is_empty())
}

/// Scans the whole number at the start of the text, after optional blanks and a sign.
#[must_use]
pub fn scan_unsigned(text: &[u8], base: Base) -> Scanned<'_, u64> {
    let (negative, unprefixed) = sign(skip_blanks(text));
    let (radix, digits) = match (base, unprefixed) {
        (Base::Detected, [b'0', b'x' | b'X', digits @ ..])
            if digits.first().is_some_and(u8::is_ascii_hexdigit) =>
        {
            (16, digits)
        }
        (Base::Detected, [b'0', ..]) => (8, unprefixed),
        _ => (10, unprefixed),
    };
    let count = digits.iter().take_while(|&&byte| char::from(byte).is_digit(radix)).count();
    if count == 0 {
        return Scanned { value: Err(Flaw::Missing), rest: text };
    }
    let value = digits[..count].iter().try_fold(0_u64, |value, &byte| {
        let digit = char::from(byte).to_digit(radix).expect("only digits were counted");
        value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    });
    let value = match value {
        None => Err(Flaw::OutOfRange),
        Some(value) if negative && value != 0 => Err(Flaw::Negative),
        Some(value) => Ok(value),
    };
    Scanned { value, rest: &digits[count..] }
}

/// Scans the real number at the start of the text: decimal, hexadecimal, `inf` or `nan`.
#[must_use]
pub fn scan_real(text: &[u8]) -> Scanned<'_, f64> {
    let (negative, unsigned) = sign(skip_blanks(text));
    let found = named(unsigned).or_else(|| hexadecimal(unsigned)).or_else(|| decimal(unsigned));
    let Some(Magnitude { value, in_range, rest }) = found else {
        return Scanned { value: Err(Flaw::Missing), rest: text };
    };
    let value = if negative { -value } else { value };
    Scanned { value: if in_range { Ok(value) } else { Err(Flaw::OutOfRange) }, rest }
}

/// Returns the real number at the start of the text and ignores the rest. A number that is too large becomes
/// infinite; one that is too small becomes 0 or subnormal.
#[must_use]
pub fn leading_real(text: &[u8]) -> Option<f64> {
    let (negative, unsigned) = sign(skip_blanks(text));
    let found = named(unsigned).or_else(|| hexadecimal(unsigned)).or_else(|| decimal(unsigned))?;
    Some(if negative { -found.value } else { found.value })
}

/// A number without its sign.
struct Magnitude<'a> {
    value: f64,
    /// False if the number is out of range and `value` only the nearest representable one.
    in_range: bool,
    /// The text after the number.
    rest: &'a [u8],
}

fn named(text: &[u8]) -> Option<Magnitude<'_>> {
    if let Some(rest) = strip_word(text, b"infinity").or_else(|| strip_word(text, b"inf")) {
        return Some(Magnitude { value: f64::INFINITY, in_range: true, rest });
    }
    let rest = strip_word(text, b"nan")?;
    Some(Magnitude { value: f64::NAN, in_range: true, rest: strip_payload(rest).unwrap_or(rest) })
}

/// Returns the text after the parenthesis that may follow `nan`.
fn strip_payload(text: &[u8]) -> Option<&[u8]> {
    let inside = text.strip_prefix(b"(")?;
    let end = inside.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
    inside[end..].strip_prefix(b")")
}

fn decimal(text: &[u8]) -> Option<Magnitude<'_>> {
    let (whole, fraction, mantissa_end) = mantissa(text, u8::is_ascii_digit)?;
    let end = exponent(text, mantissa_end, b"eE").map_or(mantissa_end, |(_, end)| end);
    let number = std::str::from_utf8(&text[..end]).expect("made of ASCII characters");
    let value: f64 = number.parse().expect("digits, a point and an exponent, as parsed above");
    let zero = whole.iter().chain(fraction).all(|&digit| digit == b'0');
    Some(Magnitude { value, in_range: zero || value.is_normal(), rest: &text[end..] })
}

fn hexadecimal(text: &[u8]) -> Option<Magnitude<'_>> {
    let digits = strip_word(text, b"0x")?;
    let (whole, fraction, mantissa_end) = mantissa(digits, u8::is_ascii_hexdigit)?;
    let (power, end) = exponent(digits, mantissa_end, b"pP").unwrap_or((0, mantissa_end));

    // Sixty bits hold more than a mantissa; further digits only affect rounding, as one sticky bit.
    let mut bits = 0_u64;
    let mut dropped = 0_i64;
    for &byte in whole.iter().chain(fraction) {
        let digit = char::from(byte).to_digit(16).expect("only hexadecimal digits were taken");
        if bits >> 56 == 0 {
            bits = bits << 4 | u64::from(digit);
        } else {
            bits |= u64::from(digit != 0);
            dropped += 1;
        }
    }
    let fraction_length = i64::try_from(fraction.len()).expect("no slice is longer");
    let power = power.saturating_add(4 * (dropped - fraction_length)).clamp(-2200, 2200) as i32;
    let value = bits as f64 * 2_f64.powi(power / 2) * 2_f64.powi(power - power / 2);
    Some(Magnitude { value, in_range: bits == 0 || value.is_normal(), rest: &digits[end..] })
}

/// Returns the digits before and after the point, and their end; `None` without any digit.
fn mantissa(text: &[u8], is_digit: fn(&u8) -> bool) -> Option<(&[u8], &[u8], usize)> {
    let count = |text: &[u8]| text.iter().take_while(|byte| is_digit(byte)).count();
    let whole = &text[..count(text)];
    let mut end = whole.len();
    let mut fraction: &[u8] = &[];
    if text.get(end) == Some(&b'.') {
        let after = &text[end + 1..];
        fraction = &after[..count(after)];
        if !(whole.is_empty() && fraction.is_empty()) {
            end += 1 + fraction.len();
        }
    }
    (end > 0).then_some((whole, fraction, end))
}

/// Returns the exponent at `start` and its end, if there is one.
fn exponent(text: &[u8], start: usize, letters: &[u8; 2]) -> Option<(i64, usize)> {
    let after = text[start..].split_first().filter(|(letter, _)| letters.contains(letter))?.1;
    let (negative, digits) = sign(after);
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 {
        return None;
    }
    let magnitude = digits[..count]
        .iter()
        .fold(0_i64, |value, byte| value.saturating_mul(10).saturating_add(i64::from(byte - b'0')));
    let end = text.len() - digits.len() + count;
    Some((if negative { -magnitude } else { magnitude }, end))
}

fn skip_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|&&byte| byte.is_ascii_whitespace() || byte == 0x0b).count();
    &text[blanks..]
}

fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Strips `word`, in upper or lower case, from the start of the text.
fn strip_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (start, rest) = text.split_at_checked(word.len())?;
    start.eq_ignore_ascii_case(word).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_allow_blanks_and_signs_but_nothing_after_them() {
        for (text, value) in [
            ("0", Some(0)),
            (" \t7", Some(7)),
            ("+1", Some(1)),
            ("-0", Some(0)),
            ("010", Some(10)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-1", None),
            ("", None),
            (" ", None),
            ("1 ", None),
            ("0x10", None),
            ("1e3", None),
        ] {
            assert_eq!(unsigned(text.as_bytes()), value, "{text:?}");
        }
    }

    #[test]
    fn the_base_is_detected_where_that_is_asked_for() {
        for (text, value, rest) in [
            ("0x1Fg", Ok(31), "g"),
            ("010,", Ok(8), ","),
            ("08", Ok(0), "8"),
            ("0x", Ok(0), "x"),
            ("12x", Ok(12), "x"),
            (" x", Err(Flaw::Missing), " x"),
            ("-3,", Err(Flaw::Negative), ","),
            ("99999999999999999999/1", Err(Flaw::OutOfRange), "/1"),
        ] {
            let scanned = scan_unsigned(text.as_bytes(), Base::Detected);
            assert_eq!(scanned, Scanned { value, rest: rest.as_bytes() }, "{text:?}");
        }
    }

    #[test]
    fn real_numbers_follow_strtod() {
        for (text, value, rest) in [
            ("1.5x", Ok(1.5), "x"),
            (".5", Ok(0.5), ""),
            ("5.", Ok(5.0), ""),
            (" -2e3", Ok(-2000.0), ""),
            ("1e", Ok(1.0), "e"),
            ("1e+", Ok(1.0), "e+"),
            ("1E-2", Ok(0.01), ""),
            ("0x1p-1", Ok(0.5), ""),
            ("0x.8", Ok(0.5), ""),
            ("0x10", Ok(16.0), ""),
            ("0x1.8p1z", Ok(3.0), "z"),
            ("0xg", Ok(0.0), "xg"),
            ("0x10000000000000000", Ok(18_446_744_073_709_551_616.0), ""),
            ("INF", Ok(f64::INFINITY), ""),
            ("-infinityx", Ok(f64::NEG_INFINITY), "x"),
            ("infin", Ok(f64::INFINITY), "in"),
            ("1e400", Err(Flaw::OutOfRange), ""),
            ("1e-400", Err(Flaw::OutOfRange), ""),
            ("4e-320", Err(Flaw::OutOfRange), ""),
            ("0e-400", Ok(0.0), ""),
            ("0x1p99999999999999999999", Err(Flaw::OutOfRange), ""),
            (".", Err(Flaw::Missing), "."),
            (" x", Err(Flaw::Missing), " x"),
            ("", Err(Flaw::Missing), ""),
        ] {
            assert_eq!(scan_real(text.as_bytes()), Scanned { value, rest: rest.as_bytes() }, "{text:?}");
        }
    }

    #[test]
    fn not_a_number_is_a_number_too() {
        for (text, rest) in [("nan", ""), ("NaN(abc)1", "1"), ("nan(", "("), ("nan(-)", "(-)")] {
            let scanned = scan_real(text.as_bytes());
            assert!(scanned.value.unwrap().is_nan(), "{text:?}");
            assert_eq!(scanned.rest, rest.as_bytes(), "{text:?}");
        }
    }

    #[test]
    fn a_leading_number_may_be_followed_by_anything() {
        let cases: [(&str, Option<f64>); 7] = [
            ("0.1s", Some(0.1)),
            ("-2e1x", Some(-20.0)),
            ("0x10", Some(16.0)),
            ("1e999", Some(f64::INFINITY)),
            ("infinite", Some(f64::INFINITY)),
            ("s", None),
            ("", None),
        ];
        for (text, number) in cases {
            assert_eq!(leading_real(text.as_bytes()), number, "{text}");
        }
    }
}
