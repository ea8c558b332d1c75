//! Clients of a language model: how to run each, and how to read its result.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Load, Times};
use crate::child::Running;
use crate::exchanges::Percentiles;
use crate::output::progress;
use crate::tools::{Bench, find_program};

/// A program, and the cores that it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Client {
    /// The program under test.
    Httperf,
    Aiperf,
    /// With two workers. By default it has one on machines of up to three cores.
    AiperfOnTwoCores,
}

/// Figures of a run, as the program reports them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reported {
    pub(super) answers: u64,
    pub(super) errors: u64,
    pub(super) times: Times,
    /// Number of times between two tokens.
    pub(super) gaps: u64,
    /// Processor time of the client.
    pub(super) cpu: Duration,
    /// True if it was stopped before its end.
    pub(super) overdue: bool,
}

/// Arguments, files and the rest that a run leaves behind are below a folder.
pub(super) struct Site<'a> {
    pub(super) bench: &'a Bench,
    pub(super) port: u16,
    pub(super) folder: &'a Path,
}

/// Time that aiperf may take to start and to write its results.
const SPARE: Duration = Duration::from_secs(90);

impl Client {
    pub(super) const ALL: [Client; 3] = [Client::Httperf, Client::Aiperf, Client::AiperfOnTwoCores];

    pub(super) fn name(self) -> &'static str {
        match self {
            Client::Httperf => "httperf",
            Client::Aiperf => "aiperf",
            Client::AiperfOnTwoCores => "aiperf on two cores",
        }
    }

    /// Path of its program, if that is installed.
    pub(super) fn program(self, bench: &Bench) -> Option<PathBuf> {
        match self {
            Client::Httperf => Some(bench.ours.path().to_owned()),
            Client::Aiperf | Client::AiperfOnTwoCores => find_program("aiperf"),
        }
    }

    /// Runs it to its end.
    pub(super) fn run(self, site: &Site<'_>, load: &Load) -> anyhow::Result<Reported> {
        progress(&format!("{}, {} streams, {} requests", self.name(), load.streams, load.requests));
        let cores = site.bench.cores;
        let cores = match self {
            Client::Httperf | Client::Aiperf => &[cores.client][..],
            Client::AiperfOnTwoCores => &[cores.client, cores.second_client],
        };
        let running = Running::start_on(self.command(site, load)?, cores)?;
        let finished = running.finish(load.limit() + SPARE)?;
        let path = match self {
            Client::Httperf => site.folder.join(OWN_RESULT),
            Client::Aiperf | Client::AiperfOnTwoCores => site.folder.join("profile_export_aiperf.json"),
        };
        let name = self.name();
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("no result of {name} ({}): {}", finished.status, finished.last_words())
        })?;
        let reported = match self {
            Client::Httperf => reported_by_httperf(&text),
            Client::Aiperf | Client::AiperfOnTwoCores => reported_by_aiperf(&text),
        };
        let reported =
            reported.with_context(|| format!("no figures of {name}: {}", finished.last_words()))?;
        ensure!(reported.answers > 0, "{name} got no answer: {}", finished.last_words());
        Ok(Reported { cpu: finished.cpu, overdue: finished.overdue, ..reported })
    }

    fn command(self, site: &Site<'_>, load: &Load) -> anyhow::Result<Command> {
        let program =
            self.program(site.bench).with_context(|| format!("{} is not installed", self.name()))?;
        let (folder, base) = (site.folder, format!("http://127.0.0.1:{}", site.port));
        let prompts = folder.join("prompts.jsonl");
        let mut command = Command::new(program);
        // A folder of its own: aiperf writes where it is, too.
        command.current_dir(folder);
        match self {
            Client::Httperf => {
                std::fs::write(&prompts, "{\"prompt\": \"Tell me of the sea\"}\n")?;
                command.args([format!("{base}/v1/chat/completions"), "--llm=openai".into()]);
                command.arg("--prompts").arg(prompts);
                command.args([
                    format!("--request-rate={}", load.rate),
                    format!("--num-calls={}", load.requests),
                    // Connections for twice the streams that should be open.
                    format!("--concurrency={}", 2 * load.streams),
                ]);
                command.args(["--model=bench", "--report=classic", "--output", OWN_RESULT]);
            }
            Client::Aiperf | Client::AiperfOnTwoCores => {
                std::fs::write(&prompts, "{\"text\": \"Tell me of the sea\"}\n")?;
                write_tokenizer(folder)?;
                command.args(["profile", "--model", "bench", "--url", &base, "--endpoint-type", "chat"]);
                command.args(["--streaming", "--use-server-token-count", "--tokenizer"]).arg(folder);
                command.args(["--custom-dataset-type", "single_turn", "--input-file"]).arg(prompts);
                command.args(["--arrival-pattern", "constant", "--request-rate", &load.rate.to_string()]);
                command.args(["--request-count", &load.requests.to_string()]);
                command.args(["--benchmark-duration", &load.limit().as_secs().to_string()]);
                if self == Client::AiperfOnTwoCores {
                    command.args(["--workers-max", "2"]);
                }
                command.args(["--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"]);
                command.args(["--export-level", "summary", "--output-artifact-dir"]).arg(folder);
            }
        }
        Ok(command)
    }
}

const OWN_RESULT: &str = "httperf.json";

