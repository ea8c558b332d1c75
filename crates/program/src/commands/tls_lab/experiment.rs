//! The trials: which there are, in which order, and what becomes of them.
//!
//! ```text
//!   probe each variant ──► warm up ──► round 1 ──► round 2 ──► … ──► results
//!                                        │
//!                                        └─ in random order, of each variant: handshakes one after
//!                                           the other, then several at once
//! ```
//!
//! Variants take turns, so that what changes meanwhile (the load of the machine, the temperature of its processor)
//! meets all of them alike. The order is drawn anew for each round, so that none always follows the same other.

use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Result;
use httperf_plan::{Arrivals, Plan, Resumption, Tls, Workload};
use httperf_report::tls_lab::{Agreed, Results, TlsLabOutcome, TlsLabSettings, Trial, Variant};
use httperf_stats::{HandshakeKind, Summary, Tally, TlsSummary};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64Mcg;

/// A trial ends after this long, whatever it has achieved.
const TRIAL_MAX: Duration = Duration::from_secs(60);

/// Handshakes that show whether a variant works. With resumption the first gives what the second needs; a server that
/// takes each ticket once shows itself with the third.
const PROBE_HANDSHAKES: u64 = 1;
const RESUMED_PROBE_HANDSHAKES: u64 = 3;

/// The subjects of the comparison, and its settings.
#[derive(Debug)]
pub(super) struct Experiment {
    /// A connection workload without calls, to a single server.
    pub(super) base: Plan,
    /// The subjects of the comparison.
    pub(super) candidates: Vec<Candidate>,
    /// True if each candidate is measured with resumed sessions as well.
    pub(super) resumes: bool,
    /// The numbers of rounds, handshakes and calls.
    pub(super) settings: TlsLabSettings,
}

/// A way of securing connections.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its name in reports.
    pub(super) name: String,
    /// The TLS of connections, but for resumption.
    pub(super) tls: Tls,
}

/// A candidate with its kind of handshakes, and what came of it so far.
#[derive(Debug)]
struct Contestant<'a> {
    candidate: &'a Candidate,
    kind: HandshakeKind,
    outcome: TlsLabOutcome,
}

/// The order of the handshakes of a run.
#[derive(Clone, Copy, Debug)]
struct Load {
    handshakes: u64,
    /// The number that go on at once.
    concurrency: u32,
}

/// An event in an experiment.
pub(super) enum Event<'a> {
    /// A trial begins, or what precedes the first.
    Next {
        /// Name of the next step.
        what: &'a str,
        /// Number of rounds that are complete.
        round: u64,
    },
    /// A round is complete.
    Round(&'a Results),
}

