//! The answer of a run: load offered, replies, latency and verdict, on one screen of 80 × 24. On a terminal it is the report;
//! the full report ends with it.

use std::cmp::Reverse;
use std::fmt::{self, Display, Write};
use std::ops::RangeInclusive;
use std::time::Duration;

use httperf_plan::{LeftOut, Plan, Workload};
use httperf_stats::{CallOutcome, Merge as _, Summary, Timing};

use crate::all_calls::{AllCalls, Percentile};
use crate::causes::CauseFigures;
use crate::colours::Tone;
use crate::conclusion::{Conclusion, ConclusionKind};
use crate::diagnosis::same_status;
use crate::figures::Times;
use crate::forms::Screen;
use crate::headings;
use crate::histogram::Histogram;
use crate::number::{count, counted, per_second, percent, ratio, time, were};
use crate::objectives::Kept;
use crate::offered::Offered;
use crate::result::{Document, EarlyEnd};
use crate::rpc;
use crate::streams::{answer_lines, open_streams};
use crate::told;
use crate::verdict::Level;
use crate::visible::is_deceptive;
use crate::visits::VisitFigures;
use crate::websocket;

/// Widths of the screen for which the answer is laid out.
const WIDTHS: RangeInclusive<usize> = 40..=80;

/// Width of the first column.
const NAME_WIDTH: usize = 13;

/// Width of a column of the table of percentiles.
const TIME_WIDTH: usize = 8;

/// Fewest columns for a server beside the lengths of the phases.
const TITLE_MIN: usize = 24;

/// Maximum number of lines that a sentence may take on a screen of full width.
const LINES_MAX: usize = 3;

/// Largest number of bars of the histogram, and the width of its two ends.
const BARS_MAX: usize = 50;
const ENDS_WIDTH: usize = NAME_WIDTH + 10;

/// Place of the figures that an answer leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// In the report that ends with the answer.
    Above,
    /// In a report that was not asked for.
    Unprinted,
}

/// The answer. At the end of a report it starts with an empty line; alone it ends with a line on further reports.
#[must_use]
pub fn answer(document: &Document, screen: Screen, rest: Rest) -> impl Display + '_ {
    let columns = screen.columns.unwrap_or(*WIDTHS.end());
    Answer { document, screen, width: columns.clamp(*WIDTHS.start(), *WIDTHS.end()), rest }
}

struct Answer<'a> {
    document: &'a Document,
    screen: Screen,
    width: usize,
    rest: Rest,
}

impl Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, figures, .. } = self.document;
        if self.rest == Rest::Above {
            writeln!(f)?;
        }
        self.write_title(f)?;
        self.write_conclusion(f)?;
        self.write_interruption(f)?;
        self.write_objectives(f)?;
        self.write_offered(f)?;
        if self.document.conclusion.kind == ConclusionKind::NoReply {
            // A verdict is worth a word only if the fault may be the generator's.
            return match self.document.verdict.level {
                Level::Invalid => self.write_verdict(f),
                Level::Valid | Level::Suspect => Ok(()),
            };
        }
        self.write_replied(f)?;
        self.write_errors(f)?;
        self.write_unfinished(f)?;
        self.write_statuses(f)?;
        self.write_told(f)?;
        self.write_grpc(f)?;
        self.write_visits(f)?;
        self.write_recorded(f)?;
        self.write_left_out(f)?;
        if let Some(fault) = same_status(plan, summary) {
            self.line(f, Tone::Bad, "", "", &fault)?;
        }
        let has_streams = figures.streams.as_ref().is_some_and(|streams| streams.started > 0);
        if plan.recording.detail && (figures.all_calls.answered > 0 || has_streams) {
            self.write_streams(f)?;
        }
        if plan.recording.detail && figures.all_calls.answered > 0 {
            self.write_latency(f)?;
            self.write_histogram(f, &summary.completed().latency)?;
        }
        self.write_verdict(f)?;
        match self.rest {
            Rest::Above => Ok(()),
            Rest::Unprinted => self.line(f, Tone::Plain, "more", "", FURTHER),
        }
    }
}

/// Ways to more figures.
const FURTHER: &str = "--report=full prints all figures, --html FILE makes a page of them";

