//! Samples, histograms, counters and time series.
//!
//! A [`Recorder`] collects the events of a run. The [`Summary`] it returns is everything a report needs.
//! Nothing here reads a clock: instants are arguments.

mod alt_svc;
mod batches;
mod call;
mod causes;
mod classes;
pub mod comparison;
mod confidence;
mod errors;
mod grpc;
mod http2;
mod in_flight;
mod instant;
mod kernel;
mod kolmogorov;
mod lifetimes;
mod merge;
mod moments;
mod nanos;
mod pauses;
mod quantile;
mod quic;
mod rates;
mod receive;
mod recorder;
mod replay;
mod replies;
pub mod search;
mod series;
mod sizes;
mod split;
mod stall;
mod status_codes;
mod steadiness;
mod streams;
mod summary;
mod tally;
mod timing;
mod tls;
mod usage;
mod visits;
mod websocket;
mod window;

pub use alt_svc::AltSvcSummary;
pub use batches::BatchedEstimate;
pub use call::{CallOutcome, Carrier, QuicTransport, Sample, SlowCall, SlowDetail, Transport};
pub use causes::{CauseKind, FailureCause, FailureCauses};
pub use classes::Classes;
pub use confidence::{Estimate, Interval as ConfidenceInterval};
pub use errors::{Errors, Failure};
pub use grpc::{GrpcEnd, GrpcSummary};
pub use http2::{Compression, Http2Summary, ServerSettings};
pub use in_flight::InFlight;
pub use instant::Instant;
pub use kernel::{KernelFigures, KernelTimes};
pub use kolmogorov::KolmogorovSmirnov;
pub use lifetimes::Lifetimes;
pub use merge::Merge;
pub use moments::{DurationMoments, RateMoments, SizeMoments};
pub use pauses::Pauses;
pub use quantile::{rank, samples_needed};
pub use quic::{BufferSize, EcnMarks, QuicSummary, SocketBuffers};
pub use rates::{RateSamples, RateWindows, SAMPLE_INTERVAL};
pub use receive::ReceiveFigures;
pub use recorder::{End, RecordedFigures, Recorder, SessionEnd, TickRates};
pub use replay::{RecordedReply, ReplayFigures, StatusChange};
pub use replies::{Compressed, Mismatch, Mismatches};
pub use series::{Interval, Phase, Series, StreamCounts, VisitCounts, WatchedClocks};
pub use sizes::Sizes;
pub use split::{Group, Groups};
pub use stall::Stall;
pub use status_codes::StatusCodes;
pub use steadiness::{Steadiness, steady_from};
pub use streams::{ModelEnd, ModelSummary, StreamCall, StreamEnd, StreamFate, StreamNews, StreamSummary};
pub use summary::{ArrivalFigures, Clocks, SessionSummary, Summary, WarmUp, Warning};
pub use tally::Tally;
pub use timing::{Percentile, Timing};
pub use tls::{
    Certificate, EarlyRequests, Handshake, HandshakeFailure, HandshakeFailureClass, HandshakeFigures,
    HandshakeKind, TlsSummary,
};
pub use usage::{Counters, CpuTime, ThreadUsage, UdpLosses, Usage};
pub use visits::{
    FailedLook, Fate, Firsts, Lack, Obstacle, PhaseVisits, ScenarioVisits, StepCall, StepFigures, StepPlace,
    StepStreams, UnmadeCalls, VisitEnd, Visits, VisitsShape,
};
pub use websocket::{WebSocketEnd, WebSocketSummary};
pub use window::{Throughput, Window};
