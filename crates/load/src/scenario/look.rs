//! Looks at replies: captures and checks, and conditions on variables.

use std::fmt;
use std::time::{Duration, SystemTime};

use compact_str::CompactString;
use httperf_plan::scenario::{Check, Filter, Query, StepRequest, Value};

use super::filter::{CompiledFilter, filtered};
use super::json::Tree;
use super::query::{CompiledQuery, Seen};
use super::reason;
use super::scratch::Scratch;
use super::secrets::Secrets;
use super::test::CompiledPredicate;
use super::text::Filling;
use super::value::{Found, Outcome, View};
use crate::draws::Draws;

/// The compiled captures and checks of a request, with the status that is expected.
#[derive(Debug)]
pub struct Look<'p> {
    status: Option<u16>,
    needs: Needs,
    captures: Box<[CompiledCapture<'p>]>,
    checks: Box<[CompiledCheck<'p>]>,
    tree: Tree,
}

/// The compiled form of a condition on variables.
#[derive(Debug)]
pub struct Condition<'p> {
    check: CompiledCheck<'p>,
}

/// A regular expression or path that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The file and line of the request that has it; `None` if it belongs to none.
    pub origin: Option<String>,
    /// The expression.
    pub text: String,
    /// The reason, for a message.
    pub reason: String,
}

/// The parts of a reply that a [`Look`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The header fields.
    pub head: bool,
    /// The body.
    pub body: bool,
}

/// Reads a header block: calls a function with the value of each field of this name, in any case, in order and without
/// blanks around it.
pub type ReadValues = for<'h> fn(&'h [u8], &[u8], &mut dyn FnMut(&'h [u8]));

/// A reply to judge.
#[derive(Clone, Copy)]
pub struct Reply<'r> {
    /// The status code.
    pub status: u16,
    /// The header block.
    pub head: &'r [u8],
    /// The reader of the header block.
    pub read_values: ReadValues,
    /// The body without content codings, or the reason why it could not be read: then every look at it fails.
    pub body: Result<&'r [u8], &'r str>,
    /// The time from the first byte of the request to the end of the reply.
    pub duration: Duration,
    /// The targets of the redirects followed, in order.
    pub redirects: &'r [CompactString],
}

/// The result of a [`Look`] at a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The status is not the expected one. No captures and checks were made.
    pub status_differs: bool,
    /// The status is one that the step expects: by itself, or by checks of it that all hold.
    pub status_is_expected: bool,
    /// The number of checks that failed.
    pub failed_checks: u32,
    /// The capture that found no value, by its place. Those after it and the checks were not made.
    pub failed_capture: Option<usize>,
}

/// A look that failed, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A capture.
    Capture(usize),
    /// A check.
    Check(usize),
}

impl Judgement {
    /// Returns the number of checks that failed, the expected status among them.
    #[must_use]
    pub fn checks_failed(&self) -> u64 {
        u64::from(self.failed_checks) + u64::from(self.status_differs)
    }
}

#[derive(Debug)]
struct CompiledCapture<'p> {
    slot: usize,
    place: Place<'p>,
}

#[derive(Debug)]
struct CompiledCheck<'p> {
    place: Place<'p>,
    predicate: CompiledPredicate<'p>,
    /// It says which statuses are expected, by a comparison that they meet.
    names_status: bool,
}

/// A query with its filters.
#[derive(Debug)]
pub(super) struct Place<'p> {
    query: CompiledQuery<'p>,
    filters: Box<[CompiledFilter<'p>]>,
    /// The filters as the plan has them.
    written: &'p [Filter],
}

impl<'p> Look<'p> {
    /// Compiles the captures and checks of a request.
    pub fn new(request: &'p StepRequest) -> Result<Self, Malformed> {
        let mut tree = Tree::default();
        let mut captures = Vec::with_capacity(request.captures.len());
        for capture in &request.captures {
            let place = Place::new(&capture.query, &capture.filters, &mut tree)?;
            captures.push(CompiledCapture { slot: capture.slot as usize, place });
        }
        let checks: Result<_, _> =
            request.checks.iter().map(|check| CompiledCheck::new(check, &mut tree)).collect();
        let needs = Needs { head: request.queries().any(Query::reads_head), body: request.looks_at_body() };
        Ok(Self { status: request.status, needs, captures: captures.into(), checks: checks?, tree })
    }

