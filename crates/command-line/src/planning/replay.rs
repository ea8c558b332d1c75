//! A recording's schedule and clients, with the options of its replay.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU32;

use anyhow::Context as _;
use httperf_plan::{Arrivals, Recorded, Replay, Sha256};
use sha2::Digest as _;

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

/// Refuses a recording that is not the one that a plan was made of.
///
/// # Errors
/// If it cannot be read, or has changed.
pub(super) fn check_unchanged(recorded: &Recorded) -> anyhow::Result<()> {
    let shown = recorded.path.display();
    let mut file = File::open(&recorded.path).with_context(|| format!("cannot read `{shown}`"))?;
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer).with_context(|| format!("cannot read `{shown}`"))? {
            0 => break,
            count => hasher.update(buffer.get(..count).unwrap_or_default()),
        }
    }
    let sha256 = Sha256(hasher.finalize().into());
    anyhow::ensure!(
        sha256 == recorded.sha256,
        "expected `{shown}` to be what it was, got a file of another SHA-256"
    );
    Ok(())
}
