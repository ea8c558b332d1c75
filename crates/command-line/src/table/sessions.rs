//! Workloads that follow users: sessions with bursts, think times and cookies.

use super::workload::parameter_error;
use httperf_plan::number::{self, Base, Flaw, Scanned};
use httperf_plan::units;

use super::rules::BODIES;
use crate::args::{Args, SessionArgs, SessionKind, os_string};
use crate::grammar::{Opt, ParseStop, any_of};
use crate::values::bounded;

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("wsess", "N1,N2,X", "runs N1 sessions of N2 calls each, with X seconds between bursts")
        .classic()
        .details(&[
            "Calls go in bursts of --burst-length; the last may be shorter. URIs come from --uri, --wlog \
             or --wset. Of several session workloads the last one on the command line runs.",
        ])
        .sets(&["workload.sessions"])
        .apply(|args, value| {
            let calls = "bad number of calls per session (2nd param)";
            let Counts { count, second, think } = parse_counts("wsess", calls, value.bytes())?;
            args.session = Some(SessionArgs { count, think, kind: SessionKind::Calls(second) });
            Ok(())
        }),
    Opt::with_value(
        "wsesslog",
        "N,X,FILE",
        "runs N sessions described in a file, with X seconds between bursts",
    )
    .classic()
    .details(&[
        "Sessions take the definitions of the file in turn, from the first. X is the think time where \
             the file gives none. The file's format is described under FILES in the manual page.",
    ])
    .conflicts(&[any_of(BODIES).because("the file says what calls send")])
    .apply(|args, value| {
        args.session = Some(parse_wsesslog(value.bytes())?);
        Ok(())
    }),
    Opt::with_value(
        "wsesspage",
        "N1,N2,X",
        "runs N1 sessions of N2 pages each with what is embedded in them, X seconds apart",
    )
    .classic()
    .details(&[
        "Each page is --uri, which must begin with a slash. Images, frames and other objects named in a \
         page of type text/html are fetched from the same server as they are found.",
    ])
    .apply(|args, value| {
        let pages = "bad number of user requests per session (2nd param)";
        let Counts { count, second, think } = parse_counts("wsesspage", pages, value.bytes())?;
        args.session = Some(SessionArgs { count, think, kind: SessionKind::Pages(second) });
        Ok(())
    }),
    Opt::flag("session-cookies", "keeps the cookies that a session is given and sends them back")
        .classic()
        .details(&["Needs a session workload. Cookies are never shared between sessions."])
        .apply(|args, _| {
            args.session_cookies = true;
            Ok(())
        }),
    Opt::with_value("failure-status", "N", "lets a reply with status N fail its session")
        .classic()
        .details(&["Default: none. With --retry-on-failure the call is sent again instead."])
        .apply(|args, value| {
            let status = bounded(value, MAX_STATUS).filter(|&status| status > 0);
            args.failure_status = Some(status.ok_or_else(|| {
                ParseStop::illegal("illegal failure status", "a status such as 504", value)
            })?);
            Ok(())
        }),
    Opt::flag("retry-on-failure", "lets a session try a failed call again")
        .classic()
        .details(&["Attempts in a row are bounded in number and spaced by a growing pause."])
        .apply(|args, _| {
            args.retry_on_failure = true;
            Ok(())
        }),
    Opt::with_value("max-connections", "N", "lets a session use at most N connections at once")
        .classic()
        .details(&[
            "Default: 0, which stands for 4. Range: up to 1000000. In a connection workload N is the most \
             connections that are open at once: a start that finds as many open is skipped, and counted; \
             0 sets no bound there.",
        ])
        .apply(|args, value| {
            let count = bounded(value, MAX_PARALLEL);
            args.max_connections = count.ok_or_else(|| {
                ParseStop::illegal("illegal max. # of connection", "a number of connections", value)
            })?;
            Ok(())
        }),
    Opt::with_value(
        "max-piped-calls",
        "N",
        "lets a session have at most N unanswered calls on each connection",
    )
    .classic()
    .details(&["Default: 0, which stands for 32, or for 1 with HTTP/1.0. Range: up to 1000000. Over HTTP/2 \
             such calls are concurrent streams."])
    .apply(|args, value| {
        let count = bounded(value, MAX_PARALLEL);
        args.max_piped_calls = count
            .ok_or_else(|| ParseStop::illegal("illegal max. # of piped calls", "a number of calls", value))?;
        Ok(())
    }),
];

