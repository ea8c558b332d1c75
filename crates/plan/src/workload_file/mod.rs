//! The workload file: scenarios, arrivals, feeds and objectives in TOML, with the steps in Hurl files that it names.
//!
//! ```toml
//! base = "https://shop.example"
//!
//! [arrivals]
//! rate = "50/s"
//! for = "10m"
//!
//! [[scenario]]
//! name = "buyer"
//! steps = [{ run = "login.hurl" }, { think = "exp(3s)" }, { run = "cart.hurl" }]
//! ```
//!
//! [`reference()`] describes all keys. They are defined once, in `keys`. Reading goes through these stages:
//!
//! 1. `document` parses the TOML text, `check` checks it against the definition of its keys.
//! 2. `feeds` reads rows; the Hurl files that steps name are parsed. Now it is known which variables visits set: all
//!    other names are constants, which are put into texts before the run.
//! 3. `requests` lowers each Hurl file once, with `servers`, `bodies` and `lower`; `steps` lowers the scenarios, `load`
//!    the arrivals, `bounds` the objectives.
//!
//! A step is named by `# @name` above its entry, otherwise by file and line; steps of one file that have the same name
//! get their line, `search:12`. An entry may expect a version of HTTP that the run speaks by its option `http-version`;
//! any other is a problem, as no reply could have it.

mod bodies;
mod bounds;
mod check;
mod document;
mod encode;
mod feeds;
#[cfg(any(test, fuzzing))]
mod fuzzing;
mod keys;
mod library;
mod load;
mod lower;
mod names;
mod options;
mod order;
mod problem;
mod requests;
mod schema;
mod servers;
mod steps;
mod values;
mod websockets;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use httperf_hurl as hurl;
use toml::de::DeValue;

use self::bounds::Known;
use self::document::View;
use self::feeds::ReadFeed;
pub use self::feeds::read_rows;
#[cfg(any(test, fuzzing))]
pub use self::fuzzing::check_read;
use self::library::{Library, TEXT_SIZE_MAX};
use self::lower::Lowering;
use self::names::Names;
pub use self::options::{FileOption, read_options};
pub use self::problem::{FileProblem, Missing};
use self::problem::{Problems, Source};
use self::requests::Requests;
pub use self::schema::{reference, schema};
use self::steps::Steps;
use crate::scenario::{Feed, Reach, Scenario, Scenarios, Step, Value};
use crate::url::HttpUrl;
use crate::{Arrivals, HttpVersion, NonEmpty, Objectives};

/// A source of the files that a workload file names.
pub trait Files {
    /// Reads a file. A relative path is one from the folder of the workload file.
    ///
    /// # Errors
    /// The reason why the file cannot be read.
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Values of the command line that override those of a workload file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The value of the variable `base`.
    pub base: Option<String>,
    /// Names and values of variables, which replace those of `[variables]`.
    pub variables: Vec<(String, String)>,
    /// The seed.
    pub seed: Option<u64>,
    /// The time for which load is offered.
    pub runtime: Option<Duration>,
    /// The maximum number of visits.
    pub visits: Option<u64>,
    /// The version of HTTP.
    pub version: Option<HttpVersion>,
}

/// A workload that was read from a file.
#[derive(Clone, Debug)]
pub struct WorkloadFile {
    /// The scenarios with their requests, feeds and variables.
    pub scenarios: Scenarios,
    /// The arrivals of visits; `None` if the file does not describe them.
    pub arrivals: Option<Arrivals>,
    /// The time for which load is offered; `None` if only the number of visits bounds the run, or nothing does.
    pub runtime: Option<Duration>,
    /// The objectives.
    pub objectives: Objectives,
    /// The servers, in the order of the numbers in [`StepRequest::target`](crate::scenario::StepRequest::target). All
    /// have the same scheme.
    pub origins: Vec<HttpUrl>,
    /// The options of the command line that the file sets, in its order.
    pub options: Vec<FileOption>,
    /// The names of all variables that the files use or set, in alphabetical order.
    pub variables: Vec<String>,
}

/// A workload file without scenarios: a run of the options that it sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsFile {
    /// The URL that is loaded, unless an option names the server.
    pub base: Option<String>,
    /// The options of the command line that the file sets, in its order.
    pub options: Vec<FileOption>,
}

/// Reads a workload file and the files that it names.
///
/// # Errors
/// All that is wrong in them, file by file.
pub fn read(
    name: &Path,
    text: &str,
    files: &mut dyn Files,
    given: &Given,
) -> Result<WorkloadFile, Vec<FileProblem>> {
    let mut reader = Reader::new(name, files, given);
    let workload = reader.workload(name, text);
    reader.finish(workload)
}

