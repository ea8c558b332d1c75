//! Programs that collect metrics of a run: Prometheus, OpenTelemetry's own types, InfluxDB.

use std::fs;
use std::process::Command;

use httperf_origin::Config;
use serde_json::Value;

use crate::job::until;
use crate::support::bench::{Bench, run};
use crate::support::program::Exit;
use crate::support::running::{Running, find, peer};
use crate::{python, turn};

/// A server that needs 20 ms for a reply: quantiles are then known, whatever the machine does.
fn bench() -> Bench {
    Bench::with(Config { delay: "20ms".parse().expect("a delay"), ..Config::default() })
}

/// What a server at this port answers.
fn get(port: u16, target: &str) -> Option<Value> {
    let output =
        Command::new("curl").args(["-sf", &format!("http://127.0.0.1:{port}{target}")]).output().ok()?;
    serde_json::from_slice(&output.stdout).ok()
}

/// The text as a part of a URL.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// The series that Prometheus finds.
fn series(port: u16, query: &str) -> Option<Vec<Value>> {
    let answer = get(port, &format!("/api/v1/query?query={}", encoded(query)))?;
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    answer["data"]["result"].as_array().cloned()
}

fn number(series: &[Value]) -> Option<f64> {
    series.first()?["value"][1].as_str()?.parse().ok()
}

/// A Prometheus that fetches from this port each half second.
fn prometheus(metrics: u16, more: &'static [&'static str]) -> Option<Running> {
    let program = find("prometheus")?;
    let furnish = move |folder: &std::path::Path| {
        let target = format!(
            "scrape_configs: [{{ job_name: httperf, scrape_interval: 500ms, static_configs: [{{ targets: [\"127.0.0.1:{metrics}\"] }}] }}]\n"
        );
        fs::write(folder.join("prometheus.yml"), target)
    };
    Some(Running::start("127.0.0.1", 1, furnish, move |folder, ports| {
        let mut command = Command::new(&program);
        command.arg(format!("--config.file={}", folder.join("prometheus.yml").display()));
        command.arg(format!("--storage.tsdb.path={}", folder.join("data").display()));
        command.arg(format!("--web.listen-address=127.0.0.1:{}", ports[0])).args(more);
        command
    }))
}

/// A port that is free now.
fn free() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

/// Runs a load whose metrics Prometheus fetches, and looks at them meanwhile.
fn watched(more: &'static [&'static str], look: impl Fn(u16)) -> Option<Value> {
    let (bench, metrics) = (bench(), free());
    let prometheus = prometheus(metrics, more)?;
    let port = prometheus.port(0);
    let arguments = format!(
        "--server 127.0.0.1 --port {} --rate 200 --duration 12s --metrics 127.0.0.1:{metrics} --output {}",
        bench.port,
        bench.path("r.json").display()
    );
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&arguments));
        let enough = "sum(httperf_arrivals_total) > 1000";
        let is_there = until(|| (!series(port, enough)?.is_empty()).then_some(()));
        assert!(is_there.is_some(), "Prometheus has no figures: {}", prometheus.output());
        look(port);
        let outcome = running.join().expect("it does not panic");
        assert_eq!(outcome.exit, Exit::Code(0), "{}", String::from_utf8_lossy(&outcome.stderr));
    });
    Some(serde_json::from_str(&bench.read("r.json")).expect("it is JSON"))
}

#[test]
fn prometheus_finds_our_quantiles_and_answers_every_query_of_the_dashboard() {
    let _alone = peer!(turn(false));
    let dashboard = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/httperf.json");
    let dashboard = fs::read_to_string(dashboard).expect("it is in the repository");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let look = |port: u16| {
        let found = number(
            &series(port, "histogram_quantile(0.5, sum by (le) (httperf_call_latency_seconds_bucket))")
                .unwrap_or_default(),
        );
        // The buckets around 20 ms end at 18, 22 and 27 ms.
        assert!(found.is_some_and(|found| (0.018..0.027).contains(&found)), "{found:?}");
        let mut empty = Vec::new();
        for panel in dashboard["panels"].as_array().expect("a list") {
            for target in panel["targets"].as_array().expect("a list") {
                let query = target["expr"].as_str().expect("a query");
                let query = query.replace("$instance", ".*").replace("$__rate_interval", "4s");
                if series(port, &query).is_none_or(|series| series.is_empty()) {
                    empty.push(query);
                }
            }
        }
        // Nothing failed, there are no visits, and this is no fleet.
        let may_be_empty = |query: &&String| {
            ["httperf_errors_total", "httperf_visits_under_way", "httperf_rank_"]
                .iter()
                .any(|name| query.contains(name))
        };
        assert!(empty.iter().filter(|query| !may_be_empty(query)).count() == 0, "{empty:?}");
    };
    let result = peer!(watched(&[], look));
    // The last calls may be under way when the run ends.
    assert!(result["summary"]["replies"].as_u64() > Some(2300), "{}", result["summary"]["replies"]);
}

