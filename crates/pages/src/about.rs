//! Description of a run: plan and machines, and the command to repeat it.

use std::borrow::Cow;
use std::time::Duration;

use httperf_plan::{
    Arrivals, Assignment, HttpVersion, Plan, Process, Script, Target, ThinkTime, UNLIMITED, UriSource,
    Workload, secrets,
};
use httperf_report::cut;
use httperf_report::headings::{date, host, server};
use httperf_report::number::{count, grouped, time};
use httperf_report::replay::described;
use httperf_report::result::{Document, Machine, Part};
use serde_json::Value;

/// Maximum number of characters of the plan: it may contain a list of a million URIs.
const PLAN_LENGTH: usize = 20_000;

/// Maximum number of characters of a command line, and of a name.
const COMMAND_LENGTH: usize = 20_000;
const NAME_LENGTH: usize = 200;

/// Maximum number of parts listed.
const PARTS_MAX: usize = 50;

/// A name with its value.
pub(super) struct Fact {
    pub(super) name: Cow<'static, str>,
    pub(super) value: String,
}

pub(super) fn fact(name: &'static str, value: impl Into<String>) -> Fact {
    Fact { name: name.into(), value: value.into() }
}

/// Reasons why parts of the run ended early.
pub(super) fn endings(document: &Document) -> Vec<String> {
    let of_several = document.parts.len() > 1;
    let ended = document.parts.iter().filter_map(|part| Some((part, part.ended_early?)));
    ended
        .take(PARTS_MAX)
        .map(|(part, ending)| match of_several {
            true => format!("The part from {} {ending}.", host(part)),
            false => format!("The run {ending}."),
        })
        .collect()
}

/// Command lines, quoted for a shell.
pub(super) fn commands(parts: &[Part]) -> Vec<String> {
    let commands = parts.iter().take(PARTS_MAX).map(|part| {
        let quoter = shlex::Quoter::new().allow_nul(true);
        let command = secrets::command_line(&part.command);
        quoter.join(command.iter().map(String::as_str)).expect("every character can be quoted")
    });
    let mut commands: Vec<String> = commands.map(|command| cut(&command, COMMAND_LENGTH)).collect();
    commands.dedup();
    commands
}

/// Description of the plan.
pub(super) fn plan(plan: &Plan) -> Vec<Fact> {
    let mut facts = Vec::new();
    for target in plan.targets.iter().take(PARTS_MAX) {
        facts.push(fact("Server", format!("{} {}", server(plan, target), way(plan, target))));
    }
    facts.push(fact("Protocol", protocol(plan)));
    facts.push(fact("Arrivals", arrivals(&plan.arrivals)));
    facts.push(fact("Each arrival", workload(&plan.workload)));
    facts.push(fact("Requests for", uris(plan)));
    if let Some(threads) = plan.threads {
        facts.push(fact("Threads", count(threads.get().into())));
    }
    if plan.client.count.get() > 1 {
        let (index, clients) = (plan.client.index, plan.client.count);
        facts.push(fact("Generator", format!("number {index} of {clients}, counted from 0")));
    }
    let think_time = plan.timeouts.think_timeout.map(|think_time| match think_time {
        ThinkTime::More(time) => ("Extra time for a reply", Some(time)),
        ThinkTime::Less(_) => {
            ("Time limit of a reply", plan.timeouts.reply().filter(|limit| *limit < Duration::MAX))
        }
    });
    if plan.client.stream > 0 {
        facts.push(fact("Random numbers", format!("stream of trial {}, counted from 0", plan.client.stream)));
    }
    let phases = [
        ("Warm-up", (!plan.phases.warmup.is_zero()).then_some(plan.phases.warmup)),
        ("Load offered for", plan.runtime),
        ("Drain", (!plan.phases.drain.is_zero()).then_some(plan.phases.drain)),
        ("Time limit", plan.timeouts.timeout),
    ];
    facts.extend(
        phases
            .into_iter()
            .chain(think_time)
            .filter_map(|(name, length)| Some(fact(name, length_of(length?)))),
    );
    facts
}

/// Path of connections to a target.
fn way(plan: &Plan, target: &Target) -> String {
    let endpoints: Vec<String> = target.endpoints().map(ToString::to_string).collect();
    let endpoints = cut(&endpoints.join(", "), NAME_LENGTH);
    match &plan.proxy {
        Some(proxy) if proxy.tunnel => format!("through a tunnel via the proxy at {endpoints}"),
        Some(_) => format!("through the proxy at {endpoints}"),
        None => format!("at {endpoints}"),
    }
}

fn length_of(length: Duration) -> String {
    time(length.as_secs_f64() * 1e3)
}

fn protocol(plan: &Plan) -> String {
    let version = match plan.request.version {
        HttpVersion::Http10 => "HTTP/1.0",
        HttpVersion::Http11 => "HTTP/1.1",
        HttpVersion::Http2 => "HTTP/2",
        HttpVersion::Http3 => "HTTP/3",
        HttpVersion::Auto => "HTTP/2 or HTTP/1.1 by ALPN, HTTP/3 by Alt-Svc",
    };
    let transport = if plan.tls.is_some() { "over TLS" } else { "in the clear" };
    if matches!(plan.uris, UriSource::Requests(_)) {
        // Each request has a method of its own.
        return format!("{version} {transport}");
    }
    let method = String::from_utf8_lossy(&plan.request.method);
    format!("{version} {transport}, {}", cut(&method, NAME_LENGTH))
}

