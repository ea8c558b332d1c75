//! Results that keep: the files they go to, what is recorded, and how a run is judged.

use httperf_plan::{Fraction, Precision, ReplyClock, Split, number};

use super::rules::{NOT_FROM_CLASSIC_RECORD, NOT_OVER_UDP};
use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Rule, Value, any_of};
use crate::values::{StdoutMeans, bounded, file, positive};
use crate::{hints, names};

/// Calls that `--exemplars` keeps at most.
const EXEMPLARS_MAX: u32 = 1000;

/// Results that show names.
const NAMED: Rule = any_of(&["html", "svg", "png"]);

/// Destinations of results, and their effect on the exit status.
pub const FILES: &[Opt<Args>] = &[
    Opt::with_value(
        "output",
        "FILE",
        "writes the result as a JSON document",
    )
    .common()
    .details(&[
        "It can be rendered, merged, compared and run again. The document holds the plan, the machine, the verdict, all \
         counters and histograms, the run second by second and its slowest calls; `docs/reference/result.md` describes it. \
         It contains the requests as they were sent, so that they can be sent again; if anything in them is secret, only you \
         can read the file. Private keys are left out.",
        "`-` writes it to standard output, which then carries nothing else: without secrets, and what had some \
             cannot be run again.",
    ])
    .conflicts(&[any_of(&["steps=-"]).when("output=-").because("standard output has room for one of them")])
    .apply(|args, value| match hints::output(&value.os_str().to_string_lossy()) {
        Some(hint) => Err(value.expected("the name of a file").with_hint(Some(hint))),
        None => file(&mut args.results.output, value, StdoutMeans::Itself),
    }),
    Opt::flag("json", "prints the result as a JSON document")
        .common()
        .details(&["The same as `--output -`, and leaves --output FILE its file."])
        .conflicts(&[any_of(&["steps=-"]).because("standard output has room for one of them")])
        .apply(|args, _| {
            args.results.prints_json = true;
            Ok(())
        }),
    Opt::with_value(
        "html",
        "FILE",
        "writes the result as a page with charts",
    )
    .common().details(&["One file that needs no network."])
    .conflicts(&[NOT_FROM_CLASSIC_RECORD])
    .apply(|args, value| file(&mut args.results.html, value, StdoutMeans::Nothing)),
    Opt::with_value("csv", "FILE", "appends a row of figures to a CSV file")
        .details(&[
            "A new file begins with a line that names the columns: first the ten that tools which sweep \
             httperf over rates have used (autobench), then percentiles of both clocks, the verdict, and all other figures. \
             docs/reference/csv.md says what each column is.",
        ])
        .apply(|args, value| file(&mut args.results.csv, value, StdoutMeans::Nothing)),
    Opt::with_value(
        "hgrm",
        "FILE",
        "writes the distribution of the latency, in ms, for HdrHistogram's plotters",
    )
    .conflicts(&[NOT_FROM_CLASSIC_RECORD])
    .apply(|args, value| file(&mut args.results.hgrm, value, StdoutMeans::Nothing)),
    Opt::with_value("svg", "FILE", "draws the percentiles of the latency as SVG")
        .details(&[
            "`httperf plot` draws a saved result over its time as well, in other sizes, and for dark pages.",
        ])
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| file(&mut args.results.svg, value, StdoutMeans::Nothing)),
    Opt::with_value("png", "FILE", "draws the percentiles of the latency as PNG")
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| file(&mut args.results.png, value, StdoutMeans::Nothing)),
    Opt::with_value("title", "TEXT", names::TITLE_HELP)
        .details(names::TITLE_DETAILS)
        .needs(&[NAMED])
        .apply(|args, value| names::title(&mut args.results.names, value)),
    Opt::with_value("label", "TEXT", names::LABEL_HELP)
        .details(names::LABEL_DETAILS)
        .needs(&[NAMED])
        .apply(|args, value| names::label(&mut args.results.names, value)),
    super::objectives::JUNIT,
    Opt::with_value("calls", "FILE.csv", "writes a row of CSV for each call as it ends")
        .details(&[
            "A thread of its own writes them. Calls that come faster than it can write are left out, \
             counted, and make the run SUSPECT.",
            "Calls of scenarios (`httperf run`) have further columns at the end: scenario, step, load \
             phase, and the first check or capture that the reply failed. docs/reference/result.md \
             describes the columns.",
        ])
        .apply(|args, value| file(&mut args.results.calls, value, StdoutMeans::Nothing)),
    Opt::with_value("interval-log", "FILE", "writes a line of JSON to a file for each second of the run")
        .details(&[
            "Each line is written when its second has ended, so that a run that is killed keeps all but \
             its last one. The file is overwritten. docs/reference/interval-log.md describes the lines.",
        ])
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| file(&mut args.interval_log, value, StdoutMeans::Nothing)),
    super::metrics::METRICS,
    super::metrics::LINGER,
    super::metrics::OTLP,
    super::metrics::INFLUX,
    Opt::flag("strict", "exits with status 2 if the run is SUSPECT, and 3 if it is INVALID")
        .details(&[
            "Otherwise the exit status says nothing of the verdict, as scripts expect. An objective that \
             was not met (--slo) makes it 4, unless the run is INVALID.",
        ])
        .apply(|args, _| {
            args.results.strict = true;
            Ok(())
        }),
];

