//! The section on the ranks of a fleet.

use httperf_report::cut;
use httperf_report::fleet::{Fleet, TITLES, sent_away};
use httperf_report::result::Document;

use super::tables::{NAME_LENGTH, Row, Table};

/// Maximum number of ranks listed.
const RANKS_MAX: usize = 1000;

/// Ranks that carried out a run together.
pub(super) struct Ranks {
    pub(super) agreement: Option<String>,
    pub(super) table: Table,
    /// Ranks whose results are missing, and strangers.
    pub(super) notes: Vec<String>,
}

impl Ranks {
    pub(super) fn of(document: &Document) -> Option<Self> {
        let fleet: &Fleet = document.fleet.as_ref()?;
        let row = |[rank, host, cells @ ..]: [String; 7]| Row {
            name: rank,
            about: "",
            cells: std::iter::once(cut(&host, NAME_LENGTH)).chain(cells).collect(),
        };
        let missing = fleet.losses().into_iter().map(|loss| format!("missing: {}", cut(&loss, NAME_LENGTH)));
        let strangers = (fleet.strangers > 0).then(|| sent_away(fleet.strangers));
        Some(Self {
            agreement: fleet.agreement(),
            table: Table {
                caption: "Ranks; a clock is compared with that of rank 0",
                head: TITLES.to_vec(),
                rows: fleet.rows().into_iter().take(RANKS_MAX).map(row).collect(),
            },
            notes: missing.take(RANKS_MAX).chain(strangers).collect(),
        })
    }
}
