//! The trials: in rounds, each with one trial of both sides in random order.
//!
//! What changes slowly meanwhile (the load of a machine, the temperature of its processor) meets both trials of a round
//! alike. The order is drawn anew for each round, so that neither always follows the other.

use std::time::Duration;

use anyhow::Result;
use httperf_plan::Plan;
use httperf_report::compare::Rounds;
use httperf_report::result::Document;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// One of the two.
#[derive(Debug)]
pub(super) struct Side {
    /// What it is called while trials are made.
    pub(super) name: &'static str,
    /// What each of its trials does.
    pub(super) plan: Plan,
}

/// What is to be done.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) sides: [Side; 2],
    pub(super) rounds: u32,
    /// Before each trial but the first.
    pub(super) pause: Duration,
    /// Where the order comes from.
    pub(super) seed: u64,
}

impl Turns {
    /// Makes all rounds. `carry_out` runs a plan; `is_over` tells whether somebody asked for an early end, on which the
    /// round that is under way is left out; `progress` is told what comes next.
    ///
    /// # Errors
    /// Those of `carry_out`.
    pub(super) fn make(
        &self,
        carry_out: &mut dyn FnMut(Plan) -> Result<Document>,
        pause: &dyn Fn(Duration),
        is_over: &dyn Fn() -> bool,
        made: &mut Rounds,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        for round in 0..self.rounds {
            let first = usize::from(random.random::<bool>());
            let mut trial = |side: usize, is_first: bool| -> Result<Option<Document>> {
                let Side { name, plan } = &self.sides[side];
                progress(&format!("round {} of {}: {name}", round + 1, self.rounds));
                if !is_first {
                    pause(self.pause);
                }
                if is_over() {
                    return Ok(None);
                }
                let document = carry_out(plan.clone())?;
                // What was cut short is no trial.
                Ok((!is_over()).then_some(document))
            };
            let Some(one) = trial(first, round == 0)? else { break };
            let Some(other) = trial(1 - first, false)? else { break };
            made.add([(first, &one), (1 - first, &other)]);
        }
        Ok(())
    }
}
