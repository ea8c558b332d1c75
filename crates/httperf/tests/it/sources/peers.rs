//! A web server that logs who asked it, and the proxies before it; all on the loopback interface.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use httperf_testkit::skip;

use crate::support::certificates::Certificates;
use crate::support::nginx::Nginx;
use crate::support::running::{Running, find};

/// The addresses that nginx listens on.
pub(crate) const ADDRESSES: [&str; 4] = ["127.0.0.1", "[::1]", "127.0.8.1", "127.0.8.2"];

/// What proxies want to be told if they want to be told anything: the user, the password, and both in a URL.
pub(crate) const CREDENTIALS: (&str, &str, &str) = ("tester", "s3cret", "tester:s%33cret@");

/// A running server; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Peer {
    running: Running,
    pub(crate) certificates: Certificates,
}

impl Peer {
    /// nginx on all of [`ADDRESSES`], over HTTP at its first port and over TLS at its second. It serves `/small.txt` (6
    /// bytes).
    pub(crate) fn nginx() -> Option<Self> {
        let program = find("nginx")?;
        Some(Self::start("127.0.0.1", 2, |root, ports| {
            let (clear, secured) = (ports[0], ports[1]);
            let mut nginx = Nginx::new(root).certificate().log(
                "'$remote_addr $server_addr $scheme host=$http_host $request '
                 'authorization=$http_proxy_authorization via=$http_via sni=$ssl_server_name'",
            );
            for address in ADDRESSES {
                nginx = nginx.listen(format!("{address}:{clear}")).listen(format!("{address}:{secured} ssl"));
            }
            nginx.command(&program)
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
        self.running.port(0)
    }

    /// The port for connections over TLS.
    pub(crate) fn secured_port(&self) -> u16 {
        self.running.port(1)
    }

    /// The lines of what nginx has logged about requests, once there are as many as expected.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.running.lines("access.log", lines)
    }

    /// The lines that the server has printed, once there are as many as expected.
    pub(crate) fn output(&self, lines: usize) -> Vec<String> {
        self.running.lines("output.log", lines)
    }

    fn start(address: &str, port_count: usize, command: impl Fn(&Path, &[u16]) -> Command) -> Self {
        let furnish = |root: &Path| {
            Certificates::make(root);
            let docs = root.join("docs");
            fs::create_dir(&docs)?;
            fs::write(docs.join("small.txt"), "small\n")
        };
        let running = Running::start(address, port_count, furnish, command);
        Self { certificates: Certificates::of(running.folder()), running }
    }
}

/// Whether namespaces of this kind (an option of `unshare`) can be made.
pub(crate) fn has_namespaces(kind: &str) -> bool {
    let made = Command::new("unshare").args(["--map-root-user", kind, "true"]).output();
    let is_made = made.is_ok_and(|made| made.status.success());
    if !is_made {
        skip::lacking(&format!("`unshare {kind}`"));
    }
    is_made
}

/// A file with these contents.
pub(crate) fn file(contents: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(contents.as_bytes()).expect("it can be written to");
    file
}
