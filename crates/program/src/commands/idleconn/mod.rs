//! `httperf idleconn`, and the program when it is called `idleconn`: holds idle connections to a server, as the program of that
//! name does that came with httperf 0.9.0.

mod hold;

use std::ffi::OsString;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::printf;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::{StopRequest, raise_descriptor_limit};

use crate::runner::EndSignals;

use self::hold::{Held, HoldError, hold};

/// The command line of `httperf idleconn`.
pub const COMMAND: Command<IdleArgs> = Command {
    name: "idleconn",
    summary: "Holds idle connections to a server, and opens new ones for those that it closes.",
    words: "SERVER PORT NUMBER",
    groups: &[Group { title: "Load", options: LOAD }, Group { title: "General", options: &[Opt::help()] }],
    also: None,
    word: |args, word| {
        args.words.push(String::from_utf8_lossy(word).into_owned());
        Ok(())
    },
};

const LOAD: &[Opt<IdleArgs>] =
    &[Opt::with_value("duration", "SECONDS", "ends after this time (as in 10, 2m or 500ms)")
        .details(&["Without it, SIGINT (Ctrl-C) or SIGTERM ends it."])
        .apply(|args, value| {
            let seconds = value.seconds().filter(|&seconds| seconds > 0.0);
            let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            args.duration = Some(time.ok_or_else(|| value.expected("a time above 0"))?);
            Ok(())
        })];

/// The arguments.
#[derive(Debug, Default)]
pub struct IdleArgs {
    words: Vec<String>,
    duration: Option<Duration>,
}

/// The exit status of the classic program for a wrong command line or an unknown server.
const WRONG: u8 = 255;

/// Descriptors that the program needs besides those of connections.
const OTHER_DESCRIPTORS: u64 = 16;

/// Runs `httperf idleconn` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = if program.name() == COMMAND.name.as_bytes() {
        program.clone()
    } else {
        program.subcommand(COMMAND.name)
    };
    let mut args = IdleArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    let parsed = parsed.map_err(|stop| match negative(words) {
        Some(number) if matches!(stop, ParseStop::Usage(_)) => no_count(&number),
        _ => stop,
    });
    let (server, count) = match parsed.and_then(|()| wanted(&args)) {
        Ok(wanted) => wanted,
        Err(stop) => return program.stop(&COMMAND.describe(), &stop),
    };
    match run(&program, server, count, args.duration) {
        Ok(status) | Err(status) => status,
    }
}

/// A word that looks like an option, and is a number below 0.
fn negative(words: &[OsString]) -> Option<String> {
    let texts = words.iter().filter_map(|word| word.to_str());
    let mut numbers = texts.filter(|text| text.starts_with('-') && text.parse::<f64>().is_ok());
    numbers.next().map(str::to_owned)
}

fn rejected(message: String) -> ParseStop {
    ParseStop::Rejected { message: message.into_bytes(), plain: None, status: WRONG }
}

fn no_count(given: &str) -> ParseStop {
    rejected(format!("expected a number of connections from 1 to {}, got `{given}`", u32::MAX))
}

/// The server, and the number of connections.
fn wanted(args: &IdleArgs) -> Result<(SocketAddr, u64), ParseStop> {
    let [server, port, count] = &args.words[..] else {
        let given = match &args.words[..] {
            [] => "none".to_owned(),
            words => format!("`{}`", words.join(" ")),
        };
        return Err(rejected(format!("expected a server, a port and a number of connections, got {given}")));
    };
    let port: u16 = port
        .parse()
        .ok()
        .filter(|&port| port > 0)
        .ok_or_else(|| rejected(format!("expected a port from 1 to 65535, got `{port}`")))?;
    let count: u32 = count.parse().ok().filter(|&count| count > 0).ok_or_else(|| no_count(count))?;
    let address = (&server[..], port).to_socket_addrs();
    let address = address.ok().and_then(|mut addresses| addresses.next());
    let address = address.ok_or_else(|| rejected(format!("invalid server address {server}")))?;
    Ok((address, count.into()))
}

fn run(
    program: &Program,
    server: SocketAddr,
    count: u64,
    duration: Option<Duration>,
) -> Result<ExitCode, ExitCode> {
    let failed = |error: anyhow::Error| {
        program.say(format_args!("{error:#}"));
        ExitCode::FAILURE
    };
    let limit = raise_descriptor_limit().saturating_sub(OTHER_DESCRIPTORS);
    let room = count.min(limit);
    if room < count {
        program.warn(format_args!(
            "warning: open files: the limit has room for {room} connections of {count}\nhint: ulimit -n"
        ));
    }
    let stop = StopRequest::new().map_err(|error| failed(error.into()))?;
    let signals = EndSignals::watch(stop.clone()).map_err(failed)?;
    let line = |text: String| program.print(format!("{text}\n").as_bytes());
    line(format!("idleconn: creating and maintaining {room} idle connections"))?;
    let held = hold(server, room, duration, &stop, &mut |error| line(format!("connect: {error}")));
    let Held { created, closed, time } = held.map_err(|error| match error {
        HoldError::Reported(status) => status,
        HoldError::System(errno) => failed(errno.into()),
    })?;
    let rate = closed as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    line(format!(
        "idleconn: total # conn. created = {created}, close() rate = {} conn/sec",
        printf::g(rate)
    ))?;
    Ok(signals.exit_code())
}
