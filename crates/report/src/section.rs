//! Sections of a report: the facts and times of one subject, once for text and pages.
//!
//! Both show the same rows in the same order. Only names differ: those of text fit into a narrow column.

use std::borrow::Cow;
use std::fmt::{self, Display};

use httperf_stats::Tally;

use crate::figures::Times;
use crate::http2::http2;
use crate::result::Document;
use crate::rpc::grpc;
use crate::streams::{model, streams};
use crate::table::{NAME_WIDTH, line, write_reasons, write_tally, write_times, write_times_head};
use crate::tls::tls;
use crate::websocket::websockets;

/// The facts and times of one subject.
#[derive(Debug)]
pub struct Section<'a> {
    /// Anchor on pages.
    pub id: &'static str,
    /// Title on pages. In text, the first line tells what it is about.
    pub title: &'static str,
    /// Sentences and lists.
    pub facts: Vec<Fact<'a>>,
    /// Rows of times.
    pub times: Vec<TimesRow>,
    /// Figures of what was sent, and the same of what was received.
    pub both_ways: Vec<BothWays>,
    /// Caption of `both_ways` on pages.
    pub both_ways_caption: &'static str,
    /// Heads of the tables of `times` and `both_ways` in text.
    heads: [&'static str; 2],
    /// Text begins with times.
    begins_with_times: bool,
}

/// A sentence or a list, with what it is about.
#[derive(Debug)]
pub struct Fact<'a> {
    name: Name,
    /// Its content.
    pub told: Told<'a>,
}

/// A name for a narrow column, and one for pages if that is not the same word with a capital.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    short: &'static str,
    long: Option<&'static str>,
}

/// Content of a fact.
#[derive(Debug)]
pub enum Told<'a> {
    /// One line.
    Line(String),
    /// Names with their counts; in text, on one line.
    Counts(&'a Tally),
    /// Sentences with their counts; in text, each on its own line.
    Reasons(&'a Tally),
}

/// A row of times.
#[derive(Clone, Debug)]
pub struct TimesRow {
    /// Name in text. It is empty for what text tells in a sentence.
    pub(crate) name: Cow<'static, str>,
    /// Name on pages.
    pub long_name: Cow<'static, str>,
    /// From when to when.
    pub about: &'static str,
    /// Times.
    pub times: Times,
}

/// A figure of what was sent, and of what was received.
#[derive(Debug)]
pub struct BothWays {
    name: Cow<'static, str>,
    /// Name on pages.
    pub long_name: Cow<'static, str>,
    /// Sent and received.
    pub values: [String; 2],
}

/// Sections on replies of some kinds.
#[must_use]
pub fn of_replies(document: &Document) -> Vec<Section<'_>> {
    let grpc = grpc(&document.summary, document.figures.grpc.as_ref());
    [streams(document), model(document), websockets(document), grpc].into_iter().flatten().collect()
}

/// Sections on connections.
#[must_use]
pub fn of_connections(document: &Document) -> Vec<Section<'_>> {
    [tls(document), http2(&document.summary)].into_iter().flatten().collect()
}

impl<'a> Section<'a> {
    /// Makes an empty section.
    pub(crate) fn new(id: &'static str, title: &'static str) -> Self {
        Self {
            id,
            title,
            facts: Vec::new(),
            times: Vec::new(),
            both_ways: Vec::new(),
            both_ways_caption: "",
            heads: [title; 2],
            begins_with_times: false,
        }
    }

    /// Adds a line, unless it is empty.
    pub(crate) fn line(self, name: impl Into<Name>, text: impl Into<Option<String>>) -> Self {
        match text.into().filter(|text| !text.is_empty()) {
            Some(text) => self.fact(Fact { name: name.into(), told: Told::Line(text) }),
            None => self,
        }
    }

    /// Adds names with their counts, if there are any.
    pub(crate) fn counts(self, name: impl Into<Name>, tally: &'a Tally) -> Self {
        let fact = Fact { name: name.into(), told: Told::Counts(tally) };
        if tally.total() == 0 { self } else { self.fact(fact) }
    }

