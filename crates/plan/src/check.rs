//! What holds of every plan: looked after where one is read that anybody may have edited.

use crate::{Arrivals, Plan, Script, UriSource, Workload};

impl Plan {
    /// Looks whether all is there without which a plan means nothing.
    ///
    /// # Errors
    /// The field that is wrong, what was expected there, and what there is.
    pub fn check(&self) -> Result<(), String> {
        at_least("client.count", self.client.count.into(), 1)?;
        match &self.arrivals {
            Arrivals::Concurrent(count) => at_least("arrivals.concurrent", (*count).into(), 1)?,
            Arrivals::Variable(steps) => not_empty("arrivals.variable", "step", steps)?,
            Arrivals::Sequential
            | Arrivals::Deterministic { .. }
            | Arrivals::Uniform { .. }
            | Arrivals::Exponential { .. } => {}
        }
        let mean = self.arrivals.mean_interval();
        if mean.is_nan() || mean < 0.0 {
            return Err(format!("arrivals: expected a mean interval of 0 s or more, got {mean}"));
        }
        not_empty("targets", "server", &self.targets)?;
        self.check_uris()?;
        self.check_workload()?;
        if let Some(until) = self.until {
            let is_share = |share: f64| share > 0.0 && share < 1.0;
            if !is_share(until.quantile) {
                return Err(format!(
                    "until.quantile: expected a number between 0 and 1, got {}",
                    until.quantile
                ));
            }
            if !(until.share > 0.0 && until.share.is_finite()) {
                return Err(format!("until.share: expected a number above 0, got {}", until.share));
            }
        }
        Ok(())
    }

    fn check_uris(&self) -> Result<(), String> {
        let UriSource::Requests(requests) = &self.uris else { return Ok(()) };
        not_empty("uris.requests", "request", requests)?;
        let count = self.targets.len();
        for (index, request) in requests.iter().enumerate() {
            if request.server as usize >= count {
                return Err(format!(
                    "uris.requests[{index}].server: expected a number below {count}, that of the targets, got {}",
                    request.server
                ));
            }
        }
        Ok(())
    }

    fn check_workload(&self) -> Result<(), String> {
        match &self.workload {
            Workload::Connections(connections) => {
                at_least("workload.connections.burst", connections.burst, 1)?;
                at_least("workload.connections.pipeline", connections.pipeline.into(), 1)
            }
            Workload::Calls(calls) => {
                at_least("workload.calls.connections", calls.connections.into(), 1)?;
                at_least("workload.calls.pipeline", calls.pipeline.into(), 1)
            }
            Workload::Sessions(sessions) => {
                at_least("workload.sessions.max_connections", sessions.max_connections.into(), 1)?;
                at_least("workload.sessions.max_piped_calls", sessions.max_piped_calls.into(), 1)?;
                if let Script::Uniform { burst, .. } = sessions.script {
                    at_least("workload.sessions.script.uniform.burst", burst, 1)?;
                }
                let Script::File(scripts) = &sessions.script else { return Ok(()) };
                not_empty("workload.sessions.script.file", "session", scripts)?;
                for (session, script) in scripts.iter().enumerate() {
                    let path = format!("workload.sessions.script.file[{session}].bursts");
                    not_empty(&path, "burst", &script.bursts)?;
                    for (burst, requests) in script.bursts.iter().enumerate() {
                        not_empty(&format!("{path}[{burst}].requests"), "request", &requests.requests)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn at_least(field: &str, number: u64, least: u64) -> Result<(), String> {
    if number < least { Err(format!("{field}: expected at least {least}, got {number}")) } else { Ok(()) }
}

fn not_empty<T>(field: &str, of: &str, list: &[T]) -> Result<(), String> {
    if list.is_empty() { Err(format!("{field}: expected at least one {of}, got none")) } else { Ok(()) }
}