/// Reads a Hurl file as a workload with one scenario, which is named after the file and makes its requests in order.
///
/// # Errors
/// All that is wrong in it and in the files that it names.
pub fn of_hurl(
    name: &Path,
    text: &str,
    files: &mut dyn Files,
    given: &Given,
) -> Result<WorkloadFile, Vec<FileProblem>> {
    let mut reader = Reader::new(name, files, given);
    let workload = reader.hurl_workload(name, text);
    reader.finish(workload)
}

/// A reader of a workload, with all that was found so far.
struct Reader<'a> {
    given: &'a Given,
    library: Library<'a>,
    names: Names,
    problems: Problems,
}

/// A Hurl file that steps name.
struct HurlFile {
    /// The name, as steps have it.
    name: String,
    source: Arc<Source>,
    entries: Vec<hurl::Entry>,
}

impl<'a> Reader<'a> {
    fn new(name: &Path, files: &'a mut dyn Files, given: &'a Given) -> Self {
        let library = Library::new(name, files);
        Self { given, library, names: Names::default(), problems: Problems::default() }
    }

    /// Returns the workload, unless something was wrong.
    fn finish(self, workload: Option<WorkloadFile>) -> Result<WorkloadFile, Vec<FileProblem>> {
        match workload {
            Some(mut workload) if self.problems.is_empty() => {
                workload.variables = self.names.known();
                workload.scenarios.variables = self.names.into_variables();
                Ok(workload)
            }
            _ => Err(self.problems.into_list()),
        }
    }

    fn workload(&mut self, name: &Path, text: &str) -> Option<WorkloadFile> {
        let source = self.source(name, text)?;
        let document = document::parse(&source, &mut self.problems)?;
        let view = View::new(&source, &keys::FILE, document.get_ref(), 0..0);
        check::check(&view, &mut self.problems);

        self.constants(&view);
        let feeds = self.feeds(&view);
        let files = self.hurl_files(&view);
        self.assign(&view, &feeds, &files);
        let mut requests = Requests::new(self.version(&view));
        let mut calls = BTreeMap::new();
        for file in &files {
            calls.insert(file.name.clone(), self.lowered(file, &mut requests));
        }
        let kinds: Vec<_> = feeds.iter().map(|feed| (feed.name.clone(), feed.order)).collect();
        let feeds: Vec<Feed> = feeds.into_iter().map(|feed| feed.into_feed(&mut self.names)).collect();
        let scenarios = self.scenarios(&view, &calls, &kinds, &mut requests);
        self.check_order(&scenarios, &feeds, &requests);
        let mut taken = scenarios.iter().flat_map(|scenario| &scenario.feeds);
        let ends_with_rows = taken.any(|&feed| feeds.get(feed as usize).is_some_and(feeds::ends_run));
        let load =
            load::read(view.table("arrivals").as_ref(), self.given, ends_with_rows, &mut self.problems);
        self.check_figures(&view, &scenarios, load.arrivals.as_ref());
        let objectives = self.objectives(&view, &scenarios, &requests, load.arrivals.as_ref());
        let options = self.options(&view);
        let (cookies, connections) = self.reserved_options(&view);
        Some(WorkloadFile {
            scenarios: Scenarios {
                count: load.visits,
                seed: self.given.seed.or(view.whole("seed").map(|seed| seed.value)).unwrap_or(0),
                scenarios: NonEmpty::try_from(scenarios).ok()?,
                requests: requests.list,
                feeds,
                variables: Vec::new(),
                connections,
                cookies,
                max_open: load.max_open,
            },
            arrivals: load.arrivals,
            runtime: load.runtime,
            objectives,
            origins: requests.servers.into_list(),
            options,
            variables: Vec::new(),
        })
    }

    fn hurl_workload(&mut self, name: &Path, text: &str) -> Option<WorkloadFile> {
        let source = self.source(name, text)?;
        let file_name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = self.parsed(file_name, source)?;
        self.given_constants();
        requests::assigned(&file.entries).for_each(|name| self.names.assign(name));
        let mut requests = Requests::new(self.given.version.unwrap_or(HttpVersion::Http11));
        let steps = self.lowered(&file, &mut requests);
        let scenario = Scenario {
            name: name.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            weight: std::num::NonZeroU32::MIN,
            feeds: Vec::new(),
            steps,
        };
        self.check_order(std::slice::from_ref(&scenario), &[], &requests);
        Some(WorkloadFile {
            scenarios: Scenarios {
                count: self.given.visits.unwrap_or(crate::UNLIMITED),
                seed: self.given.seed.unwrap_or(0),
                scenarios: [scenario].into(),
                requests: requests.list,
                feeds: Vec::new(),
                variables: Vec::new(),
                connections: Reach::default(),
                cookies: true,
                max_open: None,
            },
            arrivals: None,
            runtime: self.given.runtime,
            objectives: Objectives::default(),
            origins: requests.servers.into_list(),
            options: Vec::new(),
            variables: Vec::new(),
        })
    }

