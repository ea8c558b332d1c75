//! The vocabulary of the table: a row has cases; a case is a server, a command, and what must be so.

use std::fmt::Debug;
use std::time::Duration;

use httperf_testkit::server::Behaviour;

use crate::observed::Observed;

/// A line of the table.
pub(crate) struct Row {
    /// Its number in the table of differential tests; `F` and the number of a judgement for those that check our
    /// own answer to a fault of the reference.
    pub(crate) number: &'static str,
    /// What the row is about.
    pub(crate) about: &'static str,
    /// Whether it measures times: such a row runs alone, and once more if it fails.
    pub(crate) timing: bool,
    pub(crate) cases: Vec<Case>,
}

/// One command against one server.
pub(crate) struct Case {
    pub(crate) server: Behaviour,
    pub(crate) arguments: String,
    /// Whether `--server 127.0.0.1 --port P` is put before the arguments.
    pub(crate) addressed: bool,
    /// What the program is called.
    pub(crate) name: &'static str,
    pub(crate) files: Vec<(String, Vec<u8>)>,
    pub(crate) limit: Duration,
    pub(crate) descriptors: Option<u32>,
    pub(crate) interrupt_after: Option<Duration>,
    /// Whether the reference is run as well. It is not where it hangs or crashes.
    pub(crate) with_reference: bool,
    /// What must be the same in both.
    pub(crate) same: Vec<Same>,
    /// What must hold.
    pub(crate) facts: Vec<(Who, Fact)>,
}

/// What can be compared between two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Same {
    /// The first line of stdout.
    Echo,
    /// What each connection received, in order of acceptance.
    Bytes,
    /// The figures of the report that do not depend on time.
    Counts,
    /// The counts except for the sizes, which the reference inflates when it sends a call again (judgement 12).
    CountsButSizes,
    /// Every line of stdout from the burst length on, numbers masked but not their formats.
    Layout,
    /// What `--print-request` and `--print-reply` show.
    Printed,
    /// All of stdout (for runs that end before a test).
    Stdout,
    /// stderr, without the warning about FD_SETSIZE (judgement 3).
    Stderr,
    /// How the program ended.
    Exit,
}

/// Whom a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Both,
    Ours,
    Reference,
}

/// Something that can be checked of one run.
pub(crate) type Fact = Box<dyn Fn(&Observed) -> Result<(), String> + Send + Sync>;

impl Row {
    pub(crate) fn new(
        number: &'static str,
        about: &'static str,
        cases: impl IntoIterator<Item = Case>,
    ) -> Self {
        Self { number, about, timing: false, cases: cases.into_iter().collect() }
    }

    /// A row that measures times.
    pub(crate) fn timed(
        number: &'static str,
        about: &'static str,
        cases: impl IntoIterator<Item = Case>,
    ) -> Self {
        Self { timing: true, ..Self::new(number, about, cases) }
    }
}

impl Case {
    /// A run of `httperf --server 127.0.0.1 --port P ARGUMENTS`, which must exit with 0 and print a report.
    pub(crate) fn new(server: Behaviour, arguments: &str) -> Self {
        Self::unfinished(server, arguments).both(exits(0)).both(reports())
    }

    /// A run that ends with an error before there is a report.
    pub(crate) fn failing(arguments: &str, status: i32) -> Self {
        Self::unfinished(Behaviour::Refuse, arguments).both(exits(status))
    }

