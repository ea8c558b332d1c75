//! The calls of each connection, and their URIs.

use std::num::NonZeroU64;

use httperf_plan::number::{self, Base, Flaw};

use crate::args::{Args, FileSet, UriChoice, UriLog, os_string};
use crate::grammar::{Opt, ParseStop};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("num-conns", "N", "makes N connections")
        .classic()
        .details(&["Default: 1. Ignored in session workloads."])
        .sets(&["workload.connections.count"])
        .apply(|args, value| {
            let count = value.unsigned();
            args.num_conns = Some(count.ok_or_else(|| {
                ParseStop::illegal("illegal number of connections", "a number of connections", value)
            })?);
            Ok(())
        }),
    Opt::with_value("num-calls", "N", "makes N calls on each connection")
        .classic()
        .details(&["Default: 1. Ignored in session workloads."])
        .sets(&["workload.connections.calls", "workload.calls.count"])
        .apply(|args, value| {
            let count = value.unsigned();
            args.num_calls =
                Some(count.ok_or_else(|| {
                    ParseStop::illegal("illegal number of calls", "a number of calls", value)
                })?);
            Ok(())
        }),
    Opt::with_value("burst-length", "N", "sends calls in bursts of N, back to back")
        .classic()
        .details(&[
            "Default: 1. Range: 1 and up. On a connection, the calls of a burst are pipelined and the \
             next burst follows when all were answered; the last may be shorter. In --wsess, the first \
             call of a burst goes alone and the others follow its reply. Over HTTP/2 they are concurrent \
             streams instead.",
        ])
        .sets(&["workload.connections.burst"])
        .apply(|args, value| {
            let length = value.unsigned().and_then(NonZeroU64::new);
            args.burst_length = length.ok_or_else(|| {
                ParseStop::illegal("illegal burst-length", "a number of calls above 0", value)
            })?;
            Ok(())
        }),
    Opt::with_value("wlog", "y|n,FILE", "takes URIs from a file, one after the other")
        .classic()
        .details(&[
            "With y the list starts again after its last URI, with n the run ends there. The file holds \
             URIs that each end in a NUL byte, or in a line end if it holds no NUL. The last of --wlog \
             and --wset counts.",
        ])
        .apply(|args, value| {
            let text = value.bytes();
            args.uri_choice = UriChoice::Log;
            args.wlog = Some(UriLog {
                wrap: matches!(text.first(), Some(b'y' | b'Y')),
                file: os_string(text.get(2..).unwrap_or_default()),
            });
            Ok(())
        }),
    Opt::with_value("wset", "N,X", "walks over a set of N generated URIs, moving on with probability X")
        .classic()
        .details(&[
            "Names are formed from --uri and the digits of a number below N: PREFIX/0/1/2.html. X is the \
             share of calls that move on to another name, from 0 (never) to 1 (each). The last of --wlog \
             and --wset counts.",
        ])
        .apply(|args, value| {
            args.wset = Some(parse_wset(value.bytes())?);
            args.uri_choice = UriChoice::Set;
            Ok(())
        }),
];

fn parse_wset(text: &[u8]) -> Result<FileSet, ParseStop> {
    // The rest in these messages begins with the parameter at fault.
    let size = number::scan_unsigned(text, Base::Detected);
    let files = size.value.and_then(|files| u32::try_from(files).map_err(|_| Flaw::OutOfRange));
    let files = files
        .map_err(|flaw| parameter_error("wset", "bad working set size (1st parameter)", text, Some(flaw)))?;
    let miss_rate_error =
        |rest, flaw| parameter_error("wset", "bad target miss rate (2nd parameter)", rest, flaw);
    let Some(second) = size.rest.strip_prefix(b",") else { return Err(miss_rate_error(text, None)) };
    let rate = number::scan_real(second);
    let miss_rate = rate.value.map_err(|flaw| miss_rate_error(second, Some(flaw)))?;
    if !(0.0..=1.0).contains(&miss_rate) {
        return Err(miss_rate_error(second, None));
    }
    if !rate.rest.is_empty() {
        return Err(parameter_error("wset", "extraneous parameter", second, None));
    }
    Ok(FileSet { files, miss_rate })
}

/// The classic wording of an error in a list of parameters.
pub(super) fn parameter_error(option: &str, what: &str, rest: &[u8], flaw: Option<Flaw>) -> ParseStop {
    let reason = match flaw {
        Some(Flaw::OutOfRange) => ": Numerical result out of range",
        Some(Flaw::Missing | Flaw::Negative) | None => "",
    };
    let start = format!("{what} in --{option} arg (rest: `");
    ParseStop::rejected([start.as_bytes(), rest, b"')", reason.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_working_set_has_a_size_and_a_miss_rate() {
        assert_eq!(parse_wset(b"0x10,.5"), Ok(FileSet { files: 16, miss_rate: 0.5 }));
        for text in ["5", "-1,0", "5,1.1", "5,-.1", "5,nan", "5,1,", "4294967296,1"] {
            assert!(parse_wset(text.as_bytes()).is_err(), "{text}");
        }
    }
}
