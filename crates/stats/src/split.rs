//! Calls grouped by request target or by status.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::{Merge, merge_fields};
use crate::{CallOutcome, Sample, Timing};

/// Maximum number of groups; calls of further groups are counted together.
const GROUPS_MAX: usize = 100;

/// Calls by group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Groups {
    /// Groups by name. Invalid UTF-8 in a name is replaced.
    groups: BTreeMap<String, Group>,
    /// Calls of further groups, seen when there were already 100.
    other: Group,
}

/// The calls of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Number of calls by [`CallOutcome`], in the order of its variants.
    #[serde(with = "crate::call::by_outcome")]
    #[schemars(with = "Vec<u64>")]
    pub outcomes: [u64; CallOutcome::ALL.len()],
    /// Latency of completed calls, without unexpected replies.
    pub latency: Timing,
    /// Service time of the same calls: from the first byte sent to the end.
    pub service: Timing,
}

impl Groups {
    /// Groups by name, and last the remaining calls, if there are any.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, &Group)> {
        let named = self.groups.iter().map(|(name, group)| (Some(name.as_str()), group));
        let has_others = self.other.calls() > 0;
        named.chain(has_others.then_some((None, &self.other)))
    }

    pub(crate) fn add(&mut self, name: &[u8], sample: &Sample<'_>) {
        self.group(&String::from_utf8_lossy(name)).add(sample);
    }

    fn group(&mut self, name: &str) -> &mut Group {
        if !self.groups.contains_key(name) {
            if self.groups.len() >= GROUPS_MAX {
                return &mut self.other;
            }
            self.groups.insert(name.to_owned(), Group::default());
        }
        self.groups.get_mut(name).expect("it was inserted if it was missing")
    }
}

impl Merge for Groups {
    fn merge(&mut self, other: &Self) {
        for (name, group) in &other.groups {
            self.groups.entry(name.clone()).or_default().merge(group);
        }
        self.other.merge(&other.other);
        // Redirects and pages name targets too: many workers must not keep many times as many. The names alone decide
        // which ones stay, so that parts add up in any order.
        while self.groups.len() > GROUPS_MAX
            && let Some((_, beyond)) = self.groups.pop_last()
        {
            self.other.merge(&beyond);
        }
    }
}

impl Group {
    /// Number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    pub(crate) fn add(&mut self, sample: &Sample<'_>) {
        self.outcomes[sample.outcome() as usize] += 1;
        if sample.outcome().is_completed() {
            self.latency.add(sample.latency());
            self.service.add(sample.service().unwrap_or_default());
        }
    }
}

merge_fields!(Group {
    add: outcomes, latency, service;
});

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Instant;

    fn sample(status: Option<u16>) -> Sample<'static> {
        let at = Instant::from_nanos;
        Sample {
            call: 0,
            uri: b"/",
            status,
            intended: at(0),
            sent: Some(at(10_000)),
            stalled: Duration::ZERO,
            first_byte: None,
            done: at(30_000),
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
            kernel: None,
            step: None,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
        }
    }

    #[test]
    fn many_workers_keep_no_more_groups_than_one() {
        let worker = |from: u32| {
            let mut groups = Groups::default();
            (from..from + 80)
                .for_each(|name| groups.add(format!("/{name:04}").as_bytes(), &sample(Some(200))));
            groups
        };
        let workers: Vec<Groups> = (0..20).map(|number| worker(number * 40)).collect();
        let sum = |workers: Vec<&Groups>| {
            let mut sum = Groups::default();
            workers.into_iter().for_each(|worker| sum.merge(worker));
            sum
        };
        let all = sum(workers.iter().collect());
        assert_eq!(all, sum(workers.iter().rev().collect()));
        assert_eq!((all.groups.len(), all.iter().map(|(_, group)| group.calls()).sum::<u64>()), (100, 1600));
    }

    #[test]
    fn calls_are_counted_with_their_group() {
        let mut groups = Groups::default();
        groups.add(b"/a", &sample(Some(200)));
        groups.add(b"/a", &sample(None));
        groups.add(b"/b\xff", &sample(Some(500)));
        let listed: Vec<_> = groups
            .iter()
            .map(|(name, group)| (name.unwrap(), group.outcomes, group.latency.moments.count()))
            .collect();
        assert_eq!(listed, [("/a", [1, 0, 1, 0], 1), ("/b\u{fffd}", [0, 1, 0, 0], 1)]);
    }

    #[test]
    fn calls_beyond_a_hundred_groups_are_counted_together() {
        let mut groups = Groups::default();
        for index in 0..150 {
            groups.add(format!("/{index}").as_bytes(), &sample(Some(200)));
        }
        let (name, others) = groups.iter().last().unwrap();
        assert_eq!((groups.iter().count(), name, others.calls()), (101, None, 50));
    }
}
