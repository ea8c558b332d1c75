//! A list with at least one element.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A list with at least one element. Elements can be added but not removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct NonEmpty<T>(Vec<T>);

/// An empty list where at least one element is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("expected at least one element, got none")]
pub struct EmptyList;

impl<T> NonEmpty<T> {
    /// Returns the first element.
    #[must_use]
    pub fn first(&self) -> &T {
        &self.0[0]
    }

    /// Returns the first element and the rest.
    #[must_use]
    pub fn split_first(&self) -> (&T, &[T]) {
        (&self.0[0], &self.0[1..])
    }

    /// Returns the last element.
    #[must_use]
    pub fn last(&self) -> &T {
        &self.0[self.0.len() - 1]
    }

    /// Returns the last element, mutably.
    pub fn last_mut(&mut self) -> &mut T {
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// Appends an element.
    pub fn push(&mut self, element: T) {
        self.0.push(element);
    }

    /// Returns the first `count` elements, at least one.
    #[must_use]
    pub fn take(mut self, count: usize) -> Self {
        self.0.truncate(count.max(1));
        self
    }

    /// Returns a list with `change` applied to each element.
    #[must_use]
    pub fn map<'a, U>(&'a self, change: impl FnMut(&'a T) -> U) -> NonEmpty<U> {
        NonEmpty(self.0.iter().map(change).collect())
    }

    /// Returns a list with `change` applied to each element, unless it fails for one.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn try_map<'a, U, E>(&'a self, change: impl FnMut(&'a T) -> Result<U, E>) -> Result<NonEmpty<U>, E> {
        Ok(NonEmpty(self.0.iter().map(change).collect::<Result<_, _>>()?))
    }

    /// Returns the elements as a `Vec`.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        self.0
    }
}

impl<T> TryFrom<Vec<T>> for NonEmpty<T> {
    type Error = EmptyList;

    fn try_from(list: Vec<T>) -> Result<Self, EmptyList> {
        if list.is_empty() { Err(EmptyList) } else { Ok(Self(list)) }
    }
}

/// Compilation fails for an array without elements.
impl<T, const N: usize> From<[T; N]> for NonEmpty<T> {
    fn from(elements: [T; N]) -> Self {
        const { assert!(N > 0, "a list needs an element") }
        Self(elements.into())
    }
}

impl<T> Deref for NonEmpty<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for NonEmpty<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> AsRef<[T]> for NonEmpty<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T: PartialEq<U>, U, const N: usize> PartialEq<[U; N]> for NonEmpty<T> {
    fn eq(&self, other: &[U; N]) -> bool {
        self.0 == other
    }
}

impl<'a, T> IntoIterator for &'a NonEmpty<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut NonEmpty<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<T> IntoIterator for NonEmpty<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T: JsonSchema> JsonSchema for NonEmpty<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("NonEmpty_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Vec::<T>::json_schema(generator);
        schema.insert("minItems".to_owned(), 1.into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_elements_is_refused() {
        assert_eq!(NonEmpty::<u8>::try_from(Vec::new()), Err(EmptyList));
        let read = serde_json::from_str::<NonEmpty<u8>>("[]").unwrap_err().to_string();
        assert!(read.starts_with("expected at least one element, got none"), "{read}");
    }

    #[test]
    fn it_is_saved_as_a_list() {
        let list = NonEmpty::from([1, 2]);
        assert_eq!(serde_json::to_string(&list).unwrap(), "[1,2]");
        assert_eq!(serde_json::from_str::<NonEmpty<u8>>("[1,2]").unwrap(), list);
    }

    #[test]
    fn at_least_one_element_always_stays() {
        let mut list = NonEmpty::from([1]);
        list.push(2);
        assert_eq!((*list.first(), *list.last()), (1, 2));
        assert_eq!(list.map(|number| number * 10), NonEmpty::from([10, 20]));
        assert_eq!(list.take(0), NonEmpty::from([1]));
    }
}
