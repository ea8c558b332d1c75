//! A web server that logs who asked it, and the proxies before it; all on the loopback interface.

use std::env;
use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::support::group::Group;
use crate::support::must_not_skip;

/// How long a server may take until it accepts connections.
const START_WAIT: Duration = Duration::from_secs(10);

/// How long it may take until it has written what it logs.
const WRITE_WAIT: Duration = Duration::from_secs(5);

/// Another process can take a port between its choice and its use: then another one is tried.
const ATTEMPTS: usize = 3;

/// The addresses that nginx listens on.
pub(crate) const ADDRESSES: [&str; 4] = ["127.0.0.1", "[::1]", "127.0.8.1", "127.0.8.2"];

/// What proxies want to be told if they want to be told anything: the user, the password, and both in a URL.
pub(crate) const CREDENTIALS: (&str, &str, &str) = ("tester", "s3cret", "tester:s%33cret@");

/// A running server; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Peer {
    group: Group,
    folder: TempDir,
    ports: Vec<u16>,
    pub(crate) certificates: Certificates,
}

impl Peer {
    /// nginx on all of [`ADDRESSES`], over HTTP at its first port and over TLS at its second. It serves `/small.txt` (6
    /// bytes).
    pub(crate) fn nginx() -> Option<Self> {
        let program = find("nginx")?;
        Some(Self::start("127.0.0.1", 2, |root, ports| {
            let user = if geteuid().is_root() { "user root;" } else { "" };
            let path = root.display();
            let listen = |address: &str| {
                let (clear, secured) = (ports[0], ports[1]);
                format!("listen {address}:{clear}; listen {address}:{secured} ssl;")
            };
            let listen: String = ADDRESSES.into_iter().map(listen).collect();
            let text = format!(
                "{user} daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;
                events {{ worker_connections 512; }}
                http {{
                    log_format way '$remote_addr $server_addr $scheme host=$http_host $request '
                                   'authorization=$http_proxy_authorization via=$http_via sni=$ssl_server_name';
                    access_log {path}/access.log way;
                    client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                    fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
                    keepalive_requests 1000000;
                    server {{
                        {listen}
                        ssl_certificate server.pem; ssl_certificate_key server.key;
                        root {path}/docs;
                    }}
                }}\n"
            );
            fs::write(root.join("nginx.conf"), text).expect("the folder can be written to");
            let mut command = Command::new(&program);
            command.arg("-p").arg(root).arg("-c").arg(root.join("nginx.conf"));
            command.arg("-e").arg(root.join("error.log"));
            command
        }))
    }

    /// squid, which keeps connections, at an address; it caches nothing.
    pub(crate) fn squid(address: &str, settings: &str) -> Option<Self> {
        let program = find("squid")?;
        Some(Self::start(address, 1, |root, ports| {
            let (path, port) = (root.display(), ports[0]);
            let text = format!(
                "http_port {address}:{port}
                {settings}
                http_access allow all
                cache deny all
                cache_mem 8 MB
                cache_effective_user nobody
                access_log none
                cache_log {path}/output.log
                pid_filename none
                shutdown_lifetime 0 seconds
                coredump_dir {path}
                netdb_filename none\n"
            );
            fs::write(root.join("squid.conf"), text).expect("the folder can be written to");
            let mut command = Command::new(&program);
            command.arg("-N").arg("-f").arg(root.join("squid.conf"));
            command
        }))
    }

    /// tinyproxy, which closes connections after a request, at an address.
    pub(crate) fn tinyproxy(address: &str, settings: &str) -> Option<Self> {
        let program = find("tinyproxy")?;
        Some(Self::start(address, 1, |root, ports| {
            let (host, port) = (address.trim_matches(['[', ']']), ports[0]);
            let text = format!("Port {port}\nListen {host}\nTimeout 60\nMaxClients 100\n{settings}\n");
            fs::write(root.join("tinyproxy.conf"), text).expect("the folder can be written to");
            let mut command = Command::new(&program);
            command.arg("-d").arg("-c").arg(root.join("tinyproxy.conf"));
            command
        }))
    }

