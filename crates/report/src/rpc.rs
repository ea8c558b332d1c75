//! gRPC: derived figures, the section of the report, and the line of the answer.

use httperf_stats::{GrpcSummary, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{count, grouped, percent, ratio};
use crate::section::Section;

/// Figures of calls of gRPC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrpcFigures {
    /// Calls that ended: those with a complete reply, and those without.
    pub calls: u64,
    /// Calls with status OK.
    pub ok: u64,
    /// Calls with another status.
    pub failed: u64,
    /// Calls without a complete reply: timed out, reset, or lost with their connection.
    pub unanswered: u64,
    /// Share (0 to 1) of calls with status OK; `None` if none ended.
    pub ok_share: Option<f64>,
    /// Calls with a complete reply whose server told no status, so that it follows from that of HTTP.
    pub untold: u64,
    /// Messages received in complete replies.
    pub received: u64,
    /// Bytes of these messages as they came, compressed or not, without their prefixes.
    pub received_bytes: u64,
    /// Complete replies with something that is no message, or with part of one.
    pub malformed: u64,
}

impl GrpcFigures {
    /// Figures of a run; `None` if its calls are not those of gRPC.
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        let grpc = summary.grpc.as_deref()?;
        let (ok, replied) = (grpc.ok(), grpc.statuses.total());
        let calls = replied + grpc.unanswered;
        Some(Self {
            calls,
            ok,
            failed: replied - ok,
            unanswered: grpc.unanswered,
            ok_share: (calls > 0).then(|| ratio(ok as f64, calls as f64)),
            untold: grpc.untold,
            received: grpc.received,
            received_bytes: grpc.received_bytes,
            malformed: grpc.malformed,
        })
    }
}

/// Calls of gRPC; `None` if calls are others.
pub(crate) fn grpc<'a>(summary: &'a Summary, figures: Option<&GrpcFigures>) -> Option<Section<'a>> {
    let (grpc, figures) = (summary.grpc.as_deref()?, figures?);
    let section = Section::new("grpc", "gRPC")
        .line(("gRPC calls", "Calls"), fates(grpc, figures))
        .line("untold", untold(figures))
        .line("malformed", malformed(figures))
        .line(("gRPC messages", "Messages"), messages(figures))
        .reasons("told", &grpc.messages);
    Some(section)
}

/// Calls by their status, in a line.
fn fates(grpc: &GrpcSummary, figures: &GrpcFigures) -> String {
    let mut parts: Vec<String> = grpc
        .statuses
        .by_frequency()
        .into_iter()
        .map(|(name, calls)| format!("{name} {}", count(calls)))
        .collect();
    if figures.unanswered > 0 {
        parts.push(format!("{} without a complete reply", count(figures.unanswered)));
    }
    if parts.is_empty() { "none ended".to_owned() } else { parts.join(", ") }
}

/// Statuses that servers did not tell, in a line; empty if there are none.
fn untold(figures: &GrpcFigures) -> String {
    match figures.untold {
        0 => String::new(),
        1 => "1 of these statuses was not told: it follows from that of HTTP".to_owned(),
        untold => {
            format!("{} of these statuses were not told: they follow from those of HTTP", count(untold))
        }
    }
}

/// Replies that cannot be read, in a line; empty if there are none.
fn malformed(figures: &GrpcFigures) -> String {
    match figures.malformed {
        0 => String::new(),
        1 => "1 reply with bytes that are no message, or part of one".to_owned(),
        replies => format!("{} replies with bytes that are no message, or part of one", count(replies)),
    }
}

/// Messages in a line.
fn messages(figures: &GrpcFigures) -> String {
    let size = mean_size(figures).map_or_else(String::new, |size| format!(", {size} B each (mean)"));
    format!("{} received{size}", count(figures.received))
}

/// Mean size of a message in bytes, if any came.
#[must_use]
pub fn mean_size(figures: &GrpcFigures) -> Option<String> {
    (figures.received > 0).then(|| grouped(ratio(figures.received_bytes as f64, figures.received as f64), 1))
}

/// Share of calls with status OK.
#[must_use]
pub fn ok_share(figures: &GrpcFigures) -> String {
    figures.ok_share.map_or_else(|| "n/a".to_owned(), percent)
}

/// The line of the answer: statuses, and what is said most often about others than OK.
pub(crate) fn answer_line(grpc: &GrpcSummary, figures: &GrpcFigures) -> String {
    let mut text = fates(grpc, figures);
    if let Some((about, _)) = grpc.messages.by_frequency().first()
        && about.contains(": ")
    {
        text += &format!("; {about}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        let mut grpc = GrpcSummary { unanswered: 2, untold: 1, malformed: 1, ..GrpcSummary::default() };
        grpc.statuses.add_count("OK", 1995);
        grpc.statuses.add_count("NOT_FOUND", 3);
        grpc.messages.add_count("NOT_FOUND: no such thing", 3);
        (grpc.received, grpc.received_bytes) = (1995, 21_945);
        Summary { grpc: Some(Box::new(grpc)), ..Summary::default() }
    }

    #[test]
    fn all_is_said_of_calls() {
        let summary = summary();
        let figures = GrpcFigures::of(&summary);
        insta::assert_snapshot!(grpc(&summary, figures.as_ref()).unwrap(), @r#"
        gRPC calls      OK 1,995, NOT_FOUND 3, 2 without a complete reply
        untold          1 of these statuses was not told: it follows from that of HTTP
        malformed       1 reply with bytes that are no message, or part of one
        gRPC messages   1,995 received, 11.0 B each (mean)
        told            NOT_FOUND: no such thing 3
        "#);
        assert!(grpc(&Summary::default(), None).is_none());
        let (grpc, figures) = (summary.grpc.as_deref().unwrap(), figures.unwrap());
        assert_eq!((figures.calls, figures.ok, figures.failed), (2000, 1995, 3));
        assert_eq!(figures.ok_share, Some(0.9975));
        assert_eq!(
            answer_line(grpc, &figures),
            "OK 1,995, NOT_FOUND 3, 2 without a complete reply; NOT_FOUND: no such thing"
        );
    }

    #[test]
    fn a_run_in_which_no_call_ended_has_no_share() {
        let summary = Summary { grpc: Some(Box::default()), ..Summary::default() };
        let figures = GrpcFigures::of(&summary).unwrap();
        assert_eq!((figures.ok_share, ok_share(&figures)), (None, "n/a".to_owned()));
        assert_eq!(answer_line(&GrpcSummary::default(), &figures), "none ended");
    }
}
