//! Trials: short runs that one command makes one after the other, alone or together with the other ranks of a fleet.
//!
//! Ranks know the command's plans from the command line. Rank 0 decides what is tried next; what it tells the others is a
//! [`Trial`], from which every rank makes the same plan.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, bail};
use httperf_command_line::args::FleetArgs;
use httperf_command_line::terminal::messages::Program;
use httperf_fleet::MeetingError;
use httperf_plan::{Phases, Plan};
use httperf_report::result::Document;
use serde::{Deserialize, Serialize};

use super::Runner;
use super::fleet::{Hosting, Seat};

/// A trial: what it does otherwise than the plan of the command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// The plan among those of the command, by its place: 1 is side B of a comparison.
    pub(crate) side: usize,
    /// Its number. Each draws random numbers of its own.
    pub(crate) number: u32,
    /// Arrivals per second, if not those of the plan.
    pub(crate) rate: Option<f64>,
    /// Its length and its phases, if not those of the plan.
    pub(crate) span: Option<Span>,
}

/// The length of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// The time for which it measures.
    pub(crate) measured: Duration,
    /// The time before that.
    pub(crate) warmup: Duration,
    /// The time behind it.
    pub(crate) drain: Duration,
}

impl Trial {
    /// The plan of this trial; `None` if there is no such side.
    pub(crate) fn plan(&self, plans: &[Plan]) -> Option<Plan> {
        let plan = plans.get(self.side)?.clone().edit(|plan| {
            if let Some(rate) = self.rate {
                plan.arrivals = plan.arrivals.at_rate(rate);
            }
            if let Some(Span { measured, warmup, drain }) = self.span {
                plan.runtime = Some(measured);
                plan.phases = Phases { warmup, drain };
            }
        });
        Some(
            plan.expect("whatever can be run can be run at another rate, or for longer")
                .in_trial(self.number),
        )
    }
}

/// The place of a process in a command that makes trials.
pub(crate) enum Place {
    /// It decides what is tried: alone, or as rank 0 of a fleet.
    First(Option<Seat>),
    /// It carries out what rank 0 tries.
    Other(Seat),
}

impl Place {
    /// The place that a command line asks for. The plans become those that a fleet can carry out.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(crate) fn of<const N: usize>(
        args: &FleetArgs,
        plans: [Plan; N],
    ) -> anyhow::Result<(Self, [Plan; N])> {
        let Some(seat) = Seat::for_trials(args)? else { return Ok((Self::First(None), plans)) };
        let mut planned = Vec::new();
        for plan in plans {
            planned.push(seat.plan(plan)?);
        }
        let Ok(plans) = <[Plan; N]>::try_from(planned) else { bail!("a plan is missing") };
        Ok(match seat.rank.is_first() {
            true => (Self::First(Some(seat)), plans),
            false => (Self::Other(seat), plans),
        })
    }
}

/// Makes the trials of a command.
pub(crate) struct Trials<'a> {
    program: &'a Program,
    runner: &'a Runner,
    plans: Vec<Plan>,
    fleet: Option<(&'a Seat, Hosting)>,
}

impl<'a> Trials<'a> {
    /// Gets ready for trials of these plans. Of a fleet, waits until all ranks are there.
    ///
    /// # Errors
    /// The exit status if the ranks do not come together. The reason was printed.
    pub(crate) fn gather(
        program: &'a Program,
        runner: &'a Runner,
        seat: Option<&'a Seat>,
        command: &str,
        plans: Vec<Plan>,
    ) -> Result<Self, ExitCode> {
        let fleet = match seat {
            Some(seat) => Some((seat, Hosting::gather(program, seat, command, &plans, &runner.stop)?)),
            None => None,
        };
        Ok(Self { program, runner, plans, fleet })
    }

    /// Makes a trial; `None` if the end was asked for before it began.
    ///
    /// # Errors
    /// The reason why it cannot be carried out; a rank that was lost.
    pub(crate) fn make(&self, trial: &Trial) -> anyhow::Result<Option<Document>> {
        let Some(plan) = trial.plan(&self.plans) else { bail!("there is no side {}", trial.side) };
        match &self.fleet {
            None => Ok(Some(self.runner.run(plan)?)),
            Some((seat, hosting)) => self.make_together(seat, hosting, trial, plan),
        }
    }

    fn make_together(
        &self,
        seat: &Seat,
        hosting: &Hosting,
        trial: &Trial,
        plan: Plan,
    ) -> anyhow::Result<Option<Document>> {
        hosting.begin(Some(trial));
        let provenance = self.runner.provenance();
        let measured = self.runner.measure(hosting.part(&plan));
        let summary = match measured {
            Ok(summary) => summary,
            Err(error) => {
                return match hosting.failure() {
                    Some(_) => self.failure().map_or(Ok(None), Err),
                    None => {
                        hosting.give_up(error.to_string());
                        Err(error.into())
                    }
                };
            }
        };
        hosting.wait_for_results(self.runner.is_interrupted());
        let ended_early = self.runner.ending(&summary);
        let own = seat.document(provenance, plan, summary, ended_early);
        let (document, complaints) = hosting.merged(own)?;
        complaints.iter().for_each(|complaint| self.program.say(complaint));
        if let Some(lost) = document.fleet.iter().flat_map(|fleet| &fleet.lost).next()
            && !self.runner.is_interrupted()
        {
            bail!("--fleet: rank {} was lost in a trial: {}", lost.rank, lost.reason);
        }
        Ok(Some(document))
    }

    /// The reason why the ranks of a fleet make no further trial, if there is one.
    pub(crate) fn failure(&self) -> Option<anyhow::Error> {
        let failure = self.fleet.as_ref().and_then(|(_, hosting)| hosting.failure());
        failure.filter(|failure| *failure != MeetingError::Asked).map(|failure| anyhow!("--fleet: {failure}"))
    }
}

/// There is no further trial: the other ranks may go.
impl Drop for Trials<'_> {
    fn drop(&mut self) {
        if let Some((_, hosting)) = self.fleet.take() {
            hosting.leave();
        }
    }
}
