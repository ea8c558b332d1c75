//! The classic report, read strictly: every line must be where it belongs and every number must have its format.

use std::collections::BTreeMap;

/// The lines after `Maximum connect burst length`. `{name:d}` is a number with d decimals.
const LAYOUT: &[&str] = &[
    "",
    "Total: connections {connections:0} requests {requests:0} replies {replies:0} test-duration {duration:3} s",
    "",
    "Connection rate: {conn_rate:1} conn/s ({conn_period:1} ms/conn, <={concurrent:0} concurrent connections)",
    "Connection time [ms]: min {life_min:1} avg {life_avg:1} max {life_max:1} median {life_median:1} stddev {life_stddev:1}",
    "Connection time [ms]: connect {connect:1}",
    "Connection length [replies/conn]: {length:3}",
    "",
    "Request rate: {req_rate:1} req/s ({req_period:1} ms/req)",
    "Request size [B]: {request_size:1}",
    "",
    "Reply rate [replies/s]: min {rate_min:1} avg {rate_avg:1} max {rate_max:1} stddev {rate_stddev:1} ({samples:0} samples)",
    "Reply time [ms]: response {response:1} transfer {transfer:1}",
    "Reply size [B]: header {header:1} content {content:1} footer {footer:1} (total {total:1})",
    "Reply status: 1xx={1xx:0} 2xx={2xx:0} 3xx={3xx:0} 4xx={4xx:0} 5xx={5xx:0}",
    "",
    "CPU time [s]: user {user:2} system {system:2} (user {user_share:1}% system {system_share:1}% total {cpu_share:1}%)",
    "Net I/O: {net:1} KB/s ({net_bits:1}*10^6 bps)",
    "",
    "Errors: total {errors:0} client-timo {client-timo:0} socket-timo {socket-timo:0} connrefused {connrefused:0} connreset {connreset:0}",
    "Errors: fd-unavail {fd-unavail:0} addrunavail {addrunavail:0} ftab-full {ftab-full:0} other {other:0}",
];

/// The lines that follow for sessions, before the histogram.
const SESSION_LAYOUT: &[&str] = &[
    "",
    "Session rate [sess/s]: min {sess_min:2} avg {sess_avg:2} max {sess_max:2} stddev {sess_stddev:2} ({sess_ok:0}/{sess_all:0})",
    "Session: avg {sess_conns:2} connections/session",
    "Session lifetime [s]: {lifetime:1}",
    "Session failtime [s]: {failtime:1}",
];

const BURST: &str = "Maximum connect burst length: {burst:0}";
const HISTOGRAM: &str = "Session length histogram:";
const LIFETIMES: &str = "Connection lifetime histogram (time in ms):";

/// Values that do not depend on how quick things were.
pub(crate) const COUNTS: &[&str] = &[
    "connections",
    "requests",
    "replies",
    "length",
    "request_size",
    "header",
    "content",
    "footer",
    "total",
    "1xx",
    "2xx",
    "3xx",
    "4xx",
    "5xx",
    "errors",
    "client-timo",
    "socket-timo",
    "connrefused",
    "connreset",
    "fd-unavail",
    "addrunavail",
    "ftab-full",
    "other",
    "sess_ok",
    "sess_all",
    "sess_conns",
    "histogram",
];

/// A report and what was printed before it.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    /// The lines before `Maximum connect burst length`: the echo line first.
    pub(crate) before: Vec<String>,
    /// The lines of the lifetime histogram (`-v -v`), without its title.
    pub(crate) lifetimes: Vec<String>,
    values: BTreeMap<&'static str, String>,
}

impl Report {
    /// Reads all of stdout.
    pub(crate) fn parse(stdout: &str) -> Result<Self, String> {
        let Some(stdout) = stdout.strip_suffix('\n') else {
            return Err("stdout does not end with a line feed".to_owned());
        };
        let lines: Vec<&str> = stdout.split('\n').collect();
        let is_burst = |line: &&str| line.starts_with("Maximum connect burst length: ");
        let Some(burst) = lines.iter().rposition(is_burst) else {
            return Err("no line `Maximum connect burst length`".to_owned());
        };
        let mut report = Self {
            before: lines[..burst].iter().map(|&line| line.to_owned()).collect(),
            lifetimes: Vec::new(),
            values: BTreeMap::new(),
        };
        report.take(BURST, lines[burst])?;
        let mut rest = &lines[burst + 1..];
        if let ["", LIFETIMES, ..] = rest {
            let end = 2 + rest[2..].iter().take_while(|line| !line.is_empty()).count();
            report.lifetimes = rest[2..end].iter().map(|&line| line.to_owned()).collect();
            rest = &rest[end..];
        }
        rest = report.take_all(LAYOUT, rest)?;
        if rest.is_empty() {
            return Ok(report);
        }
        rest = report.take_all(SESSION_LAYOUT, rest)?;
        let [histogram] = rest else {
            return Err(format!("expected one line `{HISTOGRAM}`, found {rest:?}"));
        };
        let counts = histogram.strip_prefix(HISTOGRAM).and_then(|rest| rest.strip_prefix(' '));
        match counts {
            Some(counts) if counts.split(' ').all(|count| is_number(count, 0)) => {
                report.values.insert("histogram", counts.to_owned());
                Ok(report)
            }
            _ => Err(format!("expected `{HISTOGRAM} …`, found `{histogram}`")),
        }
    }

    /// The value of that name, as printed; an absent one (of the session section) is empty.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// The value of that name.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("the report has no number called `{name}`"))
    }

    /// Whether there is a section about sessions.
    pub(crate) fn has_sessions(&self) -> bool {
        self.values.contains_key("sess_all")
    }

    fn take_all<'a, 'b>(
        &mut self,
        layout: &[&'static str],
        lines: &'a [&'b str],
    ) -> Result<&'a [&'b str], String> {
        for (index, template) in layout.iter().enumerate() {
            let line = lines.get(index).ok_or_else(|| format!("the report ends before `{template}`"))?;
            self.take(template, line)?;
        }
        Ok(&lines[layout.len()..])
    }

    fn take(&mut self, template: &'static str, line: &str) -> Result<(), String> {
        let mismatch = || format!("expected a line `{template}`, found `{line}`");
        let (mut template_rest, mut rest) = (template, line);
        while let Some((literal, after)) = template_rest.split_once('{') {
            let (field, template_after) = after.split_once('}').expect("a field in the layout is closed");
            let (name, decimals) = field.split_once(':').expect("a field in the layout has a format");
            rest = rest.strip_prefix(literal).ok_or_else(mismatch)?;
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let decimals = decimals.parse().expect("the format is a number of decimals");
            if !is_number(&rest[..end], decimals) {
                return Err(mismatch());
            }
            self.values.insert(name, rest[..end].to_owned());
            (rest, template_rest) = (&rest[end..], template_after);
        }
        if rest == template_rest { Ok(()) } else { Err(mismatch()) }
    }
}

fn is_number(text: &str, decimals: usize) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        None => decimals == 0 && digits(text),
        Some((whole, fraction)) => digits(whole) && digits(fraction) && fraction.len() == decimals,
    }
}
