//! Objectives of the whole run and of its parts: `[objectives]`.

use toml::Spanned;
use toml::de::DeValue;

use super::check::{listed, nearest};
use super::document::{At, View};
use super::problem::{FileProblem, Problems};
use crate::Objectives;
use crate::objective::{Objective, Scope, ScopedObjective};

/// The greatest number of names that a hint lists.
const LISTED_MAX: usize = 12;

/// The names to which objectives may refer.
pub(super) struct Known {
    /// The scenarios with the names of their steps.
    pub(super) scenarios: Vec<(String, Vec<String>)>,
    pub(super) phases: Vec<String>,
}

/// Returns the objectives that the table describes.
pub(super) fn read(view: &View<'_>, known: &Known, problems: &mut Problems) -> Objectives {
    let mut reader = Reader { view, known, problems };
    let all = reader.whole_run();
    let mut scoped = Vec::new();
    for key in ["scenario", "step", "phase"] {
        for (name, value) in view.map(key) {
            let scope = match key {
                "scenario" => reader.scenario(&name),
                "step" => reader.step(&name),
                _ => reader.phase(&name),
            };
            let Some(scope) = scope else { continue };
            let objectives = reader.objectives(value);
            if let Some(other) = objectives.iter().find(|&&objective| !scope.has(objective)) {
                let sessions = if matches!(scope, Scope::Step { .. }) { "" } else { " and session" };
                let message = format!(
                    "expected a figure of {} (latency, service, first, ttft{sessions}; errors, failed, unexpected, checks, \
                     abandoned, replies), got `{other}`",
                    scope.kind()
                );
                let hint = "`all` takes any objective, for the whole run";
                reader.problems.push(view.problem(value.span(), message).with_hint(hint));
            }
            scoped.extend(
                objectives.into_iter().map(|objective| ScopedObjective { scope: scope.clone(), objective }),
            );
        }
    }
    Objectives { all, abort: false, scoped }
}

struct Reader<'a, 'b> {
    view: &'a View<'b>,
    known: &'a Known,
    problems: &'a mut Problems,
}

impl Reader<'_, '_> {
    fn whole_run(&mut self) -> Vec<Objective> {
        let value = self.view.entries.get("all");
        value.map(|value| self.objectives(value)).unwrap_or_default()
    }

    fn objectives(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Objective> {
        let Some(text) = value.get_ref().as_str() else { return Vec::new() };
        let objectives = match Objective::parse_list(text) {
            Ok(objectives) => objectives,
            Err(error) => {
                // The line of the file stands in place of the lines with the text and the mark.
                let message = error.to_string();
                let message = message.lines().next().unwrap_or_default();
                let hint = error.hint().map_or_else(String::new, |hint| format!("; {hint}"));
                self.problems.push(self.view.problem(value.span(), format!("{message}{hint}")));
                return Vec::new();
            }
        };
        if let Some((one, other)) = Objective::contradiction(&objectives) {
            let message = format!("expected objectives that a run can meet together, got {other} and {one}");
            self.problems.push(self.view.problem(value.span(), message));
        }
        objectives
    }

    fn scenario(&mut self, name: &At<&str>) -> Option<Scope> {
        let names: Vec<&str> = self.known.scenarios.iter().map(|(name, _)| &name[..]).collect();
        self.known_name("a scenario", name, &names).then(|| Scope::Scenario(name.value.to_owned()))
    }

    fn phase(&mut self, name: &At<&str>) -> Option<Scope> {
        let names: Vec<&str> = self.known.phases.iter().map(|name| &name[..]).collect();
        self.known_name("a phase", name, &names).then(|| Scope::Phase(name.value.to_owned()))
    }

    /// Returns a step in all scenarios, or in the one that is named before a slash. Names may contain slashes.
    fn step(&mut self, name: &At<&str>) -> Option<Scope> {
        let scenarios = &self.known.scenarios;
        let is_step = scenarios.iter().any(|(_, steps)| steps.iter().any(|step| step == name.value));
        if is_step {
            return Some(Scope::Step { scenario: None, step: name.value.to_owned() });
        }
        let of_scenario = scenarios.iter().find_map(|(scenario, steps)| {
            let step = name.value.strip_prefix(&scenario[..])?.strip_prefix('/')?;
            steps.iter().any(|known| known == step).then(|| (scenario.clone(), step.to_owned()))
        });
        if let Some((scenario, step)) = of_scenario {
            return Some(Scope::Step { scenario: Some(scenario), step });
        }
        let mut names: Vec<&str> =
            scenarios.iter().flat_map(|(_, steps)| steps).map(|step| &step[..]).collect();
        names.sort_unstable();
        names.dedup();
        self.known_name("a step", name, &names);
        None
    }

    /// Returns true if a name is one of these, and adds a problem if it is not.
    fn known_name(&mut self, what: &str, name: &At<&str>, names: &[&str]) -> bool {
        if names.contains(&name.value) {
            return true;
        }
        let message = format!("expected the name of {what}, got `{}`", name.value);
        let problem = self.view.problem(name.at.clone(), message);
        let hint = match nearest(name.value, names.iter().copied()) {
            Some(near) => Some(format!("did you mean `{near}`?")),
            None if names.is_empty() => None,
            None => {
                let rest = if names.len() > LISTED_MAX { ", …" } else { "" };
                Some(format!("there are {}{rest}", listed(names.iter().copied().take(LISTED_MAX))))
            }
        };
        self.push(problem, hint);
        false
    }

    fn push(&mut self, problem: FileProblem, hint: Option<String>) {
        self.problems.push(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    }
}
