//! Scenarios and their steps.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::Path;

use httperf_hurl as hurl;
use toml::Spanned;
use toml::de::DeValue;

use super::check::{listed, nearest, shortened};
use super::document::{At, View};
use super::library::Library;
use super::lower::{Lowering, Snippet, text_operand};
use super::names::Names;
use super::problem::Problems;
use super::requests::Requests;
use super::{constant, values};
use crate::NonEmpty;
use crate::scenario::{Check, Choice, FeedOrder, Operand, Query, Scenario, Scenarios, Step, StepText};

/// The greatest number of steps in all scenarios, the entries of Hurl files counted for each use.
const STEPS_MAX: usize = 100_000;

/// The names to which steps refer.
pub(super) struct Steps<'a, 'files> {
    /// The steps of each Hurl file, by its name.
    pub(super) files: &'a BTreeMap<String, Vec<Step>>,
    /// The names of the feeds with their orders, in the order of their places.
    pub(super) feeds: &'a [(String, FeedOrder)],
    /// The requests of all files, to which steps that open WebSockets add theirs.
    pub(super) requests: &'a mut Requests,
    pub(super) names: &'a mut Names,
    pub(super) library: &'a mut Library<'files>,
    pub(super) problems: &'a mut Problems,
    /// The number of steps so far.
    pub(super) count: usize,
}

/// Calls `visit` with every table of these steps and the steps below them.
pub(super) fn visit<'a>(steps: &[View<'a>], visit_step: &mut dyn FnMut(&View<'a>)) {
    for step in steps {
        visit_step(step);
        for below in ["steps", "else", "choose"] {
            visit(&step.list(below), visit_step);
        }
    }
}

/// Returns the name of a Hurl file without what does not matter, so that the same file has one name.
pub(super) fn file_name(run: &str) -> &str {
    run.trim_start_matches("./")
}

