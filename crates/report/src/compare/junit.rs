//! JUnit XML of a comparison.

use super::{Against, Comparison, Held, Overall, Row, RowVerdict};
use crate::junit::{Case, Status, Suite, xml};

impl Comparison {
    /// JUnit XML: a suite for each result compared with the base. Its cases are the tolerances, or all
    /// figures if there are none. A tolerance that cannot be judged is an error; a figure without enough data
    /// is skipped.
    #[must_use]
    pub fn junit(&self) -> String {
        let suites: Vec<Suite> = self.against.iter().map(|against| suite(&self.base.name, against)).collect();
        xml("httperf compare", &suites)
    }
}

fn suite(base: &str, against: &Against) -> Suite {
    let cases = if against.verdict == Overall::Void {
        let obstacles: Vec<&str> = against.obstacles.iter().map(|remark| &remark.text[..]).collect();
        vec![Case::new("comparison", "comparable", Status::Error(obstacles.join("; ")))]
    } else if against.tolerances.is_empty() {
        against.rows.iter().map(figure).collect()
    } else {
        against.tolerances.iter().map(|tolerated| tolerance(tolerated.outcome, tolerated, against)).collect()
    };
    Suite {
        name: format!("{} against {base}", against.new.name),
        started: against.new.started.clone(),
        cases,
        ..Suite::default()
    }
}

fn figure(row: &Row) -> Case {
    let status = match row.verdict {
        RowVerdict::Worse => Status::Failed(change(row)),
        RowVerdict::NotEnoughData => Status::Skipped(row.why.clone().unwrap_or_default()),
        RowVerdict::Better | RowVerdict::NoDifferenceShown => Status::Passed,
    };
    Case { output: change(row), ..Case::new("figure", &row.metric, status) }
}

fn tolerance(outcome: Held, tolerated: &super::Tolerated, against: &Against) -> Case {
    let metric = tolerated.tolerance.metric().to_string();
    let row = against.rows.iter().find(|row| row.metric == metric);
    let measured = row.map_or_else(String::new, change);
    let status = match outcome {
        Held::Kept => Status::Passed,
        Held::Exceeded => Status::Failed(measured.clone()),
        Held::CannotTell => Status::Error(format!("cannot tell: {measured}")),
    };
    Case { output: measured, ..Case::new("tolerance", tolerated.tolerance.to_string(), status) }
}

/// Change of a figure with its interval.
fn change(row: &Row) -> String {
    let (word, metric) = (row.verdict.word(), &row.metric);
    match row.relative.and_then(|change| Some((change.value, change.low?, change.high?))) {
        Some((value, low, high)) => {
            let [value, low, high] = [value, low, high].map(|share| share * 100.0);
            format!("{metric}: {word}, {value:+.1} % (95 %: {low:+.1} to {high:+.1} %)")
        }
        None => format!("{metric}: {word}"),
    }
}
