//! `httperf plot`: results as pictures.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use httperf_command_line::args::{STDOUT, os_string};
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop, Value};
use httperf_command_line::names;
use httperf_command_line::outputs::ReadFile;
use httperf_command_line::terminal::messages::Program;
use httperf_pages::{Report, Saved};
use httperf_pictures::{self as pictures, COMPARED_MAX, Picture, SCALE_MAX, SIZES, Style, Theme};
use httperf_report::Kind;
use httperf_report::headings::Names;
use httperf_report::result::Document;

use crate::commands::saved::read_any;
use crate::runner::results::{cannot_write, ensure_apart, file};

/// The command line of `httperf plot`.
pub const COMMAND: Command<PlotArgs> = Command {
    name: "plot",
    summary: "Draws any document that --output has written, as SVG or PNG.",
    words: "FILE...",
    groups: &[
        Group { title: "Picture", options: PICTURE },
        Group { title: "Output", options: OUTPUT },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.files.push(os_string(word));
        Ok(())
    },
};

const PICTURE: &[Opt<PlotArgs>] = &[
    Opt::with_value("what", "percentiles|timeline|sweep|compare", "draws this picture of the files")
        .common()
        .details(&[
            "Default: compare for several results, percentiles for one; a sweep, a capacity and a comparison have one \
             picture each. percentiles has the latency and the service time of a result, the axis logarithmic in 1 / (1 - \
             p); timeline the throughput and the latency over the time of the run; sweep the reply rate, the errors and the \
             response time over the offered load; compare the percentiles of the latency of 2 to 16 results.",
        ])
        .apply(|args, value| {
            args.what = Some(match value.bytes() {
                b"percentiles" => What::Percentiles,
                b"timeline" => What::Timeline,
                b"sweep" => What::Sweep,
                b"compare" => What::Compare,
                _ => {
                    return Err(value.expected("percentiles, timeline, sweep or compare"));
                }
            });
            Ok(())
        }),
    Opt::with_value("theme", "light|dark", "draws dark on white, or light on nearly black")
        .common()
        .details(&["Default: light."])
        .apply(|args, value| {
            args.style.theme = match value.bytes() {
                b"light" => Theme::Light,
                b"dark" => Theme::Dark,
                _ => return Err(value.expected("light or dark")),
            };
            Ok(())
        }),
    Opt::with_value("width", "PIXELS", "sets the width of the picture, from 300 to 4000")
        .common()
        .details(&["Default: 800."])
        .apply(|args, value| {
            args.style.width = size(value)?;
            Ok(())
        }),
    Opt::with_value("height", "PIXELS", "sets the height of the picture, from 300 to 4000")
        .details(&["Default: what suits the picture."])
        .apply(|args, value| {
            args.style.height = Some(size(value)?);
            Ok(())
        }),
    Opt::with_value("scale", "N", "draws a PNG with N times as many pixels each way, from 1 to 4")
        .common()
        .details(&["Default: 1. With 2, it is sharp on screens of high resolution and in print. SVG always is."])
        .apply(|args, value| {
            let scale = value.unsigned().and_then(|scale| u32::try_from(scale).ok());
            let scale = scale.filter(|scale| (1..=SCALE_MAX).contains(scale));
            args.scale = scale.ok_or_else(|| value.expected("a number from 1 to 4"))?;
            Ok(())
        }),
    Opt::with_value("title", "TEXT", "titles the picture")
        .common()
        .details(&["In place of its own title, which then stands below."])
        .apply(|args, value| names::title(&mut args.names, value)),
    Opt::with_value("label", "TEXT", "names a result; given once for each, in their order")
        .common()
        .details(&["With several results, these names label the lines instead of the names of the files."])
        .apply(|args, value| {
            args.labels.push(names::text(value)?);
            Ok(())
        }),
];

const OUTPUT: &[Opt<PlotArgs>] = &[
    Opt::with_value("output", "FILE", "writes the picture to a file instead of standard output")
        .common()
        .details(&["A name that ends in .svg or .png says the form; --format says it for any name."])
        .apply(|args, value| {
            if value.bytes().is_empty() {
                return Err(value.expected("the name of a file"));
            }
            args.output = Some(value.os_str().to_owned()).filter(|name| name != STDOUT);
            Ok(())
        }),
    Opt::with_value("format", "svg|png", "writes the picture in this form")
        .common()
        .details(&["Default: what the name of the file ends in; svg on standard output."])
        .apply(|args, value| {
            args.format = Some(match value.bytes() {
                b"svg" => Format::Svg,
                b"png" => Format::Png,
                _ => return Err(value.expected("svg or png")),
            });
            Ok(())
        }),
];

fn size(value: Value<'_>) -> Result<u32, ParseStop> {
    let pixels = value.unsigned().and_then(|pixels| u32::try_from(pixels).ok());
    let expected = format!("pixels from {} to {}", SIZES.start(), SIZES.end());
    pixels.filter(|pixels| SIZES.contains(pixels)).ok_or_else(|| value.expected(&expected))
}

