//! Help, the version, and options that only old scripts need.

use crate::args::Args;
use crate::options::{Opt, Stop, Tier, ValueForm};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::help(),
    Opt {
        long: "version",
        short: Some('V'),
        value: ValueForm::None,
        tier: Tier::Classic090,
        help: "prints the version and exits",
        details: &[],
        apply: |_, _| Err(Stop::Version),
    },
    Opt {
        long: "debug",
        short: Some('d'),
        value: ValueForm::Required("N"),
        tier: Tier::Classic090,
        help: "does nothing but say so",
        details: &["The packaged classic tool was built without debugging output too."],
        apply: |args, _| {
            args.notices.push("sorry, need to recompile with -DDEBUG on...".to_owned());
            Ok(())
        },
    },
    Opt {
        long: "use-timer-cache",
        short: None,
        value: ValueForm::None,
        tier: Tier::Classic091,
        help: "does nothing; accepted for old scripts",
        details: &[
            "It asked the classic tool to read the clock once per turn of its loop. Here the clock is read once \
             a turn and once a send in any case.",
        ],
        apply: |args, _| {
            args.use_timer_cache = true;
            Ok(())
        },
    },
];