/// The recording.
pub(super) const RECORDING: &[Opt<Args>] = &[
    Opt::with_value("exemplars", "N", "keeps the N slowest calls, with a breakdown of their time")
        .details(&[
            "Default: 3. Range: 0 to 1000. They are in the full report, the JSON document and the page.",
        ])
        .apply(|args, value| {
            let count = bounded(value, EXEMPLARS_MAX);
            let expected = || value.expected("a number from 0 to 1000");
            args.results.exemplars = count.ok_or_else(expected)?;
            Ok(())
        }),
    Opt::with_value(
        "split",
        "uri|status",
        "breaks calls down by request target, or by the status of the reply",
    )
    .details(&["At most 100 groups; what comes after them is counted as `other`."])
    .conflicts(&[NOT_FROM_CLASSIC_RECORD])
    .sets(&["recording.split"])
    .apply(|args, value| {
        args.results.split = Some(match value.bytes() {
            b"uri" => Split::Uri,
            b"status" => Split::Status,
            _ => return Err(value.expected("uri or status")),
        });
        Ok(())
    }),
    Opt::with_value(
        "clock",
        "auto|program|kernel",
        "ends replies when the program finds them, or when the kernel received them",
    )
    .details(&[
        "Default: auto, which is kernel at a rate, if the kernel stamps what it receives, and program in a closed loop. \
         With kernel, what a reply waited in this machine to be read (the \
         receive lag) is no part of its latency, service, response and transfer. A reply that the kernel \
         did not stamp ends when it is found; the report says how many those are. Sessions, and the calls \
         that follow a reply, go by the program's clock all the same.",
        "At a --request-rate, where nothing depends on a reply, it is then read when the next call wakes httperf up, \
         if that is within a millisecond. That takes less processor time and changes no latency; the report counts \
         such replies. With program, or --spin, all are read at once.",
    ])
    .conflicts(&[NOT_FROM_CLASSIC_RECORD.when("clock=kernel")])
    .sets(&["recording.clock"])
    .apply(|args, value| {
        args.results.clock = match value.bytes() {
            b"program" => ReplyClock::Program,
            b"kernel" => ReplyClock::Kernel,
            b"auto" => ReplyClock::Auto,
            _ => return Err(value.expected("auto, program or kernel")),
        };
        Ok(())
    }),
    Opt::with_value(
        "kernel-sends",
        "N",
        "reports every Nth call from the kernel's sending the request to its receiving the reply",
    )
    .details(&["The report then has two more rows: `send lag`, from the write of the last bytes of a \
         request to the kernel's giving them to the network device, and `kernel to kernel`, from then to \
         its receipt of the segment that completed the reply. The second is what server and network took, \
         without anything of this program. Each call that is asked about costs a few microseconds more."])
    .conflicts(&[NOT_FROM_CLASSIC_RECORD, NOT_OVER_UDP])
    .sets(&["recording.kernel_sends"])
    .apply(|args, value| {
        args.results.kernel_sends = Some(positive(value)?);
        Ok(())
    }),
    Opt::with_value(
        "record",
        "classic|full",
        "records everything about a run, or only the figures of the classic report",
    )
    .details(&["Default: full. It costs less than a tenth of the processor time of a request; the classic \
         record is there to show that. Without the full one there are no percentiles, and no run is VALID."])
    .sets(&["recording.detail"])
    .apply(|args, value| {
        args.results.classic_record = match value.bytes() {
            b"classic" => true,
            b"full" => false,
            _ => return Err(value.expected("classic or full")),
        };
        Ok(())
    }),
];

/// `pQ:S%`: the quantile Q %, exact to S % of its value.
pub(super) fn precision(value: Value<'_>) -> Result<Precision, ParseStop> {
    let parsed = || -> Option<Precision> {
        let text = std::str::from_utf8(value.bytes()).ok()?;
        let (quantile, share) = text.strip_prefix('p')?.strip_suffix('%')?.split_once(':')?;
        let percent = |text: &str| {
            let number = number::real(text.as_bytes())?;
            Fraction::try_from(number / 100.0).ok()
        };
        Some(Precision { quantile: percent(quantile)?, share: percent(share)? })
    };
    parsed().ok_or_else(|| value.expected("a percentile and its precision such as p99:5%"))
}
