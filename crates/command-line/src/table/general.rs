//! Help, the version, and options that only old scripts need.

use crate::args::Args;
use crate::grammar::{Opt, ParseStop};
use crate::hints;

/// The notice about `--debug`.
const NO_DEBUGGING: &str = "warning: --debug: no effect, as there is no debugging output; --duration X offers load for X \
                            seconds, -v and --print-reply show more";

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::help(),
    Opt::flag("version", "prints the version and exits")
        .short('V')
        .classic()
        .apply(|_, _| Err(ParseStop::Version)),
    Opt::flag("print-workload", "prints the command line as a workload file, and ends; nothing is sent")
        .details(&[
            "`httperf run FILE` makes the same run, and options typed there override those of the file. Names of files \
             stay as they were typed.",
        ])
        .apply(|args, _| {
            args.prints_workload = true;
            Ok(())
        }),
    Opt::with_value("debug", "N", "does nothing but say what to use instead")
        .short('d')
        .classic()
        .details(&[
            "A debugging build of the classic tool printed debugging output, more of it for a larger N; \
             the packaged one had none either. -v shows rates as they are sampled (given twice, the \
             histogram of lifetimes; three times, the interval before each arrival), --print-request and \
             --print-reply what is sent and received, and --calls writes a row for each call. A time or a \
             body, which other tools take behind -d, is refused.",
        ])
        .apply(|args, value| {
            if hints::is_foreign_debug_value(value.bytes()) {
                return Err(value.expected("a number"));
            }
            args.notices.push(NO_DEBUGGING.to_owned());
            Ok(())
        }),
    Opt::flag("use-timer-cache", "does nothing; accepted for old scripts")
        .classic_091()
        .details(&[
            "It asked the classic tool to read the clock once per turn of its loop. Here the clock is \
             read once a turn and once a send in any case.",
        ])
        .apply(|args, _| {
            args.use_timer_cache = true;
            Ok(())
        }),
];
