//! The arguments of `httperf capacity`, and their effect on the plan of a run.

use httperf_command_line::args::{Args, Threads};
use httperf_command_line::grammar::ParseStop;
use httperf_command_line::outputs::{Outputs, TakesOutputs};
use httperf_plan::Arrivals;
use httperf_plan::objective::{Clock, Metric, Objective, Relation};

/// The arguments of `httperf capacity`.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityArgs {
    /// The options that define a run.
    pub run: Args,
    /// `--search`.
    pub searched: Searched,
    /// `--start`.
    pub start: Option<f64>,
    /// `--min-rate`.
    pub min_rate: Option<f64>,
    /// `--max-rate`.
    pub max_rate: Option<f64>,
    /// `--precision`, as a share.
    pub precision: f64,
    /// `--trials`.
    pub trials: u32,
    /// `--trial-min` in seconds.
    pub trial_min: f64,
    /// `--trial-max` in seconds, if it was given.
    pub trial_max: Option<f64>,
    /// `--pause` in seconds.
    pub pause: f64,
    /// Destinations of the document.
    pub outputs: Outputs,
    /// `--quiet`.
    pub quiet: bool,
}

/// The rate that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// The rate of connections or sessions.
    Rate,
    /// The rate of calls over persistent connections.
    RequestRate,
}

/// The first trial is made at this rate, unless it is out of range.
const START: f64 = 100.0;

/// The lowest rate that is tried, unless the first is lower, or as many arrivals as tell something come in a trial at a
/// lower one.
const MIN_RATE: f64 = 1.0;

/// Fewer arrivals in a trial tell nothing.
pub(super) const ARRIVALS_MIN: f64 = 20.0;

/// The longest time for which a trial is measured, in seconds, unless another is given. At a low rate it is as long as the
/// arrivals that a trial needs.
const TRIAL_MAX_S: f64 = 10.0;
const TRIAL_LONGEST_S: f64 = 60.0;

/// A rate that takes every processor there is.
const THREADS_RATE: f64 = 1e6;

impl Default for CapacityArgs {
    fn default() -> Self {
        Self {
            run: Args::default(),
            searched: Searched::Rate,
            start: None,
            min_rate: None,
            max_rate: None,
            precision: 0.03,
            trials: 20,
            trial_min: 2.0,
            trial_max: None,
            pause: 1.0,
            outputs: Outputs::default(),
            quiet: false,
        }
    }
}

impl TakesOutputs for CapacityArgs {
    const FORMATS: &'static str = "text|csv|json|html";

    fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
}

impl CapacityArgs {
    /// The lowest rate that is tried.
    #[must_use]
    pub fn min_rate(&self) -> f64 {
        let in_time = ARRIVALS_MIN / self.trial_longest();
        let usual = [self.start, self.max_rate, Some(in_time)].into_iter().flatten().fold(MIN_RATE, f64::min);
        self.min_rate.unwrap_or(usual)
    }

    /// The longest measured time of a trial, in seconds.
    #[must_use]
    pub fn trial_max(&self) -> f64 {
        self.trial_max.unwrap_or_else(|| TRIAL_MAX_S.max(self.trial_min))
    }

    /// The longest measured time of a trial at a low rate, in seconds. A typed value holds at all rates.
    #[must_use]
    pub fn trial_longest(&self) -> f64 {
        self.trial_max.unwrap_or_else(|| TRIAL_LONGEST_S.max(self.trial_min))
    }

