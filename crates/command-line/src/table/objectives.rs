//! Objectives of the server, and their report for CI systems.

use httperf_plan::objective::Objective;

use super::rules::NOT_FROM_CLASSIC_RECORD;
use crate::args::Args;
use crate::grammar::{Opt, any_of};
use crate::values::{StdoutMeans, file};

/// Objectives of a run.
pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("slo", "EXPR", "sets objectives, such as 'p99<50ms, errors<0.1%'")
        .repeatable()
        .common()
        .details(&[
            "May be given several times, and with several objectives separated by commas; all of them \
             count. Each is printed below the report with what was measured, how far that is from the \
             bound, and met, MISSED or UNKNOWN (too few samples). The exit status is 4 unless all were \
             met.",
            "Before the relation (<, <=, > or >=) stands a percentile, mean, min or max of the latency \
             (p99, p99.9, max) or of another time (service.p99; response, transfer, connect, handshake, \
             session, lag); or a share: errors, failed, unexpected, abandoned, 2xx, 5xx and so on; or replies, per \
             second. Behind it stands a number with its unit: us, ms, s, m, h or %. Percentiles count calls \
             without a usable reply as slower than any other. docs/guide/objectives.md tells more.",
        ])
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .sets(&["objectives.all"])
        .apply(|args, value| {
            let expected =
                |_| value.expected("objectives such as `p99<50ms, errors<0.1%`");
            let text = std::str::from_utf8(value.bytes()).map_err(expected)?;
            let rejected = |error| value.rejected(error);
            for objective in Objective::parse_list(text).map_err(rejected)? {
                let all = &mut args.results.objectives.all;
                if !all.contains(&objective) {
                    all.push(objective);
                }
            }
            Ok(())
        }),
    Opt::flag("abort-on-slo", "ends the run when it has missed an objective for three seconds in a row")
        .details(&[
            "At the end of each second, objectives over latency, errors, failed, unexpected, replies and \
             lower bounds of 1xx to 3xx are held against all that was measured so far, once there are \
             enough calls for them. Other objectives are judged at the end alone. What was measured is \
             reported, and the exit status is 4.",
        ])
        .needs(&[any_of(&["slo"])])
        .apply(|args, _| {
            args.results.objectives.abort = true;
            Ok(())
        }),
];

/// Beside the other files that results go to.
pub const JUNIT: Opt<Args> = Opt::with_value(
    "junit",
    "FILE",
    "writes objectives and verdict as JUnit XML, for systems that show results of tests",
)
.details(&[
    "A test case for each objective of --slo, which fails unless it was met, and one for the verdict: \
     INVALID is an error, SUSPECT passes with its reasons as output.",
])
.apply(|args, value| file(&mut args.results.junit, value, StdoutMeans::Nothing));