/// The largest `--max-connections` and `--max-piped-calls`: more than a machine could keep open.
const MAX_PARALLEL: u32 = 1_000_000;

/// The largest `--failure-status`, as in the classic tool; no reply has such a status.
const MAX_STATUS: u32 = i32::MAX as u32;

/// The three numbers of `--wsess` and `--wsesspage`.
struct Counts {
    count: u64,
    second: u64,
    think: f64,
}

fn parse_counts(option: &str, second_flaw: &str, text: &[u8]) -> Result<Counts, ParseStop> {
    let mut rest = text;
    let count = parse_number(option, "bad number of sessions (1st param)", &mut rest, number_u0)?;
    let second = parse_number(option, second_flaw, &mut rest, number_u0)?;
    let think = last_number(option, "bad user think time (3rd param)", &mut rest, think_time)?;
    if !rest.is_empty() {
        return Err(parameter_error(option, "extraneous parameter", rest, None));
    }
    Ok(Counts { count, second, think })
}

fn parse_wsesslog(text: &[u8]) -> Result<SessionArgs, ParseStop> {
    let mut rest = text;
    let count = parse_number("wsesslog", "bad number of sessions (1st param)", &mut rest, number_u0)?;
    let think = last_number("wsesslog", "bad user think time (2nd param)", &mut rest, think_time)?;
    let Some(file) = rest.strip_prefix(b",") else {
        return Err(parameter_error("wsesslog", "bad session filename (3rd param)", rest, None));
    };
    let mut parts = file.splitn(2, |&byte| byte == b',');
    let file = parts.next().unwrap_or_default();
    let surplus = parts.next().unwrap_or_default();
    if !surplus.is_empty() {
        return Err(parameter_error("wsesslog", "extraneous parameter", surplus, None));
    }
    Ok(SessionArgs { count, think, kind: SessionKind::File(os_string(file)) })
}

fn number_u0(text: &[u8]) -> Scanned<'_, u64> {
    number::scan_unsigned(text, Base::Detected)
}

fn think_time(text: &[u8]) -> Scanned<'_, f64> {
    let scanned = units::scan_seconds(text);
    let value = scanned.value.and_then(|think| if think < 0.0 { Err(Flaw::Negative) } else { Ok(think) });
    Scanned { value, ..scanned }
}

/// Takes a number from the front of `rest`, and the comma after it if there is one.
fn parse_number<T>(
    option: &str,
    what: &str,
    rest: &mut &[u8],
    scan: fn(&[u8]) -> Scanned<'_, T>,
) -> Result<T, ParseStop> {
    let value = last_number(option, what, rest, scan)?;
    *rest = rest.strip_prefix(b",").unwrap_or(*rest);
    Ok(value)
}

/// Takes a number from the front of `rest`. The rest in its message begins where reading stopped.
fn last_number<T>(
    option: &str,
    what: &str,
    rest: &mut &[u8],
    scan: fn(&[u8]) -> Scanned<'_, T>,
) -> Result<T, ParseStop> {
    let scanned = scan(rest);
    *rest = scanned.rest;
    scanned.value.map_err(|flaw| parameter_error(option, what, rest, Some(flaw)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        assert_eq!(parse_wsesslog(text.as_bytes()), Err(ParseStop::rejected(expected)), "{text}");
    }

    #[test]
    fn the_name_of_a_session_file_ends_at_a_comma() {
        let session = parse_wsesslog(b"0x2,1.5,a b,").unwrap();
        assert_eq!(session, SessionArgs { count: 2, think: 1.5, kind: SessionKind::File("a b".into()) });
        assert_eq!(parse_wsesslog(b"1,20ms,f").unwrap().think, 0.02);
        check_error("1,0,f,g", "extraneous parameter in --wsesslog arg (rest: `g')");
        check_error("1,0", "bad session filename (3rd param) in --wsesslog arg (rest: `')");
    }

    #[test]
    fn negative_counts_and_times_are_refused() {
        check_error("-1,0,f", "bad number of sessions (1st param) in --wsesslog arg (rest: `,0,f')");
        check_error("1,-1,f", "bad user think time (2nd param) in --wsesslog arg (rest: `,f')");
    }
}