impl Answer<'_> {
    /// The conclusion, in a sentence whose subject is the server of the title.
    fn write_conclusion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conclusion { kind, text, .. } = &self.document.conclusion;
        // What keeps up and misses an objective is no good news.
        let is_met = self.document.objectives_outcome().is_none_or(|outcome| outcome == Kept::Met);
        let tone = if is_met || kind.tone() != Tone::Good { kind.tone() } else { Tone::Plain };
        self.line(f, tone, "conclusion", "", text)
    }

    /// Server, with the lengths of the phases.
    fn write_title(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, figures, .. } = self.document;
        // A list of requests may hold anything.
        let title = headings::url(plan).replace(is_deceptive, "\u{fffd}");
        let mut phases = format!("{} measured", time(figures.duration_s * 1e3));
        if let Some(warmup) = &summary.warmup {
            phases.push_str(&format!(" after {} of warm-up", time(in_ms(warmup.duration))));
        }
        let beside = self.width.saturating_sub(phases.len() + ": ".len());
        let is_narrow = beside < TITLE_MIN.min(title.chars().count());
        let (room, between) = if is_narrow { (self.width - 1, ":\n") } else { (beside, ": ") };
        let title = match title.char_indices().nth(room) {
            Some(_) => title.chars().take(room.saturating_sub(1)).chain(['…']).collect(),
            None => title,
        };
        writeln!(f, "{}{between}{phases}", self.screen.colours.paint(Tone::Strong, title))
    }

    /// Early end, with its effect on the phases.
    fn write_interruption(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, parts, .. } = self.document;
        match parts.iter().find_map(|part| part.ended_early) {
            None => Ok(()),
            Some(EarlyEnd::Asked) => {
                self.line(f, Tone::Doubtful, "interrupted", &interruption(plan, summary), "")
            }
            Some(EarlyEnd::Exact) => {
                self.line(f, Tone::Plain, "ended early", "", "it had measured precisely enough (--until)")
            }
            Some(EarlyEnd::Missed) => {
                let why = "an objective was missed for three seconds in a row (--abort-on-slo)";
                self.line(f, Tone::Bad, "ended early", "", why)
            }
            Some(EarlyEnd::Hopeless) => {
                self.line(f, Tone::Bad, "ended early", "", "the server does not speak the protocol")
            }
        }
    }

    fn write_objectives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.document.objectives;
        let Some(outcome) = self.document.objectives_outcome() else { return Ok(()) };
        let tone = match outcome {
            Kept::Met => Tone::Good,
            Kept::Missed => Tone::Bad,
            Kept::Unknown => Tone::Doubtful,
        };
        let open = || all.iter().filter(|judged| judged.outcome != Kept::Met);
        // One that was missed says more than one that is unknown.
        let first = open().find(|judged| judged.outcome == Kept::Missed).or_else(|| open().next());
        let met = all.len() - open().count();
        let what = match first {
            None if outcome == Kept::Met => format!("{met} of {} met", all.len()),
            None => "the run was ended early because one was missed".to_owned(),
            Some(judged) => {
                let unknown = if judged.outcome == Kept::Unknown { " is unknown" } else { "" };
                let others =
                    if all.len() > 1 { format!("; {met} of {} met", all.len()) } else { String::new() };
                format!("{}{unknown}: {judged}{others}", judged.name())
            }
        };
        // Whoever sees PASS looks no further.
        match (outcome, self.document.verdict.level) {
            (Kept::Met, Level::Invalid) => {
                let what = format!("{what}, by figures that cannot be relied on (INVALID)");
                self.line(f, Tone::Doubtful, "objectives", outcome.headline(), &what)
            }
            _ => self.line(f, tone, "objectives", outcome.headline(), &what),
        }
    }

    /// Load that was offered; where arrivals wait for each other, requests that were sent.
    fn write_offered(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { summary, figures, .. } = self.document;
        let Some(offered) = Offered::of(self.document) else {
            // Those that were due while it was measured.
            let sent = match figures.all_calls.calls {
                0 => summary.in_window().requests,
                calls => calls,
            };
            if sent == 1 {
                return self.line(f, Tone::Plain, "sent", "", "1 request");
            }
            let what = format!("{} in {}", counted(sent, "request"), time(figures.duration_s * 1e3));
            return self.line(f, Tone::Plain, "sent", &per_second(figures.request_rate), &what);
        };
        let rate = offered.rate;
        let what = match figures.rate_asked.filter(|&asked| (rate - asked).abs() > AS_ASKED * asked) {
            Some(asked) => format!("{}, of {} asked for", offered.arrivals(), per_second(asked)),
            None => offered.arrivals(),
        };
        match offered.calls_rate {
            None => self.line(f, Tone::Plain, "offered", &offered.rates(), &what),
            Some(_) => self.line(f, Tone::Plain, "offered", "", &format!("{}: {what}", offered.rates())),
        }
    }

    /// Throughput, and the share of the calls that were answered.
    fn write_replied(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.document.figures;
        let AllCalls { calls, answered, .. } = figures.all_calls;
        let what = match calls {
            0 => counted(figures.replies, "reply"),
            calls => format!(
                "{} of {} calls answered ({})",
                count(answered),
                count(calls),
                percent(ratio(answered as f64, calls as f64))
            ),
        };
        // Those that came after the load are in no rate, and one reply has none.
        let in_window = self.document.summary.in_window().replies;
        let is_drained = self.document.plan.runtime.is_some() && in_window < answered;
        let what = if is_drained { format!("while offered; {what}") } else { what };
        let rate = if answered == 1 { String::new() } else { per_second(figures.reply_rate) };
        self.line(f, Tone::Plain, "replied", &rate, &what)
    }

    /// Calls in error, by kind and reason.
    fn write_errors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, figures, .. } = self.document;
        let errors = &figures.error_share;
        let not_made = figures.visits.as_ref().map(VisitFigures::not_made).unwrap_or_default();
        let unmade = not_made.iter().map(|(_, not_made)| not_made.calls).sum();
        let reasons: Vec<String> = figures.causes.iter().map(CauseFigures::listed).collect();
        let reasons = match &reasons[..] {
            [] => String::new(),
            reasons => format!(": {}", reasons.join(", ")),
        };
        // Where the outcomes of calls are not recorded, replies are.
        let (http_errors, unexpected) = match plan.recording.detail {
            true => (errors.http_errors, errors.unexpected),
            false => (http_errors(self.document), summary.mismatches.total()),
        };
        let failed = errors.failed.saturating_sub(unmade);
        let is_per_call = failed == summary.errors.total();
        let why = not_made.first().map_or_else(String::new, |(_, not_made)| format!(": {}", not_made.reason));
        let kinds = [
            (failed, "call failed", "calls failed", if is_per_call { &reasons[..] } else { "" }),
            (unmade, "call could not be made", "calls could not be made", &why),
            (http_errors, "reply of 4xx or 5xx", "replies of 4xx or 5xx", ""),
            (unexpected, "unexpected reply", "unexpected replies", ""),
        ];
        let kinds: Vec<_> = kinds.into_iter().filter(|&(calls, ..)| calls > 0).collect();
        let is_only = kinds.len() == 1;
        let kind = |(calls, one, many, why): (u64, &str, &str, &str)| {
            let share = percent(ratio(calls as f64, errors.whole() as f64));
            let share = if is_only { String::new() } else { format!(" ({share})") };
            format!("{} {}{share}{why}", count(calls), if calls == 1 { one } else { many })
        };
        let mut kinds: Vec<String> = kinds.into_iter().map(kind).collect();
        let failed = summary.errors.total();
        if !is_per_call && failed > 0 {
            let tried = count(errors.connections_tried);
            kinds.push(format!("{} of {tried} connections failed{reasons}", count(failed)));
        }
        match &kinds[..] {
            [] => self.line(f, Tone::Plain, "errors", "none", ""),
            kinds => {
                let share = errors.share.filter(|_| errors.errors() > 0).map_or_else(String::new, percent);
                self.line(f, Tone::Bad, "errors", &share, &kinds.join("; "))
            }
        }
    }

    fn write_unfinished(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllCalls { calls, unfinished, .. } = self.document.figures.all_calls;
        let open = open_streams(&self.document.summary).min(unfinished);
        if open > 0 {
            let what = format!("{} {} open when the run ended", counted(open, "stream"), were(open));
            self.line(f, Tone::Plain, "unfinished", "", &what)?;
        }
        let unfinished = unfinished - open;
        if unfinished == 0 {
            return Ok(());
        }
        let share = percent(ratio(unfinished as f64, calls as f64));
        let (calls, were) = (counted(unfinished, "call"), were(unfinished));
        let what = format!("{calls} ({share}) {were} pending when the run ended");
        self.line(f, Tone::Doubtful, "unfinished", "", &what)
    }

    /// Replies by status code; by class if the codes were not counted.
    fn write_statuses(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<String> = statuses(&self.document.summary)
            .into_iter()
            .map(|(name, replies)| format!("{name}: {}", count(replies)))
            .collect();
        if statuses.is_empty() {
            Ok(())
        } else {
            self.line(f, Tone::Plain, "statuses", "", &statuses.join("  "))
        }
    }

    /// The server's own words about errors.
    fn write_told(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { summary, figures, .. } = self.document;
        for (place, words) in told::words(summary, figures.streams.as_ref()).into_iter().enumerate() {
            // A server may say anything.
            let words = words.replace(char::is_control, "\u{fffd}");
            self.line(f, Tone::Bad, if place == 0 { "told" } else { "" }, "", &words)?;
        }
        Ok(())
    }

    /// Calls of gRPC by their status.
    fn write_grpc(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { summary, figures, .. } = self.document;
        let (Some(grpc), Some(figures)) = (&summary.grpc, &figures.grpc) else { return Ok(()) };
        let tone = if figures.ok == figures.calls { Tone::Plain } else { Tone::Bad };
        self.line(f, tone, "grpc", "", &rpc::answer_line(grpc, figures))
    }

    /// Visits by their end, and the steps that failed most.
    fn write_visits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { summary, figures, .. } = self.document;
        let (Some(visits), Some(recorded)) = (&figures.visits, &summary.visits) else { return Ok(()) };
        let [completed, abandoned, cut] = visits.ends();
        let mut durations = Timing::default();
        recorded.total().scenarios.iter().for_each(|scenario| durations.merge(&scenario.completed));
        let Times { p50, p99, .. } = Times::of(&durations);
        let mut ends = vec![format!("{} completed", count(completed))];
        let took = [("p50", p50), ("p99", p99)].into_iter();
        let took: Vec<String> =
            took.filter_map(|(name, took)| Some(format!("{} ({name})", time(took?)))).collect();
        if !took.is_empty() {
            ends[0].push_str(&format!(" in {}", took.join(", ")));
        }
        for (visits, end) in [(abandoned, "abandoned"), (cut, "cut")] {
            if visits > 0 {
                ends.push(format!("{} {end}", count(visits)));
            }
        }
        self.line(f, Tone::Plain, "visits", "", &ends.join("; "))?;
        let mut failures = visits.failures();
        failures.sort_by_key(|(_, failed, _)| Reverse(failed.replies));
        let Some((step, failed, replies)) = failures.first() else { return Ok(()) };
        let others = match failures.len() - 1 {
            0 => String::new(),
            others => format!("; {others} more, {}", self.rest.place()),
        };
        self.line(f, Tone::Bad, "failed", "", &format!("{step}: {} ({replies}){others}", failed.look))
    }

    /// Waits for events, for the tokens of a model, or for answers on WebSockets, and what was cut.
    fn write_streams(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.document.figures;
        let streams = figures.streams.as_ref().map(answer_lines).unwrap_or_default();
        let websockets = figures.websockets.as_ref().map(websocket::answer_lines).unwrap_or_default();
        let mut lines = streams.iter().chain(&websockets);
        lines.try_for_each(|(name, what)| self.line(f, Tone::Plain, name, "", what))
    }

    /// Comparison of a replay with its recording.
    fn write_recorded(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(replay) = &self.document.figures.replay else { return Ok(()) };
        match (replay.same, replay.changed) {
            (0, 0) => {}
            (same, 0) => {
                let what = match same {
                    1 => "the status is as recorded".to_owned(),
                    2 => "both statuses are as recorded".to_owned(),
                    same => format!("all {} statuses are as recorded", count(same)),
                };
                self.line(f, Tone::Plain, "recorded", "", &what)?;
            }
            (same, changed) => {
                let first = replay.changes_named().into_iter().next();
                let first =
                    first.map_or_else(String::new, |(what, calls)| format!(" ({what}: {})", count(calls)));
                let what = format!("{} statuses as recorded, {} others{first}", count(same), count(changed));
                self.line(f, Tone::Plain, "recorded", "", &what)?;
            }
        }
        let (then, now) = (&replay.recorded_ms, &replay.measured_ms);
        let pairs = [("p50", then.p50, now.p50), ("p99", then.p99, now.p99)];
        let times: Vec<String> = pairs
            .into_iter()
            .filter_map(|(name, then, now)| Some(format!("{name} {} then, {} now", time(then?), time(now?))))
            .collect();
        let name = if replay.same + replay.changed > 0 { "" } else { "recorded" };
        if times.is_empty() { Ok(()) } else { self.line(f, Tone::Plain, name, "", &times.join("; ")) }
    }

    /// What a replay leaves out of its recording.
    fn write_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workload::Replay(replay) = &self.document.plan.workload else { return Ok(()) };
        let left_out = replay.recorded.left_out.iter();
        let left_out: Vec<String> = left_out
            .map(|LeftOut { count: requests, reason }| format!("{}: {reason}", count(*requests)))
            .collect();
        if left_out.is_empty() {
            Ok(())
        } else {
            self.line(f, Tone::Plain, "left out", "", &left_out.join("; "))
        }
    }

    fn write_latency(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.document.figures;
        let all = &figures.all_calls;
        let cells = |cells: [(Tone, String); TIMES.len()]| -> String {
            let shown = cells.into_iter().zip(TIMES).filter(|(_, (_, width))| self.width >= *width);
            shown
                .map(|((tone, cell), _)| self.screen.colours.paint(tone, format!("{cell:>TIME_WIDTH$}")))
                .map(|cell| cell.to_string())
                .collect()
        };
        let plain = |text: String| (Tone::Plain, text);
        writeln!(f, "\n{:NAME_WIDTH$}{}", "", cells(TIMES.map(|(name, _)| plain(name.to_owned()))))?;
        let is_whole = all.answered == all.calls;
        let mean = if is_whole { figures.latency_ms.mean } else { None };
        let [p50, p75, p90, p95, p99, p999, max] = all
            .percentiles()
            .map(|(_, percentile)| percentile.map_or_else(|| plain("n/a".to_owned()), short));
        let name = self.screen.colours.paint(Tone::Strong, format!("{:<NAME_WIDTH$}", "latency"));
        writeln!(f, "{name}{}", cells([plain(exact(mean)), p50, p75, p90, p95, p99, p999, max]))?;
        if is_whole {
            return Ok(());
        }
        let Times { mean, p50, p75, p90, p95, p99, p999, max, .. } = figures.latency_ms;
        let answered = [mean, p50, p75, p90, p95, p99, p999, max].map(|value| plain(exact(value)));
        writeln!(f, "{:<NAME_WIDTH$}{}", "answered only", cells(answered))?;
        let quantiles = all.percentiles().map(|(_, percentile)| percentile);
        match (all.no_reply, quantiles.iter().flatten().any(|quantile| quantile.or_more)) {
            (Some(reason), true) => {
                self.line(f, Tone::Plain, "", "", &format!("> longer than this: {}", reason.of_calls()))
            }
            _ => Ok(()),
        }
    }

    /// Writes a histogram on one line, of equally long classes of the logarithm, between its ends. Heights are logarithms too,
    /// so that a few calls that stood still can be seen beside many that did not.
    fn write_histogram(&self, f: &mut fmt::Formatter<'_>, latency: &Timing) -> fmt::Result {
        let bars = BARS_MAX.min(self.width - ENDS_WIDTH);
        let Some(histogram) = Histogram::of(latency, bars) else { return Ok(()) };
        let bars = histogram.counts.iter().copied();
        let height = |calls: u64| (calls as f64 + 1.0).ln();
        let most = height(bars.clone().max().unwrap_or(1));
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let bar = |calls: u64| match calls {
            0 => ' ',
            calls => LEVELS[((height(calls) / most * 8.0).ceil() as usize).clamp(1, 8) - 1],
        };
        let drawn: String = bars.map(bar).collect();
        let (low, high) = histogram.ends();
        writeln!(f, "{:>NAME_WIDTH$} {drawn} {}", time(low), time(high))
    }

    /// The verdict with its first reason.
    fn write_verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = &self.document.verdict;
        let tone = match verdict.level {
            Level::Valid => Tone::Good,
            Level::Suspect => Tone::Doubtful,
            Level::Invalid => Tone::Bad,
        };
        let reasons: Vec<String> = verdict
            .reasons
            .iter()
            .filter(|reason| reason.level == verdict.level)
            .map(|reason| reason.finding.to_string())
            .collect();
        let why = match &reasons[..] {
            _ if verdict.level == Level::Valid => "these figures can be relied on".to_owned(),
            [] => String::new(),
            [first] => first.clone(),
            [first, others @ ..] => format!("{first} (and {} more, {})", others.len(), self.rest.place()),
        };
        writeln!(f)?;
        self.line(f, tone, "verdict", &verdict.level.to_string(), &why)
    }

    /// Breaks a sentence to the screen. `used`: columns of its first line that are taken.
    fn wrapped(&self, what: &str, used: usize) -> Vec<String> {
        let others = self.width - NAME_WIDTH;
        let lines_max = (LINES_MAX * (WIDTHS.end() - NAME_WIDTH)).div_ceil(others);
        wrapped(what, self.width.saturating_sub(used).max(1), others, lines_max)
    }

    /// A line with a name, a painted word and a sentence, which may take several lines.
    fn line(
        &self,
        f: &mut fmt::Formatter<'_>,
        tone: Tone,
        name: &str,
        word: &str,
        what: &str,
    ) -> fmt::Result {
        let mut used = NAME_WIDTH;
        write!(f, "{name:<NAME_WIDTH$}")?;
        if !word.is_empty() {
            write!(f, "{}", self.screen.colours.paint(tone, word))?;
            used += word.chars().count();
            if !what.is_empty() {
                f.write_str("  ")?;
                used += 2;
            }
        }
        let is_painted = word.is_empty() && tone != Tone::Plain;
        for (index, line) in self.wrapped(what, used).into_iter().enumerate() {
            if index > 0 {
                write!(f, "\n{:NAME_WIDTH$}", "")?;
            }
            match is_painted {
                true => write!(f, "{}", self.screen.colours.paint(tone, line))?,
                false => f.write_str(&line)?,
            }
        }
        f.write_char('\n')
    }
}

