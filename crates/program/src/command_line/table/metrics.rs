//! Metrics of a run, for programs that collect them.

use httperf_metrics::otlp;
use url::Url;

use crate::command_line::args::{Args, InfluxTarget};
use crate::command_line::grammar::{Opt, ParseStop, Value};

pub(super) const METRICS: Opt<Args> =
    Opt::with_value("metrics", "ADDR:PORT", "serves metrics of the run to Prometheus at this address")
        .details(&[
            "Counters, gauges and histograms at http://ADDR:PORT/metrics, as far as the last second that has ended: text, \
             or protocol buffers with native histograms for those who ask for them. The address is gone when the program \
             ends. docs/guide/metrics.md names the metrics.",
        ])
        .apply(|args, value| {
            let address = text(value).filter(|address| {
                let (host, port) = address.rsplit_once(':').unwrap_or_default();
                !host.is_empty() && port.parse::<u16>().is_ok()
            });
            let expected = || ParseStop::expected("--metrics", "an address such as 127.0.0.1:9464", value);
            args.metrics.listen = Some(address.ok_or_else(expected)?.to_owned());
            Ok(())
        });

pub(super) const OTLP: Opt<Args> =
    Opt::with_value("otlp", "URL", "sends metrics of the run to a receiver of OpenTelemetry each second")
        .details(&[
            "OTLP over HTTP, as protocol buffers, with exponential histograms. The path is /v1/metrics if the URL has \
             none. OTEL_EXPORTER_OTLP_HEADERS adds header fields. What cannot be delivered is counted, and does not \
             disturb the run.",
        ])
        .apply(|args, value| {
            let mut url = http_url("--otlp", value)?;
            if url.path() == "/" {
                url.set_path(otlp::PATH);
            }
            args.metrics.otlp = Some(url.into());
            Ok(())
        });

pub(super) const INFLUX: Opt<Args> =
    Opt::with_value("influx", "URL|FILE", "writes a line for InfluxDB for each second of the run")
        .details(&[
            "To the URL of its write interface, such as 'http://127.0.0.1:8086/write?db=load' or \
             'http://127.0.0.1:8086/api/v2/write?org=o&bucket=load', with INFLUX_TOKEN if that is set; or to a file.",
        ])
        .apply(|args, value| {
            let is_url = value.bytes().windows(3).any(|part| part == b"://");
            args.metrics.influx = Some(match value.bytes() {
                _ if is_url => InfluxTarget::Url(http_url("--influx", value)?.into()),
                b"" | b"-" => {
                    let expected = "an http:// URL, or the name of a file";
                    return Err(ParseStop::expected("--influx", expected, value));
                }
                _ => InfluxTarget::File(value.os_str().to_owned()),
            });
            Ok(())
        });

/// A URL that metrics are sent to.
fn http_url(option: &str, value: Value<'_>) -> Result<Url, ParseStop> {
    let url = text(value).and_then(|text| Url::parse(text).ok()).filter(Url::has_host);
    match url {
        Some(url) if url.scheme() == "http" => Ok(url),
        Some(url) if url.scheme() == "https" => Err(ParseStop::expected(
            option,
            "an http:// URL, as metrics are sent in the clear (a collector on this machine can secure them)",
            value,
        )),
        _ => Err(ParseStop::expected(option, "a URL such as http://127.0.0.1:4318", value)),
    }
}

fn text(value: Value<'_>) -> Option<&str> {
    std::str::from_utf8(value.bytes()).ok()
}
