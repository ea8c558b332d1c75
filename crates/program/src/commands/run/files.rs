//! The files that a workload file names.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use httperf_plan::workload_file::Files;

/// Reads files from the folder of a workload file.
#[derive(Debug)]
pub(super) struct FileReader {
    folder: PathBuf,
    /// The files that were read, in that order.
    pub(super) read: Vec<PathBuf>,
}

impl FileReader {
    /// A reader of the files beside a workload file.
    pub(super) fn beside(file: &Path) -> Self {
        Self { folder: file.parent().map(Path::to_path_buf).unwrap_or_default(), read: Vec::new() }
    }

    /// Reads the workload file itself.
    pub(super) fn text(path: &Path) -> anyhow::Result<String> {
        let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        String::from_utf8(bytes).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            anyhow::anyhow!("{}:{line}: expected UTF-8, got other bytes", path.display())
        })
    }
}

impl Files for FileReader {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let path = self.folder.join(path);
        let contents = fs::read(&path)?;
        self.read.push(path);
        Ok(contents)
    }
}
