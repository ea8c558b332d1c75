//! Results of the parts of one run, added up.

use std::fmt;

use httperf_plan::{Client, Plan};
use thiserror::Error;

use crate::differing::{differing, shortened};

use super::{Document, Part};

/// Why results cannot be added up.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There are none.
    #[error("there is nothing to merge")]
    Nothing,
    /// Two of them count something twice.
    #[error("results {} and {} {common}", .first + 1, .other + 1)]
    Twice {
        /// The place of one of them, from 0.
        first: usize,
        /// That of the other.
        other: usize,
        /// What both have.
        common: Common,
    },
    /// Their plans differ in what matters.
    #[error("the plans differ in {}", names(.0))]
    Plans(Vec<Difference>),
}

/// What two results have that may be there once. It ends a sentence that begins with their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Common {
    /// A run.
    Run(Box<Part>),
    /// One of several generators, in different runs.
    Client(Client),
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
        }
    }
}

/// What two plans differ in: a field of the plan as it is saved, such as `workload.connections.calls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path to the field.
    pub field: String,
    /// What the first plan has there, as JSON.
    pub first: String,
    /// What the other has.
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

/// What may differ between the parts of one run: who they were, from where they sent, how many threads they had for it,
/// and what they showed meanwhile.
const MAY_DIFFER: [&str; 7] =
    ["client.index", "sockets.sources", "watch", "program", "spin", "threads", "until"];

/// Adds up the results of the parts of one run. Histograms add up bucket by bucket; the order makes no difference.
///
/// # Errors
/// When there are none, when two of them have a run or a generator in common, or when their plans differ in what matters.
pub fn merge(documents: Vec<Document>) -> Result<Document, MergeError> {
    for (other, document) in documents.iter().enumerate() {
        for (first, earlier) in documents[..other].iter().enumerate() {
            if let Some(common) = common(earlier, document) {
                return Err(MergeError::Twice { first, other, common });
            }
        }
    }
    let mut documents = documents;
    // So that what stays of several plans does not depend on the order.
    documents.sort_by(|a, b| (a.plan.client.index, &a.parts).cmp(&(b.plan.client.index, &b.parts)));
    let mut documents = documents.into_iter();
    let first = documents.next().ok_or(MergeError::Nothing)?;
    let (mut parts, plan, mut summary) = (first.parts, first.plan, first.summary);
    for document in documents {
        let differences = differences(&plan, &document.plan);
        if !differences.is_empty() {
            return Err(MergeError::Plans(differences));
        }
        parts.extend(document.parts);
        summary.merge(&document.summary, plan.recording.slowest as usize);
    }
    parts.sort();
    Ok(Document::of_parts(parts, plan, summary))
}

/// What would be counted twice if these were added up.
fn common(one: &Document, other: &Document) -> Option<Common> {
    let same_run =
        one.parts.iter().find(|part| other.parts.iter().any(|theirs| is_same_run(one, part, other, theirs)));
    if let Some(part) = same_run {
        return Some(Common::Run(Box::new(part.clone())));
    }
    let theirs = clients(other);
    let client = clients(one).into_iter().find(|client| client.count.get() > 1 && theirs.contains(client));
    client.map(Common::Client)
}

fn is_same_run(one: &Document, part: &Part, other: &Document, theirs: &Part) -> bool {
    match (&part.run, &theirs.run) {
        (Some(run), Some(their)) => run == their,
        // Older ones say no more than when and where they were. Two that began in the same second measured different things.
        (None, None) if one.parts.len() == 1 && other.parts.len() == 1 => {
            part == theirs && one.summary == other.summary
        }
        (None, None) => part == theirs,
        _ => false,
    }
}

/// The generators whose results are in a document, as far as it says.
fn clients(document: &Document) -> Vec<Client> {
    match &document.parts[..] {
        [part] => vec![part.client.unwrap_or(document.plan.client)],
        parts => parts.iter().filter_map(|part| part.client).collect(),
    }
}

fn differences(first: &Plan, other: &Plan) -> Vec<Difference> {
    let [first, other] = [first, other].map(|plan| serde_json::to_value(plan).expect("a plan can be saved"));
    let fields = differing(&first, &other).into_iter();
    let fields = fields.filter(|field| !MAY_DIFFER.iter().any(|path| field.is_in(path)));
    fields
        .map(|field| {
            let [first, other] = field.values.map(|value| shortened(&value.to_string()));
            Difference { field: field.path, first, other }
        })
        .collect()
}
