//! The check that fuzzing drives.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{Files, Given, read};

/// The line that ends a file, with the name of the next.
const BETWEEN: &str = "\n=== ";

/// Checks, for fuzzing, that a workload file and the files behind it are read, or refused with a reason. Each file may
/// follow a line `=== NAME`, as in `fixtures/workloads`, which is a corpus to start from.
///
/// # Panics
/// If they are refused without one.
pub fn check_read(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut files = text.split(BETWEEN);
    let first = files.next().unwrap_or_default();
    let first =
        if first.starts_with("=== ") { first.split_once('\n').map_or("", |(_, text)| text) } else { first };
    let others = files.filter_map(|file| file.split_once('\n'));
    let mut folder = Folder(others.map(|(name, text)| (name.into(), text.into())).collect());
    if let Err(problems) = read(Path::new("w.toml"), first, &mut folder, &Given::default()) {
        assert!(!problems.is_empty(), "a file is refused for a reason");
        for problem in problems {
            assert!(!problem.to_string().is_empty(), "a reason is a sentence");
        }
    }
}

struct Folder(BTreeMap<PathBuf, Vec<u8>>);

impl Files for Folder {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.get(path).ok_or(io::ErrorKind::NotFound)?.clone())
    }
}
