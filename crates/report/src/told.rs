//! The server's own words: what it says most often about errors.

use httperf_stats::{Summary, Tally};

use crate::number::count;
use crate::streams::{self, StreamFigures};

/// Words of the server of a run, a sentence for each of their forms: errors of a model, answers that could not be read, and reasons why
/// WebSockets were closed. What servers of gRPC say stands beside their statuses.
pub(crate) fn words(summary: &Summary, figures: Option<&StreamFigures>) -> Vec<String> {
    let model = summary.streams.as_deref().and_then(|streams| streams.model.as_deref());
    let errors = model.and_then(|model| most_frequent(&model.errors, |_| true));
    let unread = figures.and_then(|figures| figures.model.as_ref()).and_then(streams::unread);
    let has_reason = |close: &str| close.starts_with("server ") && close.contains(": ");
    let closes = summary.websockets.as_deref();
    let closes = closes.and_then(|websockets| most_frequent(&websockets.closes, has_reason));
    let refusals = summary.websockets.as_deref();
    let refusals = refusals.and_then(|websockets| most_frequent(&websockets.refusals, |_| true));
    let refusals = refusals.map(|words| format!("openings were refused with {words}"));
    [errors, unread, refusals, closes].into_iter().flatten().collect()
}

/// The most frequent of the names that count, with how often it was said.
fn most_frequent(names: &Tally, counts: impl Fn(&str) -> bool) -> Option<String> {
    let all = names.by_frequency();
    let mut all = all.iter().filter(|(name, _)| counts(name));
    let (name, times) = all.next()?;
    let others = match all.count() {
        0 => String::new(),
        others => format!("; {} more", count(others as u64)),
    };
    Some(format!("{name} ({}{others})", count(*times)))
}

#[cfg(test)]
mod tests {
    use httperf_stats::{ModelSummary, StreamSummary, WebSocketSummary};

    use super::*;

    #[test]
    fn what_is_said_most_often_is_told() {
        let mut model = ModelSummary::default();
        model.errors.add_count("slow down (Retry-After: 2)", 5);
        model.errors.add_count("no such model", 1);
        let mut websockets = WebSocketSummary::default();
        websockets.refusals.add_count("503 Too many users (Retry-After: 5)", 2);
        websockets.closes.add_count("client 1000 (normal closure)", 9);
        websockets.closes.add_count("server 1013 (try again later): full", 3);
        let summary = Summary {
            streams: Some(Box::new(StreamSummary {
                model: Some(Box::new(model)),
                ..StreamSummary::default()
            })),
            websockets: Some(Box::new(websockets)),
            ..Summary::default()
        };
        let expected = [
            "slow down (Retry-After: 2) (5; 1 more)",
            "openings were refused with 503 Too many users (Retry-After: 5) (2)",
            "server 1013 (try again later): full (3)",
        ];
        assert_eq!(words(&summary, None), expected);
        assert!(words(&Summary::default(), None).is_empty());
    }
}