impl Experiment {
    /// Makes all trials. `carry_out` runs a plan; `is_over` tells whether somebody asked for an early end, on which the
    /// round that is under way is left out; `tell` is told what happens.
    ///
    /// # Errors
    /// Those of `carry_out`.
    pub(super) fn run(
        &self,
        server: &str,
        carry_out: &mut dyn FnMut(&Plan) -> Result<Summary>,
        is_over: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Results> {
        let mut contestants = Vec::new();
        for candidate in &self.candidates {
            contestants.extend(self.probe(candidate, carry_out, is_over, tell)?);
        }
        for contestant in contestants.iter().filter(|contestant| contestant.is_measured()) {
            if !is_over() {
                tell(Event::Next { what: &format!("warming up: {contestant}"), round: 0 });
                // The first handshakes of both sides find cold caches: their figures are left out.
                carry_out(&self.plan(
                    contestant.candidate,
                    contestant.kind,
                    self.latency_load(contestant.kind),
                ))?;
            }
        }
        let mut random = Pcg64Mcg::seed_from_u64(self.settings.seed);
        let mut rounds = 0;
        while rounds < self.settings.rounds && !is_over() {
            let mut order: Vec<usize> =
                (0..contestants.len()).filter(|&index| contestants[index].is_measured()).collect();
            if order.is_empty() {
                break;
            }
            order.shuffle(&mut random);
            let mut trials = Vec::new();
            for index in order {
                let contestant = &contestants[index];
                let what = format!("round {} of {}: {contestant}", rounds + 1, self.settings.rounds);
                tell(Event::Next { what: &what, round: rounds });
                trials.push((index, self.trial(contestant, carry_out)?));
                if is_over() {
                    break;
                }
            }
            if is_over() {
                break;
            }
            rounds += 1;
            trials.into_iter().for_each(|(index, trial)| contestants[index].note(rounds, trial));
            tell(Event::Round(&self.results(server, rounds, &contestants)));
        }
        Ok(self.results(server, rounds, &contestants))
    }

    /// Results after this number of rounds.
    fn results(&self, server: &str, rounds: u64, contestants: &[Contestant<'_>]) -> Results {
        let variants = contestants.iter().map(Contestant::variant).collect();
        Results { server: server.to_owned(), settings: self.settings, rounds, variants }
    }

    /// Finds out whether the server accepts a candidate: with full handshakes and, if it does and that is asked for,
    /// with resumed ones.
    fn probe<'a>(
        &self,
        candidate: &'a Candidate,
        carry_out: &mut dyn FnMut(&Plan) -> Result<Summary>,
        is_over: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Vec<Contestant<'a>>> {
        let mut accepted = Vec::new();
        for (kind, handshakes) in
            [(HandshakeKind::Full, PROBE_HANDSHAKES), (HandshakeKind::Resumed, RESUMED_PROBE_HANDSHAKES)]
        {
            if kind == HandshakeKind::Resumed && !self.resumes {
                break;
            }
            tell(Event::Next { what: &format!("asking for {}", candidate.name), round: 0 });
            let summary = carry_out(&self.plan(candidate, kind, Load { handshakes, concurrency: 1 }))?;
            if is_over() {
                // A probe that was cut short says nothing about the server.
                break;
            }
            let outcome = match Trial::of(kind, &summary, None) {
                Some(_) => TlsLabOutcome::Measured { agreed: agreed(&summary), trials: Vec::new() },
                None => TlsLabOutcome::Refused { reason: reason(&summary) },
            };
            let contestant = Contestant { candidate, kind, outcome };
            let goes_on = contestant.is_measured();
            accepted.push(contestant);
            if !goes_on {
                break;
            }
        }
        Ok(accepted)
    }

    /// The figures of one round; an error says why there are none.
    fn trial(
        &self,
        contestant: &Contestant<'_>,
        carry_out: &mut dyn FnMut(&Plan) -> Result<Summary>,
    ) -> Result<Result<Trial, String>> {
        let Contestant { candidate, kind, .. } = contestant;
        let TlsLabSettings { rate_handshakes, concurrency, .. } = self.settings;
        let latency = carry_out(&self.plan(candidate, *kind, self.latency_load(*kind)))?;
        let rate = if rate_handshakes > 0 {
            Some(carry_out(&self.plan(candidate, *kind, Load { handshakes: rate_handshakes, concurrency }))?)
        } else {
            None
        };
        Ok(Trial::of(*kind, &latency, rate.as_ref()).ok_or_else(|| reason(&latency)))
    }

    fn latency_load(&self, kind: HandshakeKind) -> Load {
        // The first one gives what the others resume.
        let extra = u64::from(kind == HandshakeKind::Resumed);
        Load { handshakes: self.settings.handshakes + extra, concurrency: 1 }
    }

    fn plan(&self, candidate: &Candidate, kind: HandshakeKind, load: Load) -> Plan {
        let resumption = match kind {
            HandshakeKind::Full => Resumption::Never,
            HandshakeKind::Resumed | HandshakeKind::EarlyData => Resumption::Share(1.0),
        };
        let plan = self.base.clone().edit(|plan| {
            if let Workload::Connections(connections) = &mut plan.workload {
                connections.count = load.handshakes;
            }
            plan.arrivals = match NonZeroU32::new(load.concurrency).filter(|count| count.get() > 1) {
                None => Arrivals::Sequential,
                Some(several) => Arrivals::Concurrent(several),
            };
            plan.tls = Some(Tls { resumption, ..candidate.tls.clone() });
            plan.runtime = Some(TRIAL_MAX);
        });
        plan.expect("what can be run once can be run several times")
    }
}

impl Contestant<'_> {
    fn is_measured(&self) -> bool {
        matches!(self.outcome, TlsLabOutcome::Measured { .. })
    }

