//! Runs that several equal processes carry out together: which of them this is, where they meet, and what each does.
//!
//! `hosting` is rank 0's part, `following` that of every other rank. The meeting itself is `httperf_fleet`'s; here is what
//! ranks tell each other: plans by their digests, seconds and results as JSON.

mod board;
mod following;
mod hosting;
mod solitary;

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use httperf_command_line::args::{Args, FleetArgs, InfluxTarget, RankChoice, STDOUT};
use httperf_command_line::terminal::messages::Program;
use httperf_engine::Part;
use httperf_fleet::rank::{self, EnvironmentError, Launched, Rank, SIZE_VARIABLE};
use httperf_fleet::{Join, MeetingPlace, Nonce, Secret};
use httperf_plan::{Plan, Shards};
use httperf_report::result::{Document, EarlyEnd};
use httperf_run::Provenance;
use httperf_stats::Summary;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::runner::checks;
use crate::runner::trials::Trial;

pub(crate) use self::following::{follow, follow_trials};
pub(crate) use self::hosting::Hosting;
pub(crate) use self::solitary::AtTime;

/// The variable with what all ranks of a fleet know and nobody else.
pub(crate) const SECRET_VARIABLE: &str = "HTTPERF_FLEET_SECRET";

/// The variable with the meeting place.
pub(crate) const PLACE_VARIABLE: &str = "HTTPERF_FLEET_MEET";

/// The time for which ranks wait for each other.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ports at which fleets meet that a launcher has started: the first, and their number.
const PORTS: (u16, u16) = (20_000, 10_000);

/// The place of this process in its fleet.
#[derive(Clone, Debug)]
pub(crate) struct Seat {
    pub(crate) rank: Rank,
    /// The number of this process among those on its machine, if the launcher says it.
    local_index: Option<u32>,
    pub(crate) allows_missing: bool,
    /// How it meets the others; `None` if it does not.
    meeting: Option<Meeting>,
}

/// Rank 0's word to another before a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    /// The other's number among the ranks on its machine.
    local_index: u32,
    /// The trial, if the command makes trials.
    trial: Option<Trial>,
}

impl Round {
    fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it is plain data with names for keys")
    }
}

/// A way to meet.
#[derive(Clone, Debug)]
struct Meeting {
    place: MeetingPlace,
    secret: Secret,
    patience: Duration,
}

/// Returns true if this process prints a report: of several that meet, only the first does.
#[must_use]
pub fn prints_report(args: &Args) -> bool {
    args.fleet.start_at.is_some() || rank_of(&args.fleet).is_none_or(Rank::is_first)
}

/// The program as its messages name it: with the rank, unless it is the first.
pub(crate) fn named(program: &Program, args: &FleetArgs) -> Program {
    match rank_of(args) {
        Some(rank) if !rank.is_first() => program.at_rank(rank.index()),
        _ => program.clone(),
    }
}