    /// Returns the parts of a reply that must be there to judge it.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Judges a reply as Hurl does: compares the status, then takes the captures into `values`, then makes the checks.
    /// A status that differs ends the judgement, and so does a capture without a value.
    ///
    /// Calls `on_failed_check` with the place of each check that failed.
    pub fn judge(
        &self,
        reply: &Reply<'_>,
        values: &mut [Option<Value>],
        draws: &mut Draws,
        now: &mut dyn FnMut() -> SystemTime,
        scratch: &mut Scratch,
        on_failed_check: &mut dyn FnMut(usize),
    ) -> Judgement {
        if self.status.is_some_and(|status| status != reply.status) {
            return Judgement { status_differs: true, ..Judgement::default() };
        }
        let mut spans = std::mem::take(&mut scratch.spans);
        let found = match reply.body {
            Ok(body) if !self.tree.is_empty() => self.tree.find(body, &mut spans),
            _ => None,
        };
        let seen = Seen::new(Some(reply), found.map(|()| &spans[..]));
        let mut judgement = self.judge_seen(&seen, values, draws, now, scratch, on_failed_check);
        judgement.status_is_expected |= self.status.is_some();
        drop(seen);
        scratch.spans = spans;
        judgement
    }

    fn judge_seen(
        &self,
        seen: &Seen<'_>,
        values: &mut [Option<Value>],
        draws: &mut Draws,
        now: &mut dyn FnMut() -> SystemTime,
        scratch: &mut Scratch,
        on_failed_check: &mut dyn FnMut(usize),
    ) -> Judgement {
        for (index, capture) in self.captures.iter().enumerate() {
            let mut filling = Filling { values, draws: &mut *draws, now: &mut *now };
            let found = capture.place.find(seen, &mut filling, scratch);
            let Some(found) = found.ok().flatten().filter(|found| !capture.place.is_without_nodes(found))
            else {
                return Judgement { failed_capture: Some(index), ..Judgement::default() };
            };
            let value = found.into_value_in(&mut scratch.text);
            if let Some(variable) = values.get_mut(capture.slot) {
                scratch.keep(variable.replace(value));
            }
        }
        let mut judgement = Judgement::default();
        let mut filling = Filling { values, draws, now };
        let (mut names_status, mut has_other_status) = (false, false);
        for (index, check) in self.checks.iter().enumerate() {
            let holds = check.holds(seen, &mut filling, scratch);
            names_status |= check.names_status;
            has_other_status |= check.names_status && !holds;
            if !holds {
                judgement.failed_checks += 1;
                on_failed_check(index);
            }
        }
        judgement.status_is_expected = names_status && !has_other_status;
        judgement
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(super) fn capture_place(&self, index: usize) -> Option<&Place<'p>> {
        Some(&self.captures.get(index)?.place)
    }

    pub(super) fn check_parts(&self, index: usize) -> Option<(&Place<'p>, &CompiledPredicate<'p>)> {
        self.checks.get(index).map(|check| (&check.place, &check.predicate))
    }
}

impl<'p> Condition<'p> {
    /// Compiles a condition.
    pub fn new(check: &'p Check) -> Result<Self, Malformed> {
        // There is no body to find paths in.
        Ok(Self { check: CompiledCheck::new(check, &mut Tree::default())? })
    }

    /// Returns true if the condition holds. One on anything but a variable never holds.
    pub fn holds(&self, filling: &mut Filling<'_>, scratch: &mut Scratch) -> bool {
        let Filling { values, draws, now } = filling;
        self.check.holds(&Seen::new(None, None), &mut Filling { values, draws, now: &mut **now }, scratch)
    }
}