    /// Takes what came of a round.
    fn note(&mut self, round: u64, trial: Result<Trial, String>) {
        match (trial, &mut self.outcome) {
            (Ok(trial), TlsLabOutcome::Measured { trials, .. }) => trials.push(trial),
            (Err(reason), outcome) => *outcome = TlsLabOutcome::Lost { round, reason },
            (Ok(_), TlsLabOutcome::Refused { .. } | TlsLabOutcome::Lost { .. }) => {
                unreachable!("only what is measured has trials")
            }
        }
    }

    fn variant(&self) -> Variant {
        Variant { name: self.candidate.name.clone(), kind: self.kind, outcome: self.outcome.clone() }
    }
}

impl std::fmt::Display for Contestant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.candidate.name, self.kind)
    }
}

/// The parameters that the handshakes of a run agreed on, most of them if they differ.
fn agreed(summary: &Summary) -> Agreed {
    let Some(tls) = &summary.tls else { return Agreed::default() };
    let commonest = |tally: &Tally| tally.by_frequency().first().map(|(name, _)| (*name).to_owned());
    Agreed {
        version: commonest(&tls.versions).unwrap_or_default(),
        cipher: commonest(&tls.ciphers).unwrap_or_default(),
        group: commonest(&tls.groups),
    }
}

