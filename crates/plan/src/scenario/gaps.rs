//! Values with which a request cannot be filled in, as far as they are known before a run: rows of feeds without one of the
//! columns, and lists and objects.

use super::{Feed, Operand, Scenarios, Step, StepBodyPart, StepRequest, StepText, TextPart, Value};

impl Scenarios {
    /// Returns a sentence for each variable that is filled in on every way to a request, and that some row of its feed, or
    /// its assignment, leaves without a value that is text: such visits are abandoned.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for scenario in &self.scenarios {
            let initial = |variable: &'_ super::Variable| match &variable.initial {
                Some(value) if lack(Some(value)).is_some() => Origin::Value(value.clone()),
                _ => Origin::Unknown,
            };
            let mut walk =
                Walk { plan: self, from: self.variables.iter().map(initial).collect(), gaps: &mut gaps };
            scenario.feeds.iter().for_each(|&feed| walk.row(feed));
            walk.steps(&scenario.steps);
        }
        gaps
    }
}

/// Source of the value that a variable has at a place.
#[derive(Clone, Debug)]
enum Origin {
    /// Not known, or one that can be filled in.
    Unknown,
    /// This column of a feed, by their places.
    Column { feed: u32, column: usize },
    /// A value that cannot be filled in.
    Value(Value),
}

/// A walk along the steps that every visit of a scenario makes.
struct Walk<'a> {
    plan: &'a Scenarios,
    /// For each variable, where its value is from.
    from: Vec<Origin>,
    gaps: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call { request, .. } => {
                    if let Some(request) = self.plan.requests.get(*request as usize) {
                        self.request(request);
                        request.captures.iter().for_each(|capture| self.set(capture.slot, Origin::Unknown));
                    }
                }
                Step::Set { slot, value } => self.assign(*slot, value),
                Step::Row(feed) => self.row(*feed),
                Step::Repeat { min: 1.., steps, .. } => self.steps(steps),
                Step::Think(_)
                | Step::Repeat { .. }
                | Step::Choose(_)
                | Step::If { .. }
                | Step::While { .. } => {
                    // They need not be made, and a condition may be there for the sake of a gap.
                    self.forget(std::slice::from_ref(step));
                }
            }
        }
    }

    /// Forgets the variables that any of these steps may set.
    fn forget(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call { request, .. } => {
                    let request = self.plan.requests.get(*request as usize);
                    let captures = request.into_iter().flat_map(|request| &request.captures);
                    captures.for_each(|capture| self.set(capture.slot, Origin::Unknown));
                }
                Step::Think(_) => {}
                Step::Set { slot, .. } => self.set(*slot, Origin::Unknown),
                Step::Row(feed) => {
                    let slots = self.plan.feeds.get(*feed as usize).map(|feed| &feed.slots);
                    slots.into_iter().flatten().for_each(|&slot| self.set(slot, Origin::Unknown));
                }
                Step::Repeat { steps, .. } | Step::While { steps, .. } => self.forget(steps),
                Step::Choose(choices) => choices.iter().for_each(|choice| self.forget(&choice.steps)),
                Step::If { then, otherwise, .. } => {
                    self.forget(then);
                    self.forget(otherwise);
                }
            }
        }
    }

    fn set(&mut self, slot: u32, origin: Origin) {
        if let Some(from) = self.from.get_mut(slot as usize) {
            *from = origin;
        }
    }

    fn row(&mut self, feed: u32) {
        let Some(Feed { slots, .. }) = self.plan.feeds.get(feed as usize) else { return };
        for (column, &slot) in slots.iter().enumerate() {
            self.set(slot, Origin::Column { feed, column });
        }
    }

    fn assign(&mut self, slot: u32, value: &Operand) {
        let origin = match value {
            Operand::Value(value) if lack(Some(value)).is_some() => Origin::Value(value.clone()),
            Operand::Value(_) => Origin::Unknown,
            Operand::Variable(source) => self.from.get(*source as usize).cloned().unwrap_or(Origin::Unknown),
            Operand::Text(text) => {
                let name = self.plan.variables.get(slot as usize).map_or("?", |variable| &variable.name);
                self.text(text, &format!("the assignment of `{name}`"));
                Origin::Unknown
            }
        };
        self.set(slot, origin);
    }

    fn request(&mut self, request: &StepRequest) {
        let place = &request.origin;
        self.text(&request.uri, place);
        request.headers.iter().for_each(|header| self.text(&header.value, place));
        for part in request.body.iter().flatten() {
            match part {
                StepBodyPart::Text(text) => self.text(text, place),
                StepBodyPart::File(_) => {}
            }
        }
    }

    /// Looks at what a text fills in as it is. Filters may make text of anything.
    fn text(&mut self, text: &StepText, place: &str) {
        for part in &text.parts {
            match part {
                TextPart::Variable { slot, filters } if filters.is_empty() => self.filled_in(*slot, place),
                TextPart::Encoded { text, .. } => self.text(text, place),
                _ => {}
            }
        }
    }

    fn filled_in(&mut self, slot: u32, place: &str) {
        let (Some(variable), Some(origin)) =
            (self.plan.variables.get(slot as usize), self.from.get(slot as usize))
        else {
            return;
        };
        let name = &variable.name;
        let gap = match origin {
            Origin::Unknown => return,
            Origin::Value(value) => {
                let what = lack(Some(value)).unwrap_or_default();
                format!("{place}: expected a text for `{name}`, which is filled in here, got {what}")
            }
            Origin::Column { feed, column } => {
                let Some(feed) = self.plan.feeds.get(*feed as usize) else { return };
                let value = |row: u64| feed.rows.row(row).get(*column).and_then(Option::as_ref);
                let mut rows = (0..feed.rows.count()).filter_map(|row| Some((row, lack(value(row))?)));
                let Some((first, what)) = rows.next() else { return };
                let others = match rows.count() {
                    0 => String::new(),
                    others => format!(", and none that is text in {others} more"),
                };
                format!(
                    "{}: expected a text for `{name}` in each row, as {place} fills it in, got {what} in row {}{others}",
                    feed.path.display(),
                    first + 1
                )
            }
        };
        // Its other uses are the same mistake.
        self.set(slot, Origin::Unknown);
        if !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}

/// The kind of a value, or `none`, if it cannot be filled in.
fn lack(value: Option<&Value>) -> Option<&'static str> {
    match value {
        None => Some("none"),
        Some(Value::List(_)) => Some("a list"),
        Some(Value::Object(_)) => Some("an object"),
        Some(Value::Bytes(_)) => Some("bytes"),
        Some(_) => None,
    }
}