impl<'files> Steps<'_, 'files> {
    /// Returns a scenario; `None` after a problem that leaves none.
    pub(super) fn scenario(&mut self, view: &View<'_>) -> Option<Scenario> {
        let ends_on_failure = ends_on_failure(view).unwrap_or(false);
        let feeds = view.names("feed").iter().filter_map(|name| self.feed(view, name)).collect();
        let steps = self.steps(&view.list("steps"), 1, ends_on_failure);
        let name = view.text("name")?;
        let weight = view.small("weight").unwrap_or(NonZeroU32::MIN);
        let scenario = Scenario { name: name.value.to_owned(), weight, feeds, steps };
        if self.problems.is_empty() && scenario.calls().is_empty() {
            self.problems.push(view.problem(name.at, "expected a step that makes a request, got none"));
        }
        Some(scenario)
    }

    /// Returns the place of a feed; `None` after a problem with its name.
    fn feed(&mut self, view: &View<'_>, name: &At<&str>) -> Option<u32> {
        if let Some(place) = self.feeds.iter().position(|(feed, _)| feed == name.value) {
            return u32::try_from(place).ok();
        }
        let known = self.feeds.iter().map(|(feed, _)| &feed[..]);
        let hint = match nearest(name.value, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.feeds.is_empty() => format!("describe it in [feed.{}]", name.value),
            None => format!("there are {}", listed(known)),
        };
        let message = format!("expected the name of a feed, got `{}`", name.value);
        self.problems.push(view.problem(name.at.clone(), message).with_hint(hint));
        None
    }

    fn steps(&mut self, views: &[View<'_>], depth: usize, ends_on_failure: bool) -> Vec<Step> {
        if let Some(first) = views.first()
            && depth > Scenarios::DEPTH_MAX
        {
            self.too_deep(first);
            return Vec::new();
        }
        let mut steps = Vec::new();
        for view in views {
            let more = self.step(view, depth, ends_on_failure);
            self.count += more.len();
            if self.count > STEPS_MAX {
                let message = format!("expected at most {STEPS_MAX} steps in all scenarios together");
                self.problems.push(view.problem(view.at(), message));
                return Vec::new();
            }
            steps.extend(more);
        }
        steps
    }

    fn too_deep(&mut self, view: &View<'_>) {
        let message = format!("expected at most {} steps within one another", Scenarios::DEPTH_MAX);
        self.problems.push(view.problem(view.at(), message));
    }

    /// Returns the steps that a table stands for.
    fn step(&mut self, view: &View<'_>, depth: usize, ends: bool) -> Vec<Step> {
        let below = |this: &mut Self, key: &str| this.steps(&view.list(key), depth + 1, ends);
        if let Some(run) = view.text("run") {
            return self.run(view, &run, depth, ends_on_failure(view).unwrap_or(ends));
        }
        if let Some(url) = view.text("ws") {
            return self.websocket(view, &url, ends_on_failure(view).unwrap_or(ends));
        }
        if let Some(pause) = view.form("think", values::pause) {
            return vec![Step::Think(pause.value)];
        }
        if let Some(At { value: (min, max), .. }) = view.form("repeat", values::times) {
            let steps = below(self, "steps");
            return if max == 0 { Vec::new() } else { vec![Step::Repeat { min, max, steps }] };
        }
        if view.has("choose") {
            return self.choose(view, depth, ends);
        }
        if let Some(condition) = view.text("if") {
            let condition = self.condition(view, &condition);
            let (then, otherwise) = (below(self, "steps"), below(self, "else"));
            return condition.map(|condition| Step::If { condition, then, otherwise }).into_iter().collect();
        }
        if let Some(condition) = view.text("while") {
            let condition = self.condition(view, &condition);
            let steps = below(self, "steps");
            let (Some(condition), Some(at_most)) = (condition, view.small("at-most")) else {
                return Vec::new();
            };
            return vec![Step::While { condition, at_most, steps }];
        }
        below(self, "steps")
    }

    fn run(&mut self, view: &View<'_>, run: &At<&str>, depth: usize, ends: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        for name in view.names("feed") {
            let Some(place) = self.feed(view, &name) else { continue };
            if self.feeds.get(place as usize).is_some_and(|(_, order)| *order == FeedOrder::Unique) {
                let message = format!(
                    "expected a feed in random order or in cycles, got the unique feed `{}`",
                    name.value
                );
                let hint = "a unique feed belongs to a scenario: the rows that a visit takes must be known before it \
                            starts";
                self.problems.push(view.problem(name.at, message).with_hint(hint));
                continue;
            }
            steps.push(Step::Row(place));
        }
        for (name, value) in view.map("with") {
            let slot = self.names.slot(name.value);
            let value = self.with(view, value);
            if let (Some(slot), Some(value)) = (slot, value) {
                steps.push(Step::Set { slot, value });
            }
        }
        if let Some(calls) = self.files.get(file_name(run.value)) {
            let has_repeat = calls.iter().any(|step| matches!(step, Step::Repeat { .. }));
            if has_repeat && depth == Scenarios::DEPTH_MAX {
                self.too_deep(view);
            }
            steps.extend(calls.iter().map(|step| with_failure(step, ends)));
        }
        steps
    }

    /// Returns the value of a variable of `with`; a text may have expressions.
    fn with(&mut self, view: &View<'_>, value: &Spanned<DeValue<'_>>) -> Option<Operand> {
        let DeValue::String(text) = value.get_ref() else {
            return constant(value.get_ref()).map(Operand::Value);
        };
        if !text.contains("{{") {
            return Some(Operand::Value(crate::scenario::Value::Text(text.as_ref().into())));
        }
        self.template(view, &value.span(), text, |lowering, template| match &template.pieces[..] {
            [hurl::Piece::Expression(expression)] => lowering.expression_operand(expression),
            _ => Some(text_operand(lowering.text(template))),
        })
    }

    /// Returns a text that may have expressions; `None` after a problem with it.
    pub(super) fn text(&mut self, view: &View<'_>, at: &Range<usize>, text: &str) -> Option<StepText> {
        self.template(view, at, text, |lowering, template| Some(lowering.text(template)))
    }

    /// Returns what `lower` makes of a text that may have expressions; `None` after a problem with it.
    fn template<T>(
        &mut self,
        view: &View<'_>,
        at: &Range<usize>,
        text: &str,
        lower: impl FnOnce(&mut Lowering<'_, 'files>, &hurl::Template) -> Option<T>,
    ) -> Option<T> {
        // A text of Hurl is one that can be compared with.
        let before = "variable \"x\" == \"";
        let assert = format!("{before}{}\"", escaped(text));
        let mut snippet = snippet(view, at.clone(), text, before.len());
        snippet.is_verbatim &= escaped(text) == *text;
        let mut lowering = self.lowering(view, snippet);
        match hurl::parse_assert(&assert) {
            Ok(assert) => match assert.predicate.test {
                hurl::Test::Equals(hurl::Value::Text(template)) => lower(&mut lowering, &template),
                _ => None,
            },
            Err(errors) => {
                lowering.syntax(errors);
                None
            }
        }
    }

    fn choose(&mut self, view: &View<'_>, depth: usize, ends: bool) -> Vec<Step> {
        let mut choices = Vec::new();
        for choice in view.list("choose") {
            let steps = self.steps(&[choice], depth + 1, ends);
            let weight = choice.small("weight").unwrap_or(NonZeroU32::MIN);
            choices.push(Choice { weight, steps });
        }
        match NonEmpty::try_from(choices) {
            Ok(choices) => vec![Step::Choose(choices)],
            Err(_) => {
                self.problems
                    .push(view.problem(view.key_at("choose"), "expected at least one step to choose from"));
                Vec::new()
            }
        }
    }

    /// Returns a condition on a variable; `None` after a problem with it.
    fn condition(&mut self, view: &View<'_>, text: &At<&str>) -> Option<Check> {
        let snippet = snippet(view, text.at.clone(), text.value, 0);
        let mut lowering = self.lowering(view, snippet);
        let assert = match hurl::parse_assert(text.value) {
            Ok(assert) => assert,
            Err(errors) => {
                lowering.syntax(errors);
                return None;
            }
        };
        if !matches!(assert.query.kind, hurl::QueryKind::Variable(_)) {
            let message = format!("expected a condition on a variable, got `{}`", shortened(text.value));
            let hint = "keep the value in a variable with [Captures], and test `variable \"name\"`";
            lowering.problem(&assert.query.span, message, Some(hint.to_owned()));
            return None;
        }
        let check = lowering.check(&assert)?;
        debug_assert!(matches!(check.query, Query::Variable(_)), "the query is on a variable");
        Some(Check { label: text.value.trim().to_owned(), ..check })
    }

    fn lowering<'b>(&'b mut self, view: &'b View<'_>, snippet: Snippet) -> Lowering<'b, 'files> {
        Lowering {
            source: view.source,
            snippet: Some(snippet),
            folder: Path::new(""),
            names: self.names,
            library: self.library,
            problems: self.problems,
            has_gap: false,
        }
    }
}

/// Returns true if a failed check ends the visit; `None` if the table does not say.
fn ends_on_failure(view: &View<'_>) -> Option<bool> {
    view.text("on-failure").map(|action| action.value == "end")
}

/// Returns a step of a Hurl file with this action after a failed check.
fn with_failure(step: &Step, ends: bool) -> Step {
    match step {
        Step::Call { request, .. } => Step::Call { request: *request, ends_on_failure: ends },
        Step::Repeat { min, max, steps } => {
            let steps = steps.iter().map(|step| with_failure(step, ends)).collect();
            Step::Repeat { min: *min, max: *max, steps }
        }
        other => other.clone(),
    }
}

/// Returns the place of a text that is parsed on its own, after `before` bytes.
pub(super) fn snippet(view: &View<'_>, at: Range<usize>, text: &str, before: usize) -> Snippet {
    let written = view.source.text.get(at.start.saturating_add(1)..at.end.saturating_sub(1));
    Snippet { is_verbatim: written == Some(text), at, before }
}

/// Returns a text as it is written between quotes in a Hurl file.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            other => escaped.push(other),
        }
    }
    escaped
}
