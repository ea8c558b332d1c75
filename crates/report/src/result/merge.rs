//! Results of the parts of one run, added up.

use std::fmt;

use httperf_plan::Plan;
use thiserror::Error;

use crate::differing::{differing, shortened};

use super::Document;

/// Why results cannot be added up.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum MergeError {
    /// There are none.
    #[error("there is nothing to merge")]
    Nothing,
    /// Their plans differ in what matters.
    #[error("the plans differ in {}", names(.0))]
    Plans(Vec<Difference>),
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
/// When there are none, or when their plans differ in what matters.
pub fn merge(documents: Vec<Document>) -> Result<Document, MergeError> {
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
