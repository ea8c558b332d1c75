//! `httperf replay`: the requests of a recording, made again at their times.

mod options;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use httperf_command_line::args::{Args, ReportForm};
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::planning;
use httperf_command_line::planning::replay::{STREAMS, usual_connections};
use httperf_command_line::terminal::messages::Program;
use httperf_import::clients::IDLE;
use httperf_import::log::Format;
use httperf_import::models::Asking;
use httperf_import::recording::{Form, Options};
use httperf_plan::{BodyFile, BodyFor, Clients, ModelApi, Recorded, RecordedForm, Replay, Sha256};
use httperf_report::replayed;
use sha2::{Digest, Sha256 as Hasher};

use self::options::{ReplayArgs, own_paths};
use crate::recording::{Making, Surveyed, survey};
use crate::runner;

pub use self::options::COMMAND;

/// The requests that `--dry-run` shows.
const SHOWN: usize = 10;

/// The spread of copies where no client made two requests, so that nothing tells how they pause.
const SPREAD: Duration = Duration::from_secs(1);

/// Runs `httperf replay` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match ReplayArgs::parse(words) {
        Ok(args) => run(&program.quieted(args.run.quiet), &args).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Reads the recording and replays it. An early end has been explained when its exit status comes back.
fn run(program: &Program, args: &ReplayArgs) -> Result<ExitCode, ExitCode> {
    args.run.notices.iter().for_each(|notice| program.warn(notice));
    let bodies = bodies(args).map_err(|error| program.fail(&error))?;
    let surveyed = read(args, &bodies).map_err(|error| {
        program.say(error.about(&args.file.display().to_string()));
        ExitCode::FAILURE
    })?;
    if surveyed.recorded.requests == 0 {
        program.say(nothing_to_make(&surveyed.recorded));
        return Err(ExitCode::FAILURE);
    }
    let first = surveyed.first.clone();
    let is_model = is_model(&surveyed.recorded);
    let replay = replay(args, surveyed, bodies);
    if args.shows_only {
        let shown = shown(&replay, &first);
        return program.print(shown.as_bytes()).map(|()| ExitCode::SUCCESS);
    }
    let mut run = args.run.clone();
    // No script knows this command from the classic tool.
    run.report = run.report.or(ReportForm::Answer, ReportForm::Full);
    if !is_model {
        // Nothing plays the part of prompts.
        run.brought.clear();
    }
    if is_model {
        run.material.replies.streams.model.get_or_insert(ModelApi::OpenAi);
        run.sources.system_buffers |= run.leaves_buffers_open();
    }
    let plan = planning::plan_of_replay(program, &run, replay, &mut |warning| program.warn(warning))
        .map_err(|error| error.explain(program))?;
    runner::run(program, &run, plan, &[])
}

/// Checks the words behind `httperf replay`, which is to be carried out elsewhere. Returns the options of the run, and the
/// files that are read: the recording, and those of `--body-for`.
///
/// # Errors
/// The mistake in them.
pub(crate) fn elsewhere_words(words: &[OsString]) -> Result<(Args, Vec<PathBuf>), ParseStop> {
    let args = ReplayArgs::parse(words)?;
    if args.shows_only {
        return Err(ParseStop::rejected("--dry-run: expected a replay, not a look at its recording"));
    }
    let bodies = args.bodies.into_iter().map(|(_, _, file)| file);
    Ok((args.run, std::iter::once(args.file).chain(bodies).collect()))
}

/// Reads the recording once.
fn read(args: &ReplayArgs, bodies: &[BodyFor]) -> Result<Surveyed, httperf_import::Error> {
    let (by, by_text) = args.by.clone().unwrap_or_default();
    let idle = args.idle.unwrap_or(IDLE);
    let format = args.format.as_deref().map(Format::parse).transpose()?;
    let has_choices = args.by.is_some() || args.format.is_some();
    let client_by = if by_text.is_empty() { "address+agent+user".to_owned() } else { by_text };
    let form = args.format.is_some().then(|| RecordedForm::Log {
        format: args.format.clone(),
        client_by: client_by.clone(),
        idle,
    });
    let path =
        args.run.url().map(|url| String::from_utf8_lossy(&url.uri).into_owned()).filter(|uri| uri != "/");
    let model = args.run.material.prompts.model.clone();
    let asking = Asking { uri: path.clone().unwrap_or_else(|| Asking::default().uri), model };
    let names_model = asking.model.is_some();
    let options = Options { form: format.map(|format| Form::Log(Some(format))), by, idle, asking };
    let making = Making {
        all_methods: args.allows_unsafe,
        keeps_cookies: keeps_cookies(args),
        bodies: bodies.to_vec(),
        own_fields: Vec::new(),
    };
    let shown = if args.shows_only { SHOWN } else { 0 };
    let mut surveyed = survey(&args.file, form.as_ref(), &options, &making, shown)?;
    match &mut surveyed.recorded.form {
        RecordedForm::Log { client_by: told, .. } | RecordedForm::GoReplay { client_by: told, .. } => {
            *told = client_by;
        }
        RecordedForm::Trace if has_choices => {
            let sentence = "expected a log for --client-by and --format, got a trace, which has its clients";
            return Err(httperf_import::Flaw::whole(sentence).into());
        }
        RecordedForm::Model { .. } if has_choices => {
            let sentence =
                "expected a log for --client-by, got a trace of a language model, which has no clients";
            return Err(httperf_import::Flaw::whole(sentence).into());
        }
        RecordedForm::Trace | RecordedForm::Model { .. } => {}
    }
    match path {
        _ if is_model(&surveyed.recorded) => Ok(surveyed),
        Some(path) => Err(httperf_import::Flaw::whole(own_paths(&path)).into()),
        None if names_model => {
            let sentence = "expected a trace of a language model for --model, got another recording";
            Err(httperf_import::Flaw::whole(sentence).into())
        }
        None => Ok(surveyed),
    }
}

