//! `--live`: the run on the whole screen of the terminal on stderr.

use std::time::{Duration, Instant};

use anyhow::Context;
use httperf_command_line::terminal::display::{Display, Key, Keyboard, Readiness};
use httperf_command_line::terminal::lines;
use httperf_engine::StopRequest;
use httperf_plan::Plan;
use httperf_report::{ConclusionKind, conclusion_so_far};
use httperf_stats::{Classes, Failure, Interval, Series, StreamCounts};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};
use ratatui::{Frame, Terminal, backend::CrosstermBackend};
use signal_hook::consts::SIGINT;

use super::standing::{Clock, LAG_WARNING, Standing};
use super::{Consumer, WatchOutcome, figures};
use crate::runner::signals::is_impatient;

/// The longest time between two pictures, so that the clock runs.
const REDRAW: Duration = Duration::from_millis(500);

/// The view, and the keyboard.
pub(super) struct Live {
    standing: Standing,
    clock: Clock,
    stop: StopRequest,
    colour: bool,
    /// The instant at which the user asked for the end.
    ending_since: Option<Instant>,
    /// `None` if there is none to read.
    keyboard: Option<Keyboard>,
    display: Display,
    terminal: Terminal<CrosstermBackend<Display>>,
    /// True once the terminal is gone: nothing is read or drawn any more.
    is_over: bool,
    /// The instant at which the picture was drawn; `None` if it is out of date.
    drawn: Option<Instant>,
}

impl Live {
    /// Takes the screen.
    pub(super) fn start(plan: &Plan, stop: StopRequest, colour: bool) -> anyhow::Result<Self> {
        lines::take_screen().context("--live: cannot set up the terminal")?;
        let display = Display::open();
        let terminal =
            Terminal::new(CrosstermBackend::new(display.clone())).inspect_err(|_| lines::restore());
        let mut live = Self {
            standing: Standing::new(plan),
            clock: Clock::start(),
            stop,
            colour,
            ending_since: None,
            keyboard: Keyboard::open().ok(),
            display,
            terminal: terminal.context("--live: cannot find out the size of the terminal")?,
            is_over: false,
            drawn: None,
        };
        live.draw();
        Ok(live)
    }

    fn draw(&mut self) {
        // Not after somebody else has given the terminal back: a panic, or a second signal.
        if self.is_over || !lines::has_screen() {
            return;
        }
        match self.display.readiness() {
            Readiness::Ready => {}
            // It goes on with the next picture when it has taken this one.
            Readiness::Behind => return,
            Readiness::Gone => return self.end(),
        }
        let message = lines::last_held();
        let view = View {
            standing: &self.standing,
            elapsed: self.clock.elapsed(),
            colour: self.colour,
            is_ending: self.ending_since.is_some(),
            message: message.as_deref(),
        };
        // A picture that cannot be drawn is missed by nobody; the next one may be.
        let _missed = self.terminal.draw(|frame| view.draw(frame));
        self.drawn = Some(Instant::now());
    }

    fn read_keys(&mut self) {
        let Some(keyboard) = &self.keyboard else { return };
        match keyboard.read() {
            Some(keys) => keys.into_iter().for_each(|key| self.press(key)),
            None => self.end(),
        }
    }

    /// Ends the view, as the terminal is gone. The run goes on.
    fn end(&mut self) {
        self.is_over = true;
        self.give_back();
    }

    /// Gives the terminal back. The cursor is shown before, so that the library does not write that behind the report's
    /// first line.
    fn give_back(&mut self) {
        // A terminal that is gone has no cursor to show.
        self.terminal.show_cursor().unwrap_or_default();
        self.display.finish();
        lines::restore();
    }

    fn press(&mut self, key: Key) {
        if key == Key::Interrupt && is_impatient(self.ending_since.map(|since| since.elapsed())) {
            // As a further signal does.
            self.give_back();
            signal_hook::low_level::emulate_default_handler(SIGINT).unwrap_or_default();
        }
        self.ending_since.get_or_insert_with(Instant::now);
        self.drawn = None;
        self.stop.ask();
    }
}

