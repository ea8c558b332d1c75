//! Forms of documents: what every kind of document has in common for those who show it.

use crate::colours::Colours;
use crate::grid::fitted;
use crate::read::Kind;
use crate::table::narrowed;

/// A form of a document, as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// For people at a terminal.
    #[default]
    Text,
    /// The document itself.
    Json,
    /// Page with charts.
    Html,
    /// Table for spreadsheets.
    Csv,
    /// The same with tabs.
    Tsv,
    /// Tables for a pull request.
    Markdown,
    /// Test cases for CI systems.
    Junit,
    /// Distribution of the latency for HdrHistogram's plotters.
    Hgrm,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 8] =
        [Self::Text, Self::Json, Self::Html, Self::Csv, Self::Tsv, Self::Markdown, Self::Junit, Self::Hgrm];

    /// Name, such as `csv`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Html => "html",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Markdown => "markdown",
            Self::Junit => "junit",
            Self::Hgrm => "hgrm",
        }
    }

    /// Form with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// Properties of the place where text is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Screen {
    /// Number of columns; `None` for a file or a pipe, whose lines may have any length.
    pub columns: Option<usize>,
    /// Colours.
    pub colours: Colours,
}

impl Screen {
    /// Breaks lines that are longer than those of the screen.
    pub(crate) fn fitted(self, text: String) -> String {
        match self.columns {
            Some(columns) => fitted(&narrowed(&text, columns), columns),
            None => text,
        }
    }
}

/// A document as a file keeps it.
#[derive(Clone, Debug)]
pub struct Lasting {
    /// JSON.
    pub json: String,
    /// True if something in it is secret, so that nobody else may read the file.
    pub has_secrets: bool,
}

/// A document as text and as data. Each form is a pure function of it.
pub trait Written {
    /// Kind of document.
    fn kind(&self) -> Kind;

    /// Text so far. While measurements are added to the document, it grows at its end only, so that it can be shown line by
    /// line.
    fn body(&self, screen: Screen) -> String;

    /// Text after the body: what follows from all measurements.
    fn ending(&self, screen: Screen) -> String;

    /// The document in a form other than text and page, without what is secret; `None` if its kind has no such form.
    fn written(&self, form: Form) -> Option<String>;

    /// The document as a file keeps it, so that it can be taken up again: JSON, with what is secret if anything is.
    fn lasting(&self) -> Lasting;

    /// Text for a file: without colours, in lines of any length.
    fn plain_text(&self) -> String {
        self.body(Screen::default()) + &self.ending(Screen::default())
    }
}
