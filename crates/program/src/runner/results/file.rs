//! Files of results: found out to be writable before a run, and never left half-written.
//!
//! A file is written next to the one that it then replaces, by the same path: in no other folder, and by no
//! absolute name, both of which may be of another file system, or read-only. What nothing can take the place of (a pipe, a
//! device) is opened before the run and stays open, so that whoever reads it waits for what will come.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use httperf_command_line::outputs::{NamedFile, ReadFile};
use httperf_report::Lasting;
use rustix::fs::{OFlags, PROC_SUPER_MAGIC, fcntl_getfl, fcntl_setfl, statfs};
use rustix::io::Errno;

/// The free bytes that a disk must have before a run.
const ROOM: usize = 64 * 1024;

/// The time that a pipe without a reader is given: the reader may be starting just now.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest chain of links, as with the system.
const LINKS_MAX: u32 = 40;

/// A file that can be written.
#[derive(Debug)]
pub(crate) struct Writable {
    destination: Destination,
}

impl Writable {
    /// Looks whether a file can be written, in the way in which it will be.
    ///
    /// # Errors
    /// The reason why it cannot be.
    pub(crate) fn new(name: &OsStr) -> io::Result<Self> {
        let destination = Destination::of(name)?;
        if let Destination::Regular(path) = &destination {
            let exists = path.exists();
            if exists {
                OpenOptions::new().append(true).open(path)?;
            }
            match Temporary::beside(path, Readers::AsBefore).and_then(Temporary::try_out) {
                Err(error) if exists && is_of_the_folder(&error) => {}
                tried => tried?,
            }
        }
        Ok(Self { destination })
    }

    /// Returns whether it is a device, a pipe or the like, where what was written stays written.
    pub(crate) fn is_special(&self) -> bool {
        matches!(self.destination, Destination::Special(_))
    }

    /// Replaces the content of a file; a pipe or a device gets this content after all earlier bytes.
    ///
    /// # Errors
    /// The reason why it cannot be written. The earlier content is then still there, unless the folder does not allow the
    /// file to be replaced.
    pub(crate) fn replace(&self, content: &[u8]) -> io::Result<()> {
        self.put(content, Readers::AsBefore)
    }

    /// Does what [`Writable::replace`] does, for those who may read the contents.
    ///
    /// # Errors
    /// As [`Writable::replace`].
    pub(super) fn put_contents(&self, contents: &Contents) -> io::Result<()> {
        self.put(&contents.bytes, contents.readers)
    }

    /// Does the same for the last time: what a disk does not take is kept elsewhere, if that can be.
    ///
    /// # Errors
    /// As [`Writable::replace`], with the place of what could not be written.
    pub(super) fn put_or_rescue(&self, name: &OsStr, contents: &Contents) -> io::Result<()> {
        self.put_contents(contents).map_err(|error| self.rescued(name, &contents.bytes, error))
    }

    /// Keeps what could not be written in the folder for temporary files, or in memory, and adds the place to the error.
    pub(super) fn rescued(&self, name: &OsStr, content: &[u8], error: io::Error) -> io::Error {
        if self.is_special() {
            return error;
        }
        let folders = [std::env::temp_dir(), "/dev/shm".into()];
        match folders.iter().find_map(|folder| rescue(folder, name, content).ok()) {
            Some(path) => {
                io::Error::new(error.kind(), format!("{error}; it is in `{}` instead", path.display()))
            }
            None => error,
        }
    }

    fn put(&self, content: &[u8], readers: Readers) -> io::Result<()> {
        match &self.destination {
            Destination::Special(file) => {
                let mut file: &File = file;
                file.write_all(content)?;
                file.flush()
            }
            Destination::Regular(path) => {
                let placed =
                    Temporary::beside(path, readers).and_then(|temporary| temporary.replace(path, content));
                match placed {
                    Err(error) if path.exists() && is_of_the_folder(&error) => {
                        overwrite(path, content, readers)
                    }
                    replaced => replaced,
                }
            }
        }
    }