    /// Adds sentences with their counts, if there are any.
    pub(crate) fn reasons(self, name: impl Into<Name>, tally: &'a Tally) -> Self {
        let fact = Fact { name: name.into(), told: Told::Reasons(tally) };
        if tally.total() == 0 { self } else { self.fact(fact) }
    }

    fn fact(mut self, fact: Fact<'a>) -> Self {
        self.facts.push(fact);
        self
    }

    /// Adds the rows that have samples. The table's head in text begins with `head`.
    pub(crate) fn times(self, head: &'static str, rows: impl IntoIterator<Item = TimesRow>) -> Self {
        let times = rows.into_iter().filter(|row| row.times.samples > 0).collect();
        Self { times, heads: [head, self.heads[1]], ..self }
    }

    /// Adds these rows. The table's head in text begins with `head`.
    pub(crate) fn both_ways(
        self,
        head: &'static str,
        caption: &'static str,
        rows: impl IntoIterator<Item = BothWays>,
    ) -> Self {
        let both_ways = rows.into_iter().collect();
        Self { both_ways, both_ways_caption: caption, heads: [self.heads[0], head], ..self }
    }

    /// Lets text begin with times.
    pub(crate) fn begin_with_times(self) -> Self {
        Self { begins_with_times: true, ..self }
    }

    fn write_facts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Fact { name: Name { short: name, .. }, told } in &self.facts {
            match told {
                Told::Line(text) => line(f, name, text)?,
                Told::Counts(tally) => write_tally(f, name, tally)?,
                Told::Reasons(tally) => write_reasons(f, name, tally)?,
            }
        }
        Ok(())
    }

    fn write_both_ways(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut write = |name: &str, sent: &str, received: &str| {
            writeln!(f, "{name:<NAME_WIDTH$}{sent:>22}{received:>22}")
        };
        write(self.heads[1], "sent", "received")?;
        self.both_ways
            .iter()
            .try_for_each(|BothWays { name, values: [sent, received], .. }| write(name, sent, received))
    }
}

/// The section of a text, starting with an empty line.
impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        if self.begins_with_times {
            write_rows(f, self.heads[0], &self.times)?;
        }
        self.write_facts(f)?;
        if !self.begins_with_times && !self.times.is_empty() {
            writeln!(f)?;
            write_rows(f, self.heads[0], &self.times)?;
        }
        if !self.both_ways.is_empty() {
            writeln!(f)?;
            self.write_both_ways(f)?;
        }
        Ok(())
    }
}

impl Fact<'_> {
    /// Name on pages.
    #[must_use]
    pub fn long_name(&self) -> String {
        let Name { short, long } = self.name;
        let capital = |name: &str| name[..1].to_uppercase() + &name[1..];
        long.map_or_else(|| capital(short), str::to_owned)
    }
}

impl From<&'static str> for Name {
    fn from(short: &'static str) -> Self {
        Self { short, long: None }
    }
}

impl From<(&'static str, &'static str)> for Name {
    fn from((short, long): (&'static str, &'static str)) -> Self {
        Self { short, long: Some(long) }
    }
}

impl TimesRow {
    /// A row with names for text and pages.
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        long_name: impl Into<Cow<'static, str>>,
        about: &'static str,
        times: Times,
    ) -> Self {
        Self { name: name.into(), long_name: long_name.into(), about, times }
    }
}

impl BothWays {
    /// A row with names for text and pages.
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        long_name: impl Into<Cow<'static, str>>,
        values: [String; 2],
    ) -> Self {
        Self { name: name.into(), long_name: long_name.into(), values }
    }
}

/// Writes a table of times, if there are any.
pub(crate) fn write_rows(f: &mut fmt::Formatter<'_>, head: &str, rows: &[TimesRow]) -> fmt::Result {
    let mut shown = rows.iter().filter(|row| !row.name.is_empty()).peekable();
    if shown.peek().is_none() {
        return Ok(());
    }
    write_times_head(f, head)?;
    shown.try_for_each(|row| write_times(f, &row.name, &row.times))
}
