//! The progress line: one line on stderr, for whoever sits before a terminal.

use std::io::{self, IsTerminal};
use std::time::Duration;

use httperf_command_line::terminal::display::Display;
use httperf_command_line::terminal::{USUAL_COLUMNS, error_columns, lines};
use httperf_plan::Plan;
use httperf_stats::{Classes, Interval, Series};

use super::standing::{Clock, LAG_WARNING, Standing};
use super::{Consumer, WatchOutcome, figures};

/// Between the parts of the line.
const SEPARATOR: &str = "  ";

/// Goes to the beginning of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

/// The colour of a warning, and that of all else.
const YELLOW: &str = "\x1b[33m";
const USUAL: &str = "\x1b[0m";

/// A run that is over before this has no line.
const SHOWN_FROM: Duration = Duration::from_millis(900);

/// Returns whether there is somebody to read it, on something that can show it.
pub(super) fn is_welcome() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|name| name != "dumb")
}

/// The line. It shows from the first interval on, so that a short run has none.
pub(super) struct Progress {
    standing: Standing,
    clock: Clock,
    has_colour: bool,
    /// `None` until the line shows.
    terminal: Option<Display>,
}

impl Progress {
    pub(super) fn new(plan: &Plan, has_colour: bool) -> Self {
        Self { standing: Standing::new(plan), clock: Clock::start(), has_colour, terminal: None }
    }

    fn draw(&mut self) {
        if self.clock.elapsed() < SHOWN_FROM {
            return;
        }
        let Some(last) = self.standing.last() else { return };
        let width = error_columns().unwrap_or(USUAL_COLUMNS);
        let line: String = text(&self.standing, self.clock.elapsed(), width).chars().take(width).collect();
        let (colour, end) =
            if self.has_colour && last.lag_max > LAG_WARNING { (YELLOW, USUAL) } else { ("", "") };
        let terminal = self.terminal.get_or_insert_with(|| {
            lines::show_line();
            Display::open()
        });
        terminal.show(format!("{CLEAR_LINE}{colour}{line}{end}").as_bytes());
    }
}

impl Consumer for Progress {
    fn interval(&mut self, interval: &Interval) {
        self.standing.add(interval);
        self.clock.set(interval.end());
    }

    fn partial_interval(&mut self, interval: &Interval) {
        self.interval(interval);
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn finish(&mut self, _: Option<&Series>, _: &mut WatchOutcome) {
        if let Some(terminal) = &self.terminal {
            terminal.finish();
        }
    }
}

/// The line for a terminal of this width. Parts that do not fit are left out, the least important first.
fn text(standing: &Standing, elapsed: Duration, width: usize) -> String {
    let parts = parts(standing, elapsed);
    let mut importance_min = 0;
    loop {
        let shown: Vec<&str> = parts
            .iter()
            .filter(|part| part.importance >= importance_min)
            .map(|part| &part.text[..])
            .collect();
        let line = shown.join(SEPARATOR);
        if line.chars().count() <= width || shown.len() <= 1 {
            return line;
        }
        importance_min += 1;
    }
}

/// A part of the line. The less important go first where room is scarce.
struct StatusPart {
    importance: u8,
    text: String,
}

fn parts(standing: &Standing, elapsed: Duration) -> Vec<StatusPart> {
    let Some(last) = standing.last() else { return Vec::new() };
    let outline = &standing.outline;
    let mut parts = Vec::new();
    let mut add = |importance, text| parts.push(StatusPart { importance, text });

    add(10, figures::clock(elapsed));
    if let Some(left) = outline.left(elapsed) {
        add(3, format!("{} left", figures::clock(left)));
    }
    match outline.load_phase(elapsed) {
        Some((name, _)) => add(8, name),
        None => add(if outline.is_offering(elapsed) { 6 } else { 9 }, standing.doing(elapsed)),
    }
    if last.lag_max > LAG_WARNING {
        add(9, format!("LAG {} ms!", figures::millis(Some(last.lag_max))));
    }
    let replies = format!("{} replies/s", figures::rate(last.rate(last.replies)));
    if let Some(asked) = outline.asked(last.from) {
        let achieved = figures::rate(last.rate(last.arrivals));
        add(8, format!("{achieved}/{} {}/s", figures::rate(asked), outline.arrival));
        add(2, replies);
    } else {
        add(8, replies);
    }
    let so_far = &standing.so_far;
    if let Some(visits) = &so_far.visits {
        add(4, format!("{} visits under way", visits.open));
        add(2, format!("{} completed", visits.completed));
        if visits.abandoned > 0 {
            add(6, format!("{} abandoned", visits.abandoned));
        }
        if visits.checks_failed > 0 {
            let failed = visits.checks_failed;
            add(7, format!("{failed} failed check{}", if failed == 1 { "" } else { "s" }));
        }
    }
    if let Some(streams) = &last.streams {
        let (count, what) = match so_far.streams.as_ref().map_or(0, |streams| streams.tokens) {
            0 => (streams.events, "events"),
            _ => (streams.tokens, "tokens"),
        };
        add(4, format!("{} streams open", streams.open));
        add(5, format!("{} {what}/s", figures::rate(last.rate(count))));
    }
    let errors = so_far.errors.errors();
    add(7, format!("{errors} error{}", if errors == 1 { "" } else { "s" }));
    if so_far.errors.http_errors > 0 {
        add(4, format!("{} of 4xx/5xx", so_far.errors.http_errors));
    }
    match so_far.failures.total() {
        _ if so_far.errors.of_connections => {}
        0 => {}
        1 => add(3, "1 connection failed".to_owned()),
        failed => add(3, format!("{failed} connections failed")),
    }
    let millis = |classes: &Classes, share| figures::millis(classes.supported_quantile(share));
    add(5, format!("p50 {} p99 {} ms", millis(&last.latency, 0.5), millis(&last.latency, 0.99)));
    add(1, format!("(so far {}, {})", millis(&so_far.latency, 0.5), millis(&so_far.latency, 0.99)));
    parts
}

#[cfg(test)]
mod tests {
    use httperf_stats::Phase;