    /// Adds a line, and before it, if there is nothing yet, another.
    ///
    /// # Errors
    /// The reason why it cannot be written; nothing of it is there then.
    pub(super) fn append(&self, first: &str, line: &str) -> io::Result<()> {
        let path = match &self.destination {
            Destination::Special(_) => return self.replace([first, line].concat().as_bytes()),
            Destination::Regular(path) => path,
        };
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let length = file.metadata()?.len();
        let text = if length == 0 { [first, line].concat() } else { line.to_owned() };
        // In one piece, so that several runs may append to the same file.
        let written = match file.write(text.as_bytes()) {
            Ok(count) => file
                .write_all(&text.as_bytes()[count..])
                .and_then(|()| file.sync_all())
                .map_err(|error| (error, count)),
            Err(error) => Err((error, 0)),
        };
        written.map_err(|(error, count)| {
            // Half a line would spoil the next one. If another run has added to it meanwhile, it is too late.
            if file.metadata().is_ok_and(|metadata| metadata.len() == length + count as u64) {
                let _cut: io::Result<()> = file.set_len(length);
            }
            error
        })
    }
}

/// Puts a file with these contents in place of what was there.
///
/// # Errors
/// As [`Writable::replace`].
pub(crate) fn replace(name: &OsStr, contents: impl Into<Contents>) -> io::Result<()> {
    Writable { destination: Destination::of(name)? }.put_contents(&contents.into())
}

/// Writes a file for its owner alone into a folder, under a name that says whose it is and what it was to be.
fn rescue(folder: &Path, name: &OsStr, content: &[u8]) -> io::Result<PathBuf> {
    let name = Path::new(name).file_name().unwrap_or(name).to_string_lossy().into_owned();
    let path = folder.join(format!("httperf-{}-{name}", process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(OWNER_ONLY).open(&path)?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    written.inspect_err(|_| fs::remove_file(&path).unwrap_or_default())?;
    Ok(path)
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Contents {
    bytes: Vec<u8>,
    readers: Readers,
}

impl From<Vec<u8>> for Contents {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, readers: Readers::AsBefore }
    }
}

/// Nobody else may read a document with secrets.
impl From<Lasting> for Contents {
    fn from(Lasting { json, has_secrets }: Lasting) -> Self {
        let readers = if has_secrets { Readers::OwnerOnly } else { Readers::AsBefore };
        Self { bytes: json.into_bytes(), readers }
    }
}

/// Readers of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// Those who may read the file that it replaces, or any new file.
    AsBefore,
    /// Its owner: something in it is secret.
    OwnerOnly,
}

/// The mode of a file for its owner alone.
const OWNER_ONLY: u32 = 0o600;

/// An empty file that is written while a run goes on.
///
/// # Errors
/// The reason why a file cannot be written.
pub(crate) fn create(name: &OsStr) -> io::Result<File> {
    match Destination::of(name)? {
        Destination::Special(file) => Ok(file),
        Destination::Regular(path) => File::create(path),
    }
}

/// Damage of a table that keeps rows from being added.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage {
    /// The line that is wrong, from 1.
    pub(super) line: usize,
    /// The mistake in it.
    pub(super) fault: DamageKind,
    /// The line.
    pub(super) found: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum DamageKind {
    /// It does not name our columns.
    Header,
    /// It has no end.
    Unfinished,
}

/// Looks whether lines can be added to a table whose first line is to be this one. One that is not there, is empty, or is no
/// file of a disk, takes any.
///
/// # Errors
/// The reason why it cannot be read.
pub(super) fn damage(name: &OsStr, header: &str) -> io::Result<Option<Damage>> {
    let Ok(metadata) = fs::metadata(name) else { return Ok(None) };
    if !metadata.is_file() || metadata.len() == 0 {
        return Ok(None);
    }
    let mut reader = BufReader::new(File::open(name)?);
    let line = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut first = Vec::new();
    reader.by_ref().take(2 * header.len() as u64).read_until(b'\n', &mut first)?;
    let found = first.strip_suffix(b"\n").unwrap_or(&first);
    if found != header.trim_end_matches('\n').as_bytes() {
        return Ok(Some(Damage { line: 1, fault: DamageKind::Header, found: line(found) }));
    }
    reader.seek(SeekFrom::Start(0))?;
    let (mut last, mut number) = (Vec::new(), 0);
    loop {
        let mut next = Vec::new();
        if reader.read_until(b'\n', &mut next)? == 0 {
            break;
        }
        (last, number) = (next, number + 1);
    }
    let fault = DamageKind::Unfinished;
    Ok((!last.ends_with(b"\n")).then(|| Damage { line: number, fault, found: line(&last) }))
}

/// The identity of a file, whatever its name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// One that is there: its device and its number on it.
    Present(u64, u64),
    /// One that is not there yet: those of its folder, and its name.
    Absent(u64, u64, OsString),
}

