//! Files of a command whose document grows while measurements are made.

use anyhow::Context;
use httperf_report::pictures::Style;
use httperf_report::{Form, Report, Screen};

use super::file::Writable;
use super::{cannot_write, ensure_apart};
use crate::command_line::outputs::{FileForm, OutputName, Outputs, ReadFile};
use crate::terminal::messages::Program;

/// Files that a document goes to.
#[derive(Debug)]
pub(crate) struct DocumentFiles {
    files: Vec<DocumentFile>,
}

#[derive(Debug)]
struct DocumentFile {
    output: OutputName,
    file: Writable,
    /// The reason why it could not be written the last time.
    error: Option<String>,
}

impl DocumentFiles {
    /// Looks whether the files can be written, so that nobody measures for an hour in vain, and that none of them is one
    /// that is read.
    ///
    /// # Errors
    /// A file that cannot be written, by its option.
    pub(crate) fn prepare(outputs: &Outputs, read: &[ReadFile]) -> anyhow::Result<Self> {
        ensure_apart(&outputs.named_files(), read)?;
        let outputs = outputs.files();
        let open = |output: &OutputName| {
            let file =
                Writable::new(&output.name).with_context(|| cannot_write(output.option, &output.name))?;
            Ok(DocumentFile { output: output.clone(), file, error: None })
        };
        let mut files = outputs.iter().map(open).collect::<anyhow::Result<Vec<DocumentFile>>>()?;
        // What may wait for a reader is not to keep the others waiting.
        files.sort_by_key(|file| file.file.is_special());
        Ok(Self { files })
    }

    /// Writes what is to keep the measurements so far: the document, and tables. What goes wrong is said, and tried again
    /// the next time.
    pub(crate) fn write(&mut self, program: &Program, report: &dyn Report) {
        // What was written to a pipe or a device cannot be replaced. Pages and pictures take a while to make, and can be
        // made of the document.
        self.write_if(program, report, |one| one.output.form.is_quick() && !one.file.is_special());
    }

    /// Writes all of them, when no further measurement will be made.
    pub(crate) fn write_last(&mut self, program: &Program, report: &dyn Report) {
        self.write_if(program, report, |_| true);
    }

    fn write_if(&mut self, program: &Program, report: &dyn Report, is_due: impl Fn(&DocumentFile) -> bool) {
        for one in self.files.iter_mut().filter(|file| is_due(file)) {
            let OutputName { option, form, name } = &one.output;
            let written = one.file.replace(&form.contents(report));
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

impl FileForm {
    /// Returns whether it is made in no time, so that it can be written after each measurement.
    fn is_quick(self) -> bool {
        matches!(self, Self::Text(Form::Json | Form::Csv | Form::Tsv))
    }

    /// Contents of a file. Options exist only for the forms that the document of their command has.
    pub(super) fn contents(self, report: &dyn Report) -> Vec<u8> {
        let picture = || report.picture(&Style::default());
        match self {
            Self::Text(form) => report.render(form, Screen::default()).map(String::into_bytes),
            Self::Svg => picture().map(|picture| picture.svg().as_bytes().to_vec()),
            Self::Png => picture().map(|picture| picture.png()),
        }
        .expect("a document has the forms that its command has options for")
    }
}