impl Rest {
    fn place(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Unprinted => "with --report=full",
        }
    }
}

/// Columns of the table of percentiles, each with the narrowest screen that shows it.
const TIMES: [(&str, usize); 8] = [
    ("mean", 77),
    ("p50", 40),
    ("p75", 77),
    ("p90", 53),
    ("p95", 69),
    ("p99", 40),
    ("p99.9", 61),
    ("max", 40),
];

fn in_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Largest relative difference between the rate offered and the rate asked for that is not worth a word.
const AS_ASKED: f64 = 0.01;

/// Instant of an interruption, and its effect on the phases.
fn interruption(plan: &Plan, summary: &Summary) -> String {
    let warmup = summary.warmup.map_or(Duration::ZERO, |warmup| warmup.duration);
    let elapsed = warmup + summary.duration;
    let mut text = format!("after {}", time(in_ms(elapsed)));
    if let Some(runtime) = plan.runtime {
        text.push_str(&format!(" of {}", time(in_ms(runtime.saturating_add(plan.phases.warmup)))));
    }
    if summary.duration.is_zero() && !plan.phases.warmup.is_zero() {
        text.push_str(", in the warm-up: nothing was measured");
    } else if !plan.phases.drain.is_zero() {
        text.push_str(", without the drain");
    }
    text
}