    fn unfinished(server: Behaviour, arguments: &str) -> Self {
        Self {
            server,
            arguments: arguments.to_owned(),
            addressed: true,
            name: "httperf",
            files: Vec::new(),
            limit: Duration::from_secs(20),
            descriptors: None,
            interrupt_after: None,
            with_reference: true,
            same: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// The arguments alone, without an address.
    pub(crate) fn unaddressed(mut self) -> Self {
        self.addressed = false;
        self
    }

    pub(crate) fn against(mut self, server: Behaviour) -> Self {
        self.server = server;
        self
    }

    pub(crate) fn called(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    pub(crate) fn file(mut self, name: &str, contents: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        self.files.push((name.to_owned(), contents.as_ref().to_vec()));
        self
    }

    pub(crate) fn descriptors(mut self, limit: u32) -> Self {
        self.descriptors = Some(limit);
        self
    }

    pub(crate) fn interrupted_after(mut self, time: Duration) -> Self {
        self.interrupt_after = Some(time);
        self
    }

    /// Does not run the reference, which hangs or crashes here or does something else altogether.
    pub(crate) fn only_ours(mut self) -> Self {
        self.with_reference = false;
        self
    }

    pub(crate) fn same(mut self, what: &[Same]) -> Self {
        self.same.extend_from_slice(what);
        self
    }

    /// A fact about either program.
    pub(crate) fn both(mut self, fact: Fact) -> Self {
        self.facts.push((Who::Both, fact));
        self
    }

    /// A fact about ours, in which it differs from the reference on purpose.
    pub(crate) fn ours(mut self, fact: Fact) -> Self {
        self.facts.push((Who::Ours, fact));
        self
    }

    /// A fact about the reference, for the record.
    pub(crate) fn reference(mut self, fact: Fact) -> Self {
        self.facts.push((Who::Reference, fact));
        self
    }
}

/// A fact stated as code; `Err` says what is wrong.
pub(crate) fn that(check: impl Fn(&Observed) -> Result<(), String> + Send + Sync + 'static) -> Fact {
    Box::new(check)
}

/// It exits with this status.
pub(crate) fn exits(code: i32) -> Fact {
    that(move |seen| expect("exit", seen.outcome.exit, crate::support::program::Exit::Code(code)))
}

/// It prints a report in the classic layout, to the line.
pub(crate) fn reports() -> Fact {
    that(|seen| seen.report().map(drop))
}

/// The report has these values, as printed: `replies=3 length=1.000`; blanks in a value are written `_`.
pub(crate) fn values(expected: &'static str) -> Fact {
    that(move |seen| {
        let report = seen.report()?;
        let mut wrong = Vec::new();
        for pair in expected.split_whitespace() {
            let (name, value) = pair.split_once('=').expect("a value is written NAME=VALUE");
            let (value, found) = (value.replace('_', " "), report.text(name));
            if found != value {
                wrong.push(format!("{name} is {found}, not {value}"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    })
}

/// A value of the report lies within bounds.
pub(crate) fn between(name: &'static str, min: f64, max: f64) -> Fact {
    that(move |seen| within(name, seen.report()?.number(name), min, max))
}

/// The program took between `min` and `max` seconds.
pub(crate) fn takes(min: f64, max: f64) -> Fact {
    that(move |seen| within("seconds", seen.outcome.elapsed.as_secs_f64(), min, max))
}

/// The echo line, with `PORT` for the port.
pub(crate) fn echo(expected: &'static str) -> Fact {
    that(move |seen| expect("echo", seen.echo().as_str(), expected))
}

/// The echo line contains this.
pub(crate) fn echo_has(expected: &'static str) -> Fact {
    that(move |seen| {
        let echo = format!("{} ", seen.echo());
        if echo.contains(&format!(" {expected} ")) {
            Ok(())
        } else {
            Err(format!("`{expected}` is not in `{echo}`"))
        }
    })
}

/// All that stderr says, apart from the warning about FD_SETSIZE.
pub(crate) fn stderr(expected: &'static str) -> Fact {
    that(move |seen| expect("stderr", seen.stderr().as_str(), expected))
}

/// The lines that were printed before the end of the test and begin with one of these, in order.
pub(crate) fn printed(prefixes: &'static [&'static str], expected: &'static [&'static str]) -> Fact {
    that(move |seen| {
        let lines: Vec<String> = seen.before()?;
        let found: Vec<&str> = lines
            .iter()
            .map(String::as_str)
            .filter(|line| prefixes.iter().any(|prefix| line.starts_with(prefix)))
            .collect();
        expect("lines", found.as_slice(), expected)
    })
}

/// How many requests each connection carried, in order of acceptance.
pub(crate) fn calls_per_connection(expected: &'static [usize]) -> Fact {
    that(move |seen| {
        let found: Vec<usize> = seen.records.iter().map(|record| record.requests.len()).collect();
        expect("requests per connection", found.as_slice(), expected)
    })
}

/// The request lines up to ` HTTP/`, in order of arrival.
pub(crate) fn request_lines(expected: &'static [&'static str]) -> Fact {
    that(move |seen| {
        let found = seen.request_lines();
        expect("requests", found.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), expected)
    })
}

/// What the first connection carried, with `VER` for the version of the program.
pub(crate) fn bytes(expected: &'static str) -> Fact {
    that(move |seen| {
        let found = seen.bytes().into_iter().next().unwrap_or_default();
        expect("bytes", found.as_str(), expected)
    })
}

/// When connections were accepted, in seconds from the first.
///
/// The schedule itself is exact to a few milliseconds; what a busy machine adds on the way is allowed for by
/// asking every start to be right within 25 ms and half of them within 8 ms of the others. A program that has just been
/// started may be late with its first connection, which all the others would then seem to be early by.
pub(crate) fn starts(expected: Vec<f64>) -> Fact {
    that(move |seen| {
        let found = seen.starts();
        if found.len() != expected.len() {
            return Err(format!("{} connections, not {}", found.len(), expected.len()));
        }
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let offsets: Vec<f64> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let usual = median(offsets.clone());
        let spread = median(offsets.iter().map(|offset| (offset - usual).abs()).collect());
        if spread <= 0.008 && offsets.iter().all(|offset| offset.abs() <= 0.025) {
            return Ok(());
        }
        Err(format!("started at {found:.4?}, not at {expected:.4?}"))
    })
}

/// `Ok` if both are equal.
#[expect(clippy::needless_pass_by_value, reason = "cases read better with plain values than with references")]
pub(crate) fn expect<F, E>(what: &str, found: F, expected: E) -> Result<(), String>
where
    F: PartialEq<E> + Debug,
    E: Debug,
{
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}:\n    found    {found:?}\n    expected {expected:?}"))
}

fn within(what: &str, found: f64, min: f64, max: f64) -> Result<(), String> {
    if (min..=max).contains(&found) { Ok(()) } else { Err(format!("{what} is {found}, not {min} to {max}")) }
}
