//! Destinations of a command's document: options that are the same in every command that writes one.

use std::ffi::OsString;

use httperf_report::Form;
use httperf_report::headings::Names;

use super::args::STDOUT;
use super::grammar::{Opt, ParseStop, Value};
use super::names;
use super::values::{StdoutMeans, file};

/// Destinations of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outputs {
    /// `--format`, `--json`: what is printed on standard output.
    pub form: Form,
    /// Files, by what is written to them; the last of each kind counts.
    files: Vec<OutputName>,
    /// `--title` and `--label`.
    pub names: Names,
}

/// A file that an option names.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputName {
    /// The option, such as `--csv`.
    pub option: &'static str,
    /// Form of the document in it.
    pub form: FileForm,
    /// Name of the file.
    pub name: OsString,
}

/// Form of a document in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Text of some form.
    Text(Form),
    /// Picture.
    Svg,
    /// Picture.
    Png,
}

/// An option that writes a file, with the name of the file.
pub type NamedFile = (&'static str, OsString);

/// A file that is read, which nothing that is written may replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFile {
    /// The option that names it, if one does.
    pub option: Option<&'static str>,
    /// Its name.
    pub name: OsString,
}

impl ReadFile {
    /// A file that no option names.
    pub fn plain(name: impl Into<OsString>) -> Self {
        Self { option: None, name: name.into() }
    }
}

impl Outputs {
    /// The options that were given, with the names of their files.
    #[must_use]
    pub fn named_files(&self) -> Vec<NamedFile> {
        self.files.iter().map(|file| (file.option, file.name.clone())).collect()
    }

    /// All files.
    #[must_use]
    pub fn files(&self) -> &[OutputName] {
        &self.files
    }

    /// Name of the file for the document itself.
    #[must_use]
    pub fn document(&self) -> Option<&OsString> {
        let document = self.files.iter().find(|file| file.form == FileForm::Text(Form::Json))?;
        Some(&document.name)
    }

    /// Sets a file.
    pub fn set(&mut self, option: &'static str, form: FileForm, name: OsString) {
        self.files.retain(|file| file.form != form);
        self.files.push(OutputName { option, form, name });
    }

    fn take(&mut self, option: &'static str, form: FileForm, value: Value<'_>) -> Result<(), ParseStop> {
        let mut name = None;
        file(&mut name, value, StdoutMeans::Nothing)?;
        name.into_iter().for_each(|name| self.set(option, form, name));
        Ok(())
    }
}

/// Arguments of a command that writes a document, with the options for it.
pub trait TakesOutputs: Sized {
    /// Values of `--format`: names of forms, separated by `|`.
    const FORMATS: &'static str;

    /// More about `--output`.
    const OUTPUT_DETAILS: &'static [&'static str] = &[
        "While measurements go on, it is written again after each, and replaced as a whole each time, so that \
           little is lost if the program is killed. `httperf schema` describes it. `-` is standard output, as with \
           --json.",
    ];

    /// More about `--format`.
    const FORMAT_DETAILS: &'static [&'static str] =
        &["Default: text, whose rows appear as measurements are made."];

    /// Destinations of the document.
    fn outputs(&mut self) -> &mut Outputs;

    /// `--output`.
    const OUTPUT: Opt<Self> = Opt::with_value("output", "FILE", "writes the results as a JSON document")
        .common()
        .details(Self::OUTPUT_DETAILS)
        .apply(|args, value| {
            if value.os_str() == STDOUT {
                args.outputs().form = Form::Json;
                return Ok(());
            }
            args.outputs().take("--output", FileForm::Text(Form::Json), value)
        });

    /// `--json`.
    const JSON: Opt<Self> =
        Opt::flag("json", "prints the results as a JSON document").common().apply(|args, _| {
            args.outputs().form = Form::Json;
            Ok(())
        });

    /// `--html`.
    const HTML: Opt<Self> = Opt::with_value("html", "FILE", "writes a page with charts")
        .common()
        .details(&["One file that needs no network."])
        .apply(|args, value| args.outputs().take("--html", FileForm::Text(Form::Html), value));

    /// `--csv`.
    const CSV: Opt<Self> = Opt::with_value("csv", "FILE", "writes a table for spreadsheets")
        .details(&["The first line names the columns."])
        .apply(|args, value| args.outputs().take("--csv", FileForm::Text(Form::Csv), value));

    /// `--tsv`.
    const TSV: Opt<Self> = Opt::with_value("tsv", "FILE", "writes the same with tabs between the values")
        .apply(|args, value| args.outputs().take("--tsv", FileForm::Text(Form::Tsv), value));

    /// `--svg`.
    const SVG: Opt<Self> = Opt::with_value("svg", "FILE", "draws the results as SVG")
        .details(&["`httperf plot` draws a saved document in other sizes, and for dark pages."])
        .apply(|args, value| args.outputs().take("--svg", FileForm::Svg, value));

    /// `--png`.
    const PNG: Opt<Self> = Opt::with_value("png", "FILE", "draws the results as PNG")
        .apply(|args, value| args.outputs().take("--png", FileForm::Png, value));

    /// `--title`.
    const TITLE: Opt<Self> = Opt::with_value("title", "TEXT", names::TITLE_HELP)
        .details(names::TITLE_DETAILS)
        .apply(|args, value| names::title(&mut args.outputs().names, value));

    /// `--label`.
    const LABEL: Opt<Self> = Opt::with_value("label", "TEXT", names::LABEL_HELP)
        .details(names::LABEL_DETAILS)
        .apply(|args, value| names::label(&mut args.outputs().names, value));

    /// `--junit`.
    const JUNIT: Opt<Self> =
        Opt::with_value("junit", "FILE", "writes test cases as JUnit XML, for CI systems")
            .apply(|args, value| args.outputs().take("--junit", FileForm::Text(Form::Junit), value));

    /// `--format`.
    const FORMAT: Opt<Self> =
        Opt::with_value("format", Self::FORMATS, "prints the results in this form on standard output")
            .details(Self::FORMAT_DETAILS)
            .apply(|args, value| {
                let name = String::from_utf8_lossy(value.bytes());
                let is_one = Self::FORMATS.split('|').any(|known| known == name);
                let form = Form::named(&name).filter(|_| is_one);
                let expected = || {
                    let (others, last) = Self::FORMATS.rsplit_once('|').unwrap_or(("", Self::FORMATS));
                    value.expected(&format!("{} or {last}", others.replace('|', ", ")))
                };
                args.outputs().form = form.ok_or_else(expected)?;
                Ok(())
            });
}
