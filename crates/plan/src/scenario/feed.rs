//! Feeds: rows of values from a file.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Value;
use crate::Sha256;

/// A source of rows of values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feed {
    /// The name.
    pub name: String,
    /// The path of the file.
    #[serde(with = "crate::text::path")]
    #[schemars(with = "crate::text::Text")]
    pub path: PathBuf,
    /// The digest of the file. `rerun` refuses a file with another one.
    pub sha256: Sha256,
    /// The order in which visits take rows.
    pub order: FeedOrder,
    /// The action when a unique feed has no row left.
    pub at_end: AtEnd,
    /// The slots of the variables that a row sets, one for each column.
    pub slots: Vec<u32>,
    /// The rows. Not saved in results: `rerun` reads the file again.
    #[serde(skip)]
    pub rows: FeedRows,
}

/// The rows of a feed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FeedRows {
    /// The values of all rows, one row after the other; `None` leaves the variable unset.
    values: Arc<[Option<Value>]>,
    columns: usize,
}

/// The order in which visits take the rows of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeedOrder {
    /// Each row once, in the order of the visits that take one.
    Unique,
    /// Any row, each equally likely.
    Random,
    /// In order, and again from the first after the last.
    Cycle,
}

/// The action when a unique feed has no row left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// No further visit starts.
    Stop,
    /// Rows are used again from the first.
    Cycle,
}

impl FeedRows {
    /// Creates rows of `columns` values each, one row after the other. Values that do not fill a row are dropped.
    #[must_use]
    pub fn new(columns: usize, values: Vec<Option<Value>>) -> Self {
        let mut values = values;
        values.truncate(values.len().checked_div(columns).unwrap_or(0) * columns);
        Self { values: values.into(), columns }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.values.len().checked_div(self.columns).unwrap_or(0) as u64
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, index: u64) -> &[Option<Value>] {
        let start = usize::try_from(index).expect("rows fit in memory") * self.columns;
        &self.values[start..start + self.columns]
    }
}
