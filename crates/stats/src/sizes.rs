//! Distribution of a size: exact extremes and counts by class.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;

/// Distribution of sizes in bytes, to 3 significant digits, with the exact maximum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// Number of sizes by their class, which is the size rounded down to 3 significant digits.
    classes: BTreeMap<u64, u64>,
    /// Maximum; 0 if there are none.
    max: u64,
}

impl Sizes {
    /// Adds a size.
    pub fn add(&mut self, size: u64) {
        *self.classes.entry(class_of(size)).or_default() += 1;
        self.max = self.max.max(size);
    }

    /// Number of sizes.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.classes.values().sum()
    }

    /// Maximum; `None` if there are no sizes.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (!self.classes.is_empty()).then_some(self.max)
    }

    /// Median, to 3 significant digits: the least class at or below which half of the sizes lie; `None` if there are
    /// none.
    #[must_use]
    pub fn median(&self) -> Option<u64> {
        let half = self.count().div_ceil(2);
        let mut count = 0;
        let reaches_half = |&(_, of_class): &(&u64, &u64)| {
            count += of_class;
            count >= half
        };
        self.classes.iter().find(reaches_half).map(|(&class, _)| class)
    }
}

merge_fields!(Sizes {
    add: classes;
    max: max;
});

/// Rounds down to 3 significant digits.
fn class_of(size: u64) -> u64 {
    let step = 10_u64.pow(size.checked_ilog10().unwrap_or(0).saturating_sub(2));
    size / step * step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    fn of(sizes: &[u64]) -> Sizes {
        let mut all = Sizes::default();
        sizes.iter().for_each(|&size| all.add(size));
        all
    }

    #[test]
    fn sizes_keep_three_digits_and_their_maximum() {
        for (size, class) in
            [(0, 0), (7, 7), (999, 999), (1234, 1230), (u64::MAX, 18_400_000_000_000_000_000)]
        {
            assert_eq!(class_of(size), class);
        }
        let some = of(&[12_345, 1, 14_520, 14_529, 99_999]);
        assert_eq!((some.count(), some.median(), some.max()), (5, Some(14_500), Some(99_999)));
        assert_eq!((of(&[4, 2]).median(), of(&[]).median(), of(&[]).max()), (Some(2), None, None));
    }

    #[test]
    fn parts_merge_into_the_whole_and_survive_saving() {
        let sizes: Vec<u64> = (1..400).map(|size| size * size * 17).collect();
        let mut parts = of(&sizes[200..]);
        parts.merge(&of(&sizes[..200]));
        parts.merge(&Sizes::default());
        assert_eq!(parts, of(&sizes));
        let json = serde_json::to_string(&parts).unwrap();
        assert_eq!(serde_json::from_str::<Sizes>(&json).unwrap(), parts);
    }
}