    /// Returns the text of the file with its name; `None` if it is too large.
    fn source(&mut self, name: &Path, text: &str) -> Option<Arc<Source>> {
        let name = name.display().to_string();
        if text.len() > TEXT_SIZE_MAX {
            let message = format!("expected at most {TEXT_SIZE_MAX} bytes, got {}", text.len());
            self.problems.push(FileProblem::new(&Arc::new(Source::new(name, "")), 0..0, message));
            return None;
        }
        Some(Arc::new(Source::new(name, text)))
    }

    /// Defines the constants of the file and of the command line.
    fn constants(&mut self, view: &View<'_>) {
        for (name, value) in view.map("variables") {
            let text = value.get_ref().as_str();
            if text.is_some_and(|text| text.contains("{{")) {
                let problem =
                    view.problem(value.span(), "expected a constant, got a text with an expression");
                self.problems.push(problem.with_hint("`with` of a step sets a variable to such a text"));
            }
            match constant(value.get_ref()) {
                Some(value) => self.names.define(name.value, value),
                None => {
                    let got = view.source.text.get(value.span()).unwrap_or_default();
                    let message =
                        format!("expected a number that 64 bits hold, got `{}`", check::shortened(got));
                    self.problems.push(view.problem(value.span(), message));
                }
            }
        }
        if let Some(base) = view.text("base") {
            if let Err(error) = HttpUrl::parse(base.value.as_bytes()) {
                let message =
                    format!("expected a URL such as https://shop.example ({error}), got `{}`", base.value);
                self.problems.push(view.problem(base.at, message));
                // That nothing sets it now is no problem of its own.
                self.names.is_first_unset("base");
            } else {
                self.names.define("base", Value::Text(base.value.into()));
            }
        }
        self.given_constants();
    }

    /// Defines the constants of the command line.
    fn given_constants(&mut self) {
        for (name, value) in &self.given.variables {
            self.names.give(name, feeds::typed(value));
        }
        if let Some(base) = &self.given.base {
            self.names.give("base", Value::Text(base.into()));
        }
    }

    fn feeds(&mut self, view: &View<'_>) -> Vec<ReadFeed> {
        let mut feeds = Vec::new();
        for (name, value) in view.map("feed") {
            let Some(entries) = value.get_ref().as_table() else { continue };
            let table = View::new(view.source, &keys::FEED, entries, value.span());
            feeds.extend(feeds::read(name.value, &table, &mut self.library, &mut self.problems));
        }
        feeds
    }

    /// Reads the Hurl files that steps name, each once, in the order of the steps.
    fn hurl_files(&mut self, view: &View<'_>) -> Vec<HurlFile> {
        let mut runs = Vec::new();
        for scenario in view.list("scenario") {
            steps::visit(&scenario.list("steps"), &mut |step| runs.extend(step.text("run")));
        }
        let mut files: Vec<HurlFile> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for run in runs {
            let name = steps::file_name(run.value);
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            match self.library.text(Path::new(name)) {
                Ok(text) => {
                    let shown = self.library.path(Path::new(name)).display().to_string();
                    files.extend(self.parsed(name.to_owned(), Arc::new(Source::new(shown, text))));
                }
                Err(message) => self.problems.push(view.problem(run.at, message)),
            }
        }
        files
    }

    /// Parses a Hurl file; `None` after problems in it.
    fn parsed(&mut self, name: String, source: Arc<Source>) -> Option<HurlFile> {
        match hurl::parse(&source.text) {
            Ok(file) if file.entries.is_empty() => {
                let message = "expected a request such as GET {{base}}/path, got none";
                self.problems.push(FileProblem::new(&source, 0..0, message));
                None
            }
            Ok(file) => Some(HurlFile { name, source, entries: file.entries }),
            Err(errors) => {
                for hurl::Problem { at, message, hint } in errors {
                    let problem = FileProblem::new(&source, at, message);
                    self.problems.push(match hint {
                        Some(hint) => problem.with_hint(hint),
                        None => problem,
                    });
                }
                None
            }
        }
    }