/// For a view that nobody finishes, as what was to come after it failed.
impl Drop for Live {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Consumer for Live {
    fn interval(&mut self, interval: &Interval) {
        self.standing.add(interval);
        self.clock.set(interval.end());
        self.drawn = None;
    }

    fn partial_interval(&mut self, interval: &Interval) {
        self.interval(interval);
    }

    fn tick(&mut self) {
        if self.is_over {
            return;
        }
        self.read_keys();
        if self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            self.draw();
        }
    }

    fn finish(&mut self, _: Option<&Series>, outcome: &mut WatchOutcome) {
        outcome.ended_by_user |= self.ending_since.is_some();
    }
}

/// All that the picture is a function of.
struct View<'a> {
    standing: &'a Standing,
    elapsed: Duration,
    colour: bool,
    is_ending: bool,
    /// The last message for whoever watches.
    message: Option<&'a str>,
}

/// Columns of the names of figures.
const NAME_WIDTH: usize = 12;

/// Columns of a figure of the table.
const FIGURE_WIDTH: usize = 7;

/// From this width on, two figures or charts are side by side.
const TWO_COLUMNS: u16 = 72;

/// Lines of the picture without figures and charts.
const OTHER_LINES: u16 = 5;

/// The number of figures that are shown on any screen.
const FIGURES_MIN: usize = 3;

/// The least height of a chart.
const CHART_HEIGHT_MIN: u16 = 5;

