//! A recording's schedule and clients, with the options of its replay.

use std::num::NonZeroU32;

use httperf_plan::{Arrivals, Replay};

use crate::args::{Args, Version};

/// Connections of a client unless an option says otherwise: as many as browsers open to a server over HTTP/1.
const CONNECTIONS: NonZeroU32 = NonZeroU32::new(6).expect("it is not 0");

/// Connections of all requests that belong to no client: as many as they need.
pub const INDEPENDENT: NonZeroU32 = NonZeroU32::new(1 << 16).expect("it is not 0");

/// Calls outstanding at once on a connection that speaks HTTP/2.
pub const STREAMS: NonZeroU32 = NonZeroU32::new(100).expect("it is not 0");

/// The number of connections of each client, or of all requests if they are independent, unless an option gives it.
#[must_use]
pub fn usual_connections(args: &Args, are_independent: bool) -> NonZeroU32 {
    match (are_independent, args.version()) {
        (true, _) => INDEPENDENT,
        // One connection takes all that a client has.
        (false, Version::HTTP_2) => NonZeroU32::MIN,
        (false, _) => CONNECTIONS,
    }
}

/// The arrivals of a replay. Several generators share them.
pub(super) fn arrivals(args: &Args, replay: &Replay) -> Arrivals {
    let later = replay.count().saturating_sub(1).max(1) as f64;
    let generators = f64::from(args.client.count.get());
    Arrivals::Recorded { mean: replay.length().as_secs_f64() / later * generators }
}
