//! The terminal on stderr as something that may take nothing for a while, or be gone: nobody waits for what is shown there.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;

/// The time for what is shown last, on a terminal that takes nothing just now.
const PATIENCE: Duration = Duration::from_secs(1);

/// The time between two attempts to write.
const PAUSE: Duration = Duration::from_millis(10);

/// The most bytes at once for a terminal that could only be opened in the way that waits.
const PIECE: usize = 256;

/// A writer to the terminal on stderr that never waits. What the terminal does not take at once follows later; clones share it.
#[derive(Clone, Debug)]
pub struct Display(Arc<Mutex<Pending>>);

#[derive(Debug)]
struct Pending {
    /// The terminal, opened anew, as other programs share the mode of stderr. `None` where that is forbidden.
    terminal: Option<File>,
    bytes: Vec<u8>,
    is_gone: bool,
}

/// The state of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It has taken everything.
    Ready,
    /// It has still to take something.
    Behind,
    /// It takes nothing any more.
    Gone,
}

impl Display {
    /// The terminal on stderr.
    pub fn open() -> Self {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.write(true).custom_flags(flags.bits().cast_signed());
        Self(Arc::new(Mutex::new(Pending {
            terminal: options.open("/proc/self/fd/2").ok(),
            bytes: Vec::new(),
            is_gone: false,
        })))
    }

    /// Writes what waits, as far as the terminal takes it.
    pub fn readiness(&self) -> Readiness {
        let mut pending = self.pending();
        pending.advance();
        match () {
            () if pending.is_gone => Readiness::Gone,
            () if pending.bytes.is_empty() => Readiness::Ready,
            () => Readiness::Behind,
        }
    }

    /// Shows this, unless the terminal has still to take what was shown before.
    pub fn show(&self, bytes: &[u8]) {
        if self.readiness() == Readiness::Ready {
            let mut pending = self.pending();
            pending.bytes.extend_from_slice(bytes);
            pending.advance();
        }
    }

    /// Waits a little until the terminal has taken everything.
    pub fn finish(&self) {
        let start = Instant::now();
        while self.readiness() == Readiness::Behind && start.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Display {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending().bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pending().advance();
        Ok(())
    }
}

impl Pending {
    fn advance(&mut self) {
        while !self.bytes.is_empty() && !self.is_gone {
            match self.write() {
                Ok(0) => self.is_gone = true,
                Ok(count) => drop(self.bytes.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.is_gone = true,
            }
        }
        if self.is_gone {
            self.bytes.clear();
        }
    }

    fn write(&self) -> io::Result<usize> {
        match &self.terminal {
            Some(terminal) => (&mut &*terminal).write(&self.bytes),
            None if is_ready(io::stderr(), PollFlags::OUT)?.contains(PollFlags::OUT) => {
                io::stderr().write(&self.bytes[..self.bytes.len().min(PIECE)])
            }
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// Shows this on the terminal on stderr, and waits a little for it.
pub fn show_last(bytes: &[u8]) {
    let display = Display::open();
    display.show(bytes);
    display.finish();
}

/// The keyboard of the terminal: standard input, or else the terminal of the process.
#[derive(Debug)]
pub struct Keyboard(OwnedFd);

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// `q`.
    Quit,
    /// Control-C, which sends no signal while the screen is taken.
    Interrupt,
}

impl Keyboard {
    /// The keyboard, if there is one.
    pub fn open() -> io::Result<Self> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Ok(Self(stdin.as_fd().try_clone_to_owned()?));
        }
        Ok(Self(File::open("/dev/tty")?.into()))
    }

    /// The keys pressed since the last time; `None` once the terminal is gone. Never waits.
    pub fn read(&self) -> Option<Vec<Key>> {
        /// Somebody may lean on a key.
        const READS_MAX: usize = 16;
        let mut keys = Vec::new();
        let mut buffer = [0; 64];
        for _ in 0..READS_MAX {
            let ready = is_ready(&self.0, PollFlags::IN).ok()?;
            if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
                return None;
            }
            if !ready.contains(PollFlags::IN) {
                break;
            }
            match rustix::io::read(&self.0, &mut buffer) {
                Ok(0) => return None,
                Ok(count) => keys.extend(keys_of(&buffer[..count])),
                Err(Errno::INTR | Errno::AGAIN) => break,
                Err(_) => return None,
            }
        }
        Some(keys)
    }
}

/// The keys in what a terminal sends. What begins with an escape is another key, such as an arrow.
fn keys_of(bytes: &[u8]) -> Vec<Key> {
    if bytes.starts_with(b"\x1b") {
        return Vec::new();
    }
    let key = |&byte: &u8| match byte {
        b'q' => Some(Key::Quit),
        b'\x03' => Some(Key::Interrupt),
        _ => None,
    };
    bytes.iter().filter_map(key).collect()
}

/// The events that a descriptor has now.
fn is_ready(descriptor: impl AsFd, events: PollFlags) -> io::Result<PollFlags> {
    let mut polled = [PollFd::new(&descriptor, events)];
    match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => Ok(polled[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn keys_are_told_from_sequences() {
        assert_eq!(keys_of(b"xq\x03"), [Key::Quit, Key::Interrupt]);
        assert_eq!(keys_of(b"\x1b[A"), []);
        assert_eq!(keys_of(b"\x1bOq"), [], "a key of the number pad");
    }

    #[test]
    fn a_keyboard_that_is_gone_says_so() {
        let (near, far) = UnixStream::pair().unwrap();
        let keyboard = Keyboard(near.into());
        assert_eq!(keyboard.read(), Some(vec![]));
        (&far).write_all(b"q").unwrap();
        assert_eq!(keyboard.read(), Some(vec![Key::Quit]));
        drop(far);
        assert_eq!(keyboard.read(), None);
    }

    #[test]
    fn a_display_never_waits_and_loses_no_byte_of_a_picture() {
        let (near, far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        let terminal = Some(File::from(OwnedFd::from(near)));
        let mut display =
            Display(Arc::new(Mutex::new(Pending { terminal, bytes: Vec::new(), is_gone: false })));
        let picture: Vec<u8> = (0..10_000_000_u32).map(|number| number as u8).collect();
        display.write_all(&picture).unwrap();
        assert_eq!(display.readiness(), Readiness::Behind);
        display.show(b"not now");
        let (mut seen, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
        while display.readiness() == Readiness::Behind {
            let count = io::Read::read(&mut &far, &mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
        }
        while let Ok(count @ 1..) = io::Read::read(&mut &far, &mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
        }
        assert!(seen == picture);
        drop(far);
        display.show(b"nobody sees this");
        assert_eq!(display.readiness(), Readiness::Gone);
    }
}
