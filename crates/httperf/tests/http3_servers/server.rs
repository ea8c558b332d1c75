//! A server of some make with a folder, a port and perhaps another server behind it; and what it has logged.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_testkit::tcp::free_port;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::makes::Make;
use crate::support::certificates::Certificates;
use crate::support::group::Group;
use crate::support::program::under_test;
use crate::support::ran::{Ran, run_within};

/// The time limit for a server to have its port, or to have written its log.
const WAIT: Duration = Duration::from_secs(30);

/// Maximum time of a run on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(150);

/// What a server is asked for beside answering.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setting {
    /// Small windows for what clients send, where it can be told.
    pub(crate) small_windows: bool,
    /// A Retry for each connection.
    pub(crate) retry: bool,
    /// Tickets with which requests may come as early data.
    pub(crate) early_data: bool,
    /// A thousand streams at once, where it can be told.
    pub(crate) many_streams: bool,
    /// The end of connections, announced by GOAWAY, by itself if it reads no configuration again.
    pub(crate) goaways: bool,
}

/// Where a server runs.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its folder, with `server.pem` and `server.key`, both also as `both.pem`, and in `docs` files whose names are their sizes:
    /// `size/6`, `size/300000`, `size/100000000`.
    pub(crate) root: PathBuf,
    /// The same folder as the server sees it.
    pub(crate) inside: String,
    pub(crate) port: u16,
    /// Of the server behind it, which speaks HTTP/1.1 and answers any request for `/size/N`.
    pub(crate) backend: u16,
}

/// What a server has logged since it was started; `None` where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) requests: Option<u64>,
    /// Completed handshakes.
    pub(crate) handshakes: Option<u64>,
    /// Handshakes of them that resumed a session.
    pub(crate) resumed: Option<u64>,
    /// Requests on connections that resumed a session.
    pub(crate) resumed_requests: Option<u64>,
    /// Requests that came as early data, or handshakes with it.
    pub(crate) early: Option<u64>,
    pub(crate) retries: Option<u64>,
    /// Bytes of bodies of requests.
    pub(crate) body_bytes: Option<u64>,
}

/// A running server; dropping it stops it.
pub(crate) struct Server {
    pub(crate) make: &'static Make,
    setting: Setting,
    program: PathBuf,
    place: Place,
    group: Option<Group>,
    /// Stopped after the server that needs it, and before its folder is removed.
    _backend: Group,
    _folder: TempDir,
}

impl Server {
    /// Starts a server; `None`, with a record of the skipped test, if its program is not there.
    pub(crate) fn start(make: &'static Make, setting: &Setting) -> Option<Self> {
        let program = (make.program)()?;
        let folder = match make.tree.map(|tree| tree().map(|tree| tree.join("tmp"))) {
            None => tempfile::tempdir().unwrap(),
            Some(tmp) => TempDir::new_in(tmp?).unwrap(),
        };
        let root = folder.path().to_owned();
        furnish(&root);
        let inside = match make.tree {
            None => root.display().to_string(),
            Some(_) => format!("/tmp/{}", root.file_name().unwrap().display()),
        };
        let place = Place { root, inside, port: free_port(), backend: free_port() };
        let mut backend = Command::new(under_test());
        backend.args(["serve", &format!("--listen=127.0.0.1:{}", place.backend)]);
        let backend = Group::spawn(backend.stdin(Stdio::null()).stdout(Stdio::null())).unwrap();
        wait_for_port("tcp", place.backend, &place.root);
        let mut server =
            Self { make, setting: *setting, program, place, group: None, _backend: backend, _folder: folder };
        server.start_again();
        Some(server)
    }

    /// Starts it where it was before.
    pub(crate) fn start_again(&mut self) {
        let log = File::options().create(true).append(true).open(self.place.root.join("output.log")).unwrap();
        let mut command = (self.make.command)(&self.program, &self.place, &self.setting);
        command.current_dir(&self.place.root).stdin(Stdio::null());
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.group = Some(Group::spawn(&mut command).unwrap());
        wait_for_port("udp", self.place.port, &self.place.root);
    }

    /// Kills it with all its processes.
    pub(crate) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.group = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.group.as_ref().expect("it runs").signal(signal);
    }

    /// Has it read its configuration again.
    pub(crate) fn reload(&self) {
        let reload = self.make.reload.expect("the row is for those that can");
        reload(&self.program, &self.place, self.group.as_ref().expect("it runs"));
    }

    /// Runs the program against it.
    pub(crate) fn run(&self, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
        run_within(LIMIT, self.place.port, &format!("--http-version 3 --ssl {arguments}"), files)
    }

    /// What it has logged when it has this many requests, and has ended after that. If it does not log requests, it is given no
    /// time.
    pub(crate) fn end(&mut self, requests: u64) -> Logged {
        let began = Instant::now();
        while self.make.logs_at_once
            && self.logged().requests.is_some_and(|logged| logged < requests)
            && began.elapsed() < WAIT
        {
            // Between looks at a file that another process writes.
            thread::sleep(Duration::from_millis(10));
        }
        self.group = None;
        self.logged()
    }

    fn logged(&self) -> Logged {
        (self.make.logged)(&self.text())
    }

    pub(crate) fn port(&self) -> u16 {
        self.place.port
    }

    /// What it has printed and written.
    pub(crate) fn text(&self) -> String {
        ["output.log", "access.log"]
            .map(|name| fs::read(self.place.root.join(name)).unwrap_or_default())
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .concat()
    }
}

fn furnish(root: &Path) {
    // Some servers give their privileges up.
    fs::set_permissions(root, Permissions::from_mode(0o777)).unwrap();
    Certificates::make(root);
    let read = |name: &str| fs::read(root.join(name)).unwrap();
    fs::write(root.join("both.pem"), [read("server.pem"), read("server.key")].concat()).unwrap();
    fs::create_dir_all(root.join("docs/size")).unwrap();
    for size in [6, 300_000, 100_000_000] {
        // Zeros that take no room.
        File::create(root.join(format!("docs/size/{size}"))).unwrap().set_len(size).unwrap();
    }
}

/// Waits until somebody has a port, without a packet that a server could log.
fn wait_for_port(protocol: &str, port: u16, root: &Path) {
    let wanted = [format!("0100007F:{port:04X} "), format!("00000000:{port:04X} ")];
    let began = Instant::now();
    loop {
        let table = fs::read_to_string(format!("/proc/net/{protocol}")).unwrap();
        if table.lines().any(|line| wanted.iter().any(|wanted| line.contains(wanted))) {
            return;
        }
        let said = || fs::read_to_string(root.join("output.log")).unwrap_or_default();
        assert!(began.elapsed() < WAIT, "nobody takes port {port}: {}", said());
        // Between looks: the kernel does not tell when a port is taken.
        thread::sleep(Duration::from_millis(5));
    }
}