impl Identity {
    /// That of what something called so is written to. `None` for devices, of which the same may be named several times,
    /// and for what cannot be written, which is said elsewhere.
    fn of(name: &OsStr) -> Option<Self> {
        match fs::metadata(name) {
            Ok(metadata) => {
                let is_one = metadata.is_file() || metadata.file_type().is_fifo();
                is_one.then(|| Self::Present(metadata.dev(), metadata.ino()))
            }
            Err(_) => {
                let Ok(Found::Absent(path)) = follow(name) else { return None };
                let folder = fs::metadata(folder(&path)).ok()?;
                Some(Self::Absent(folder.dev(), folder.ino(), path.file_name()?.to_owned()))
            }
        }
    }
}

/// Returns whether two names are of the same file.
pub(crate) fn is_same(one: &OsStr, other: &OsStr) -> bool {
    Identity::of(one).is_some_and(|one| Identity::of(other) == Some(one))
}

/// A file that is written although something else is in it, or goes to it.
#[derive(Debug)]
pub(super) struct Clash<'a> {
    /// The file that is written, with its option.
    pub(super) written: &'a NamedFile,
    /// The other option that names the file, if one does: it is read otherwise.
    pub(super) other: Option<&'static str>,
}

/// The first of the files to be written that is read as well, or to be written by an option before it, whatever the names.
pub(super) fn clash<'a>(written: &'a [NamedFile], read: &[ReadFile]) -> Option<Clash<'a>> {
    let known = read.iter().filter_map(|file| Some((Identity::of(&file.name)?, file.option)));
    let mut known: Vec<(Identity, Option<&'static str>)> = known.collect();
    for file @ (option, name) in written {
        let Some(identity) = Identity::of(name) else { continue };
        if let Some(&(_, other)) = known.iter().find(|(known, _)| *known == identity) {
            return Some(Clash { written: file, other });
        }
        known.push((identity, Some(option)));
    }
    None
}

/// The target of a name.
#[derive(Debug)]
enum Destination {
    /// To a file, which may not be there yet.
    Regular(PathBuf),
    /// To a device, a pipe or the like, which nothing can take the place of.
    Special(File),
}

impl Destination {
    fn of(name: &OsStr) -> io::Result<Self> {
        Ok(match follow(name)? {
            Found::Regular(path) | Found::Absent(path) => Self::Regular(path),
            Found::Special(path) => Self::Special(open_special(&path)?),
            Found::Descriptor(path) => Self::Special(match own_stream(&path)? {
                Some(stream) => stream,
                None => open_special(&path)?,
            }),
        })
    }
}

/// The file at the end of all links.
enum Found {
    Regular(PathBuf),
    /// Nothing, in a folder or where a link leads.
    Absent(PathBuf),
    Special(PathBuf),
    /// An open file: the link to it, in a folder of the system's, does not lead to it by name.
    Descriptor(PathBuf),
}

fn follow(name: &OsStr) -> io::Result<Found> {
    let mut path = PathBuf::from(name);
    for _ in 0..LINKS_MAX {
        let kind = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent(path)),
            Err(error) => return Err(error),
        };
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if kind.is_file() {
            return Ok(Found::Regular(path));
        }
        if !kind.is_symlink() {
            return Ok(Found::Special(path));
        }
        if statfs(folder(&path))?.f_type == PROC_SUPER_MAGIC {
            return Ok(Found::Descriptor(path));
        }
        path = folder(&path).join(fs::read_link(&path)?);
    }
    Err(Errno::LOOP.into())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Standard output or standard error, if it is one of them that this link leads to. Opened anew, a file would be written
/// from its beginning.
fn own_stream(link: &Path) -> io::Result<Option<File>> {
    let is_own = fs::canonicalize(folder(link))? == fs::canonicalize("/proc/self/fd")?;
    let number = link.file_name().filter(|_| is_own);
    let stream = match number.and_then(OsStr::to_str) {
        Some("1") => io::stdout().as_fd().try_clone_to_owned()?,
        Some("2") => io::stderr().as_fd().try_clone_to_owned()?,
        _ => return Ok(None),
    };
    Ok(Some(stream.into()))
}

/// Opens what is no file of a disk. A pipe needs somebody who reads it.
fn open_special(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    // What is open as a file may have something in it.
    options.append(true).custom_flags(flags.bits().cast_signed());
    let start = Instant::now();
    let file = loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) && is_pipe(path) => {
                if start.elapsed() >= PATIENCE {
                    return Err(io::Error::other("nobody reads from this pipe"));
                }
                thread::sleep(Duration::from_millis(10));
            }
            opened => break opened?,
        }
    };
    // From now on, a reader that is slow is waited for.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