/// Writes a tokenizer of a word, as aiperf insists on having one. It is not used: the server tells its tokens, and prompts
/// are given as text. aiperf's built-in tokenizer has to be downloaded.
fn write_tokenizer(folder: &Path) -> anyhow::Result<()> {
    let config = r#"{"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "?"}"#;
    let tokenizer = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}"#;
    std::fs::write(folder.join("tokenizer_config.json"), config)?;
    std::fs::write(folder.join("tokenizer.json"), tokenizer)?;
    Ok(())
}

/// Reads the result that httperf writes with `--output`.
fn reported_by_httperf(document: &str) -> Option<Reported> {
    let document: Value = serde_json::from_str(document).ok()?;
    let model = &document["figures"]["streams"]["model"];
    Some(Reported {
        answers: model["answers"].as_u64()?,
        errors: document["figures"]["errors"].as_u64().unwrap_or(0),
        times: Times {
            ttft: percentiles(&model["ttft_service_ms"])?,
            due: percentiles(&model["ttft_ms"])?,
            itl: percentiles(&model["itl_ms"])?,
            tpot: percentiles(&model["tpot_ms"])?,
        },
        gaps: model["itl_ms"]["samples"].as_u64()?,
        cpu: Duration::ZERO,
        overdue: false,
    })
}

/// Reads aiperf's `profile_export_aiperf.json`. What it calls inter-token latency is the mean of an answer; gaps between
/// tokens are its inter-chunk latency. It has no time to first token from the schedule: its only one takes that place.
/// Metrics without values are left out there.
fn reported_by_aiperf(document: &str) -> Option<Reported> {
    let document: Value = serde_json::from_str(document).ok()?;
    let count = |name: &str| document[name]["avg"].as_f64().map(|count| count as u64);
    Some(Reported {
        answers: count("request_count")?,
        errors: count("error_request_count").unwrap_or(0),
        times: Times {
            ttft: percentiles(&document["time_to_first_token"])?,
            due: percentiles(&document["time_to_first_token"])?,
            itl: percentiles(&document["inter_chunk_latency"])?,
            tpot: percentiles(&document["inter_token_latency"])?,
        },
        gaps: document["inter_chunk_latency"]["count"].as_u64()?,
        cpu: Duration::ZERO,
        overdue: document["was_cancelled"].as_bool().unwrap_or(false),
    })
}

/// Percentiles of times in milliseconds; both programs name them so.
fn percentiles(times: &Value) -> Option<Percentiles> {
    let us = |name: &str| times[name].as_f64().map(|ms| ms * 1e3);
    times.is_object().then(|| Percentiles {
        p50_us: us("p50"),
        p90_us: us("p90"),
        p99_us: us("p99"),
        max_us: us("max"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(p50_us: f64, p99_us: f64) -> Percentiles {
        Percentiles { p50_us: Some(p50_us), p90_us: None, p99_us: Some(p99_us), max_us: None }
    }

    #[test]
    fn a_result_of_httperf_is_read() {
        let document = r#"{"figures": {"errors": 2, "streams": {"model": {"answers": 98,
            "ttft_ms": {"samples": 98, "p50": 20.5, "p99": 22.5}, "ttft_service_ms": {"p50": 20.25, "p99": 21.0},
            "itl_ms": {"samples": 979, "p50": 10.0, "p99": 10.5}, "tpot_ms": {"p50": 10.0, "p99": 10.125}}}}}"#;
        let expected = Reported {
            answers: 98,
            errors: 2,
            times: Times {
                ttft: times(20_250.0, 21_000.0),
                due: times(20_500.0, 22_500.0),
                itl: times(10_000.0, 10_500.0),
                tpot: times(10_000.0, 10_125.0),
            },
            gaps: 979,
            cpu: Duration::ZERO,
            overdue: false,
        };
        assert_eq!(reported_by_httperf(document), Some(expected));
        assert_eq!(reported_by_httperf(r#"{"figures": {"streams": null}}"#), None);
    }

    #[test]
    fn a_result_of_aiperf_is_read() {
        let document = r#"{"schema_version": "1.0", "aiperf_version": "0.13.0",
            "request_count": {"unit": "requests", "avg": 30.0}, "error_request_count": {"unit": "requests", "avg": 1.0},
            "time_to_first_token": {"unit": "ms", "avg": 21.0, "p50": 20.5, "p99": 22.5, "count": 30},
            "inter_token_latency": {"unit": "ms", "avg": 10.0, "p50": 10.0, "p99": 10.125, "count": 30},
            "inter_chunk_latency": {"unit": "ms", "avg": 10.0, "p50": 10.25, "p99": 12.5, "count": 270},
            "was_cancelled": false, "is_complete": true, "error_summary": []}"#;
        let expected = Reported {
            answers: 30,
            errors: 1,
            times: Times {
                ttft: times(20_500.0, 22_500.0),
                due: times(20_500.0, 22_500.0),
                itl: times(10_250.0, 12_500.0),
                tpot: times(10_000.0, 10_125.0),
            },
            gaps: 270,
            cpu: Duration::ZERO,
            overdue: false,
        };
        assert_eq!(reported_by_aiperf(document), Some(expected));
        assert_eq!(reported_by_aiperf(r#"{"error_request_count": {"unit": "requests", "avg": 30.0}}"#), None);
    }
}
