//! Arguments about metrics: where programs that collect them find those of a run.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// Destinations of metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricsArgs {
    /// `--metrics`: the address at which they can be fetched, such as `127.0.0.1:9464`.
    pub listen: Option<String>,
    /// `--metrics-linger`: the longest time for a last fetch.
    pub linger: Option<Duration>,
    /// `--otlp`: the URL of a receiver of OpenTelemetry.
    pub otlp: Option<String>,
    /// `--influx`.
    pub influx: Option<InfluxTarget>,
}

/// A destination of lines for InfluxDB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InfluxTarget {
    /// The URL that takes them.
    Url(String),
    /// A file.
    File(OsString),
}

impl MetricsArgs {
    /// The file of `--influx`, if that is one.
    #[must_use]
    pub fn influx_file(&self) -> Option<&OsStr> {
        match &self.influx {
            Some(InfluxTarget::File(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns whether anything takes metrics of a run.
    #[must_use]
    pub fn are_taken(&self) -> bool {
        self.listen.is_some() || self.otlp.is_some() || self.influx.is_some()
    }
}
