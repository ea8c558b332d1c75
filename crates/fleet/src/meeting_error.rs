//! Reasons why ranks do not come together, as sentences.

use std::time::Duration;

use thiserror::Error;

/// The reason why ranks do not come together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MeetingError {
    /// Ranks did not come in time.
    #[error("waited {} s for {}, which did not come{}", .waited.as_secs(), ranks(.absent, *.size), claimed(.claims))]
    Absent {
        /// Those ranks.
        absent: Vec<u32>,
        /// The number of ranks.
        size: u32,
        /// The time.
        waited: Duration,
        /// Those of them that strangers claimed to be, and where these came from.
        claims: Vec<(u32, String)>,
    },
    /// A rank has another plan.
    #[error(
        "rank {rank} ({host}) has another plan than rank 0 ({own_host}): expected the same command line everywhere"
    )]
    OtherPlan {
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// That of rank 0.
        own_host: String,
    },
    /// A rank knows of another number of ranks.
    #[error(
        "rank {rank} ({host}) is one of {theirs}, rank 0 one of {ours}: expected the same number of ranks"
    )]
    OtherSize {
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// The number of ranks that it knows of.
        theirs: u32,
        /// That of rank 0.
        ours: u32,
    },
    /// A rank runs another version of the program.
    #[error(
        "rank {rank} ({host}) is httperf {theirs}, rank 0 is httperf {ours}: expected the same version everywhere"
    )]
    OtherVersion {
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// Its version.
        theirs: String,
        /// That of rank 0.
        ours: String,
    },
    /// Two processes are the same rank.
    #[error("rank {rank} is there twice, on {host} and on {other}: expected each rank once")]
    Twice {
        /// The rank.
        rank: u32,
        /// The machine of the first.
        host: String,
        /// That of the other.
        other: String,
    },
    /// A rank was lost before the start.
    #[error("rank {rank} ({host}) was lost before the start: {reason}")]
    Lost {
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// The reason.
        reason: String,
    },
    /// A rank cannot make the run.
    #[error("rank {rank} ({host}): {reason}")]
    Unable {
        /// The rank.
        rank: u32,
        /// Its machine.
        host: String,
        /// The reason: a sentence.
        reason: String,
    },
    /// Rank 0 cannot make the run.
    #[error("rank 0 ({host}): {reason}")]
    OwnFailure {
        /// Its machine.
        host: String,
        /// The reason: a sentence.
        reason: String,
    },
    /// The end was asked for before the start.
    #[error("the end was asked for before the start")]
    Asked,
}

impl MeetingError {
    /// The rank that is the reason, and knows or cannot be told.
    pub(crate) fn culprit(&self) -> Option<u32> {
        match *self {
            Self::OtherPlan { rank, .. }
            | Self::OtherSize { rank, .. }
            | Self::OtherVersion { rank, .. }
            | Self::Lost { rank, .. }
            | Self::Unable { rank, .. } => Some(rank),
            Self::Absent { .. } | Self::Twice { .. } | Self::OwnFailure { .. } | Self::Asked => None,
        }
    }
}

/// `rank 3 of 8` or `ranks 3, 5 of 8`.
fn ranks(absent: &[u32], size: u32) -> String {
    let names: Vec<String> = absent.iter().map(u32::to_string).collect();
    let word = if names.len() == 1 { "rank" } else { "ranks" };
    format!("{word} {} of {size}", names.join(", "))
}

/// `; who came as rank 3 from 10.0.0.4 does not know the secret`, or nothing.
fn claimed(claims: &[(u32, String)]) -> String {
    let claims: Vec<String> = claims.iter().map(|(rank, from)| format!("rank {rank} from {from}")).collect();
    if claims.is_empty() {
        return String::new();
    }
    format!("; who came as {} does not know the secret", claims.join(", "))
}
