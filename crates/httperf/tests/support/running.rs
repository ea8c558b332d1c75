//! Servers and proxies of other makes, started by a test on ports of their own and stopped with it.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use httperf_testkit::skip;
use httperf_testkit::tcp::free_port_at;
use rustix::process::Signal;
use tempfile::TempDir;

use super::group::Group;

/// How long a server may take until it accepts connections.
const START_WAIT: Duration = Duration::from_secs(60);

/// How long to wait for something that a server is to write.
const WRITE_WAIT: Duration = Duration::from_secs(10);

/// Another process can take a port between its choice and its use: then another one is tried.
const ATTEMPTS: usize = 3;

/// A running server with a folder of its own; dropping it stops it with all its processes.
#[derive(Debug)]
pub(crate) struct Running {
    group: Group,
    folder: TempDir,
    ports: Vec<u16>,
}

impl Running {
    /// Starts a server at a local address, as a command that is told its folder and so many ports. What it prints goes
    /// to `output.log` in that folder, which `furnish` has put things into.
    pub(crate) fn start(
        address: &str,
        port_count: usize,
        furnish: impl Fn(&Path) -> io::Result<()>,
        command: impl Fn(&Path, &[u16]) -> Command,
    ) -> Self {
        let address: IpAddr = address.trim_matches(['[', ']']).parse().expect("tests name addresses");
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            match Self::try_start(address, port_count, &furnish, &command) {
                Ok(Ok(running)) => return running,
                Ok(Err(failure)) => failures.push(failure),
                Err(error) => failures.push(error.to_string()),
            }
        }
        panic!("the server does not start: {failures:?}");
    }

    /// Starts a server in Python, a script that is told its port, by this interpreter.
    pub(crate) fn python(interpreter: &Path, script: &str) -> Self {
        let furnish = |root: &Path| fs::write(root.join("server.py"), script);
        Self::start("127.0.0.1", 1, furnish, |root, ports| {
            let mut command = Command::new(interpreter);
            command.arg(root.join("server.py")).arg(ports[0].to_string());
            command
        })
    }

    fn try_start(
        address: IpAddr,
        port_count: usize,
        furnish: impl Fn(&Path) -> io::Result<()>,
        command: impl Fn(&Path, &[u16]) -> Command,
    ) -> io::Result<Result<Self, String>> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        // Some servers give their privileges up.
        fs::set_permissions(root, Permissions::from_mode(0o777))?;
        furnish(root)?;
        let ports: Vec<u16> = (0..port_count).map(|_| free_port_at(address)).collect();
        let log = File::create(root.join("output.log"))?;
        fs::set_permissions(root.join("output.log"), Permissions::from_mode(0o666))?;
        let errors = log.try_clone()?;
        let mut command = command(root, &ports);
        let group = Group::spawn(command.stdin(Stdio::piped()).stdout(log).stderr(errors));
        let group = match group {
            Ok(group) => group,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut running = Self { group, folder, ports };
        let began = Instant::now();
        while began.elapsed() < START_WAIT {
            if let Ok(Some(status)) = running.group.child().try_wait() {
                return Ok(Err(format!("it ended with {status}: {}", running.output())));
            }
            if TcpStream::connect(SocketAddr::new(address, running.ports[0])).is_ok() {
                return Ok(Ok(running));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(Err(format!("it accepts no connection: {}", running.output())))
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One of its ports.
    pub(crate) fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// The lines of a file in its folder, once there are as many as expected.
    pub(crate) fn lines(&self, file: &str, lines: usize) -> Vec<String> {
        let read = || fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        let began = Instant::now();
        while read().lines().count() < lines && began.elapsed() < WRITE_WAIT {
            thread::sleep(Duration::from_millis(10));
        }
        read().lines().map(str::to_owned).collect()
    }

    /// All that it has printed.
    pub(crate) fn output(&self) -> String {
        let bytes = fs::read(self.folder.path().join("output.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until it has printed this.
    pub(crate) fn wait_for(&self, text: &str) {
        let began = Instant::now();
        while !self.output().contains(text) {
            assert!(began.elapsed() < WRITE_WAIT, "`{text}` does not come: {}", self.output());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal to all its processes.
    pub(crate) fn signal(&self, signal: Signal) {
        self.group.signal(signal);
    }

    /// Sends a signal to the process that was started, and to none that it has started.
    pub(crate) fn signal_leader(&self, signal: Signal) {
        self.group.signal_leader(signal);
    }

    /// Types a line on its terminal.
    pub(crate) fn type_in(&mut self, line: &str) {
        let input = self.group.child().stdin.as_mut().expect("it has an input");
        input.write_all(line.as_bytes()).expect("it reads its input");
        input.flush().expect("it reads its input");
    }
}

/// A program of the system; `None`, with a word on stdout, if it is not installed. Servers are often in a folder that
/// is not on the search path of ordinary users.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    or_skip(name, folders.map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// A program that `scripts/tools.sh` gets.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    // Beside the folder of what was built: …/target/debug/deps/this-test.
    let own = env::current_exe().expect("a test knows where it is");
    let target = own.ancestors().nth(3).expect("a test is below the folder of what was built");
    or_skip(name, Some(target.join("tools").join(name)).filter(|file| file.exists()))
}

/// A program that is on the search path, or among those that `scripts/bench-tools.sh` gets. No build machine has to have
/// it.
pub(crate) fn optional(name: &str) -> Option<PathBuf> {
    let own = env::current_exe().expect("a test knows where it is");
    let target = own.ancestors().nth(3).expect("a test is below the folder of what was built");
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [target.join("tools")].into_iter().chain(env::split_paths(&path));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skip::without(name);
    }
    found
}

/// Builds a server in Go, once for a run of the tests. `source` is below `tests/it`; `name` is that of the folder of what
/// is built, beside those of other runs.
pub(crate) fn go_program(source: &str, name: &str) -> Option<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(program) = built.get(name) {
        return Some(program.clone());
    }
    let go = tool("go")?;
    let folder = go.parent()?.join(name);
    fs::create_dir_all(&folder).expect("the folder of what was built can be written to");
    let program = folder.join("server");
    let output = Command::new(&go)
        .args(["build", "-o"])
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(source))
        .env("GOFLAGS", "-buildvcs=false")
        .env("GOTOOLCHAIN", "local")
        .output()
        .expect("go can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built.insert(name.to_owned(), program.clone());
    Some(program)
}

/// What was found of this name; if nothing was, a word on stdout.
fn or_skip(name: &str, found: Option<PathBuf>) -> Option<PathBuf> {
    if found.is_none() {
        skip::lacking(name);
    }
    found
}

/// Starts a server, or ends the test if it is not installed.
macro_rules! peer {
    ($start:expr) => {
        match $start {
            Some(peer) => peer,
            None => return,
        }
    };
}

pub(crate) use peer;
