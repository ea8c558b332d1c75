//! The figures of a run while it goes on, for programs that collect metrics.
//!
//! A [`Meter`] adds up the seconds of a run. [`prometheus`], [`otlp`] and [`influx`] write it in the forms that those
//! programs read. There are no sockets, threads or clocks here: times are arguments.
//!
//! No metric is kept for each URI or for each step: the number of series does not grow with the workload.

mod distribution;
mod families;
pub mod influx;
mod meter;
pub mod otlp;
mod otlp_messages;
pub mod prometheus;
mod prometheus_messages;

pub use distribution::{BOUNDS_US, Distribution, SCALE};
pub use meter::{About, Meter, Now, PHASES, PhaseTotals, RankTotals, StreamTotals, VERDICTS, phase_name};
