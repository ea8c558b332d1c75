//! The load that was offered: arrivals on a schedule, and the calls that they carry.

use httperf_plan::{UNLIMITED, Workload};

use crate::number::{count, grouped, per_second, time};
use crate::result::Document;

/// Load that was offered on a schedule.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// Names of one arrival and of several.
    pub unit: [&'static str; 2],
    /// Arrivals per second.
    pub rate: f64,
    /// Calls per second, if each arrival carries the same number of them, and more than one: replies are those to calls.
    pub calls_rate: Option<f64>,
    /// Number of arrivals that were due.
    pub due: u64,
    /// Length of the schedule in seconds. Where arrivals are counted, it is over before their replies.
    pub length_s: f64,
}

impl Offered {
    /// Load of a run; `None` if its arrivals wait for each other.
    #[must_use]
    pub fn of(document: &Document) -> Option<Self> {
        let Document { plan, summary, figures, .. } = document;
        let rate = figures.offered_rate?;
        let calls = match &plan.workload {
            Workload::Connections(_) | Workload::Sessions(_) => plan.calls_per_arrival(),
            Workload::Calls(_) | Workload::Scenarios(_) | Workload::Replay(_) => 1,
        };
        Some(Self {
            unit: unit(&plan.workload),
            rate,
            calls_rate: (calls > 1 && calls != UNLIMITED).then_some(rate * calls as f64),
            due: summary.arrivals.due,
            length_s: match plan.runtime {
                Some(_) => figures.duration_s,
                None => summary.arrivals.span_due.as_secs_f64() + plan.arrivals.mean_interval(),
            },
        })
    }

    /// Its rates: `300.0/s`, or `400.0 connections/s, 800.0 calls/s`.
    #[must_use]
    pub fn rates(&self) -> String {
        let [_, many] = self.unit;
        match self.calls_rate {
            None => per_second(self.rate),
            Some(calls) => format!("{} {many}/s, {} calls/s", grouped(self.rate, 1), grouped(calls, 1)),
        }
    }

    /// Its arrivals: `3,000 connections in 7.50 s`.
    #[must_use]
    pub fn arrivals(&self) -> String {
        let [one, many] = self.unit;
        let unit = if self.due == 1 { one } else { many };
        format!("{} {unit} in {}", count(self.due), time(self.length_s * 1e3))
    }
}

/// Names of one arrival of a workload and of several.
fn unit(workload: &Workload) -> [&'static str; 2] {
    match workload {
        Workload::Connections(_) => ["connection", "connections"],
        Workload::Sessions(_) => ["session", "sessions"],
        Workload::Calls(_) => ["call", "calls"],
        Workload::Scenarios(_) => ["visit", "visits"],
        Workload::Replay(_) => ["request", "requests"],
    }
}
