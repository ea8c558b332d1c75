//! autobench, the script that made runs of the classic tool over a range of rates.

use httperf_import::words::{Expected, Syntax, ToolOption, flag, positive, rate, read, seconds, value};

use super::Tool;
use super::translation::{Load, Pace, Version};

pub(super) const AUTOBENCH: Tool = Tool {
    name: "autobench",
    translate: |words| {
        let mut state = State::default();
        let read = read(OPTIONS, Syntax::Curl, words, &mut state)?;
        if let Some(word) = read.words.first() {
            return Err(format!("expected options only, got `{word}`"));
        }
        state.load.notes.splice(..0, read.lost);
        state.finish()
    },
};

struct State {
    load: Load,
    host: Option<String>,
    port: Option<u64>,
    path: String,
    is_https: bool,
    rates: [Option<f64>; 3],
    /// The file for the table, and its form.
    file: Option<String>,
    form: String,
    /// A second server, which the same load is offered to in turn.
    other: Option<String>,
    is_single: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            load: Load::new("autobench"),
            host: None,
            port: None,
            path: "/".to_owned(),
            is_https: false,
            rates: [None; 3],
            file: None,
            form: "tsv".to_owned(),
            other: None,
            is_single: false,
        }
    }
}

impl State {
    fn finish(mut self) -> Result<Load, String> {
        let host = self.host.ok_or(format!("expected --host1, {LEFT_OUT}"))?;
        let [Some(low), Some(high), Some(step)] = self.rates else {
            return Err(format!("expected --low_rate, --high_rate and --rate_step, {LEFT_OUT}"));
        };
        if low > high {
            return Err(format!("--high_rate: expected at least --low_rate, {low}, got `{high}`"));
        }
        let scheme = if self.is_https { "https" } else { "http" };
        let port = self.port.map_or_else(String::new, |port| format!(":{port}"));
        let path = self.path.trim_start_matches('/');
        self.load.take_url(&[format!("{scheme}://{host}{port}/{path}")], None)?;
        self.load.pace = Pace::Sweep { low, high, step };
        match self.file {
            Some(file) => self.load.add(&format!("--{}", self.form), file),
            None => self.load.add("--format", self.form),
        }
        if let Some(other) = self.other.filter(|_| !self.is_single) {
            self.load.notes.push(format!("a sweep loads one server: make another for {other}"));
        }
        Ok(self.load)
    }
}

/// The place of what a command line leaves out.
const LEFT_OUT: &str = "as ~/.autobench.conf is not read";

const OPTIONS: &[ToolOption<State>] = &[
    value(&["--host1"], |state, text| {
        state.host = Some(text.to_owned());
        Ok(())
    }),
    value(&["--port1"], |state, text| {
        state.port = Some(positive(text)?);
        Ok(())
    }),
    value(&["--uri1"], |state, text| {
        state.path = text.to_owned();
        Ok(())
    }),
    value(&["--host2"], |state, text| {
        state.other = Some(text.to_owned());
        Ok(())
    }),
    ToolOption::idle_value(&["--port2"]),
    ToolOption::idle_value(&["--uri2"]),
    flag(&["--single_host"], |state, _| {
        state.is_single = true;
        Ok(())
    }),
    value(&["--low_rate"], |state, text| {
        state.rates[0] = Some(rate(text)?);
        Ok(())
    }),
    value(&["--high_rate"], |state, text| {
        state.rates[1] = Some(rate(text)?);
        Ok(())
    }),
    value(&["--rate_step"], |state, text| {
        state.rates[2] = Some(rate(text)?);
        Ok(())
    }),
    value(&["--num_conn"], |state, text| {
        state.load.count = Some(positive(text)?);
        Ok(())
    }),
    value(&["--const_test_time"], |state, text| {
        state.load.duration = Some(seconds(text)?);
        Ok(())
    }),
    value(&["--num_call"], |state, text| {
        let calls = positive(text)?;
        state.load.add("--num-calls", calls.to_string());
        Ok(())
    }),
    value(&["--timeout", "--httperf_timeout"], |state, text| {
        state.load.timeout = Some(seconds(text)?);
        Ok(())
    }),
    value(&["--file"], |state, text| {
        state.file = Some(text.to_owned());
        Ok(())
    }),
    value(&["--output_fmt"], |state, text| match text {
        "csv" | "tsv" => {
            state.form = text.to_owned();
            Ok(())
        }
        _ => Err(Expected("csv or tsv")),
    }),
    flag(&["--quiet"], |state, _| {
        state.load.further.push("--quiet".to_owned());
        Ok(())
    }),
    value(&["--httperf_add-header"], |state, text| {
        state.load.add("--add-header", text);
        Ok(())
    }),
    value(&["--httperf_method"], |state, text| {
        state.load.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["--httperf_think-timeout"], |state, text| {
        state.load.add("--think-timeout", text);
        Ok(())
    }),
    value(&["--httperf_http-version"], |state, text| {
        state.load.version = if text == "1.0" { Version::Http10 } else { Version::Http11 };
        Ok(())
    }),
    flag(&["--httperf_ssl"], |state, _| {
        state.is_https = true;
        Ok(())
    }),
    ToolOption::idle_flag(&["--httperf_hog"]),
];