/// Replies of 4xx and 5xx. In a replay, those below 500 that were recorded as well are as they should be, and in a scenario
/// those that its steps expect.
#[must_use]
pub fn http_errors(document: &Document) -> u64 {
    let Document { summary, figures, .. } = document;
    match figures.replay.is_some() || figures.visits.is_some() {
        true => summary.calls_with(CallOutcome::HttpError).latency.moments.count(),
        false => summary.statuses[3] + summary.statuses[4],
    }
}

/// Statuses with the number of replies: codes, or classes if the codes were not counted.
#[must_use]
pub fn statuses(summary: &Summary) -> Vec<(String, u64)> {
    match summary.status_codes.by_class() == summary.statuses {
        true => summary.status_codes.iter().map(|(code, replies)| (code.to_string(), replies)).collect(),
        false => ["1xx", "2xx", "3xx", "4xx", "5xx"]
            .into_iter()
            .zip(summary.statuses)
            .filter(|&(_, replies)| replies > 0)
            .map(|(class, replies)| (class.to_owned(), replies))
            .collect(),
    }
}

fn exact(ms: Option<f64>) -> String {
    ms.map_or_else(|| "n/a".to_owned(), time)
}

/// A percentile in a narrow column: `>1.00s`.
fn short(percentile: Percentile) -> (Tone, String) {
    let text = percentile.to_string();
    if percentile.or_more { (Tone::Bad, text.replace(' ', "")) } else { (Tone::Plain, text) }
}

/// Breaks text into at most this many lines of a width, the first of another one.
fn wrapped(text: &str, first: usize, others: usize, lines_max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let number = lines.len();
        let line = lines.last_mut().expect("there is a line");
        let (length, room) = (line.chars().count(), if number == 1 { first } else { others });
        if length == 0 {
            line.push_str(word);
        } else if length + 1 + word.chars().count() <= room {
            line.extend([" ", word]);
        } else if number == lines_max {
            let kept = line.char_indices().nth(room - 1).map_or(line.len(), |(end, _)| end);
            line.truncate(kept);
            line.push('…');
            break;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