/// Returns the reason why a run has no handshakes of the wanted kind.
fn reason(summary: &Summary) -> String {
    let tls = summary.tls.as_deref();
    if let Some(failure) = tls.and_then(TlsSummary::hopeless) {
        return failure.reason.clone().into_owned();
    }
    match tls.map(TlsSummary::completed) {
        None | Some(0) => format!("no handshake within {} s", TRIAL_MAX.as_secs()),
        Some(_) => "the server does not resume sessions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use httperf_stats::{
        End, Handshake, HandshakeFailure, HandshakeFailureClass, Instant, RecordedFigures, Recorder,
    };
    use httperf_testkit::sim::{Edit, connections};

    use super::*;

    const SETTINGS: TlsLabSettings = TlsLabSettings {
        rounds: 3,
        handshakes: 10,
        rate_handshakes: 20,
        concurrency: 4,
        timeout: Duration::from_secs(1),
        seed: 1,
        is_verified: false,
    };

    /// An experiment with these groups.
    fn experiment(groups: &[&str], resumes: bool) -> Experiment {
        let candidates = groups.iter().map(|&name| Candidate {
            name: name.to_owned(),
            tls: Tls { groups: Some(name.to_owned()), ..Tls::default() },
        });
        Experiment {
            base: connections(1, 0, 1),
            candidates: candidates.collect(),
            resumes,
            settings: SETTINGS,
        }
    }

    /// The parameters of a plan: group, handshakes, how many at once, whether they resume.
    type Asked = (String, u64, u32, bool);

    fn asked(plan: &Plan) -> Asked {
        let Workload::Connections(connections) = &plan.workload else { panic!("connections were asked for") };
        let tls = plan.tls.as_ref().unwrap();
        let at_once = match plan.arrivals {
            Arrivals::Sequential => 1,
            Arrivals::Concurrent(several) => several.get(),
            ref other => panic!("nothing is timed, but {other:?}"),
        };
        let resumes = tls.resumption == Resumption::Share(1.0);
        (tls.groups.clone().unwrap(), connections.count, at_once, resumes)
    }

    /// A run in which every handshake succeeded, all but the first by resumption if that was asked for.
    fn success(plan: &Plan) -> Summary {
        let (_, count, _, resumes) = asked(plan);
        let mut recorder = recorder();
        for number in 0..count {
            let kind = if resumes && number > 0 { HandshakeKind::Resumed } else { HandshakeKind::Full };
            recorder.handshake_done(
                Instant::default(),
                &Handshake {
                    kind,
                    time: Duration::from_micros(400),
                    sent: 250,
                    received: 1250,
                    hello_retry: false,
                    version: "TLSv1.3",
                    cipher: "TLS_AES_128_GCM_SHA256",
                    group: Some("X25519"),
                    signature: None,
                    protocol: None,
                    compressed_certificate: false,
                },
            );
        }
        finish(recorder)
    }

    fn failure(reason: &'static str) -> Summary {
        let mut recorder = recorder();
        let class = HandshakeFailureClass::Protocol;
        let failure = HandshakeFailure { class, reason: reason.into(), details: Vec::new() };
        recorder.handshake_failed(Instant::default(), failure);
        finish(recorder)
    }

    fn recorder() -> Recorder {
        let start = Instant::default();
        Recorder::new(start, start, RecordedFigures { tls: true, ..RecordedFigures::USUAL })
    }

    fn finish(recorder: Recorder) -> Summary {
        recorder.finish(End { duration: Duration::from_millis(10), ..End::default() })
    }

    /// Runs it with a server that answers as `serve` says, told how many runs there were before. Returns what was asked
    /// for as well.
    fn run(experiment: &Experiment, mut serve: impl FnMut(usize, &Plan) -> Summary) -> (Results, Vec<Asked>) {
        let mut log = Vec::new();
        let mut carry_out = |plan: &Plan| {
            log.push(asked(plan));
            Ok(serve(log.len() - 1, plan))
        };
        let results = experiment.run("server", &mut carry_out, &|| false, &mut |_| ());
        (results.unwrap(), log)
    }

    fn trials(variant: &Variant) -> usize {
        match &variant.outcome {
            TlsLabOutcome::Measured { trials, .. } => trials.len(),
            other => panic!("it was measured, but {other:?}"),
        }
    }

    #[test]
    fn each_round_has_each_variant_once_in_sequence_and_once_with_several_at_once() {
        let (results, log) = run(&experiment(&["A", "B"], false), |_, plan| success(plan));
        assert_eq!(results.rounds, 3);
        assert_eq!(results.variants.iter().map(trials).collect::<Vec<_>>(), [3, 3]);
        let of = |group: &str, count, at_once| (group.to_owned(), count, at_once, false);
        assert_eq!(
            log[..4],
            [of("A", 1, 1), of("B", 1, 1), of("A", 10, 1), of("B", 10, 1)],
            "probe, warm up"
        );
        for round in log[4..].chunks(4) {
            let mut groups = [&round[0].0[..], &round[2].0[..]];
            groups.sort_unstable();
            assert_eq!(groups, ["A", "B"]);
            for trial in round.chunks(2) {
                let group = &trial[0].0;
                assert_eq!(trial, [of(group, 10, 1), of(group, 20, 4)]);
            }
        }
        assert_eq!(log.len(), 4 + 3 * 4);
    }

    #[test]
    fn the_order_changes_from_round_to_round_and_follows_from_the_seed() {
        let names = ["A", "B", "C", "D", "E", "F"];
        let order = |seed| {
            let mut experiment = experiment(&names, false);
            (experiment.settings.seed, experiment.settings.rate_handshakes) = (seed, 0);
            let (_, log) = run(&experiment, |_, plan| success(plan));
            let rounds: Vec<String> =
                log[12..].chunks(6).map(|round| round.iter().map(|asked| &asked.0[..]).collect()).collect();
            rounds
        };
        let rounds = order(1);
        assert_eq!(rounds.len(), 3);
        assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2], "{rounds:?}");
        assert_eq!(rounds, order(1));
        assert_ne!(rounds, order(2));
    }

    #[test]
    fn what_the_server_refuses_has_a_reason_and_no_trials() {
        let (results, log) = run(&experiment(&["A", "B"], true), |_, plan| match &asked(plan).0[..] {
            "A" => failure("alert handshake_failure from the server"),
            _ => success(plan),
        });
        let TlsLabOutcome::Refused { reason } = &results.variants[0].outcome else { panic!("{results:?}") };
        assert_eq!(reason, "alert handshake_failure from the server");
        assert_eq!(log.iter().filter(|asked| asked.0 == "A").count(), 1);
        let kinds: Vec<_> =
            results.variants.iter().map(|variant| (&variant.name[..], variant.kind)).collect();
        assert_eq!(
            kinds,
            [("A", HandshakeKind::Full), ("B", HandshakeKind::Full), ("B", HandshakeKind::Resumed)],
            "whether it would resume what it refuses is nothing to ask"
        );
    }

    #[test]
    fn a_server_that_does_not_resume_is_measured_with_full_handshakes() {
        let (results, _) = run(&experiment(&["A"], true), |_, plan| {
            let mut full = plan.clone();
            full.change(|plan| plan.tls.as_mut().unwrap().resumption = Resumption::Never);
            success(&full)
        });
        assert_eq!(trials(&results.variants[0]), 3);
        let TlsLabOutcome::Refused { reason } = &results.variants[1].outcome else { panic!("{results:?}") };
        assert_eq!(reason, "the server does not resume sessions");
    }

    #[test]
    fn a_trial_of_resumption_has_one_more_handshake_which_is_full() {
        let (results, log) = run(&experiment(&["A"], true), |_, plan| success(plan));
        assert!(log.contains(&("A".to_owned(), 11, 1, true)), "{log:?}");
        assert_eq!(results.variants.iter().map(trials).collect::<Vec<_>>(), [3, 3]);
    }

    #[test]
    fn a_variant_that_stops_working_is_lost_and_the_others_go_on() {
        // Probes, warming up and the first round are 2 + 2 + 4 runs.
        let (results, _) = run(&experiment(&["A", "B"], false), |before, plan| {
            if before >= 8 && asked(plan).0 == "B" { failure("timed out") } else { success(plan) }
        });
        assert_eq!((trials(&results.variants[0]), results.rounds), (3, 3));
        let TlsLabOutcome::Lost { round, reason } = &results.variants[1].outcome else {
            panic!("{results:?}")
        };
        assert_eq!((*round, &reason[..]), (2, "timed out"));
    }

    #[test]
    fn a_round_that_is_interrupted_is_left_out() {
        let runs = Cell::new(0);
        // In the middle of the second round.
        let is_over = || runs.get() > 2 + 2 + 4 + 2;
        let mut carry_out = |plan: &Plan| {
            runs.set(runs.get() + 1);
            Ok(success(plan))
        };
        let experiment = experiment(&["A", "B"], false);
        let results = experiment.run("server", &mut carry_out, &is_over, &mut |_| ()).unwrap();
        assert_eq!((results.rounds, results.is_interrupted()), (1, true));
        assert_eq!(results.variants.iter().map(trials).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_probe_that_is_interrupted_says_nothing_about_the_server() {
        let mut carry_out = |_: &Plan| Ok(failure("cut short"));
        let experiment = experiment(&["A"], false);
        let results = experiment.run("server", &mut carry_out, &|| true, &mut |_| ()).unwrap();
        assert!(results.variants.is_empty() && results.rounds == 0, "{results:?}");
    }
}
