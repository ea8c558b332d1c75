//! Files of a command whose document grows while measurements are made.

use anyhow::Context;
use httperf_command_line::outputs::{FileForm, OutputName, Outputs, ReadFile};
use httperf_command_line::terminal::messages::Program;
use httperf_pages::Report;
use httperf_pictures::Style;
use httperf_report::headings::Names;
use httperf_report::{Form, Screen};

use super::file::{Contents, Writable};
use super::{cannot_write, ensure_apart};

/// Files that a document goes to.
#[derive(Debug)]
pub(crate) struct DocumentFiles {
    files: Vec<DocumentFile>,
    names: Names,
}

#[derive(Debug)]
struct DocumentFile {
    output: OutputName,
    file: Writable,
    /// The reason why it could not be written the last time.
    error: Option<String>,
}

/// An attempt to write a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// Another one follows.
    Meanwhile,
    /// None follows: a document that cannot be written now is lost.
    Last,
}

impl DocumentFiles {
    /// Looks whether the files can be written, so that nobody measures for an hour in vain, and that none of them is one
    /// that is read.
    ///
    /// # Errors
    /// A file that cannot be written, by its option.
    pub(crate) fn prepare(outputs: &Outputs, read: &[ReadFile]) -> anyhow::Result<Self> {
        ensure_apart(&outputs.named_files(), read)?;
        let (outputs, names) = (outputs.files(), outputs.names.clone());
        let open = |output: &OutputName| {
            let file =
                Writable::new(&output.name).with_context(|| cannot_write(output.option, &output.name))?;
            Ok(DocumentFile { output: output.clone(), file, error: None })
        };
        let mut files = outputs.iter().map(open).collect::<anyhow::Result<Vec<DocumentFile>>>()?;
        // What may wait for a reader is not to keep the others waiting.
        files.sort_by_key(|file| file.file.is_special());
        Ok(Self { files, names })
    }

    /// Writes what is to keep the measurements so far: the document, and tables. What goes wrong is said, and tried again
    /// the next time.
    pub(crate) fn write(&mut self, program: &Program, report: &dyn Report) {
        // What was written to a pipe or a device cannot be replaced. Pages and pictures take a while to make, and can be
        // made of the document.
        let is_due = |one: &DocumentFile| is_quick(one.output.form) && !one.file.is_special();
        self.write_if(program, report, Attempt::Meanwhile, is_due);
    }

    /// Writes all of them, when no further measurement will be made.
    pub(crate) fn write_last(&mut self, program: &Program, report: &dyn Report) {
        self.write_if(program, report, Attempt::Last, |_| true);
    }

    fn write_if(
        &mut self,
        program: &Program,
        report: &dyn Report,
        attempt: Attempt,
        is_due: impl Fn(&DocumentFile) -> bool,
    ) {
        for one in self.files.iter_mut().filter(|file| is_due(file)) {
            let OutputName { option, form, name } = &one.output;
            let contents = contents(*form, report, &self.names);
            let written = match attempt {
                Attempt::Meanwhile => one.file.put_contents(&contents),
                Attempt::Last => one.file.put_or_rescue(name, &contents),
            };
            let error = written.with_context(|| cannot_write(option, name)).err();
            let error = error.map(|error| format!("{error:#}"));
            if let Some(error) = error.as_ref().filter(|&error| one.error.as_ref() != Some(error)) {
                program.say(error);
            }
            one.error = error;
        }
    }

    /// Returns whether one of them is not what it should be.
    pub(crate) fn lack_something(&self) -> bool {
        self.files.iter().any(|file| file.error.is_some())
    }
}

/// Returns whether a document of this form is made in no time, so that it can be written after each measurement.
fn is_quick(form: FileForm) -> bool {
    matches!(form, FileForm::Text(Form::Json | Form::Csv | Form::Tsv))
}

/// Contents of a file. Options exist only for the forms that the document of their command has.
pub(super) fn contents(form: FileForm, report: &dyn Report, names: &Names) -> Contents {
    let picture = || Some(report.picture(&Style::default())?.named(names));
    let bytes = match form {
        FileForm::Text(Form::Json) => return report.lasting().into(),
        FileForm::Text(form) => report.render_named(form, Screen::default(), names).map(String::into_bytes),
        FileForm::Svg => picture().map(|picture| picture.svg().into_bytes()),
        FileForm::Png => picture().map(|picture| picture.png(1)),
    };
    bytes.expect("a document has the forms that its command has options for").into()
}