/// The arguments.
#[derive(Debug)]
pub struct PlotArgs {
    files: Vec<OsString>,
    what: Option<What>,
    style: Style,
    scale: u32,
    names: Names,
    /// `--label`, in the order of the files.
    labels: Vec<String>,
    output: Option<OsString>,
    format: Option<Format>,
}

impl Default for PlotArgs {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            what: None,
            style: Style::default(),
            scale: 1,
            names: Names::default(),
            labels: Vec::new(),
            output: None,
            format: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Percentiles,
    Timeline,
    Sweep,
    Compare,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

/// Runs `httperf plot` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = PlotArgs::default();
    if let Err(stop) = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
        return program.stop(&COMMAND.describe(), &stop);
    }
    match plot(&args) {
        Ok(bytes) => program.print(&bytes).map_or_else(|status| status, |()| ExitCode::SUCCESS),
        Err(error) => {
            program.say(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The picture, unless it went to a file.
fn plot(args: &PlotArgs) -> anyhow::Result<Vec<u8>> {
    ensure!(!args.files.is_empty(), "expected the name of a result, got none");
    let written: Vec<_> = args.output.iter().map(|name| ("--output", name.clone())).collect();
    ensure_apart(&written, &args.files.iter().map(ReadFile::plain).collect::<Vec<_>>())?;
    let (labels, files) = (args.labels.len(), args.files.len());
    ensure!(labels == 0 || labels == files, "--label: expected one for each of {files} files, got {labels}");
    let format = form(args)?;
    let label = args.labels.first().filter(|_| files == 1).cloned();
    let picture = drawn(args)?.named(&Names { label, ..args.names.clone() });
    let bytes = match format {
        Format::Svg => picture.svg().into_bytes(),
        Format::Png => picture.png(args.scale),
    };
    let Some(name) = &args.output else { return Ok(bytes) };
    file::replace(name, bytes).with_context(|| cannot_write("--output", name))?;
    Ok(Vec::new())
}

fn form(args: &PlotArgs) -> anyhow::Result<Format> {
    let Some(name) = &args.output else {
        ensure!(
            !io::stdout().is_terminal(),
            "expected --output FILE or a pipe for the picture, got a terminal\nhint: --output run.svg or --output run.png \
             writes it to a file"
        );
        return Ok(args.format.unwrap_or(Format::Svg));
    };
    let ending = Path::new(name).extension().map(OsStr::to_ascii_lowercase);
    match (args.format, ending.as_deref().and_then(OsStr::to_str)) {
        (Some(format), _) => Ok(format),
        (None, Some("svg")) => Ok(Format::Svg),
        (None, Some("png")) => Ok(Format::Png),
        (None, _) => {
            let name = name.to_string_lossy();
            bail!("--output: expected a name that ends in .svg or .png, or --format, got `{name}`")
        }
    }
}

fn drawn(args: &PlotArgs) -> anyhow::Result<Picture> {
    let first = args.files[0].to_string_lossy();
    let mut documents = Vec::with_capacity(args.files.len());
    for name in &args.files {
        match read_any(name)? {
            Saved::Result(document) => documents.push(*document),
            other => return whole(args, name, other.report()),
        }
    }
    let usual = if documents.len() > 1 { What::Compare } else { What::Percentiles };
    match (args.what.unwrap_or(usual), &documents[..]) {
        (What::Percentiles, [document]) => Ok(pictures::percentiles(document, &args.style)),
        (What::Timeline, [document]) => Ok(pictures::timeline(document, &args.style)),
        (what @ (What::Percentiles | What::Timeline), several) => {
            let name = if what == What::Timeline { "timeline" } else { "percentiles" };
            bail!("--what: expected compare for {} results, got `{name}`, which is of one", several.len())
        }
        (What::Compare, several) => {
            ensure!(
                (2..=COMPARED_MAX).contains(&several.len()),
                "--what: expected 2 to {COMPARED_MAX} results to compare, got {}",
                several.len()
            );
            let names: Vec<_> = match &args.labels[..] {
                [] => args.files.iter().map(|name| name.to_string_lossy()).collect(),
                labels => labels.iter().map(|label| label.as_str().into()).collect(),
            };
            let named: Vec<(&str, &Document)> = names.iter().map(|name| &**name).zip(several).collect();
            Ok(pictures::compare(&named, &args.style))
        }
        (What::Sweep, _) => {
            bail!(
                "--what: expected percentiles, timeline or compare, as `{first}` is the result of one run, got `sweep`"
            )
        }
    }
}

/// The picture of a document of many measurements, which has one of its own.
fn whole(args: &PlotArgs, name: &OsStr, report: &dyn Report) -> anyhow::Result<Picture> {
    let (shown, kind) = (name.to_string_lossy(), report.kind());
    ensure!(
        args.files.len() == 1,
        "expected results, or one other document, got {} files of which `{shown}` is a {kind}",
        args.files.len()
    );
    let fits = match (args.what, kind) {
        (None, _) | (Some(What::Sweep), Kind::Sweep) | (Some(What::Compare), Kind::Comparison) => true,
        (Some(_), _) => false,
    };
    ensure!(fits, "--what: expected none for `{shown}`, which is a {kind}");
    report.picture(&args.style).with_context(|| format!("`{shown}`: a {kind} has no picture"))
}
