//! The files that a workload file names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::Digest;

use super::Files;
use crate::{BodyFile, Sha256};

/// The greatest size of a file with text to parse: a Hurl file or the workload file itself.
pub(super) const TEXT_SIZE_MAX: usize = 16 << 20;

/// The greatest size of a file that requests send.
const BODY_SIZE_MAX: usize = 1 << 30;

/// The greatest size of the file of a feed.
const FEED_SIZE_MAX: usize = 1 << 30;

/// A reader of files that remembers those that bodies are made of.
pub(super) struct Library<'a> {
    files: &'a mut dyn Files,
    /// The folder of the workload file, as it was named.
    folder: PathBuf,
    bodies: BTreeMap<PathBuf, BodyFile>,
}

/// A file with its digest.
pub(super) struct Contents {
    /// The path, for reading the file again.
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: Sha256,
}

impl<'a> Library<'a> {
    /// Creates a library of files around the workload file of this name.
    pub(super) fn new(name: &Path, files: &'a mut dyn Files) -> Self {
        let folder = name.parent().unwrap_or(Path::new("")).to_owned();
        Self { files, folder, bodies: BTreeMap::new() }
    }

    /// Returns the path of a file from the folder in which the program runs.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// A message that says why it cannot be read.
    pub(super) fn text(&mut self, path: &Path) -> Result<String, String> {
        let bytes = self.read(path, TEXT_SIZE_MAX)?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("expected text in UTF-8 in `{}`, got another byte at offset {at}", path.display())
        })
    }

    /// Reads the file of a feed.
    ///
    /// # Errors
    /// A message that says why it cannot be read.
    pub(super) fn feed(&mut self, path: &Path) -> Result<Contents, String> {
        let bytes = self.read(path, FEED_SIZE_MAX)?;
        let sha256 = digest(&bytes);
        Ok(Contents { path: self.path(path), bytes, sha256 })
    }

    /// Reads a file that requests send, once.
    ///
    /// # Errors
    /// A message that says why it cannot be read.
    pub(super) fn body(&mut self, path: &Path) -> Result<BodyFile, String> {
        if let Some(body) = self.bodies.get(path) {
            return Ok(body.clone());
        }
        let contents: Arc<[u8]> = self.read(path, BODY_SIZE_MAX)?.into();
        let sha256 = digest(&contents);
        let body = BodyFile { path: self.path(path), size: contents.len() as u64, sha256, contents };
        self.bodies.insert(path.to_owned(), body.clone());
        Ok(body)
    }

    fn read(&mut self, path: &Path, size_max: usize) -> Result<Vec<u8>, String> {
        let bytes =
            self.files.read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        match bytes.len() <= size_max {
            true => Ok(bytes),
            false => {
                Err(format!("expected at most {size_max} bytes in `{}`, got {}", path.display(), bytes.len()))
            }
        }
    }
}

fn digest(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}
