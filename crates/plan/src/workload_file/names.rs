//! Variables: constants, and the slots of those that visits set.

use std::collections::{BTreeMap, BTreeSet};

use super::check::nearest;
use crate::scenario::{Value, Variable};

/// The variables of a workload.
#[derive(Debug, Default)]
pub(super) struct Names {
    constants: BTreeMap<String, Value>,
    /// The names that captures, feeds, steps and options of requests set during a visit.
    assigned: BTreeSet<String>,
    slots: BTreeMap<String, u32>,
    variables: Vec<Variable>,
    /// The names for which a problem says that nothing sets them.
    unset: BTreeSet<String>,
    /// The names that the files use or set.
    known: BTreeSet<String>,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// The same value in all visits.
    Constant(Value),
    /// The slot of a variable.
    Slot(u32),
}

impl Names {
    /// Defines a constant of a file, or replaces it.
    pub(super) fn define(&mut self, name: &str, value: Value) {
        self.note(name);
        self.give(name, value);
    }

    /// Defines a constant of the command line, or replaces it.
    pub(super) fn give(&mut self, name: &str, value: Value) {
        self.constants.insert(name.to_owned(), value);
    }

    /// Returns the names that the files use or set.
    pub(super) fn known(&self) -> Vec<String> {
        self.known.iter().cloned().collect()
    }

    fn note(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
        }
    }

    /// Notes that visits set this variable. Its constant, if it has one, is its value at their start.
    pub(super) fn assign(&mut self, name: &str) {
        self.note(name);
        self.assigned.insert(name.to_owned());
    }

    /// Returns the meaning of a name; `None` if nothing ever sets it.
    pub(super) fn meaning(&mut self, name: &str) -> Option<Meaning> {
        self.note(name);
        match self.constants.get(name) {
            Some(value) if !self.assigned.contains(name) => Some(Meaning::Constant(value.clone())),
            _ => self.slot(name).map(Meaning::Slot),
        }
    }

    /// Returns the slot of a variable, also of a constant; `None` if nothing ever sets it.
    pub(super) fn slot(&mut self, name: &str) -> Option<u32> {
        self.note(name);
        if let Some(&slot) = self.slots.get(name) {
            return Some(slot);
        }
        let initial = self.constants.get(name);
        if initial.is_none() && !self.assigned.contains(name) {
            return None;
        }
        let slot = u32::try_from(self.variables.len()).ok()?;
        self.variables.push(Variable { name: name.to_owned(), initial: initial.cloned() });
        self.slots.insert(name.to_owned(), slot);
        Some(slot)
    }

    /// Returns the variables so far, in the order of their slots.
    pub(super) fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Notes a use of a name that nothing sets; returns true if it is the first.
    pub(super) fn is_first_unset(&mut self, name: &str) -> bool {
        self.unset.insert(name.to_owned())
    }

    /// Returns the known name that was probably meant.
    pub(super) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.constants.keys().chain(&self.assigned).map(String::as_str))
    }

    /// Returns the variables in the order of their slots.
    pub(super) fn into_variables(self) -> Vec<Variable> {
        self.variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_that_visits_set_is_only_their_initial_value() {
        let mut names = Names::default();
        names.define("a", Value::Integer(1));
        names.define("b", Value::Integer(2));
        names.assign("b");
        names.assign("c");
        assert_eq!(names.meaning("a"), Some(Meaning::Constant(Value::Integer(1))));
        assert_eq!(names.meaning("c"), Some(Meaning::Slot(0)));
        assert_eq!(names.meaning("b"), Some(Meaning::Slot(1)));
        assert_eq!(names.meaning("d"), None);
        let variables = names.into_variables();
        let initial: Vec<_> = variables.iter().map(|variable| variable.initial.clone()).collect();
        assert_eq!(initial, [None, Some(Value::Integer(2))]);
    }
}
