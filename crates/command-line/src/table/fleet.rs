//! Several processes that carry out one run together.

use chrono::DateTime;
use httperf_fleet::rank::Rank;

use crate::args::{Args, RankChoice};
use crate::grammar::{Opt, Rule, Value, any_of};
use crate::values::seconds;

/// Rules of the options that say how ranks meet.
const APART: Rule = any_of(&["start-at"]).because("the ranks then do not meet");
const IN_A_FLEET: Rule = any_of(&["fleet"]).because("it says which of several processes this is");

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("fleet", "auto|I/N", "makes this process rank I of N that carry out the run together")
        .details(&[
            "All N are started with the same command line, by a launcher or by hand. Each makes its share of the \
             arrivals; together they make the run that one process would make with as many threads. They meet, start at \
             one instant, and rank 0 prints one report of the whole. docs/guide/fleet.md describes it.",
            "With auto, rank and number come from the variables that a launcher sets: Open MPI, MPICH (PMI), Slurm, Flux, \
             Kubernetes (an Indexed Job, with HTTPERF_FLEET_SIZE), arrays of Slurm, AWS Batch, torchrun.",
        ])
        .apply(|args, value| {
            let choice = match value.bytes() {
                b"auto" => Some(RankChoice::Auto),
                _ => text(value).and_then(|text| text.parse::<Rank>().ok()).map(RankChoice::Given),
            };
            let expected = || {
                value.expected("auto, or a rank and the number of ranks such as 0/4")
            };
            args.fleet.rank = Some(choice.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("meet", "HOST:PORT|dir:PATH", "names the place where ranks meet")
        .details(&[
            "A free TCP port of rank 0, or a folder that all ranks see. Default: HTTPERF_FLEET_MEET; else what the \
             launcher says of rank 0, if it does.",
            "Where the port can be reached from other machines, all ranks need the same HTTPERF_FLEET_SECRET. Who does \
             not know it is sent away and counted.",
        ])
        .conflicts(&[APART])
        .needs(&[IN_A_FLEET])
        .apply(|args, value| {
            let place = text(value).and_then(|text| text.parse().ok());
            let expected = || value.expected("HOST:PORT of rank 0, or dir:PATH");
            args.fleet.meet = Some(place.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("meet-timeout", "X", "waits X seconds for ranks that have not come yet")
        .details(&["Default: 120."])
        .conflicts(&[APART])
        .needs(&[IN_A_FLEET])
        .apply(|args, value| {
            args.fleet.patience = Some(seconds(value)?);
            Ok(())
        }),
    Opt::with_value("start-at", "TIME", "starts at this time, such as 2026-11-23T15:00:00Z")
        .details(&[
            "With --fleet, the ranks then do not meet: each reports its share by itself, and `httperf merge` makes one \
             result of what --output has written. Their starts are as far apart as the clocks of their machines.",
        ])
        .apply(|args, value| {
            let time = text(value).and_then(|text| DateTime::parse_from_rfc3339(text).ok());
            let expected =
                || value.expected("a time such as 2026-11-23T15:00:00Z (RFC 3339)");
            args.fleet.start_at = Some(time.ok_or_else(expected)?);
            Ok(())
        }),
    Opt::flag("allow-missing", "takes a run for SUSPECT, not INVALID, if ranks were lost")
        .conflicts(&[APART])
        .needs(&[IN_A_FLEET])
        .apply(|args, _| {
            args.fleet.allows_missing = true;
            Ok(())
        }),
];

fn text(value: Value<'_>) -> Option<&str> {
    std::str::from_utf8(value.bytes()).ok()
}