/// The rank of this process, if it has one. What is wrong with it is said when the run begins.
fn rank_of(args: &FleetArgs) -> Option<Rank> {
    match args.rank? {
        RankChoice::Given(rank) => Some(rank),
        RankChoice::Auto => rank::launched(&variable).ok().map(|launched| launched.rank),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl Seat {
    /// The place that a command line asks for; `None` without `--fleet`.
    ///
    /// # Errors
    /// What is missing or wrong, with a hint.
    pub(crate) fn of(args: &FleetArgs) -> anyhow::Result<Option<Self>> {
        let Some(choice) = args.rank else { return Ok(None) };
        let (rank, launched) = match choice {
            RankChoice::Auto => {
                let launched = rank::launched(&variable).map_err(|error| explained(&error))?;
                (launched.rank, Some(launched))
            }
            // The launcher still knows which processes share a machine.
            RankChoice::Given(rank) => {
                (rank, rank::launched(&variable).ok().filter(|launched| launched.rank == rank))
            }
        };
        let meeting = match args.start_at {
            Some(_) => None,
            None => Some(Meeting::of(args, rank, launched.as_ref())?),
        };
        Ok(Some(Self {
            rank,
            local_index: launched.and_then(|launched| launched.local_index),
            allows_missing: args.allows_missing,
            meeting,
        }))
    }

    /// The place that a command line asks for whose command makes trials.
    ///
    /// # Errors
    /// What is missing or wrong, with a hint; what trials cannot have.
    pub(crate) fn for_trials(args: &FleetArgs) -> anyhow::Result<Option<Self>> {
        if args.start_at.is_some() {
            bail!("--start-at: expected none, as ranks that make trials have to agree on the start of each");
        }
        if args.allows_missing {
            bail!("--allow-missing: expected none, as a trial without one of the ranks offers another load");
        }
        Self::of(args)
    }

    /// Returns true if the ranks meet.
    pub(crate) fn meets(&self) -> bool {
        self.meeting.is_some()
    }

    /// The plan as a fleet carries it out: with a number of threads, so that what a request is follows from its number.
    ///
    /// # Errors
    /// If there are more ranks than have something to do.
    pub(crate) fn plan(&self, plan: Plan) -> anyhow::Result<Plan> {
        let plan = plan.edit(|plan| _ = plan.threads.get_or_insert(NonZeroU32::MIN))?;
        let (ranks, threads, most) = (self.rank.size(), plan.workers(), plan.threads_max());
        if ranks.checked_mul(threads).is_none_or(|total| total > most) {
            bail!(
                "--fleet: expected at most {most} threads in all, as so many have something to do, got {ranks} ranks with \
                 {threads} each"
            );
        }
        Ok(plan)
    }

    /// The document of what this rank measured.
    #[must_use]
    pub(crate) fn document(
        &self,
        provenance: Provenance,
        plan: Plan,
        summary: Summary,
        ended_early: Option<EarlyEnd>,
    ) -> Document {
        let part = provenance.part(&plan, &summary, ended_early);
        Document::of_rank(part, plan, summary, self.rank.index(), self.rank.size().get(), self.allows_missing)
    }

    /// The arguments of this rank. Those of the first name the files of the whole; other ranks may write to the same folder,
    /// so the names of their files end in the rank.
    pub(crate) fn args(&self, args: &Args) -> Args {
        let mut args = args.clone();
        if self.rank.is_first() {
            return args;
        }
        let has_folder = args.results.output_folder().is_some();
        let results = &mut args.results;
        let output = if has_folder { None } else { results.output.as_mut() };
        let lines = match &mut args.metrics.influx {
            Some(InfluxTarget::File(name)) => Some(name),
            _ => None,
        };
        let files = [
            output,
            results.html.as_mut(),
            results.csv.as_mut(),
            results.hgrm.as_mut(),
            results.svg.as_mut(),
            results.png.as_mut(),
            results.junit.as_mut(),
            results.steps.as_mut(),
            results.calls.as_mut(),
            args.interval_log.as_mut(),
            lines,
        ];
        for name in files.into_iter().flatten().filter(|name| *name != STDOUT) {
            name.push(format!(".rank{}", self.rank.index()));
        }
        args
    }

    /// The part of a run that this process carries out if it does not meet the others.
    pub(crate) fn part<'a>(&self, plan: &'a Plan, at: Option<&'a AtTime>) -> Part<'a> {
        Part {
            shards: Some(self.shards(plan)),
            first_processor: self.first_processor(plan, 0),
            agreement: at.map(|at| at as _),
            ..Part::whole(plan, None)
        }
    }

    /// The shards of this process.
    fn shards(&self, plan: &Plan) -> Shards {
        Shards::of_rank(self.rank.index(), self.rank.size(), plan.workers())
            .expect("the plan was checked for this many ranks")
    }

    /// The first processor for the threads of this process, which is the one with this number of those with the same name of
    /// the machine.
    fn first_processor(&self, plan: &Plan, by_name: u32) -> u32 {
        self.local_index.unwrap_or(by_name).saturating_mul(plan.workers().get())
    }

    /// The description of this process for the others, which are to have the same command and plans.
    fn join(&self, command: &str, plans: &[Plan]) -> Join {
        Join {
            rank: self.rank.index(),
            size: self.rank.size().get(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest: digest(command, plans),
            problems: plans.first().map_or_else(Vec::new, checks::problems),
        }
    }
}

impl Meeting {
    fn of(args: &FleetArgs, rank: Rank, launched: Option<&Launched>) -> anyhow::Result<Self> {
        if let Some(Launched { launcher, starts_together: false, .. }) = launched
            && args.meet.is_none()
        {
            bail!(
                "--fleet: expected --start-at, as the ranks of a {launcher} may start at different times\n\
                 hint: --start-at $(date -u -d '+5 minutes' +%FT%TZ), the same for all"
            );
        }
        let job = launched.map_or("", |launched| &launched.job);
        let place = match (&args.meet, variable(PLACE_VARIABLE)) {
            (Some(place), _) => place.clone(),
            (None, Some(text)) => {
                text.parse().map_err(|wrong| anyhow!("{PLACE_VARIABLE}: {wrong}, got `{text}`"))?
            }
            (None, None) if rank.size() == NonZeroU32::MIN => {
                MeetingPlace::Address { host: "127.0.0.1".to_owned(), port: port_of(&unique_job()) }
            }
            (None, None) => match launched.and_then(|launched| launched.first_host.clone()) {
                Some(host) => MeetingPlace::Address { host, port: port_of(job) },
                None => {
                    let who = launched.map_or("nobody", |launched| launched.launcher);
                    bail!(
                        "--fleet: expected --meet, as {who} says where rank 0 is\n\
                         hint: --meet HOST:PORT with the host of rank 0, or --meet dir:PATH in a folder that all ranks see"
                    )
                }
            },
        };
        let secret = match variable(SECRET_VARIABLE) {
            Some(secret) => Secret::new(secret),
            // Who comes to such a place is on this machine, or may write to the folder. The name of the job keeps fleets
            // apart.
            None if place.is_on_this_machine() || matches!(place, MeetingPlace::Folder(_)) => {
                Secret::new(format!("{job} {}", rustix::process::getuid().as_raw()))
            }
            None => bail!(
                "--fleet: expected {SECRET_VARIABLE} to be set, as {place} can be reached from other machines\n\
                 hint: export {SECRET_VARIABLE}=$(head -c 16 /dev/urandom | base64), and hand it to all ranks"
            ),
        };
        let patience = args.patience.map_or(PATIENCE, Duration::from_secs_f64);
        Ok(Self { place, secret, patience })
    }
}

/// Says what would help with a launcher's variables.
fn explained(error: &EnvironmentError) -> anyhow::Error {
    let hint = match error {
        EnvironmentError::NoLauncher => {
            "srun, mpirun or a Kubernetes Indexed Job set one; by hand, it is --fleet 0/2, --fleet 1/2"
                .to_owned()
        }
        EnvironmentError::NotAStep => "srun httperf --fleet auto …".to_owned(),
        EnvironmentError::NoSize { .. } => {
            format!("set {SIZE_VARIABLE} to the number of completions of the job")
        }
        EnvironmentError::NotANumber { .. } | EnvironmentError::OutOfRange { .. } => {
            "--fleet I/N takes the place of what the launcher says".to_owned()
        }
    };
    anyhow!("--fleet auto: {error}\nhint: {hint}")
}

/// A port for a job: the same for all its ranks, another for most other jobs.
fn port_of(job: &str) -> u16 {
    let digest = Sha256::digest(job.as_bytes());
    PORTS.0 + u16::from_be_bytes([digest[0], digest[1]]) % PORTS.1
}

/// A name for a fleet of one.
fn unique_job() -> String {
    std::process::id().to_string()
}

/// The digest of a command with its plans, without what may differ between machines: how the program was named, what it
/// prints, and the addresses that the servers' names have there.
fn digest(command: &str, plans: &[Plan]) -> String {
    let mut hash = Sha256::new();
    hash.update(command);
    for plan in plans {
        let mut fields = serde_json::to_value(plan).expect("a plan is plain data with names for keys");
        if let Some(fields) = fields.as_object_mut() {
            for own in ["program", "watch"] {
                fields.remove(own);
            }
            let targets = fields.get_mut("targets").and_then(serde_json::Value::as_array_mut);
            for target in targets.into_iter().flatten().filter_map(serde_json::Value::as_object_mut) {
                target.retain(|name, _| !name.starts_with("endpoint"));
            }
        }
        hash.update(serde_json::to_vec(&fields).expect("it was JSON before"));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Numbers that nobody can guess.
fn nonce() -> anyhow::Result<Nonce> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .context("cannot draw a random number")?;
    }
    Ok(Nonce(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_port_of_its_own() {
        let ports: Vec<u16> = ["17.0", "17.1", "18.0"].map(port_of).into();
        assert!(ports.iter().all(|port| (20_000..30_000).contains(port)), "{ports:?}");
        assert!(ports[0] != ports[1] && ports[1] != ports[2], "{ports:?}");
        assert_eq!(port_of("17.0"), ports[0]);
    }
}
