//! nginx's `log_format`.

use crate::error::Flaw;
use crate::report::shortened;

use super::pattern::{Escape, Field, Pattern, Unit};
use super::stamp::{EpochUnit, TimeField};

/// Returns whether a text looks like a format with nginx's variables.
pub(super) fn is_definition(text: &str) -> bool {
    text.starts_with("log_format")
        || text
            .bytes()
            .zip(text.bytes().skip(1))
            .any(|(first, second)| first == b'$' && (second.is_ascii_lowercase() || second == b'{'))
}

/// Reads a format, with or without the directive around it.
///
/// # Errors
/// A sentence about what cannot be understood.
pub(super) fn parse(text: &str) -> Result<Pattern, Flaw> {
    let mut pattern = Pattern::default();
    let mut words = text.trim();
    if let Some(rest) = words.strip_prefix("log_format") {
        words = rest.trim_start();
        let name_end = words.find(char::is_whitespace).ok_or_else(|| {
            Flaw::whole(format!(
                "expected a name and a format behind `log_format`, got `{}`",
                shortened(words, 60)
            ))
        })?;
        words = words.get(name_end..).unwrap_or_default().trim_start();
    }
    let is_quoted = |text: &str| text.starts_with(['\'', '"']);
    if let Some(rest) = words.strip_prefix("escape=") {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end).unwrap_or((rest, ""));
        pattern.escape = match word {
            "default" => Escape::Backslash,
            "json" => Escape::Json,
            "none" => Escape::None,
            other => {
                return Err(Flaw::whole(format!("expected escape=default, json or none, got `{other}`")));
            }
        };
        words = rest.trim_start();
    }
    // A format that begins with a quote and was not in quotes itself, as one of JSON fields, has text behind the last.
    let joined = if is_quoted(words) { joined(words) } else { None };
    let format = joined.unwrap_or_else(|| words.trim_end_matches(';').trim_end().to_owned());
    fields(&format, &mut pattern)?;
    Ok(pattern)
}

/// The strings of a directive, joined; `None` if the text is not made of strings.
fn joined(text: &str) -> Option<String> {
    let mut joined = String::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('#') {
            rest = behind.split_once('\n').map_or("", |(_, next)| next);
            continue;
        }
        if rest.is_empty() || rest.trim_end() == ";" {
            return Some(joined);
        }
        let quote = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"'))?;
        let mut letters = rest.get(1..)?.char_indices();
        let end = loop {
            match letters.next()? {
                (at, letter) if letter == quote => break at,
                (_, '\\') => match letters.next()?.1 {
                    letter @ ('"' | '\'' | '\\') => joined.push(letter),
                    't' => joined.push('\t'),
                    'r' => joined.push('\r'),
                    'n' => joined.push('\n'),
                    other => joined.extend(['\\', other]),
                },
                (_, letter) => joined.push(letter),
            }
        };
        rest = rest.get(end + 2..)?;
    }
}

/// Reads the text of a format into its pieces.
fn fields(format: &str, pattern: &mut Pattern) -> Result<(), Flaw> {
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        let (text, behind) = rest.split_at_checked(at).unwrap_or((rest, ""));
        pattern.literal(text.as_bytes());
        let behind = behind.get(1..).unwrap_or_default();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let (name, next) = if let Some(braced) = behind.strip_prefix('{') {
            braced.split_once('}').ok_or_else(|| {
                Flaw::whole(format!("expected `}}` behind a variable, got `${}`", shortened(behind, 40)))
            })?
        } else {
            let end = behind.find(|letter| !is_name(letter)).unwrap_or(behind.len());
            behind.split_at_checked(end).unwrap_or((behind, ""))
        };
        if name.is_empty() {
            pattern.literal(b"$");
        } else {
            pattern.field(field(name), &format!("${name}")).map_err(Flaw::whole)?;
        }
        rest = next;
    }
    pattern.literal(rest.as_bytes());
    Ok(())
}

/// The meaning of a variable. `$client_and_port`, `$request_creation_time` and the `_processing_time`s are those of
/// the load balancer's log, which is described in the same notation, and so is Traefik's, with `$time_start` and `$milliseconds`.
fn field(name: &str) -> Field {
    match name {
        "time_local" => Field::Time(TimeField::Common { ends: true, bracketed: false }),
        "time_start" => Field::Time(TimeField::Common { ends: false, bracketed: false }),
        "time_iso8601" => Field::Time(TimeField::Iso { ends: true }),
        "msec" => Field::Time(TimeField::Epoch { ends: true, unit: EpochUnit::SecondAndMilliseconds }),
        "request" => Field::Request,
        "request_method" => Field::Method,
        "request_uri" | "uri" | "document_uri" => Field::Uri,
        "is_args" => Field::IsArgs,
        "args" | "query_string" => Field::Args,
        "server_protocol" => Field::Version,
        "status" => Field::Status,
        "body_bytes_sent" | "bytes_sent" => Field::Size,
        "request_time" => Field::Duration(Unit::Second),
        "milliseconds" => Field::Duration(Unit::Millisecond),
        "request_processing_time" | "target_processing_time" | "response_processing_time" => {
            Field::DurationPart
        }
        "request_creation_time" => Field::Creation,
        "remote_addr" | "binary_remote_addr" => Field::Client,
        "client_and_port" => Field::ClientAndPort,
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" | "http_x_real_ip" => Field::Forwarded,
        "http_user_agent" => Field::Agent,
        _ if name.starts_with("cookie_") => Field::User,
        _ => Field::Ignored { is_list: name.starts_with("upstream_") && !name.starts_with("upstream_http_") },
    }
}
