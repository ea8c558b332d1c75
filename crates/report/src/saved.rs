//! Any document that a command has written.

use crate::capacity::CapacityReport;
use crate::compare::Comparison;
use crate::forms::Report;
use crate::read::{Kind, ReadError};
use crate::result::Document;
use crate::sweep::Sweep;
use crate::tls_lab::Results;

/// A document of any kind.
#[derive(Clone, Debug)]
pub enum Saved {
    /// Result of a run.
    Result(Box<Document>),
    /// Runs at several rates.
    Sweep(Box<Sweep>),
    /// Search for a capacity.
    Capacity(Box<CapacityReport>),
    /// Comparison.
    Comparison(Box<Comparison>),
    /// Variants of TLS.
    TlsLab(Box<Results>),
}

impl Saved {
    /// Reads a document of any kind. A file that is none of them is read as a result, for the sake of its error.
    ///
    /// # Errors
    /// If it is none of ours, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        Ok(match Kind::of(json)?.unwrap_or(Kind::Result) {
            Kind::Result => Self::Result(Box::new(Document::read(json)?)),
            Kind::Sweep => Self::Sweep(Box::new(Sweep::read(json)?)),
            Kind::Capacity => Self::Capacity(Box::new(CapacityReport::read(json)?)),
            Kind::Comparison => Self::Comparison(Box::new(Comparison::read(json)?)),
            Kind::TlsLab => Self::TlsLab(Box::new(Results::read(json)?)),
        })
    }

    /// The document as something to show.
    #[must_use]
    pub fn report(&self) -> &dyn Report {
        match self {
            Self::Result(document) => &**document,
            Self::Sweep(sweep) => &**sweep,
            Self::Capacity(capacity) => &**capacity,
            Self::Comparison(comparison) => &**comparison,
            Self::TlsLab(results) => &**results,
        }
    }
}
