//! Links by way of files in a folder that all ranks see, where no TCP port is open between them.
//!
//! ```text
//!   PATH/current                  names the folder of the meeting that goes on
//!   PATH/meeting-…/NAME.guest     what a guest has sent so far
//!   PATH/meeting-…/NAME.host      what rank 0 has sent to it so far
//!   PATH/meeting-…/NAME.done      the guest has read all that it needs
//! ```
//!
//! Files only grow. Each is opened anew for each look at it, as a network file system shows what others have written
//! when a file is opened (close-to-open consistency, nfs(5)).

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::driver::{TO_HOST, now};
use crate::host_event::PeerId;
use crate::wire::Time;

use super::{Input, Links, Wake};

/// The pause between looks while there is something to read.
const QUICK: Duration = Duration::from_millis(2);

/// The longest pause between looks, when there was nothing for a while.
const SLOW: Duration = Duration::from_millis(100);

/// Bytes read at once.
const READ_SIZE: u64 = 1024 * 1024;

/// The file that names the meeting.
const CURRENT: &str = "current";

/// Files of a meeting.
pub(super) struct FolderLinks {
    /// The folder that all see.
    place: PathBuf,
    /// That of this meeting.
    folder: PathBuf,
    is_host: bool,
    links: BTreeMap<PeerId, Link>,
    /// Guests that are known, by the names of their files.
    known: BTreeMap<String, PeerId>,
    pause: Duration,
    wake: Wake,
    waiting: Vec<(Time, Input)>,
}

struct Link {
    name: String,
    /// Bytes of the other that were read.
    read: u64,
}

impl FolderLinks {
    /// Opens a meeting.
    pub(super) fn open(place: &Path) -> io::Result<Self> {
        fs::create_dir_all(place)?;
        let name = format!("meeting-{}", unique());
        let links = Self::of(place, place.join(&name), true)?;
        fs::create_dir(&links.folder)?;
        let draft = links.folder.join(CURRENT);
        fs::write(&draft, &name)?;
        fs::rename(draft, place.join(CURRENT))?;
        Ok(links)
    }

    /// Comes to the meeting that goes on, once its host has seen this guest.
    pub(super) fn come(place: &Path, patience: Duration, goes_on: &dyn Fn() -> bool) -> io::Result<Self> {
        let end = Instant::now() + patience;
        let name = unique();
        // A meeting of an earlier fleet may still be named.
        let mut tried: Option<String> = None;
        loop {
            if let Ok(current) = fs::read_to_string(place.join(CURRENT)) {
                let folder = place.join(&current);
                if tried.as_ref() != Some(&current)
                    && File::create(folder.join(format!("{name}.guest"))).is_ok()
                {
                    tried = Some(current);
                }
                if folder.join(format!("{name}.host")).exists() {
                    let mut links = Self::of(place, folder, false)?;
                    links.links.insert(TO_HOST, Link { name, read: 0 });
                    return Ok(links);
                }
            }
            if !goes_on() {
                return Err(ErrorKind::Interrupted.into());
            }
            if Instant::now() >= end {
                return Err(io::Error::new(ErrorKind::TimedOut, "rank 0 has not opened a meeting there"));
            }
            std::thread::sleep(SLOW);
        }
    }

    fn of(place: &Path, folder: PathBuf, is_host: bool) -> io::Result<Self> {
        Ok(Self {
            place: place.to_owned(),
            folder,
            is_host,
            links: BTreeMap::new(),
            known: BTreeMap::new(),
            pause: QUICK,
            wake: Wake::new()?,
            waiting: Vec::new(),
        })
    }

    fn file(&self, name: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{name}.{extension}"))
    }

    /// Looks for guests that have come.
    fn welcome(&mut self, inputs: &mut Vec<(Time, Input)>) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(|name| name.strip_suffix(".guest")) else { continue };
            if self.known.contains_key(name) || File::create(self.file(name, "host")).is_err() {
                continue;
            }
            let id = self.known.len() as PeerId;
            self.known.insert(name.to_owned(), id);
            self.links.insert(id, Link { name: name.to_owned(), read: 0 });
            let from = self.file(name, "guest").display().to_string();
            inputs.push((now(), Input::Connected(id, from)));
        }
    }

    fn look(&mut self, inputs: &mut Vec<(Time, Input)>) {
        if self.is_host {
            self.welcome(inputs);
        }
        let extension = if self.is_host { "guest" } else { "host" };
        let mut lost = Vec::new();
        for (&id, link) in &mut self.links {
            match read_on(&self.folder.join(format!("{}.{extension}", link.name)), link.read) {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => {
                    link.read += bytes.len() as u64;
                    inputs.push((now(), Input::Bytes(id, bytes)));
                }
                Err(error) => lost.push((id, format!("its file cannot be read: {error}"))),
            }
        }
        for (id, reason) in lost {
            self.links.remove(&id);
            inputs.push((now(), Input::Closed(id, reason)));
        }
    }
}

/// Reads what a file has beyond its first bytes.
fn read_on(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(READ_SIZE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A name that no other process has.
fn unique() -> String {
    let time = now();
    format!("{}-{}-{}", std::process::id(), time.wall.as_nanos(), time.clock.as_nanos())
}

impl Links for FolderLinks {
    fn wait(&mut self, timeout: Duration, inputs: &mut Vec<(Time, Input)>) {
        inputs.append(&mut self.waiting);
        self.look(inputs);
        if inputs.is_empty() {
            // A command has to wait for the next look, too.
            std::thread::sleep(timeout.min(self.pause));
            self.pause = (self.pause + self.pause / 8).min(SLOW);
            self.look(inputs);
        }
        if !inputs.is_empty() {
            self.pause = QUICK;
        }
        self.wake.clear();
    }

    fn send(&mut self, peer: PeerId, bytes: Vec<u8>) {
        let Some(link) = self.links.get(&peer) else { return };
        let path = self.file(&link.name, if self.is_host { "host" } else { "guest" });
        let written = OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(&bytes));
        if let Err(error) = written {
            self.links.remove(&peer);
            self.waiting.push((now(), Input::Closed(peer, format!("its file cannot be written: {error}"))));
        }
        self.pause = QUICK;
    }

    fn close(&mut self, peer: PeerId) {
        self.links.remove(&peer);
    }

    /// The host's folder is needed until all guests have read what was sent.
    fn is_idle(&self) -> bool {
        !self.is_host || self.known.keys().all(|name| self.file(name, "done").exists())
    }

    fn wake(&self) -> Wake {
        self.wake.clone()
    }
}

/// Errors are ignored: what cannot be removed stays, and no later meeting looks at it.
impl Drop for FolderLinks {
    fn drop(&mut self) {
        if self.is_host {
            let own = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
            if fs::read_to_string(self.place.join(CURRENT)).ok() == own {
                let _left = fs::remove_file(self.place.join(CURRENT));
            }
            let _left = fs::remove_dir_all(&self.folder);
        } else {
            for link in self.links.values() {
                let _left = File::create(self.file(&link.name, "done"));
            }
        }
    }
}