/// Returns whether a recording is a trace of a language model.
fn is_model(recorded: &Recorded) -> bool {
    matches!(recorded.form, RecordedForm::Model { .. })
}

fn keeps_cookies(args: &ReplayArgs) -> bool {
    !args.is_independent && !args.keeps_no_cookies
}

/// The replay that was asked for.
fn replay(args: &ReplayArgs, surveyed: Surveyed, bodies: Vec<BodyFor>) -> Replay {
    let is_model = is_model(&surveyed.recorded);
    let is_independent = args.is_independent || is_model;
    let connections = args.connections.unwrap_or_else(|| usual_connections(&args.run, is_independent));
    let clients = match is_independent {
        true => Clients::Independent { connections },
        false => {
            Clients::Recorded { connections, cookies: keeps_cookies(args), idle: args.idle.unwrap_or(IDLE) }
        }
    };
    Replay {
        spread: args.spread.or(surveyed.pause).unwrap_or(SPREAD),
        recorded: surveyed.recorded,
        speed: args.speed.unwrap_or(1.0),
        copies: args.copies.unwrap_or(NonZeroU32::MIN),
        clients,
        streams: STREAMS,
        all_methods: args.allows_unsafe || is_model,
        bodies,
    }
}

/// Reads the files of `--body-for`.
fn bodies(args: &ReplayArgs) -> anyhow::Result<Vec<BodyFor>> {
    let read = |(method, path, file): &(String, String, PathBuf)| {
        let contents =
            fs::read(file).with_context(|| format!("--body-for: cannot read `{}`", file.display()))?;
        let sha256 = Sha256(Hasher::digest(&contents).into());
        let size = contents.len() as u64;
        Ok(BodyFor {
            method: method.clone(),
            path: path.clone(),
            content_type: content_type(file).to_owned(),
            file: BodyFile { path: file.clone(), size, sha256, contents: Arc::from(contents) },
        })
    };
    args.bodies.iter().map(read).collect()
}

/// The media type of a file, by its ending.
fn content_type(file: &Path) -> &'static str {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match &ending.to_ascii_lowercase()[..] {
        "json" => "application/json",
        "xml" => "application/xml",
        "txt" => "text/plain; charset=utf-8",
        "html" => "text/html; charset=utf-8",
        "csv" => "text/csv",
        "form" => "application/x-www-form-urlencoded",
        _ => "application/octet-stream",
    }
}

/// The reason for which nothing of a recording can be made.
fn nothing_to_make(recorded: &Recorded) -> String {
    let left_out: Vec<String> =
        recorded.left_out.iter().map(|left_out| format!("{}: {}", left_out.reason, left_out.count)).collect();
    let left_out =
        if left_out.is_empty() { "none".to_owned() } else { format!("only {}", left_out.join(", ")) };
    format!("{}: expected requests that can be made, got {left_out}", recorded.path.display())
}

/// A recording, and the first requests that are made of it.
fn shown(replay: &Replay, first: &[httperf_import::trace::Request]) -> String {
    let mut text = replayed(replay);
    let base = first.first().map(|request| request.at).unwrap_or_default();
    text.push_str("\n     due s  client  request\n");
    for request in first {
        let due = replay.scaled(request.at.saturating_sub(base)).as_secs_f64();
        let target: String = request.uri.chars().take(60).collect();
        let more = if target.len() < request.uri.len() { "…" } else { "" };
        writeln!(text, "{due:10.3}  {:>6}  {} {target}{more}", request.client, request.method)
            .expect("a String takes everything");
    }
    let rest = replay.recorded.requests.saturating_sub(first.len() as u64);
    if rest > 0 {
        writeln!(text, "and {rest} more").expect("a String takes everything");
    }
    text
}
