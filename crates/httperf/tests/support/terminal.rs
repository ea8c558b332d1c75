//! A terminal for programs under test: a pseudo-terminal of 80 by 24, and what would be seen on it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// How long something that is expected may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal.
pub(crate) struct Terminal {
    /// Our end: the keyboard and the screen.
    ours: File,
    theirs: OwnedFd,
    /// True once nobody looks any more.
    is_left: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
}

/// What has been written to it.
struct Seen {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = rustix::fs::open(name, flags, Mode::empty()).unwrap();
        let seen = Arc::new(Mutex::new(Seen {
            bytes: Vec::new(),
            screen: vt100::Parser::new(some(24), some(80), 100),
        }));
        let is_left = Arc::new(AtomicBool::new(false));
        let terminal = Self { ours: File::from(ours), theirs, is_left, seen };
        terminal.resize(24, 80);
        let (mut ours, seen) = (terminal.ours.try_clone().unwrap(), Arc::clone(&terminal.seen));
        let is_left = Arc::clone(&terminal.is_left);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // It ends with an error when nobody has the other end open any more.
            while !is_left.load(Ordering::Relaxed)
                && let Ok(size @ 1..) = ours.read(&mut buffer)
            {
                let mut seen = seen.lock().unwrap();
                seen.bytes.extend_from_slice(&buffer[..size]);
                seen.screen.process(&buffer[..size]);
            }
        });
        terminal
    }

    /// Waits until what a program wrote before it ended has been read from the terminal, or would have been. Nothing
    /// tells that nothing more will come, so this is a time: long for a pipe, and too short only lets a test pass.
    pub(crate) fn settle(&self) {
        thread::sleep(Duration::from_millis(100));
    }

    /// From now on nobody reads from it: what a program shows fills it up.
    pub(crate) fn look_away(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Takes it away from the programs that have it, as a window that is closed does.
    pub(crate) fn close(self) {
        self.look_away();
        // The thread has the terminal open until it has read once more.
        rustix::io::write(&self.theirs, b"x").unwrap();
        thread::sleep(Duration::from_millis(100));
    }

    /// Starts a command that has this terminal as its own, for keys and for stderr; stdout is wherever it is
    /// wanted.
    pub(crate) fn spawn(&self, command: &Command, stdout: Stdio) -> Running {
        let theirs = || Stdio::from(self.theirs.try_clone().unwrap());
        // Only so does the command take the terminal as the one that controls it.
        let mut child = Command::new("setsid");
        child.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => child.env(name, value),
                None => child.env_remove(name),
            };
        }
        Running(child.stdin(theirs()).stdout(stdout).stderr(theirs()).spawn().unwrap())
    }

    pub(crate) fn stdout(&self) -> Stdio {
        Stdio::from(self.theirs.try_clone().unwrap())
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.ours.write_all(keys).unwrap();
    }

    /// The system tells those who watch it.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.theirs, size).unwrap();
        self.seen.lock().unwrap().screen.screen_mut().set_size(some(rows), some(columns));
    }

    /// All that was written to it, with control sequences.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap().bytes).into_owned()
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.seen.lock().unwrap().screen.screen().contents()
    }

    /// Waits until the screen shows this, and returns all that it shows then.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, and returns all that it shows then.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "not seen: {what}; there is:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether it is as a shell needs it: the usual screen, a cursor, and lines that are echoed as they are typed.
    pub(crate) fn is_usual(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        let seen = self.seen.lock().unwrap();
        let screen = seen.screen.screen();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.alternate_screen()
            && !screen.hide_cursor()
    }
}

fn some(count: u16) -> NonZero<u16> {
    NonZero::new(count).expect("a terminal has rows and columns")
}

/// A child that does not outlive the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its standard output, once it has ended.
    pub(crate) fn stdout(&mut self) -> String {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has usually ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
