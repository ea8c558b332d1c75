//! Output during the run and after it.

use httperf_plan::Parts;

use super::rules::{NOT_BESIDE_RESULT, NOT_FROM_CLASSIC_RECORD};
use crate::args::{Args, ReportForm};
use crate::grammar::{Opt, Value, any_of};
use crate::terminal::colour::ColourChoice;

/// The report, and the view of a run.
pub const FORMS: &[Opt<Args>] = &[
    Opt::with_value(
        "report",
        "auto|answer|classic|full",
        "prints the answer, the classic report or the full one",
    )
    .details(&["The answer is one screen: what was found out, load, replies, errors, latency, verdict. \
             The classic report is what scripts parse. The full one begins with the classic report, adds all \
             figures, and ends with the answer. Default: auto, which is the answer on a terminal if a URL or \
             a file is the target, the full report there for --server, and the classic one elsewhere."])
    .apply(|args, value| {
        args.report = match value.bytes() {
            b"auto" => ReportForm::Auto,
            b"answer" => ReportForm::Answer,
            b"classic" => ReportForm::Classic,
            b"full" => ReportForm::Full,
            _ => return Err(value.expected("auto, answer, classic or full")),
        };
        Ok(())
    }),
    Opt::with_value("color", "auto|always|never", "colours the answer at the end of the full report")
        .details(&["Default: auto, which colours it on a terminal unless NO_COLOR is set."])
        .apply(|args, value| {
            args.colour = ColourChoice::parse(value)?;
            Ok(())
        }),
    Opt::flag("quiet", "prints only errors on standard error")
        .details(&["No warnings, and no progress line on a terminal. The report is the same."])
        .apply(|args, _| {
            args.quiet = true;
            Ok(())
        }),
    Opt::flag("live", "shows the run on the whole screen as it goes on")
        .common()
        .details(&[
            "Rates, percentiles, errors, charts of the last minutes and a verdict so far, on standard \
             error, which must be a terminal. `q` or Ctrl-C ends the run, which then reports as ever on \
             standard output.",
            "The load does not wait for the display. Colours are left out where NO_COLOR is set.",
        ])
        .conflicts(&[any_of(&["quiet"]), NOT_FROM_CLASSIC_RECORD])
        .apply(|args, _| {
            args.live = true;
            Ok(())
        }),
];

/// Output while the run goes on.
pub(super) const PRINTED: &[Opt<Args>] = &[
    Opt::with_optional_value("print-reply", "header|body", "prints replies as they arrive")
        .classic()
        .details(&[
            "Lines begin with RH (header), RB (body) or RS (summary) and the number of the call. Without \
             a value both parts are printed; the first letter of the value decides.",
        ])
        .conflicts(&[NOT_BESIDE_RESULT])
        .apply(|args, value| {
            args.print_reply = Some(parts(value));
            Ok(())
        }),
    Opt::with_optional_value("print-request", "header|body", "prints requests as they are sent")
        .classic()
        .details(&[
            "Lines begin with SH (header), SB (body) or SS (summary) and the number of the call. Without \
             a value both parts are printed; the first letter of the value decides. They are printed as they \
             are sent, with credentials.",
        ])
        .conflicts(&[NOT_BESIDE_RESULT])
        .apply(|args, value| {
            args.print_request = Some(parts(value));
            Ok(())
        }),
    Opt::flag("print-lifetimes", "prints the lifetime of each connection")
        .details(&["One line `Connection lifetime = X` with milliseconds for each connection, as it ends."])
        .conflicts(&[NOT_BESIDE_RESULT])
        .apply(|args, _| {
            args.print_lifetimes = true;
            Ok(())
        }),
    Opt::flag("periodic-stats", "prints the number of replies with status 200 and 302 each second")
        .short('n')
        .classic_091()
        .details(&["Their sums are added to the report."])
        .conflicts(&[NOT_BESIDE_RESULT])
        .apply(|args, _| {
            args.periodic_stats = true;
            Ok(())
        }),
    Opt::flag("verbose", "says more; may be repeated")
        .short('v')
        .classic()
        .details(&["Once: the limit of open files, reply rates as they are sampled, and URIs of --wlog \
             and --wset. Twice: also a histogram of connection lifetimes. Three times: also the delay to \
             each next start."])
        .conflicts(&[NOT_BESIDE_RESULT])
        .apply(|args, _| {
            args.verbose = args.verbose.saturating_add(1);
            Ok(())
        }),
];

fn parts(value: Value<'_>) -> Parts {
    match value.bytes().first() {
        Some(b'h' | b'H') => Parts::Header,
        Some(b'b' | b'B') => Parts::Body,
        _ => Parts::All,
    }
}
