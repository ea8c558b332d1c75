//! Apache's `LogFormat`.

use crate::error::Flaw;
use crate::report::shortened;

use super::pattern::{Field, Pattern, Unit};
use super::stamp::{EpochUnit, Part, Resolution, TimeField};

/// Reads a format, with or without the directive around it.
///
/// # Errors
/// A sentence about what cannot be understood.
pub(super) fn parse(text: &str) -> Result<Pattern, Flaw> {
    let mut pattern = Pattern::default();
    let format = unwrapped(text);
    let mut rest = &format[..];
    while let Some((text, behind)) = rest.split_once('%') {
        pattern.literal(text.as_bytes());
        rest = directive(behind, &mut pattern)?;
    }
    pattern.literal(rest.as_bytes());
    Ok(pattern)
}

/// The text of the format: without the directive, its quotes and what the quotes have escaped.
fn unwrapped(text: &str) -> String {
    let text = text.trim();
    let is_directive = text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("LogFormat"));
    let inner = if is_directive { text.get(9..).unwrap_or_default().trim_start() } else { text };
    let Some(quoted) = inner.strip_prefix('"').filter(|_| is_directive || inner.ends_with('"')) else {
        return unescaped(inner);
    };
    // The format ends at the quote without a backslash; a name may follow.
    let mut is_escaped = false;
    for (at, letter) in quoted.char_indices() {
        match letter {
            '"' if !is_escaped => {
                let name = quoted.get(at + 1..).unwrap_or_default();
                let is_name = name.is_empty() || name.starts_with(char::is_whitespace) && !name.contains('%');
                return unescaped(if is_name { quoted.get(..at).unwrap_or_default() } else { inner });
            }
            _ => is_escaped = letter == '\\' && !is_escaped,
        }
    }
    unescaped(inner)
}

fn unescaped(text: &str) -> String {
    text.replace("\\\"", "\"").replace("\\t", "\t").replace("\\n", "\n")
}

/// Reads the directive behind a `%`. Returns the text behind it.
fn directive<'a>(text: &'a str, pattern: &mut Pattern) -> Result<&'a str, Flaw> {
    let unknown = || {
        let shown = shortened(text, 20);
        Flaw::whole(format!("expected a directive of Apache's mod_log_config, got `%{shown}`"))
    };
    // Conditions on the status, and the choice between original and final request, do not change the form.
    let is_modifier = |letter: char| letter.is_ascii_digit() || matches!(letter, '!' | ',' | '<' | '>');
    let mut rest = text.trim_start_matches(is_modifier);
    let mut argument = "";
    if let Some(behind) = rest.strip_prefix('{') {
        (argument, rest) = behind.split_once('}').ok_or_else(unknown)?;
        rest = rest.trim_start_matches(is_modifier);
    }
    if let Some(rest) = rest.strip_prefix('^') {
        // Three letters, such as `^FB`.
        let (name, rest) = rest.split_at_checked(2).ok_or_else(unknown)?;
        pattern.field(Field::Ignored { is_list: false }, &format!("%^{name}")).map_err(Flaw::whole)?;
        return Ok(rest);
    }
    let letter = rest.chars().next().ok_or_else(unknown)?;
    let rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    let field = match letter {
        '%' => {
            pattern.literal(b"%");
            return Ok(rest);
        }
        'a' | 'h' => Field::Client,
        'b' | 'B' | 'O' => Field::Size,
        'D' => Field::Duration(Unit::Microsecond),
        'T' => Field::Duration(match argument {
            "" | "s" => Unit::Second,
            "ms" => Unit::Millisecond,
            "us" => Unit::Microsecond,
            other => {
                return Err(Flaw::whole(format!("%T: expected s, ms or us, got `{}`", shortened(other, 20))));
            }
        }),
        't' => return time(argument, pattern).map(|()| rest),
        'r' => Field::Request,
        'm' => Field::Method,
        'U' => Field::Uri,
        'q' => Field::Query,
        'H' => Field::Version,
        's' => Field::Status,
        'C' => Field::User,
        'i' if argument.eq_ignore_ascii_case("user-agent") => Field::Agent,
        'i' if argument.eq_ignore_ascii_case("x-forwarded-for") => Field::Forwarded,
        letter if "AcefiIklLmnopPRSuvVX".contains(letter) => Field::Ignored { is_list: false },
        _ => return Err(unknown()),
    };
    pattern.field(field, &format!("%{letter}")).map_err(Flaw::whole)?;
    Ok(rest)
}

/// Adds the field of `%t`, or of `%{argument}t`.
fn time(argument: &str, pattern: &mut Pattern) -> Result<(), Flaw> {
    let (ends, format) = match argument.split_once(':') {
        Some(("begin", format)) => (false, format),
        Some(("end", format)) => (true, format),
        _ => (false, argument),
    };
    let epoch = |unit| TimeField::Epoch { ends, unit };
    let time = match format {
        "" => TimeField::Common { ends, bracketed: true },
        "sec" => TimeField::Parts { ends, parts: vec![Part::Epoch] },
        "msec" => epoch(EpochUnit::Millisecond),
        "usec" => epoch(EpochUnit::Microsecond),
        "msec_frac" => TimeField::Fraction { ends, resolution: Resolution::Millisecond },
        "usec_frac" => TimeField::Fraction { ends, resolution: Resolution::Microsecond },
        format => TimeField::Parts { ends, parts: parts(format)? },
    };
    pattern.field(Field::Time(time), &format!("%{{{argument}}}t")).map_err(Flaw::whole)
}

/// Reads a format of `strftime`.
fn parts(format: &str) -> Result<Vec<Part>, Flaw> {
    let mut parts = Vec::new();
    let mut bytes = format.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            parts.push(Part::Text(byte));
            continue;
        }
        let time = [Part::Hour, Part::Text(b':'), Part::Minute, Part::Text(b':'), Part::Second];
        match bytes.next() {
            Some(b'Y') => parts.push(Part::Year),
            Some(b'y') => parts.push(Part::ShortYear),
            Some(b'm') => parts.push(Part::Month),
            Some(b'b' | b'h' | b'B') => parts.push(Part::MonthName),
            Some(b'd' | b'e') => parts.push(Part::Day),
            Some(b'H') => parts.push(Part::Hour),
            Some(b'M') => parts.push(Part::Minute),
            Some(b'S') => parts.push(Part::Second),
            Some(b'z') => parts.push(Part::Zone),
            Some(b's') => parts.push(Part::Epoch),
            Some(b'a' | b'A' | b'Z') => parts.push(Part::Letters),
            Some(b'T') => parts.extend(time),
            Some(b'R') => parts.extend_from_slice(&[Part::Hour, Part::Text(b':'), Part::Minute]),
            Some(b'F') => {
                parts.extend([Part::Year, Part::Text(b'-'), Part::Month, Part::Text(b'-'), Part::Day]);
            }
            Some(b'%') => parts.push(Part::Text(b'%')),
            other => {
                let other = other.map_or_else(String::new, |byte| char::from(byte).to_string());
                return Err(Flaw::whole(format!(
                    "%{{…}}t: expected the conversions %Y %y %m %b %d %e %H %M %S %z %s %a %T %R %F, got `%{other}`"
                )));
            }
        }
    }
    Ok(parts)
}