/// Returns whether a file can be written all the same in place of what is in it: its folder takes no other, or nothing can take
/// its place, as with a file that is mounted by itself.
fn is_of_the_folder(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | CrossesDevices | ResourceBusy)
}

fn overwrite(path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    if readers == Readers::OwnerOnly {
        // That of another owner stays as it is.
        let _set: io::Result<()> = file.set_permissions(Permissions::from_mode(OWNER_ONLY));
    }
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// A file next to the one that it is to replace. It is removed when it is dropped.
struct Temporary {
    path: PathBuf,
    file: File,
    /// The attributes of the file that it replaces.
    permissions: Option<Permissions>,
    is_placed: bool,
}

impl Temporary {
    fn beside(path: &Path, readers: Readers) -> io::Result<Self> {
        let before = fs::metadata(path).ok().map(|metadata| metadata.permissions());
        let permissions = match readers {
            Readers::AsBefore => before,
            Readers::OwnerOnly => Some(Permissions::from_mode(OWNER_ONLY)),
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if permissions.is_some() {
            // Until it has those, nobody else is to see what is in it. A new file has what any other would have.
            options.mode(OWNER_ONLY);
        }
        loop {
            let path = Self::name(path);
            match options.open(&path) {
                Ok(file) => return Ok(Self { path, file, permissions, is_placed: false }),
                // Of a process that was killed and had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a name in the folder of a file that this process has not used before.
    fn name(path: &Path) -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".httperf-{}-{number}", process::id());
        match path.parent() {
            Some(folder) => folder.join(name),
            None => name.into(),
        }
    }

    /// Does what [`Temporary::replace`] does, without taking anything's place.
    fn try_out(mut self) -> io::Result<()> {
        self.file.write_all(&[0; ROOM])?;
        self.file.sync_all()?;
        let other = Self::name(&self.path);
        fs::rename(&self.path, &other)?;
        self.path = other;
        Ok(())
    }

    fn replace(mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        // A disk may notice only now that it is full.
        self.file.sync_all()?;
        if let Some(permissions) = self.permissions.take() {
            // Where files have none of their own, the system says which they have.
            let _set: io::Result<()> = self.file.set_permissions(permissions);
        }
        fs::rename(&self.path, path)?;
        self.is_placed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_placed {
            // There is nothing to be done if that fails.
            let _removed: io::Result<()> = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn document(json: &str, has_secrets: bool) -> Lasting {
        Lasting { json: json.to_owned(), has_secrets }
    }

    fn pipe(folder: &Path) -> PathBuf {
        let path = folder.join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.json");
        replace(path.as_os_str(), document("first", false)).unwrap();
        let created = folder.path().join("created");
        File::create(&created).unwrap();
        assert_eq!(mode(&path), mode(&created), "as any other file");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        replace(path.as_os_str(), document("second", false)).unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"second".to_vec(), 0o640));
        replace(path.as_os_str(), document("third", true)).unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"third".to_vec(), 0o600), "it has secrets");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn a_temporary_has_the_path_of_the_file_that_it_is_for() {
        for (path, folder) in [("r.json", ""), ("a/../r.json", "a/.."), ("../r.json", ".."), ("/r.json", "/")]
        {
            let name = Temporary::name(Path::new(path));
            assert_eq!(name.parent(), Some(Path::new(folder)), "{path}");
        }
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("inner")).unwrap();
        fs::write(path("inner/target"), "old").unwrap();
        symlink("target", path("inner/link")).unwrap();
        symlink("inner/link", path("link")).unwrap();
        symlink("inner/new", path("dangling")).unwrap();
        for (link, target) in [("link", "inner/target"), ("dangling", "inner/new")] {
            replace(path(link).as_os_str(), document("new", false)).unwrap();
            assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink());
            assert_eq!(fs::read(path(target)).unwrap(), b"new");
        }
        symlink("loop", path("loop")).unwrap();
        let error = replace(path("loop").as_os_str(), document("new", false)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
    }

    #[test]
    fn what_cannot_be_written_is_found_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |path: &Path| Writable::new(path.as_os_str()).unwrap_err().kind();
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&folder.path().join("no/such/file")), io::ErrorKind::NotFound);
        assert!(Writable::new(folder.path().join("new").as_os_str()).is_ok());
        assert!(Writable::new(OsStr::new("/dev/null")).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "looking leaves nothing behind");
    }

    #[test]
    fn a_device_that_is_full_is_an_error() {
        let error = replace(OsStr::new("/dev/full"), document("text", false)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_a_disk_does_not_take_is_kept_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let lost = folder.path().join("gone");
        fs::create_dir(&lost).unwrap();
        let name = lost.join("r.json");
        let writable = Writable::new(name.as_os_str()).unwrap();
        fs::remove_dir_all(&lost).unwrap();
        let error = writable.put_or_rescue(name.as_os_str(), &document("text", false).into()).unwrap_err();
        let said = error.to_string();
        let (before, rest) = said.split_once("; it is in `").unwrap();
        let path = PathBuf::from(rest.strip_suffix("` instead").unwrap());
        assert_eq!(before, "No such file or directory (os error 2)");
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"text".to_vec(), 0o600));
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_pipe_stays_a_pipe_and_open_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = pipe(folder.path());
        let reader = thread::spawn({
            let path = path.clone();
            // It comes a little late.
            move || {
                thread::sleep(Duration::from_millis(100));
                fs::read(path)
            }
        });
        let writable = Writable::new(path.as_os_str()).unwrap();
        assert!(writable.is_special());
        writable.replace(b"text").unwrap();
        drop(writable);
        assert_eq!(reader.join().unwrap().unwrap(), b"text");
        assert!(is_pipe(&path));
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = Writable::new(pipe(folder.path()).as_os_str()).unwrap_err();
        assert_eq!(error.to_string(), "nobody reads from this pipe");
    }

    #[test]
    fn an_open_file_is_added_to_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("open");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"before ").unwrap();
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let writable = Writable::new(OsStr::new(&name)).unwrap();
        writable.replace(b"after").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before after");
        assert_eq!(fs::metadata(&path).unwrap().ino(), file.metadata().unwrap().ino());
    }

    #[test]
    fn the_first_line_is_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let table = Writable::new(path.as_os_str()).unwrap();
        (0..2).for_each(|_| table.append("a,b\n", "1,2\n").unwrap());
        assert_eq!(fs::read_to_string(path).unwrap(), "a,b\n1,2\n1,2\n");
    }

    #[test]
    fn a_table_of_others_or_without_an_end_takes_no_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let found = |text: &str| {
            fs::write(&path, text).unwrap();
            let damage = damage(path.as_os_str(), "a,b\n").unwrap();
            damage.map(|Damage { line, fault, found }| (line, fault, found))
        };
        assert_eq!(found(""), None);
        assert_eq!(found("a,b\n"), None);
        assert_eq!(found("a,b\n1,2\n3,4\n"), None);
        assert_eq!(found("a,c\n1,2\n"), Some((1, DamageKind::Header, "a,c".into())));
        assert_eq!(found("a,b,c\n"), Some((1, DamageKind::Header, "a,b,c".into())));
        assert_eq!(found("a,b"), Some((1, DamageKind::Unfinished, "a,b".into())));
        assert_eq!(found("a,b\n1,2\n3"), Some((3, DamageKind::Unfinished, "3".into())));
        assert_eq!(damage(folder.path().join("none").as_os_str(), "a\n").unwrap(), None);
    }

    #[test]
    fn one_file_by_two_names_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).into_os_string();
        fs::create_dir(path("inner")).unwrap();
        fs::write(path("there"), "").unwrap();
        symlink("there", path("link")).unwrap();
        fs::hard_link(path("there"), path("hard")).unwrap();
        symlink("inner/absent", path("dangling")).unwrap();
        let pipe = pipe(folder.path()).into_os_string();
        let is_one = |one: &OsStr, other: &OsStr| {
            let written = [("--a", one.to_owned()), ("--b", other.to_owned())];
            assert_eq!(is_same(one, other), clash(&written, &[]).is_some());
            assert_eq!(is_same(one, other), clash(&written[..1], &[ReadFile::plain(other)]).is_some());
            is_same(one, other)
        };
        for (one, other) in [
            ("there", "there"),
            ("there", "inner/../there"),
            ("there", "link"),
            ("there", "hard"),
            ("absent", "./absent"),
            ("inner/absent", "dangling"),
        ] {
            assert!(is_one(&path(one), &path(other)), "{one} and {other}");
        }
        assert!(is_one(&pipe, &pipe));
        assert!(!is_one(&path("absent"), &path("inner/absent")));
        assert!(!is_one(&path("there"), &path("absent")));
        assert!(!is_one(OsStr::new("/dev/null"), OsStr::new("/dev/null")));
    }
}