impl View<'_> {
    fn draw(&self, frame: &mut Frame<'_>) {
        let is_wide = frame.area().width >= TWO_COLUMNS;
        let mut figures = self.figures(is_wide);
        // What is below them comes first.
        figures.truncate(usize::from(frame.area().height.saturating_sub(OTHER_LINES)).max(FIGURES_MIN));
        let [head, figures_area, table, charts, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(figures.len() as u16),
            Constraint::Length(3),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        frame.render_widget(self.head(head.width.into()), head);
        frame.render_widget(Paragraph::new(figures), figures_area);
        frame.render_widget(Paragraph::new(self.table(is_wide)), table);
        self.charts(frame, charts, is_wide);
        frame.render_widget(self.foot(), foot);
    }

    /// The target on the left, as far as there is room, and the progress of the run on the right.
    fn head(&self, width: usize) -> Line<'static> {
        let outline = &self.standing.outline;
        let mut right = format!("{} {}", self.standing.doing(self.elapsed), figures::clock(self.elapsed));
        if let Some(left) = outline.left(self.elapsed) {
            right += &format!(", {} left", figures::clock(left));
        }
        let room = width.saturating_sub(right.chars().count() + 1);
        let target: String = outline.target.chars().take(room).collect();
        Line::styled(format!("{target:<room$} {right}"), Style::new().add_modifier(Modifier::REVERSED))
    }

    /// Lines of names and figures.
    fn figures(&self, is_wide: bool) -> Vec<Line<'static>> {
        let Standing { so_far, outline, .. } = self.standing;
        let empty = Interval::default();
        let last = self.standing.last().unwrap_or(&empty);
        let rate = |count| figures::rate(last.rate(count));
        let arrivals = match outline.asked(last.from) {
            Some(asked) => {
                format!("{} {}/s of {}", rate(last.arrivals), outline.arrival, figures::rate(asked))
            }
            None if outline.is_timed() => "all offered".to_owned(),
            None => "not timed".to_owned(),
        };
        let lags = [last.lag_max, so_far.lag_max].map(|lag| figures::millis(Some(lag)));
        let is_late = last.lag_max > LAG_WARNING;
        let warning = if is_late { "LATE: " } else { "" };
        let classes: Vec<String> = Failure::ALL
            .into_iter()
            .filter(|&class| so_far.failures.count(class) > 0)
            .map(|class| format!("{class} {}", so_far.failures.count(class)))
            .collect();
        let failed = so_far.failures.total();
        let failures =
            if failed == 0 { "none".to_owned() } else { format!("{failed}: {}", classes.join(", ")) };
        let errors = match so_far.errors.errors() {
            0 => "none".to_owned(),
            errors => format!("{errors} ({})", so_far.errors.percent()),
        };
        let named = |name: &str, figure: String, style: Style| {
            let name = Span::styled(format!("{name:<NAME_WIDTH$}"), self.style(Color::Cyan));
            vec![name, Span::styled(figure, style)]
        };
        let plain = Style::new();
        let alarm = |is_on: bool| if is_on { self.style(Color::Red) } else { plain };
        let mut pairs = vec![
            [
                named("Arrivals", arrivals, plain),
                named("Replies", format!("{}/s", rate(last.replies)), plain),
            ],
            [
                named("Open", format!("{} connections", last.open), plain),
                named("Lag max", format!("{warning}{} ms, {} ms so far", lags[0], lags[1]), alarm(is_late)),
            ],
            [
                named("Errors", errors, alarm(so_far.errors.errors() > 0)),
                named("Conn errors", failures, alarm(failed > 0)),
            ],
        ];
        let conclusion =
            Some(self.standing.recent()).filter(|_| outline.is_timed()).and_then(conclusion_so_far);
        if let Some(visits) = &so_far.visits {
            let ended = format!("{}, {} abandoned", visits.completed, visits.abandoned);
            let failed = format!("{} failed", visits.checks_failed);
            let checks = named("Checks", failed, alarm(visits.checks_failed > 0));
            let phase_and_checks = match outline.load_phase(self.elapsed) {
                Some((name, left)) => {
                    let left = format!("{name}, {} left", figures::clock(left));
                    [named("Load phase", left, plain), checks]
                }
                None => [checks, Vec::new()],
            };
            let visits = [
                named("Visits", format!("{} under way", visits.open), plain),
                named("Completed", ended, alarm(visits.abandoned > 0)),
            ];
            pairs.splice(1..1, [phase_and_checks, visits]);
        }
        if let Some(streams) = &so_far.streams {
            pairs.splice(1..1, self.streams(streams, last));
        }
        if let Some((kind, text)) = conclusion {
            pairs.insert(0, [named("Server", text, alarm(kind != ConclusionKind::KeepsUp)), Vec::new()]);
        }
        if !is_wide {
            return pairs.into_iter().flatten().filter(|pair| !pair.is_empty()).map(Line::from).collect();
        }
        let side_by_side = |[mut left, right]: [Vec<Span<'static>>; 2]| {
            let width: usize = left.iter().map(Span::width).sum();
            left.push(" ".repeat(LEFT_WIDTH.saturating_sub(width)).into());
            left.extend(right);
            Line::from(left)
        };
        pairs.into_iter().map(side_by_side).collect()
    }

    /// Figures of streams and WebSockets. Those that come are either tokens or not.
    fn streams(&self, so_far: &StreamCounts, last: &Interval) -> Vec<[Vec<Span<'static>>; 2]> {
        let none = StreamCounts::default();
        let now = last.streams.as_deref().unwrap_or(&none);
        let rate = |count| figures::rate(last.rate(count));
        let named = |name: &str, figure: String| {
            vec![Span::styled(format!("{name:<NAME_WIDTH$}"), self.style(Color::Cyan)), figure.into()]
        };
        let mut events = format!("{}/s", rate(now.events));
        if so_far.sent > 0 {
            events += &format!(", {}/s sent", rate(now.sent));
        }
        let mut pairs = vec![[named("Streams", format!("{} open", so_far.open)), named("Events", events)]];
        if so_far.first.total() > 0 {
            let millis = |share| figures::millis(so_far.first.supported_quantile(share));
            let first = format!("p50 {} p99 {} ms so far", millis(0.5), millis(0.99));
            pairs.push(match so_far.tokens {
                0 => [named("1st event", first), Vec::new()],
                _ => [named("TTFT", first), named("Tokens", format!("{}/s", rate(now.tokens)))],
            });
        }
        pairs
    }

    /// Percentiles of the last interval and of all.
    fn table(&self, is_wide: bool) -> Vec<Line<'static>> {
        let columns: &[(&str, f64)] = if is_wide {
            &[("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)]
        } else {
            &[("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)]
        };
        let mut head = format!("{:<NAME_WIDTH$}", "Latency [ms]");
        columns.iter().for_each(|(name, _)| head += &format!("{name:>FIGURE_WIDTH$}"));
        if is_wide {
            head += &format!("{:>12}", "replies");
        }
        let empty = Classes::default();
        let last = self.standing.last().map_or(&empty, |last| &last.latency);
        let mut lines = vec![Line::styled(head, self.style(Color::Cyan))];
        for (name, classes) in [("last second", last), ("so far", &self.standing.so_far.latency)] {
            let mut line = format!("{name:<NAME_WIDTH$}");
            for &(_, share) in columns {
                let figure = figures::millis(classes.supported_quantile(share));
                line += &format!("{figure:>FIGURE_WIDTH$}");
            }
            if is_wide {
                line += &format!("{:>12}", classes.total());
            }
            lines.push(line.into());
        }
        lines
    }

    /// Rates and latency over the last minutes, as far as there is room.
    fn charts(&self, frame: &mut Frame<'_>, area: Rect, is_wide: bool) {
        let enough = if is_wide { CHART_HEIGHT_MIN } else { 2 * CHART_HEIGHT_MIN };
        if area.height < enough {
            return;
        }
        let halves = [Constraint::Fill(1), Constraint::Fill(1)];
        let [rates, latency]: [Rect; 2] =
            if is_wide { Layout::horizontal(halves) } else { Layout::vertical(halves) }.areas(area);
        let (asked, replies) = (
            self.points(|interval| self.standing.outline.asked(interval.from)),
            self.points(|interval| Some(interval.rate(interval.replies))),
        );
        // What the marks mean must not be told by colour alone.
        let title = if asked.is_empty() { "replies/s" } else { "replies/s; dots: arrivals asked" };
        self.chart(frame, rates, title, [(&asked, Marker::Dot), (&replies, Marker::Braille)]);
        let quantile = |share| {
            self.points(move |interval| {
                interval.latency.supported_quantile(share).map(|latency| latency.as_secs_f64() * 1e3)
            })
        };
        let (p50, p99) = (quantile(0.5), quantile(0.99));
        let title = "p99 [ms]; dots: p50";
        self.chart(frame, latency, title, [(&p50, Marker::Dot), (&p99, Marker::Braille)]);
    }

    /// A value over time: seconds and the value.
    fn points(&self, value: impl Fn(&Interval) -> Option<f64>) -> Vec<(f64, f64)> {
        let point = |interval: &Interval| Some((interval.end().as_secs_f64(), value(interval)?));
        self.standing.recent().iter().filter_map(point).collect()
    }

    fn chart(&self, frame: &mut Frame<'_>, area: Rect, title: &str, sets: [(&[(f64, f64)], Marker); 2]) {
        let recent = self.standing.recent();
        let from = recent.first().map_or(0.0, |first| first.from.as_secs_f64());
        let to = recent.last().map_or(1.0, |last| last.end().as_secs_f64());
        let highest = sets.iter().flat_map(|(points, _)| *points).map(|&(_, y)| y).fold(0.0, f64::max);
        // A little room above, and some height if all is zero.
        let top = if highest > 0.0 { highest * 1.1 } else { 1.0 };
        let colours = [Color::Green, Color::Yellow];
        let datasets = sets.into_iter().zip(colours).map(|((points, marker), colour)| {
            let kind = if marker == Marker::Dot { GraphType::Scatter } else { GraphType::Line };
            Dataset::default().marker(marker).graph_type(kind).data(points).style(self.style(colour))
        });
        let clock = |seconds| figures::clock(Duration::from_secs_f64(seconds));
        let chart = Chart::new(datasets.collect())
            .block(Block::bordered().title(title.to_owned()))
            .x_axis(Axis::default().bounds([from, to]).labels([clock(from), clock(to)]))
            .y_axis(Axis::default().bounds([0.0, top]).labels(["0".to_owned(), axis_label(top)]));
        frame.render_widget(chart, area);
    }

    fn foot(&self) -> Line<'static> {
        match self.message {
            Some(message) => Line::styled(message.to_owned(), self.style(Color::Red)),
            None if self.is_ending => "ending the run".into(),
            None => "q ends the run and reports".into(),
        }
    }

    fn style(&self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }
}

/// Columns of the left figure of a pair.
const LEFT_WIDTH: usize = 38;

fn axis_label(value: f64) -> String {
    let decimals = if value < 10.0 { 1 } else { 0 };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use httperf_stats::Phase;
    use ratatui::backend::TestBackend;

    use super::super::standing::examples;
    use super::*;

    /// The picture after these seconds, on a screen of this size.
    fn picture(standing: &Standing, elapsed: u64, width: u16, height: u16) -> TestBackend {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let view = View {
            standing,
            elapsed: Duration::from_secs(elapsed),
            colour: false,
            is_ending: false,
            message: None,
        };
        terminal.draw(|frame| view.draw(frame)).unwrap();
        terminal.backend().clone()
    }

    fn standing(argv: &[&str], measured: u64) -> Standing {
        let mut standing = Standing::new(&examples::plan(argv));
        (0..measured).for_each(|number| standing.add(&examples::second(number, Phase::Measured)));
        standing
    }

    const TIMED: &[&str] = &["--rate=1000", "--num-conns=1000000", "--runtime=60"];

    #[test]
    fn a_usual_terminal_shows_it_all() {
        insta::assert_snapshot!(picture(&standing(TIMED, 42), 42, 80, 24));
    }

    /// Visits in two load phases, after these seconds.
    fn visits(seconds: u64) -> Standing {
        let mut standing = Standing::new(&examples::visits());
        (0..seconds).for_each(|number| standing.add(&examples::second_of_visits(number)));
        standing
    }

    #[test]
    fn visits_have_their_load_phase_and_their_ends() {
        insta::assert_snapshot!(picture(&visits(12), 12, 80, 24));
    }

    /// Answers of a language model, after these seconds.
    fn streams(seconds: u64) -> Standing {
        let mut standing = Standing::new(&examples::plan(TIMED));
        (0..seconds).for_each(|number| standing.add(&examples::second_of_streams(number)));
        standing
    }

    #[test]
    fn streams_have_their_events_and_tokens() {
        insta::assert_snapshot!(picture(&streams(12), 12, 80, 24));
    }

    #[test]
    fn visits_fit_on_a_small_terminal() {
        insta::assert_snapshot!(picture(&visits(12), 12, 40, 20));
    }

    #[test]
    fn a_small_one_shows_the_figures() {
        insta::assert_snapshot!(picture(&standing(TIMED, 42), 42, 40, 12));
    }

    #[test]
    fn before_the_first_second_there_is_a_picture_too() {
        insta::assert_snapshot!(picture(&standing(&["--num-conns=5"], 0), 0, 80, 24));
    }

    #[test]
    fn any_size_will_do() {
        for standing in [standing(TIMED, 400), visits(400), streams(400)] {
            for width in [1, 2, 10, 30, 72, 300] {
                for height in [1, 2, 5, 9, 14, 100] {
                    picture(&standing, 400, width, height);
                }
            }
        }
    }

    #[test]
    fn without_colour_there_is_none() {
        let backend = picture(&standing(TIMED, 42), 42, 80, 24);
        assert!(
            backend.buffer().content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset)
        );
    }
}
