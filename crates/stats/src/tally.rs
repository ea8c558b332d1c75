//! Counts by name, where a peer may choose the names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::Merge;

/// Number of names that a [`Tally`] tells apart. All error codes of HTTP/2 and HTTP/3 and all alerts of TLS with a name fit.
const NAMES_MAX: usize = 64;

/// Number of bytes that are kept of a name.
const NAME_SIZE: usize = 256;

/// Name that stands for all names beyond the first [`NAMES_MAX`].
const OTHER: &str = "other";

/// Number of occurrences by name.
///
/// Whoever chooses the names, there are no more than 64 of them, and `other`. Which ones are kept follows from the
/// names alone, not from their order: those without digits first, since these are the words of standards and our own; then
/// those with the numbers of unknown codes; either in alphabetical order. So parts of a run add up in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Tally {
    counts: BTreeMap<Cow<'static, str>, u64>,
}

impl Tally {
    /// Counts one occurrence.
    pub fn add(&mut self, name: impl Into<Cow<'static, str>>) {
        self.add_count(name, 1);
    }

    /// Counts several occurrences.
    pub fn add_count(&mut self, name: impl Into<Cow<'static, str>>, count: u64) {
        let name = shortened(name.into());
        if let Some(known) = self.counts.get_mut(&name) {
            *known += count;
            return;
        }
        self.counts.insert(name, count);
        while self.counts.len() > NAMES_MAX + usize::from(self.counts.contains_key(OTHER)) {
            let named = self.counts.keys().filter(|name| *name != OTHER);
            let Some(last) = named.max_by(|one, next| rank(one).cmp(&rank(next))).cloned() else { return };
            let count = self.counts.remove(&last).unwrap_or_default();
            *self.counts.entry(Cow::Borrowed(OTHER)).or_default() += count;
        }
    }

    /// Number of occurrences of a name.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Number of occurrences of all names.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Names with their counts, most frequent first, equal ones in alphabetical order.
    #[must_use]
    pub fn by_frequency(&self) -> Vec<(&str, u64)> {
        let mut names: Vec<(&str, u64)> =
            self.counts.iter().map(|(name, count)| (name.as_ref(), *count)).collect();
        names.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        names
    }
}

impl Merge for Tally {
    /// Adds the counts of `other`.
    fn merge(&mut self, other: &Self) {
        other.counts.iter().for_each(|(name, count)| self.add_count(name.clone(), *count));
    }
}

/// Place of a name in the order in which names are kept.
fn rank(name: &str) -> (bool, &str) {
    (name.bytes().any(|byte| byte.is_ascii_digit()), name)
}

fn shortened(name: Cow<'static, str>) -> Cow<'static, str> {
    if name.len() <= NAME_SIZE {
        return name;
    }
    let room = NAME_SIZE - '…'.len_utf8();
    let end = (0..=room).rev().find(|&end| name.is_char_boundary(end)).unwrap_or_default();
    Cow::Owned(format!("{}…", &name[..end]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(names: &[String]) -> Tally {
        let mut tally = Tally::default();
        names.iter().for_each(|name| tally.add(name.clone()));
        tally
    }

    #[test]
    fn a_peer_that_invents_names_fills_no_memory() {
        let codes: Vec<String> = (0..100_000_u32).map(|code| format!("{code:#x}")).collect();
        let mut tally = of(&codes);
        tally.add("INTERNAL_ERROR");
        assert_eq!((tally.counts.len(), tally.total()), (NAMES_MAX + 1, 100_001));
        assert_eq!(tally.count("INTERNAL_ERROR"), 1, "a name of the standard has its place");
        assert_eq!(tally.count(OTHER), 100_001 - NAMES_MAX as u64);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let mut tally = of(&["ä".repeat(1000)]);
        tally.merge(&tally.clone());
        let [(name, 2)] = tally.by_frequency()[..] else { panic!("{tally:?}") };
        assert_eq!(name, format!("{}…", "ä".repeat(126)));
    }

    proptest! {
        #[test]
        fn parts_add_up_in_any_order_to_the_whole(names in prop::collection::vec("[a-c0-9]{1,2}", 0..400), at in 0..400_usize) {
            let whole = of(&names);
            prop_assert!(whole.counts.len() <= NAMES_MAX + 1);
            prop_assert_eq!(whole.total(), names.len() as u64);
            let (one, other) = names.split_at(at.min(names.len()));
            for [first, second] in [[one, other], [other, one]] {
                let mut sum = of(first);
                sum.merge(&of(second));
                prop_assert_eq!(&sum, &whole);
            }
        }
    }
}
