//! A result with its name: the input of a comparison and of its remarks.

use crate::result::Document;

/// A result and its name.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Name, such as that of its file.
    pub name: &'a str,
    /// The result.
    pub document: &'a Document,
}
