//! Merging of the results of several parts of one run.

use std::fmt;

use httperf_plan::{Client, Plan};
use thiserror::Error;

use crate::differing::{differing, shortened};

use super::{Document, Part};

/// Reason why results cannot be merged.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// No results.
    #[error("there is nothing to merge")]
    Nothing,
    /// Two results would be counted twice.
    #[error("results {} and {} {common}", .first + 1, .other + 1)]
    Twice {
        /// Index of one of them, from 0.
        first: usize,
        /// Index of the other.
        other: usize,
        /// The value that they have in common.
        common: Common,
    },
    /// Two results are not of parts of one run.
    #[error("results {} and {} {apart}", .first + 1, .other + 1)]
    Apart {
        /// Index of one of them, from 0.
        first: usize,
        /// Index of the other.
        other: usize,
        /// The reason.
        apart: Apart,
    },
}

/// Reason why two results are not of parts of one run. Displays as the end of a sentence that begins with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Apart {
    /// The plans differ in fields that matter.
    Plans(Vec<Difference>),
    /// One is a result of a rank of a fleet and one is not, or the fleets have these different sizes.
    Fleets([Option<u32>; 2]),
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plans(differences) => write!(f, "have plans that differ in {}", names(differences)),
            Self::Fleets(sizes) => {
                let [first, other] = sizes.map(|size| {
                    size.map_or_else(|| "of none".to_owned(), |size| format!("of a fleet of {size}"))
                });
                write!(f, "are {first} and {other}: expected results of one fleet, or of none")
            }
        }
    }
}

/// Something two results have in common that may occur only once. Displays as the end of a sentence that
/// begins with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Common {
    /// The same run.
    Run(Box<Part>),
    /// The same one of several generators, in different runs.
    Client(Client),
    /// The same rank of a fleet, in different runs.
    Rank {
        /// The rank.
        rank: u32,
        /// Number of ranks.
        size: u32,
    },
}

impl fmt::Display for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(part) => {
                write!(f, "hold the same run, started on {} at {}", part.machine.host, part.started)?;
                f.write_str(": expected each run once")
            }
            Self::Client(Client { index, count, .. }) => {
                write!(f, "are both of client {index}/{count}: expected each generator of a run once")
            }
            Self::Rank { rank, size } => {
                write!(f, "are both of rank {rank}/{size}: expected each rank of a fleet once")
            }
        }
    }
}

/// A difference between two plans: a field of the saved plan, such as `workload.connections.calls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path to the field.
    pub field: String,
    /// Value in the first plan, as JSON.
    pub first: String,
    /// Value in the other plan, as JSON.
    pub other: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} and {})", self.field, self.first, self.other)
    }
}

fn names(differences: &[Difference]) -> String {
    let all: Vec<String> = differences.iter().map(Difference::to_string).collect();
    all.join(", ")
}

/// Fields that may differ between the parts of one run: identity, source addresses, number of threads, and
/// display.
const MAY_DIFFER: [&str; 7] =
    ["client.index", "sockets.sources", "watch", "program", "spin", "threads", "until"];

/// Merges the results of the parts of one run. Histograms are added bucket by bucket; order makes no
/// difference.
///
/// # Errors
/// If there are none, if two of them have a run or a generator in common, or if their plans differ in fields
/// that matter.
pub fn merge(documents: Vec<Document>) -> Result<Document, MergeError> {
    for (other, document) in documents.iter().enumerate() {
        for (first, earlier) in documents[..other].iter().enumerate() {
            if let Some(common) = common(earlier, document) {
                return Err(MergeError::Twice { first, other, common });
            }
        }
    }
    let mut documents: Vec<(usize, Document)> = documents.into_iter().enumerate().collect();
    // Sorted, so that whatever is kept of only one plan does not depend on the order.
    documents.sort_by(|(_, a), (_, b)| (a.plan.client.index, &a.parts).cmp(&(b.plan.client.index, &b.parts)));
    let mut documents = documents.into_iter();
    let (place, first) = documents.next().ok_or(MergeError::Nothing)?;
    let (mut parts, plan, mut summary, mut fleet) = (first.parts, first.plan, first.summary, first.fleet);
    for (other, document) in documents {
        let apart = |apart| Err(MergeError::Apart { first: place, other, apart });
        let sizes = [&fleet, &document.fleet].map(|fleet| fleet.as_ref().map(|fleet| fleet.size));
        if sizes[0] != sizes[1] {
            return apart(Apart::Fleets(sizes));
        }
        let differences = differences(&plan, &document.plan);
        if !differences.is_empty() {
            return apart(Apart::Plans(differences));
        }
        parts.extend(document.parts);
        let slowest = plan.recording.slowest as usize;
        match (&mut fleet, document.fleet) {
            (Some(fleet), Some(other)) => {
                fleet.merge(other);
                summary.merge_rank(&document.summary, slowest);
            }
            _ => summary.merge(&document.summary, slowest),
        }
    }
    parts.sort();
    Ok(Document::of_parts(parts, plan, summary, fleet))
}

/// Returns the run that is part of both results, if there is one.
pub(crate) fn same_run<'a>(one: &'a Document, other: &Document) -> Option<&'a Part> {
    one.parts.iter().find(|part| other.parts.iter().any(|theirs| is_same_run(one, part, other, theirs)))
}

/// Returns the common part that would be counted twice if these results were added.
fn common(one: &Document, other: &Document) -> Option<Common> {
    if let Some(part) = same_run(one, other) {
        return Some(Common::Run(Box::new(part.clone())));
    }
    if let (Some(own), Some(other)) = (&one.fleet, &other.fleet) {
        let is_shared = |rank: &u32| other.ranks.iter().any(|other| other.rank == *rank);
        let rank = own.ranks.iter().map(|rank| rank.rank).find(is_shared)?;
        return Some(Common::Rank { rank, size: own.size });
    }
    let theirs = clients(other);
    let client = clients(one).into_iter().find(|client| client.count.get() > 1 && theirs.contains(client));
    client.map(Common::Client)
}

fn is_same_run(one: &Document, part: &Part, other: &Document, theirs: &Part) -> bool {
    match (&part.run, &theirs.run) {
        (Some(run), Some(their)) => run == their,
        // Older results only record when and where they began. Two that began in the same second measured
        // different things.
        (None, None) if one.parts.len() == 1 && other.parts.len() == 1 => {
            part == theirs && one.summary == other.summary
        }
        (None, None) => part == theirs,
        _ => false,
    }
}

/// Generators that contributed to a document, as far as it records them.
fn clients(document: &Document) -> Vec<Client> {
    match &document.parts[..] {
        [part] => vec![part.client.unwrap_or(document.plan.client)],
        parts => parts.iter().filter_map(|part| part.client).collect(),
    }
}

fn differences(first: &Plan, other: &Plan) -> Vec<Difference> {
    let [first, other] = [first, other].map(|plan| {
        let mut plan = serde_json::to_value(plan).expect("a plan can be saved");
        // Differences are named in the order of their paths.
        plan.sort_all_objects();
        plan
    });
    let fields = differing(&first, &other).into_iter();
    let fields = fields.filter(|field| !MAY_DIFFER.iter().any(|path| field.is_in(path)));
    fields
        .map(|field| {
            let [first, other] = field.values.map(|value| shortened(&value.to_string()));
            Difference { field: field.path, first, other }
        })
        .collect()
}
