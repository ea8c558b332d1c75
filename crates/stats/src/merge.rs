//! Adding up what the parts of a run measured.

use std::collections::BTreeMap;

/// Measurements of parts of a run, which add up.
///
/// Parts give the same whole in any order and grouping, where a type does not say otherwise.
pub trait Merge {
    /// Adds what another part measured.
    fn merge(&mut self, other: &Self);
}

/// Implements [`Merge`] by a rule for each field, or a method of another name. A field without a rule does not compile.
///
/// A rule is a function of the own value and that of the other part: one of [`rule`], or one of the module at hand.
macro_rules! merge_fields {
    (fn $name:ident of $type:ty { $($rule:path: $($field:ident),+);+ $(;)? }) => {
        impl $type {
            fn $name(&mut self, other: &Self) {
                use $crate::merge::rule::*;
                let Self { $($($field: _),+),+ } = self;
                $($($rule(&mut self.$field, &other.$field);)+)+
            }
        }
    };
    ($type:ty { $($rule:path: $($field:ident),+);+ $(;)? }) => {
        impl $crate::merge::Merge for $type {
            fn merge(&mut self, other: &Self) {
                use $crate::merge::rule::*;
                let Self { $($($field: _),+),+ } = self;
                $($($rule(&mut self.$field, &other.$field);)+)+
            }
        }
    };
}

pub(crate) use merge_fields;

/// Rules for fields.
pub(crate) mod rule {
    use std::ops::AddAssign;

    use super::Merge;

    /// Both together, by the rules of their type.
    pub(crate) fn add<T: Merge>(own: &mut T, other: &T) {
        own.merge(other);
    }

    /// The sum, stated where a maximum would be as plausible: of durations and of processors.
    pub(crate) fn sum<T: AddAssign + Copy>(own: &mut T, other: &T) {
        *own += *other;
    }

    /// The greater one: of counts, of times that went by side by side, or of what may be absent.
    pub(crate) fn max<T: Ord + Copy>(own: &mut T, other: &T) {
        *own = (*own).max(*other);
    }

    /// The lesser one of those that are known.
    pub(crate) fn least<T: Ord + Clone>(own: &mut Option<T>, other: &Option<T>) {
        if let Some(other) = other
            && own.as_ref().is_none_or(|own| other < own)
        {
            *own = Some(other.clone());
        }
    }

    /// None here: whoever merges does it together with other fields.
    pub(crate) fn apart<T>(_own: &mut T, _other: &T) {}
}

impl Merge for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }
}

impl<A: Merge, B: Merge> Merge for (A, B) {
    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0);
        self.1.merge(&other.1);
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge(other));
    }
}

/// Place by place. Parts have as many places, since they follow the same plan.
impl<T: Merge> Merge for Vec<T> {
    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(own, other)| own.merge(other));
    }
}

impl<K: Ord + Clone, T: Merge + Default> Merge for BTreeMap<K, T> {
    fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(key, other)| self.entry(key.clone()).or_default().merge(other));
    }
}

impl<T: Merge> Merge for Box<T> {
    fn merge(&mut self, other: &Self) {
        T::merge(self, other);
    }
}

impl<T: Merge + Clone> Merge for Option<T> {
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Some(own), Some(other)) => own.merge(other),
            (own @ None, Some(other)) => *own = Some(other.clone()),
            (_, None) => {}
        }
    }
}
