//! The conclusion of a sweep: up to which rate the server keeps up, and what it does beyond.

use schemars::JsonSchema;
use serde::Serialize;

use super::text::{listed, rate};
use super::{Knee, State, Step, Unit};
use crate::number::{per_second, percent};

/// Share of the most replies below which a server that is offered more has collapsed.
const COLLAPSED: f64 = 0.9;

/// Conclusion of a sweep about the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SweepConclusion {
    /// The conclusion in a word.
    pub kind: SweepConclusionKind,
    /// The same in a sentence whose subject is the server.
    pub text: String,
}

/// Conclusion of a sweep about the server, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SweepConclusionKind {
    /// Nothing: no run was complete.
    #[default]
    NothingMeasured,
    /// Nothing: the generator was the limit at every rate.
    ClientLimited,
    /// It keeps up with all rates.
    KeepsUp,
    /// It keeps up to a rate, and falls behind beyond.
    FallsBehind,
    /// Beyond, it answers less the more it is offered.
    Collapses,
}

impl SweepConclusion {
    /// Draws the conclusion from all steps, and from the knee if they show one.
    pub(crate) fn of(unit: Unit, steps: &[Step], knee: Option<&Knee>) -> Self {
        let of_server: Vec<&Step> = steps.iter().filter(|step| step.state != State::ClientLimited).collect();
        let conclusion = |kind, text| Self { kind, text };
        let Some(last) = of_server.last() else {
            return match steps.is_empty() {
                true => conclusion(SweepConclusionKind::NothingMeasured, "no run was complete".to_owned()),
                false => conclusion(
                    SweepConclusionKind::ClientLimited,
                    "limited by the generator at every rate, not by the server".to_owned(),
                ),
            };
        };
        let unit = unit.name();
        let mut text = match knee {
            Some(Knee { kept_up, fell_behind, .. }) => {
                let step = of_server.iter().find(|step| step.rate == *fell_behind);
                let share = step.map_or(0.0, |step| step.answered_share.value);
                let beyond = format!("at {}/s it answers {}", rate(*fell_behind), percent(share));
                match *kept_up {
                    0.0 => format!("keeps up with none of these rates: {beyond}"),
                    kept_up => format!("keeps up to {} {unit}/s; {beyond}", rate(kept_up)),
                }
            }
            None => format!("keeps up with {} {unit}/s, the highest rate", rate(last.rate)),
        };
        let limit = knee.map_or(f64::INFINITY, |knee| knee.kept_up);
        let failed = of_server.iter().filter(|step| step.rate < limit && step.state != State::KeptUp);
        let failed: Vec<String> = failed.map(|step| rate(step.rate)).collect();
        if !failed.is_empty() {
            text += &format!("; it did not at {}/s", listed(&failed));
        }
        let kind = match (knee, collapse(&of_server)) {
            (None, _) => SweepConclusionKind::KeepsUp,
            (Some(_), None) => SweepConclusionKind::FallsBehind,
            (Some(_), Some((best, worse))) => {
                text += &format!(
                    "; collapses: at {}/s it answers less than at {}/s ({} and {})",
                    rate(worse.rate),
                    rate(best.rate),
                    per_second(worse.good_reply_rate.value),
                    per_second(best.good_reply_rate.value)
                );
                SweepConclusionKind::Collapses
            }
        };
        conclusion(kind, text)
    }
}

/// The rate with the most replies, and the first beyond it at which there were clearly fewer.
fn collapse<'a>(steps: &[&'a Step]) -> Option<(&'a Step, &'a Step)> {
    let replies = |step: &Step| step.good_reply_rate.value;
    let best =
        steps.iter().copied().reduce(|best, next| if replies(next) > replies(best) { next } else { best })?;
    let beyond = steps.iter().copied().filter(|step| step.rate > best.rate);
    beyond.into_iter().find(|step| replies(step) < COLLAPSED * replies(best)).map(|worse| (best, worse))
}