fn arrivals(arrivals: &Arrivals) -> String {
    let mean = arrivals.mean_interval();
    let rate = || format!("{} per second", grouped(1.0 / mean, 1));
    match arrivals {
        Arrivals::Sequential => "sequential".to_owned(),
        Arrivals::Concurrent(count) => format!("{count} concurrent, each followed by the next"),
        _ if mean <= 0.0 => "all at once".to_owned(),
        Arrivals::Deterministic { .. } => format!("{}, evenly spaced", rate()),
        Arrivals::Uniform { .. } => format!("{} on average, at uniform intervals", rate()),
        Arrivals::Exponential { .. } => format!("{} on average, as a Poisson process", rate()),
        Arrivals::Recorded { .. } => format!("{} on average, as recorded", rate()),
        Arrivals::Variable(steps) => format!("in a cycle of {} rates", steps.len()),
        Arrivals::Phased(phased) => {
            let process = match phased.process {
                Process::Even => "evenly spaced",
                Process::Uniform => "at uniform intervals",
                Process::Poisson => "as a Poisson process",
            };
            format!("{} on average over {} phases, {process}", rate(), phased.phases.len())
        }
    }
}

fn workload(workload: &Workload) -> String {
    match workload {
        Workload::Connections(connections) => {
            let mut text = match connections.calls {
                UNLIMITED => "a connection with sequential calls".to_owned(),
                1 => "a connection of 1 call".to_owned(),
                calls => format!("a connection of {} calls", count(calls)),
            };
            if connections.pipeline.get() > 1 {
                text.push_str(&format!(", {} outstanding at once", count(connections.pipeline.get().into())));
            }
            if !connections.think.is_zero() {
                text.push_str(&format!(", {} between them", length_of(connections.think)));
            }
            text
        }
        Workload::Calls(calls) => {
            let mut text = match calls.connections {
                Some(most) => format!("a call, on one of up to {} connections", count(most.get().into())),
                None => "a call, on connections opened as needed".to_owned(),
            };
            if let Some(pipeline) = calls.pipeline.filter(|pipeline| pipeline.get() > 1) {
                text.push_str(&format!(" with up to {} calls each", count(pipeline.get().into())));
            }
            if calls.assignment == Assignment::InTurn {
                text.push_str(", in turn");
            }
            text
        }
        Workload::Scenarios(scenarios) => match &scenarios.scenarios[..] {
            [scenario] => format!("a visit of the scenario {}", cut(&scenario.name, NAME_LENGTH)),
            several => format!("a visit of one of {} scenarios", several.len()),
        },
        Workload::Replay(replay) => {
            format!("a request of a recording: {}", cut(&described(replay), NAME_LENGTH))
        }
        Workload::Sessions(sessions) => match &sessions.script {
            Script::Uniform { calls, burst, think } => format!(
                "a session of {} calls in bursts of {}, {} between them",
                count(*calls),
                count(burst.get()),
                length_of(*think)
            ),
            Script::File(scripts) => format!("a session, one of {} in a file", count(scripts.len() as u64)),
            Script::Pages { pages, think } => format!(
                "a session of {} pages with their objects, {} between them",
                count(*pages),
                length_of(*think)
            ),
        },
    }
}

fn uris(plan: &Plan) -> String {
    let text = |uri: &[u8]| cut(&String::from_utf8_lossy(uri), NAME_LENGTH);
    match &plan.uris {
        UriSource::Fixed(uri) => text(uri),
        UriSource::List { uris, .. } => format!("{} URIs of a list", count(uris.len() as u64)),
        UriSource::WorkingSet(set) => {
            format!("{} files below {}", count(set.files.get().into()), text(&set.prefix))
        }
        UriSource::Template(template) => text(&template.typed()),
        UriSource::Requests(requests) if plan.replies.streams.grpc.is_some() => {
            let method = text(&requests.first().uri.typed());
            format!("{method}, with {} messages in turn", count(requests.len() as u64))
        }
        UriSource::Requests(requests) => format!("{} requests of a list", count(requests.len() as u64)),
        UriSource::Prompts(prompts) => format!("{} prompts of a file", count(prompts.count)),
    }
}

/// Description of each part's machine.
pub(super) fn machines(parts: &[Part]) -> Vec<Vec<Fact>> {
    parts.iter().take(PARTS_MAX).map(machine).collect()
}

fn machine(part: &Part) -> Vec<Fact> {
    let Machine { host, system, processor, processors, memory, open_files, local_ports } = &part.machine;
    let model = processor.as_deref().unwrap_or("of an unknown model");
    let optional = [
        memory.map(|bytes| fact("Memory", format!("{} GiB", grouped(bytes as f64 / f64::from(1 << 30), 1)))),
        local_ports.map(|(first, last)| fact("Local ports", format!("{first} to {last}"))),
    ];
    let mut facts = vec![
        fact("Host", cut(host, NAME_LENGTH)),
        fact("Began", date(&part.started)),
        fact("System", cut(system, NAME_LENGTH)),
        fact("Processors", format!("{processors}, {}", cut(model, NAME_LENGTH))),
        fact("Open files", count(*open_files)),
    ];
    facts.extend(optional.into_iter().flatten());
    facts.push(fact("httperf", part.httperf.clone()));
    facts
}

/// The saved plan, truncated to the available room. A page is shown to others: bodies stay out of it.
pub(super) fn plan_json(plan: &Plan) -> String {
    let mut json = serde_json::to_value(plan).expect("all keys are text");
    hide_bodies(&mut json);
    cut(&format!("{json:#}"), PLAN_LENGTH)
}

fn hide_bodies(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_body = matches!(&**name, "body" | "contents" | "payload" | "initial");
                if is_body && !value.is_null() && *value != "" {
                    *value = Value::from(secrets::HIDDEN);
                } else {
                    hide_bodies(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(hide_bodies),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
