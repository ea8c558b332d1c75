//! The messages of `io.prometheus.client`, with the fields that are written here.
//!
//! <https://github.com/prometheus/client_model/blob/master/io/prometheus/client/metrics.proto>. Declared here, since code made
//! of that file would need a compiler for it wherever the program is built.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MetricFamily {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) help: String,
    #[prost(int32, tag = "3")]
    pub(crate) kind: i32,
    #[prost(message, repeated, tag = "4")]
    pub(crate) metric: Vec<Metric>,
    #[prost(string, tag = "5")]
    pub(crate) unit: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metric {
    #[prost(message, repeated, tag = "1")]
    pub(crate) label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    pub(crate) gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    pub(crate) counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    pub(crate) histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LabelPair {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// A `Gauge` or a `Counter`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Number {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Histogram {
    #[prost(uint64, tag = "1")]
    pub(crate) sample_count: u64,
    #[prost(double, tag = "2")]
    pub(crate) sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    pub(crate) bucket: Vec<Bucket>,
    #[prost(sint32, tag = "5")]
    pub(crate) schema: i32,
    #[prost(message, repeated, tag = "12")]
    pub(crate) positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    pub(crate) positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Bucket {
    #[prost(uint64, tag = "1")]
    pub(crate) cumulative_count: u64,
    #[prost(double, tag = "2")]
    pub(crate) upper_bound: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BucketSpan {
    #[prost(sint32, tag = "1")]
    pub(crate) offset: i32,
    #[prost(uint32, tag = "2")]
    pub(crate) length: u32,
}