    /// A server written in Python, which is told its address and port behind these arguments.
    pub(crate) fn python(source: &str, address: &str) -> Option<Self> {
        let program = find("python3")?;
        Some(Self::start(address, 1, |_, ports| {
            let mut command = Command::new(&program);
            command.arg("-u").arg("-c").arg(source);
            command.arg(address.trim_matches(['[', ']'])).arg(ports[0].to_string());
            command
        }))
    }

    pub(crate) fn port(&self) -> u16 {
        self.ports[0]
    }

    /// The port for connections over TLS.
    pub(crate) fn secured_port(&self) -> u16 {
        self.ports[1]
    }

    /// The lines of what nginx has logged about requests, once there are as many as expected.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.lines("access.log", lines)
    }

    /// The lines that the server has printed, once there are as many as expected.
    pub(crate) fn output(&self, lines: usize) -> Vec<String> {
        self.lines("output.log", lines)
    }

    fn lines(&self, file: &str, lines: usize) -> Vec<String> {
        let read = || fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        let began = Instant::now();
        while read().lines().count() < lines && began.elapsed() < WRITE_WAIT {
            thread::sleep(Duration::from_millis(10));
        }
        read().lines().map(str::to_owned).collect()
    }

    fn start(address: &str, port_count: usize, command: impl Fn(&Path, &[u16]) -> Command) -> Self {
        let address: IpAddr = address.trim_matches(['[', ']']).parse().expect("tests name addresses");
        let mut failures = Vec::new();
        for _ in 0..ATTEMPTS {
            match Self::try_start(address, port_count, &command) {
                Ok(peer) => return peer,
                Err(failure) => failures.push(failure),
            }
        }
        panic!("the server does not start: {failures:?}");
    }

    fn try_start(
        address: IpAddr,
        port_count: usize,
        command: impl Fn(&Path, &[u16]) -> Command,
    ) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let root = folder.path();
        // squid gives its privileges up.
        fs::set_permissions(root, Permissions::from_mode(0o777)).map_err(|error| error.to_string())?;
        let certificates = Certificates::make(root);
        let docs = root.join("docs");
        fs::create_dir(&docs).map_err(|error| error.to_string())?;
        fs::write(docs.join("small.txt"), "small\n").map_err(|error| error.to_string())?;
        let ports = free_ports(address, port_count).map_err(|error| error.to_string())?;
        let log = File::create(root.join("output.log")).map_err(|error| error.to_string())?;
        fs::set_permissions(root.join("output.log"), Permissions::from_mode(0o666))
            .map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = command(root, &ports);
        let group = Group::spawn(command.stdin(Stdio::null()).stdout(log).stderr(errors))?;
        let mut peer = Self { group, folder, ports, certificates };
        let began = Instant::now();
        while began.elapsed() < START_WAIT {
            if let Ok(Some(status)) = peer.group.child().try_wait() {
                return Err(format!("it ended with {status}: {:?}", peer.output(0)));
            }
            if TcpStream::connect(SocketAddr::new(address, peer.ports[0])).is_ok() {
                return Ok(peer);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("it accepts no connection: {:?}", peer.output(0)))
    }
}

/// Ports that are free at an address; all held at once, so that they differ.
fn free_ports(address: IpAddr, count: usize) -> std::io::Result<Vec<u16>> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind((address, 0))).collect::<std::io::Result<_>>()?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// A program of the system; `None`, with a word on stdout, if it is not installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skip(&format!("{name} is not there"));
    }
    found
}

/// Says that a test is left out, which it must not be where everything has to be there.
pub(crate) fn skip(reason: &str) {
    assert!(!must_not_skip(), "skipped: {reason}");
    println!("skipped: {reason}");
}

/// Whether namespaces of this kind (an option of `unshare`) can be made.
pub(crate) fn has_namespaces(kind: &str) -> bool {
    let made = Command::new("unshare").args(["--map-root-user", kind, "true"]).output();
    let is_made = made.is_ok_and(|made| made.status.success());
    if !is_made {
        skip(&format!("no namespace with `unshare {kind}`"));
    }
    is_made
}

/// A file with these contents.
pub(crate) fn file(contents: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(contents.as_bytes()).expect("it can be written to");
    file
}