#[test]
fn prometheus_takes_native_histograms() {
    let _alone = peer!(turn(false));
    let look = |port: u16| {
        let count =
            number(&series(port, "histogram_count(sum(httperf_call_latency_seconds))").unwrap_or_default());
        assert!(count > Some(500.0), "{count:?}");
        let found = number(
            &series(port, "histogram_quantile(0.5, sum(httperf_call_latency_seconds))").unwrap_or_default(),
        );
        assert!(found.is_some_and(|found| (0.0195..0.025).contains(&found)), "{found:?}");
    };
    peer!(watched(&["--enable-feature=native-histograms"], look));
}

/// Prints the sums and the counts of histograms of the last request that it was sent.
const RECEIVER: &str = r#"
import http.server, json, sys
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest as Request
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        request = Request()
        request.ParseFromString(self.rfile.read(int(self.headers["content-length"])))
        found = {}
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    kind = metric.WhichOneof("data")
                    points = getattr(metric, kind).data_points
                    if kind == "exponential_histogram":
                        for point in points:
                            assert point.count == point.zero_count + sum(point.positive.bucket_counts), metric
                        found[metric.name] = sum(point.count for point in points)
                    else:
                        found[metric.name] = sum(point.as_int or point.as_double for point in points)
        with open(sys.argv[2], "w") as file: json.dump(found, file)
        self.send_response(200); self.send_header("content-length", "0"); self.end_headers()
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_request_is_what_the_types_of_opentelemetry_say() {
    let _alone = peer!(turn(false));
    let python = peer!(python("opentelemetry-proto", "opentelemetry-proto==1.38.0")).join("python");
    let bench = bench();
    let found = bench.path("found.json");
    let receiver = Running::start(
        "127.0.0.1",
        1,
        |folder| fs::write(folder.join("receiver.py"), RECEIVER),
        |folder, ports| {
            let mut command = Command::new(&python);
            command.arg(folder.join("receiver.py")).arg(ports[0].to_string()).arg(&found);
            command
        },
    );
    let outcome = run(&format!(
        "--server 127.0.0.1 --port {} --rate 100 --num-conns 250 --otlp http://127.0.0.1:{} --output {}",
        bench.port,
        receiver.port(0),
        bench.path("r.json").display()
    ));
    let told = format!("{}\n{}", String::from_utf8_lossy(&outcome.stderr), receiver.output());
    assert_eq!(outcome.exit, Exit::Code(0), "{told}");
    assert!(!told.contains("not delivered"), "{told}");
    let found: Value = serde_json::from_str(&bench.read("found.json")).expect("it is JSON");
    for (name, expected) in [
        ("httperf.replies", 250),
        ("httperf.arrivals", 250),
        ("httperf.call.latency", 250),
        ("http.client.request.duration", 250),
        ("httperf.arrival.lag", 250),
    ] {
        assert_eq!(found[name].as_f64(), Some(f64::from(expected)), "{name}: {found}");
    }
}

#[test]
fn influxdb_takes_the_lines() {
    let _alone = peer!(turn(false));
    let program = peer!(find("influxd"));
    let furnish = |folder: &std::path::Path| {
        let at = |name: &str| folder.join(name).display().to_string();
        let config = format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:0\"\n[meta]\ndir = \"{}\"\n[data]\ndir = \"{}\"\n\
             wal-dir = \"{}\"\n[monitor]\nstore-enabled = false\n",
            at("meta"),
            at("data"),
            at("wal")
        );
        fs::write(folder.join("influx.conf"), config)
    };
    let influx = Running::start("127.0.0.1", 1, furnish, |folder, ports| {
        let mut command = Command::new(&program);
        command.arg("run").arg("-config").arg(folder.join("influx.conf"));
        command.env("INFLUXDB_HTTP_BIND_ADDRESS", format!("127.0.0.1:{}", ports[0]));
        command
    });
    let port = influx.port(0);
    let post = |target: &str, more: &[&str]| {
        let url = format!("http://127.0.0.1:{port}{target}");
        let status = Command::new("curl").args(["-sf", "-XPOST", &url]).args(more).output();
        assert!(status.is_ok_and(|output| output.status.success()), "{target}: {}", influx.output());
    };
    for name in ["sent", "kept"] {
        post(&format!("/query?q={}", encoded(&format!("CREATE DATABASE {name}"))), &[]);
    }
    let bench = bench();
    let lines = bench.path("lines").display().to_string();
    for target in [&format!("http://127.0.0.1:{port}/write?db=sent")[..], &lines] {
        let outcome = run(&format!(
            "--server 127.0.0.1 --port {} --rate 100 --num-conns 250 --influx {target}",
            bench.port
        ));
        let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(outcome.exit == Exit::Code(0) && !told.contains("not delivered"), "{told}");
    }
    post("/write?db=kept", &["--data-binary", &format!("@{lines}")]);
    for name in ["sent", "kept"] {
        let query = encoded("SELECT sum(replies) FROM httperf");
        let sum = until(|| {
            let answer = get(port, &format!("/query?db={name}&q={query}"))?;
            answer["results"][0]["series"][0]["values"][0][1].as_u64()
        });
        assert_eq!(sum, Some(250), "{name}: {}", influx.output());
    }
}