    /// The rate of the first trial.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.start.unwrap_or_else(|| START.max(self.min_rate()).min(self.max_rate.unwrap_or(f64::MAX)))
    }

    /// Refuses a range of rates or lengths that has nothing in it.
    fn check_ranges(&self) -> Result<(), ParseStop> {
        let (min, start) = (self.min_rate(), self.start());
        if let Some(max) = self.max_rate.filter(|&max| max < min) {
            return Err(ParseStop::rejected(format!(
                "--max-rate: expected at least --min-rate {min}, got `{max}`"
            )));
        }
        if start < min {
            return Err(ParseStop::rejected(format!(
                "--start: expected at least --min-rate {min}, got `{start}`"
            )));
        }
        if let Some(max) = self.max_rate.filter(|&max| start > max) {
            return Err(ParseStop::rejected(format!(
                "--start: expected at most --max-rate {max}, got `{start}`"
            )));
        }
        if self.trial_max() < self.trial_min {
            let (min, max) = (self.trial_min, self.trial_max());
            return Err(ParseStop::rejected(format!(
                "--trial-max: expected at least --trial-min {min}, got `{max}`"
            )));
        }
        Ok(())
    }

    /// Makes these arguments those of the first trial of a search. Its rate and its length are set for each trial anew.
    ///
    /// # Errors
    /// An option that contradicts a search, or one that is missing.
    pub(super) fn prepare_search(&mut self) -> Result<(), ParseStop> {
        self.check_objectives()?;
        self.check_ranges()?;
        self.check_left_to_search()?;
        // Threads that are to suffice have to for any rate; those of trials are set later.
        let start = match self.run.load.threads {
            Some(Threads::Auto) => self.max_rate.unwrap_or(THREADS_RATE),
            _ => self.start(),
        };
        let run = &mut self.run;
        match self.searched {
            Searched::Rate => run.arrivals = run.arrivals.at_rate(start),
            Searched::RequestRate => {
                let arrivals = run.load.call_arrivals.take().unwrap_or(Arrivals::Sequential);
                run.load.call_arrivals = Some(arrivals.at_rate(start));
            }
        }
        run.load.duration = self.trial_min;
        run.check()
    }

    /// Refuses objectives that cannot bound a capacity.
    fn check_objectives(&self) -> Result<(), ParseStop> {
        let objectives = &self.run.results.objectives.all;
        let refused = |what: &str, objective: &Objective| {
            Err(ParseStop::rejected(format!("--slo: expected {what}, got `{objective}`")))
        };
        if objectives.is_empty() {
            return Err(ParseStop::rejected(
                "--slo: expected objectives such as `p99<50ms, errors<0.1%`, got none",
            ));
        }
        for objective in objectives {
            let is_lower = matches!(objective.relation(), Relation::Above | Relation::AtLeast);
            match objective.metric() {
                Metric::Replies => {
                    return refused("a time or a share, as the rate is what is searched for", objective);
                }
                Metric::Time { clock: Clock::Lag, .. } => {
                    return refused("a figure of the server's, as the lag is the client's own", objective);
                }
                Metric::Time { .. } if is_lower => {
                    return refused("an upper bound, as times get longer with the rate", objective);
                }
                Metric::Time { .. } | Metric::Share(_) => {}
            }
        }
        if let Some((upper, lower)) = Objective::contradiction(objectives) {
            let message =
                format!("--slo: expected objectives that can be met together, got `{upper}` and `{lower}`");
            return Err(ParseStop::rejected(message));
        }
        Ok(())
    }

    /// Refuses what the search sets itself, and what a search cannot have.
    fn check_left_to_search(&self) -> Result<(), ParseStop> {
        let calls = self.searched == Searched::RequestRate;
        let has_rate = |arrivals: &Arrivals| matches!(arrivals, Arrivals::Deterministic { .. });
        let refused = [
            (
                has_rate(&self.run.arrivals) || self.run.load.call_arrivals.as_ref().is_some_and(has_rate),
                "--rate: expected none, as the search chooses rates; --start, --min-rate and --max-rate bound them, and \
                 --period=e1 makes arrivals a Poisson process",
            ),
            (
                !calls && self.run.load.call_arrivals.is_some(),
                "--request-period: expected --search=request-rate beside it",
            ),
            (
                calls && self.run.arrivals != Arrivals::Sequential,
                "--search=request-rate: expected --request-period instead of --period",
            ),
            (
                self.run.results.objectives.abort,
                "--abort-on-slo: expected none, as a search learns from trials that miss an objective",
            ),
            (
                calls && self.run.session.is_some(),
                "--search=request-rate: expected no session workload beside it",
            ),
            (
                self.run.num_conns.is_some(),
                "--num-conns: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
            ),
            (
                calls && self.run.num_calls.is_some(),
                "--num-calls: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
            ),
            (
                self.run.load.duration > 0.0,
                "--duration: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
            ),
            (
                self.run.runtime > 0.0,
                "--runtime: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
            ),
            (
                self.run.results.until.is_some(),
                "--until: expected none, as the search chooses how long trials are; --trial-min and --trial-max bound it",
            ),
            (
                self.run.results.classic_record,
                "--record: expected full, as objectives need the figures that classic leaves out",
            ),
        ];
        match refused.into_iter().find(|&(is_given, _)| is_given) {
            Some((_, message)) => Err(ParseStop::rejected(message)),
            None => Ok(()),
        }
    }
}