    use super::super::standing::examples;
    use super::*;

    const TIMED: &[&str] = &["--rate=1000", "--num-conns=1000000", "--runtime=60"];

    /// The line after these seconds, each with its phase.
    fn line(argv: &[&str], seconds: &[Phase], width: usize) -> String {
        let mut standing = Standing::new(&examples::plan(argv));
        for (number, &phase) in seconds.iter().enumerate() {
            standing.add(&examples::second(number as u64, phase));
        }
        text(&standing, Duration::from_secs(seconds.len() as u64), width)
    }

    fn seconds(warmup: usize, measured: usize, drain: usize) -> Vec<Phase> {
        [(Phase::WarmUp, warmup), (Phase::Measured, measured), (Phase::Drain, drain)]
            .into_iter()
            .flat_map(|(phase, count)| std::iter::repeat_n(phase, count))
            .collect()
    }

    #[test]
    fn each_phase_has_its_line() {
        let lines = [(3, 0, 0), (5, 12, 0), (5, 60, 2)]
            .map(|(warmup, measured, drain)| line(TIMED, &seconds(warmup, measured, drain), 200));
        assert_eq!(
            lines,
            [
                "3s  1:02 left  warm-up  1000/1000 conn/s  992 replies/s  0 errors  p50 0.31 p99 0.92 ms  \
             (so far 0.31, 0.92)",
                "17s  48s left  measuring  1000/1000 conn/s  1006 replies/s  5 errors  3 of 4xx/5xx  \
             2 connections failed  p50 0.31 p99 0.92 ms  (so far 0.31, 0.92)",
                "1:07  3s left  all sent; waiting for 67 replies  996 replies/s  30 errors  18 of 4xx/5xx  \
             12 connections failed  p50 0.31 p99 0.92 ms  (so far 0.31, 0.92)",
            ]
        );
    }

    #[test]
    fn a_run_without_a_schedule_shows_replies_alone() {
        assert_eq!(
            line(&["--num-conns=1000000"], &seconds(0, 8, 0), 200),
            "8s  measuring  997 replies/s  0 errors  p50 0.31 p99 0.92 ms  (so far 0.31, 0.92)"
        );
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let seconds = seconds(5, 12, 0);
        for width in 0..120 {
            let line = line(TIMED, &seconds, width);
            assert!(line.chars().count() <= width.max(3), "{width}: {line}");
        }
        assert_eq!(
            [80, 40, 20].map(|width| line(TIMED, &seconds, width)),
            [
                "17s  measuring  1000/1000 conn/s  5 errors  3 of 4xx/5xx  p50 0.31 p99 0.92 ms",
                "17s  1000/1000 conn/s  5 errors",
                "17s",
            ]
        );
    }

    #[test]
    fn visits_have_their_load_phase_and_their_ends() {
        let mut standing = Standing::new(&examples::visits());
        (0..12).for_each(|number| standing.add(&examples::second_of_visits(number)));
        let lines = [250, 80, 70].map(|width| text(&standing, Duration::from_secs(12), width));
        assert_eq!(
            lines,
            [
                "12s  18s left  hold at the l…  20.0/20.0 visits/s  1001 replies/s  41 visits under way  \
                 216 completed  4 abandoned  8 failed checks  5 errors  3 of 4xx/5xx  2 connections failed  p50 0.31 p99 0.92 ms  \
                 (so far 0.31, 0.92)",
                "12s  hold at the l…  20.0/20.0 visits/s  4 abandoned  8 failed checks  5 errors",
                "12s  hold at the l…  20.0/20.0 visits/s  8 failed checks  5 errors",
            ]
        );
        for width in 0..250 {
            let line = text(&standing, Duration::from_secs(12), width);
            assert!(line.chars().count() <= width.max(3), "{width}: {line}");
        }
    }

    #[test]
    fn streams_have_their_tokens() {
        let mut standing = Standing::new(&examples::plan(TIMED));
        standing.add(&examples::second_of_streams(0));
        let text = text(&standing, Duration::from_secs(1), 200);
        assert!(text.contains("  990 replies/s  10 streams open  800 tokens/s  0 errors  "), "{text}");
    }

    #[test]
    fn a_lag_is_pointed_out_in_words() {
        let mut standing = Standing::new(&examples::plan(TIMED));
        let mut interval = examples::second(0, Phase::Measured);
        interval.lag_max = Duration::from_millis(12);
        standing.add(&interval);
        let text = text(&standing, Duration::from_secs(1), 80);
        assert!(text.contains("  LAG 12 ms!  "), "{text}");
    }

    #[test]
    fn before_the_first_interval_there_is_nothing() {
        assert_eq!(line(TIMED, &[], 80), "");
    }
}
