//! Files of results: found out to be writable before a run, and never left half-written.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tempfile::NamedTempFile;

/// How many bytes a disk must take before a run.
const ROOM: usize = 64 * 1024;

/// Looks whether a file can be written.
///
/// # Errors
/// Why it cannot.
pub(crate) fn check(name: &OsStr) -> io::Result<()> {
    match Destination::of(name)? {
        Destination::Special(path) => OpenOptions::new().write(true).open(path).map(drop),
        Destination::Regular(path) => {
            if path.exists() {
                OpenOptions::new().append(true).open(&path)?;
            }
            let mut trial = beside(&path)?;
            trial.write_all(&[0; ROOM])?;
            trial.flush()
        }
    }
}

/// Puts a file with this content in place of what was there.
///
/// # Errors
/// Why it cannot be written; what was there before is still there then.
pub(crate) fn replace(name: &OsStr, content: &[u8]) -> io::Result<()> {
    match Destination::of(name)? {
        Destination::Special(path) => {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.write_all(content)?;
            file.flush()
        }
        Destination::Regular(path) => {
            let mut file = beside(&path)?;
            file.write_all(content)?;
            // A disk may notice only now that it is full.
            file.as_file().sync_all()?;
            let permissions = fs::metadata(&path)
                .map_or_else(|_| usual_permissions(), |metadata| Ok(metadata.permissions()));
            file.as_file().set_permissions(permissions?)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        }
    }
}

/// Adds a line to a file, and before it, if there is nothing in the file, another.
///
/// # Errors
/// Why it cannot be written.
pub(super) fn append(name: &OsStr, first: &str, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(name)?;
    let is_new = file.metadata()?.len() == 0;
    let text = if is_new { [first, line].concat() } else { line.to_owned() };
    // In one piece, so that several runs may append to the same file.
    file.write_all(text.as_bytes())
}

/// Where a name leads.
enum Destination {
    /// To a file, which may not be there yet.
    Regular(PathBuf),
    /// To a device, a pipe or the like, which nothing can take the place of.
    Special(PathBuf),
}

impl Destination {
    fn of(name: &OsStr) -> io::Result<Self> {
        let path = PathBuf::from(name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => Ok(Self::Special(path)),
            // The file itself, where the name is that of a link to it.
            Ok(_) => Ok(Self::Regular(fs::canonicalize(path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Regular(path)),
            Err(error) => Err(error),
        }
    }
}

/// A file in the same folder, which is gone when it is dropped.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Says what is wrong with the folder in the system's words, without the name of a file that nobody asked for.
    access(folder, Access::WRITE_OK | Access::EXEC_OK)?;
    tempfile::Builder::new().prefix(".httperf-").tempfile_in(folder)
}

/// What a new file gets that is created the usual way.
fn usual_permissions() -> io::Result<Permissions> {
    // The mask can only be read by setting it, which other threads would see; so a file is asked.
    let folder = tempfile::tempdir()?;
    Ok(File::create(folder.path().join("new"))?.metadata()?.permissions())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        replace(path.as_os_str(), b"first").unwrap();
        let created = folder.path().join("created");
        File::create(&created).unwrap();
        assert_eq!(mode(&path), mode(&created), "as any other file");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(path.as_os_str(), b"second").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"second".to_vec(), 0o640));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        replace(link.as_os_str(), b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn what_cannot_be_written_is_found_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| check(path.as_os_str()).unwrap_err().kind();
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("no/such/file")), io::ErrorKind::NotFound);
        assert!(check(folder.path().join("new").as_os_str()).is_ok());
        assert!(check(OsStr::new("/dev/null")).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "looking leaves nothing behind");
    }

    #[test]
    fn a_device_that_is_full_is_an_error() {
        assert_eq!(replace(OsStr::new("/dev/full"), b"text").unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn the_first_line_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        (0..2).for_each(|_| append(path.as_os_str(), "a,b\n", "1,2\n").unwrap());
        assert_eq!(fs::read_to_string(path).unwrap(), "a,b\n1,2\n1,2\n");
    }
}
