//! Files that the commands of a recording name. A recording may be a stranger's, so only those below the current folder, or
//! that of the recording, are read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use httperf_command_line::args::STDOUT;
use httperf_import::curl::CONTENT_MAX;

/// Reads the file at a path that is in a recording; `None` if it is not there, too long, or elsewhere.
pub(super) fn read(recording: &OsStr, path: &str) -> Option<Vec<u8>> {
    let path = Path::new(path);
    let is_below = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_below {
        return None;
    }
    let beside = Path::new(recording).parent().filter(|_| recording != STDOUT);
    let folders = [Some(Path::new("")), beside].into_iter().flatten();
    folders
        .map(|folder| if folder == Path::new("") { PathBuf::from(".") } else { folder.to_owned() })
        .find_map(|folder| {
            let folder = folder.canonicalize().ok()?;
            // A link may lead elsewhere.
            let file = folder.join(path).canonicalize().ok().filter(|file| file.starts_with(&folder))?;
            let metadata = file.metadata().ok()?;
            if !metadata.is_file() || metadata.len() > CONTENT_MAX {
                return None;
            }
            let mut bytes = Vec::new();
            File::open(file).ok()?.take(CONTENT_MAX).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_files_below_the_folder_of_the_recording_are_read() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("inner");
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        fs::write(folder.join("sub/a.txt"), "a").unwrap();
        symlink(outer.path().join("secret"), folder.join("link")).unwrap();
        let recording = folder.join("commands.sh");
        let absolute = folder.join("sub/a.txt").display().to_string();
        for (path, expected) in [
            ("sub/a.txt", Some("a")),
            ("./sub/a.txt", Some("a")),
            ("../secret", None),
            ("sub/../../secret", None),
            ("link", None),
            ("sub", None),
            ("missing", None),
            ("", None),
            (&absolute, None),
        ] {
            let read = super::read(recording.as_os_str(), path);
            assert_eq!(read.as_deref(), expected.map(str::as_bytes), "{path}");
        }
    }
}
