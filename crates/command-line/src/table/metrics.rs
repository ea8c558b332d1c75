//! Metrics of a run, for programs that collect them.

use std::time::Duration;

use httperf_metrics::otlp;
use url::Url;

use super::rules::NOT_FROM_CLASSIC_RECORD;
use crate::args::{Args, InfluxTarget};
use crate::grammar::{Opt, ParseStop, Value, any_of};

pub(super) const METRICS: Opt<Args> =
    Opt::with_value("metrics", "ADDR:PORT", "serves metrics of the run to Prometheus at this address")
        .details(&[
            "Counters, gauges and histograms at http://ADDR:PORT/metrics, as far as the last second that has ended: text, \
             or protocol buffers with native histograms for those who ask for them. The address is there until the last \
             figures have been fetched: see --metrics-linger. docs/guide/metrics.md names the metrics.",
        ])
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| {
            let address = text(value).filter(|address| {
                let (host, port) = address.rsplit_once(':').unwrap_or_default();
                !host.is_empty() && port.parse::<u16>().is_ok()
            });
            let expected = || value.expected("an address such as 127.0.0.1:9464");
            args.metrics.listen = Some(address.ok_or_else(expected)?.to_owned());
            Ok(())
        });

pub(super) const LINGER: Opt<Args> =
    Opt::with_value("metrics-linger", "X", "keeps --metrics up after the run until the last figures were fetched, X seconds at most")
        .details(&[
            "Default: if metrics were fetched during the run, about as long as the next fetch should take, and no longer than \
             60 s. Given, it is waited for in any case. 0 does not wait. Whoever fetches first ends the wait; so does a signal.",
        ])
        .needs(&[any_of(&["metrics"])])
        .apply(|args, value| {
            let expected = || value.expected("a time of 0 or more, such as 30s");
            let time = value.seconds().filter(|time| *time >= 0.0).ok_or_else(expected)?;
            args.metrics.linger = Some(Duration::try_from_secs_f64(time).map_err(|_| expected())?);
            Ok(())
        });

pub(super) const OTLP: Opt<Args> =
    Opt::with_value("otlp", "URL", "sends metrics of the run to a receiver of OpenTelemetry each second")
        .details(&[
            "OTLP over HTTP, as protocol buffers, with exponential histograms. The path is /v1/metrics if the URL has \
             none. With https:// the receiver's certificate must lead to a root of this system, or of the file that \
             SSL_CERT_FILE names. OTEL_EXPORTER_OTLP_HEADERS adds header fields. What cannot be delivered is counted, and does not \
             disturb the run.",
        ])
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| {
            let mut url = http_url(value)?;
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
        .conflicts(&[NOT_FROM_CLASSIC_RECORD])
        .apply(|args, value| {
            let is_url = value.bytes().windows(3).any(|part| part == b"://");
            args.metrics.influx = Some(match value.bytes() {
                _ if is_url => InfluxTarget::Url(http_url(value)?.into()),
                b"" | b"-" => {
                    let expected = "an http:// or https:// URL, or the name of a file";
                    return Err(value.expected(expected));
                }
                _ => InfluxTarget::File(value.os_str().to_owned()),
            });
            Ok(())
        });

/// A URL that metrics are sent to.
fn http_url(value: Value<'_>) -> Result<Url, ParseStop> {
    let url = text(value).and_then(|text| Url::parse(text).ok()).filter(Url::has_host);
    match url {
        Some(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(value.expected("a URL such as http://127.0.0.1:4318")),
    }
}

fn text(value: Value<'_>) -> Option<&str> {
    std::str::from_utf8(value.bytes()).ok()
}