impl<'p> CompiledCheck<'p> {
    fn new(check: &'p Check, tree: &mut Tree) -> Result<Self, Malformed> {
        let place = Place::new(&check.query, &check.filters, tree)?;
        let predicate = CompiledPredicate::new(&check.predicate, 0)?;
        let names_status = matches!(check.query, Query::Status) && predicate.names_values();
        Ok(Self { place, predicate, names_status })
    }

    fn holds<'a>(&self, seen: &'a Seen<'_>, filling: &mut Filling<'a>, scratch: &mut Scratch) -> bool {
        if let Some(body) = self.place.bytes_of_body(seen)
            && let Some(holds) = self.predicate.holds_for_bytes_of_text(body)
        {
            return holds;
        }
        let found = self.place.find(seen, filling, scratch);
        let is_there =
            |found: &Found<'_>| !(self.predicate.asks_existence() && self.place.is_without_nodes(found));
        found.is_ok_and(|found| self.predicate.holds(found.filter(is_there).as_ref(), filling, scratch))
    }
}

impl<'p> Place<'p> {
    fn new(query: &'p Query, filters: &'p [Filter], tree: &mut Tree) -> Result<Self, Malformed> {
        let query = CompiledQuery::new(query, tree)?;
        Ok(Self { query, filters: CompiledFilter::all(filters, 0)?, written: filters })
    }

    /// Returns the bytes of a body whose text is the value.
    fn bytes_of_body<'a>(&self, seen: &Seen<'a>) -> Option<&'a [u8]> {
        if self.filters.is_empty() { self.query.bytes_of_body(seen) } else { None }
    }

    /// Returns whether it found an empty set of nodes: that can be counted, but there is nothing in it to take or to exist.
    fn is_without_nodes(&self, found: &Found<'_>) -> bool {
        self.filters.is_empty()
            && self.query.finds_nodes()
            && matches!(found.view(), View::List(nodes) if nodes.is_empty())
    }

    fn find<'a>(&self, seen: &'a Seen<'_>, filling: &mut Filling<'a>, scratch: &mut Scratch) -> Outcome<'a> {
        match self.query.find(seen, filling, scratch)? {
            Some(found) => filtered(&self.filters, found, filling, scratch),
            None if self.filters.is_empty() => Ok(None),
            None => Err(super::value::Mismatch),
        }
    }

    /// Returns in words what is found, or why nothing is.
    pub(super) fn in_words<'a>(
        &self,
        seen: &'a Seen<'_>,
        filling: &mut Filling<'a>,
        scratch: &mut Scratch,
        secrets: &Secrets,
    ) -> String {
        let mut found = match self.query.find(seen, filling, scratch) {
            Err(_) => return self.query.reason(seen),
            Ok(None) => return "got no value".to_owned(),
            Ok(Some(found)) => found,
        };
        for (filter, written) in self.filters.iter().zip(self.written) {
            let (name, before) = (reason::name(written), reason::in_words(found.view(), secrets));
            found = match filter.apply(found, filling, scratch) {
                Err(_) => return format!("`{name}` does not apply to {before}"),
                Ok(None) => return format!("`{name}` finds no value in {before}"),
                Ok(Some(next)) => next,
            };
        }
        format!("got {}", reason::in_words(found.view(), secrets))
    }
}

impl Malformed {
    /// Makes an error of a reason, for this expression.
    pub(super) fn of(text: &str) -> impl FnOnce(String) -> Self {
        move |reason| Self { origin: None, text: text.to_owned(), reason }
    }

    /// Adds the origin of the request that has this expression.
    pub(super) fn in_request(self, origin: &str) -> Self {
        Self { origin: Some(origin.to_owned()).filter(|origin| !origin.is_empty()), ..self }
    }
}

impl fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("status", &self.status)
            .field("body", &self.body.map(<[u8]>::len))
            .field("duration", &self.duration)
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}: ")?;
        }
        write!(f, "`{}`: {}", self.text, self.reason)
    }
}

impl std::error::Error for Malformed {}