    /// Notes all names that visits set.
    fn assign(&mut self, view: &View<'_>, feeds: &[ReadFeed], files: &[HurlFile]) {
        for feed in feeds {
            feed.assign(&mut self.names);
        }
        for file in files {
            requests::assigned(&file.entries).for_each(|name| self.names.assign(name));
        }
        for scenario in view.list("scenario") {
            steps::visit(&scenario.list("steps"), &mut |step| {
                for (name, _) in step.map("with") {
                    self.names.assign(name.value);
                }
            });
        }
    }

    /// Returns the steps of a Hurl file.
    fn lowered(&mut self, file: &HurlFile, requests: &mut Requests) -> Vec<Step> {
        let mut lowering = Lowering {
            source: &file.source,
            snippet: None,
            folder: Path::new(&file.name).parent().unwrap_or(Path::new("")),
            names: &mut self.names,
            library: &mut self.library,
            problems: &mut self.problems,
            has_gap: false,
        };
        lowering.entries(&file.name, &file.entries, requests)
    }

    fn scenarios(
        &mut self,
        view: &View<'_>,
        calls: &BTreeMap<String, Vec<Step>>,
        feeds: &[(String, crate::scenario::FeedOrder)],
        requests: &mut Requests,
    ) -> Vec<Scenario> {
        let mut steps = Steps {
            files: calls,
            feeds,
            requests,
            names: &mut self.names,
            library: &mut self.library,
            problems: &mut self.problems,
            count: 0,
        };
        let mut scenarios: Vec<Scenario> = Vec::new();
        for table in view.list("scenario") {
            let Some(scenario) = steps.scenario(&table) else { continue };
            if scenarios.iter().any(|other| other.name == scenario.name) {
                let message = format!("expected a name that no other scenario has, got `{}`", scenario.name);
                let at = table.text("name").map_or(table.at(), |name| name.at);
                steps.problems.push(table.problem(at, message));
            }
            scenarios.push(scenario);
        }
        if view.has("scenario") && view.list("scenario").is_empty() && self.problems.is_empty() {
            self.problems
                .push(view.problem(view.key_at("scenario"), "expected at least one scenario, got none"));
        }
        scenarios
    }

    /// Checks that steps set what later ones fill in. After other problems it could mislead.
    fn check_order(&mut self, scenarios: &[Scenario], feeds: &[Feed], requests: &Requests) {
        if self.problems.is_empty() {
            order::check(scenarios, feeds, self.names.variables(), requests, &mut self.problems);
        }
    }

    /// Checks that there is room for the figures of all steps.
    fn check_figures(&mut self, view: &View<'_>, scenarios: &[Scenario], arrivals: Option<&Arrivals>) {
        let phases = match arrivals {
            Some(Arrivals::Phased(phased)) => phased.phases.len(),
            _ => 1,
        };
        let steps: usize = scenarios.iter().map(|scenario| scenario.calls().len()).sum();
        let figures = steps.saturating_mul(phases);
        if figures > Scenarios::FIGURES_MAX {
            let most = Scenarios::FIGURES_MAX;
            let message =
                format!("expected at most {most} steps with requests, counted for each phase, got {figures}");
            self.problems.push(view.problem(view.key_at("scenario"), message));
        }
    }

    fn objectives(
        &mut self,
        view: &View<'_>,
        scenarios: &[Scenario],
        requests: &Requests,
        arrivals: Option<&Arrivals>,
    ) -> Objectives {
        let Some(table) = view.table("objectives") else { return Objectives::default() };
        // Names that are missing for another reason are no problem of their own.
        if !self.problems.is_empty() {
            return Objectives::default();
        }
        let steps = |scenario: &Scenario| {
            let calls = scenario.calls().into_iter();
            let requests = calls.filter_map(|place| requests.list.get(place as usize));
            requests.map(|request| request.name.clone()).collect()
        };
        let phases = match arrivals {
            Some(Arrivals::Phased(phased)) => phased.phases.iter().map(|phase| phase.name.clone()).collect(),
            _ => Vec::new(),
        };
        let scenarios = scenarios.iter().map(|scenario| (scenario.name.clone(), steps(scenario))).collect();
        bounds::read(&table, &Known { scenarios, phases }, &mut self.problems)
    }
}

/// Returns a text, number or truth value as the value of a variable; `None` for a number that is too large or none.
fn constant(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::Text(text.as_ref().into()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) if number.radix() == 10 => Value::whole(number.as_str())?,
            Err(_) => return None,
        },
        DeValue::Float(number) => {
            Value::Float(number.as_str().parse().ok().filter(|number: &f64| number.is_finite())?)
        }
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => return None,
    })
}

#[cfg(test)]
mod tests;
