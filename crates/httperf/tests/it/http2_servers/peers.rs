//! Servers of other makes that speak HTTP/2, and the one of the program itself.
//!
//! All of them serve `small.txt` (6 bytes), `1m.bin` and `100m.bin`, and say on `/echo` what size and SHA-256 the body
//! has that was sent to them; only nghttpd sends the body back.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, geteuid, kill_process};

use super::backend::Backend;
use crate::support::certificates::Certificates;
use crate::support::nginx::Nginx;
use crate::support::program::under_test;
use crate::support::running::{Running, find, go_program, tool};

/// The sizes of what is served.
pub(crate) const SMALL_SIZE: u64 = 6;
pub(crate) const MIDDLE_SIZE: u64 = 1 << 20;
pub(crate) const LARGE_SIZE: u64 = 100 << 20;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Make {
    Nginx,
    Nghttpd,
    Apache,
    H2o,
    Node,
    Go,
    Caddy,
    /// `httperf serve`, which is made with hyper and h2.
    Own,
}

/// How a server is set up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) tls: bool,
    /// It speaks HTTP/1.1 alone.
    pub(crate) http1: bool,
    /// After how many requests it ends a connection, in order: nginx, Node, the program itself.
    pub(crate) requests: Option<u32>,
    /// After how many seconds without a request.
    pub(crate) idle_s: Option<u32>,
    /// How many streams a client may have open at once: all but Caddy, which allows 250.
    pub(crate) streams: Option<u32>,
    /// As little of a body may be under way as the server can be told: all but Caddy.
    pub(crate) small_windows: bool,
    /// It is started again half a second after it was killed: nginx, Go.
    pub(crate) restarts: bool,
    /// Further directives of nginx's `server` block.
    pub(crate) directives: &'static str,
}

/// In the clear.
pub(crate) const CLEAR: Settings = Settings {
    tls: false,
    http1: false,
    requests: None,
    idle_s: None,
    streams: None,
    small_windows: false,
    restarts: false,
    directives: "",
};

/// The same over TLS.
pub(crate) const SECURE: Settings = Settings { tls: true, ..CLEAR };

/// A running server; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) make: Make,
    pub(crate) settings: Settings,
    pub(crate) port: u16,
    running: Running,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.make, if self.settings.tls { "over TLS" } else { "in the clear" })
    }
}

impl Peer {
    /// Starts a server; `None`, with a word on stdout, if it is not installed.
    pub(crate) fn start(make: Make, settings: Settings) -> Option<Self> {
        let program = match make {
            Make::Nginx => find("nginx")?,
            Make::Nghttpd => find("nghttpd")?,
            Make::Apache => find("apache2")?,
            Make::H2o => find("h2o")?,
            Make::Node => find("node")?,
            Make::Go => go_program("http2_servers/server.go", "http2-server")?,
            Make::Caddy => tool("caddy")?,
            Make::Own => under_test(),
        };
        let command = |root: &Path, ports: &[u16]| match make {
            Make::Nginx => nginx(&program, root, ports[0], settings),
            Make::Nghttpd => nghttpd(&program, root, ports[0], settings),
            Make::Apache => apache(&program, root, ports[0], settings),
            Make::H2o => h2o(&program, root, ports[0], settings),
            Make::Node => node(&program, root, ports[0], settings),
            Make::Go => go(&program, root, ports[0], settings),
            Make::Caddy => caddy(&program, root, ports, settings),
            Make::Own => own(&program, root, ports[0], settings),
        };
        let command = |root: &Path, ports: &[u16]| {
            let mut command = match settings.restarts {
                true => again_and_again(&command(root, ports)),
                false => command(root, ports),
            };
            command.current_dir(root);
            command
        };
        let running = Running::start("127.0.0.1", 2, furnish, command);
        let peer = Self { make, settings, port: running.port(0), running };
        if make == Make::Nginx {
            // It tries for a while to get a port that somebody else has taken meanwhile, and accepts.
            peer.running.lines("pid", 1);
        }
        Some(peer)
    }

    /// The path of a document: `small.txt`, `1m.bin`, `100m.bin`, `missing`.
    pub(crate) fn path(&self, name: &str) -> String {
        match (self.make, name) {
            (Make::Own, "small.txt") => format!("/size/{SMALL_SIZE}"),
            (Make::Own, "1m.bin") => format!("/size/{MIDDLE_SIZE}"),
            (Make::Own, "100m.bin") => format!("/size/{LARGE_SIZE}"),
            (Make::Own, "missing") => "/status/404".to_owned(),
            _ => format!("/{name}"),
        }
    }

    /// Asks it to end its connections in order, and to go on with new ones.
    pub(crate) fn reload(&self) {
        match self.make {
            Make::Caddy => {
                let caddy = tool("caddy").expect("it runs");
                let mut command = Command::new(caddy);
                command.args(["reload", "--force", "--adapter", "caddyfile", "--config", "Caddyfile"]);
                command.args(["--address", &format!("127.0.0.1:{}", self.running.port(1))]);
                set_home(&mut command, self.running.folder());
                let output = command.current_dir(self.running.folder()).output().expect("it can be started");
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            }
            Make::Apache => self.running.signal_leader(Signal::USR1),
            Make::Nginx | Make::H2o | Make::Node | Make::Go => self.running.signal_leader(Signal::HUP),
            Make::Nghttpd | Make::Own => unreachable!("it cannot be reloaded"),
        }
    }

    /// Sends a signal to all its processes.
    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Kills it; one that restarts is started again.
    pub(crate) fn kill(&self) {
        if !self.settings.restarts {
            self.running.signal(Signal::KILL);
            return;
        }
        let pid = fs::read_to_string(self.running.folder().join("pid")).expect("it has written its number");
        let pid = pid.trim().parse().ok().and_then(Pid::from_raw).expect("that is a number");
        kill_process(pid, Signal::KILL).expect("it runs");
    }
}

/// Puts into a folder what servers serve and need.
fn furnish(root: &Path) -> std::io::Result<()> {
    Certificates::make(root);
    fs::write(root.join("server.js"), include_str!("server.js"))?;
    let docs = root.join("docs");
    fs::create_dir(&docs)?;
    fs::write(docs.join("small.txt"), "small\n")?;
    fs::write(docs.join("1m.bin"), middle())?;
    File::create(docs.join("100m.bin"))?.set_len(LARGE_SIZE)
}

/// What bodies of the own server repeat.
const PATTERN: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";

/// What is in `1m.bin`.
pub(crate) fn middle() -> Vec<u8> {
    PATTERN.iter().copied().cycle().take(MIDDLE_SIZE as usize).collect()
}

/// Starts the command anew whenever it has ended.
fn again_and_again(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "while :; do \"$@\"; sleep 0.5; done", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

fn nginx(program: &Path, root: &Path, port: u16, settings: Settings) -> Command {
    let Settings { requests, idle_s, streams, directives, .. } = settings;
    let secured = if settings.tls { "ssl" } else { "" };
    let version = if settings.http1 { "" } else { "http2" };
    let (idle_s, streams) = (idle_s.unwrap_or(75), streams.unwrap_or(128));
    let backend = Backend::port();
    Nginx::new(root)
        .with_master(!settings.restarts)
        .requests_per_connection(requests.unwrap_or(1_000_000))
        .http(format!("keepalive_timeout {idle_s}s;"))
        .listen(format!("127.0.0.1:{port} {secured} {version}"))
        .certificate()
        .server("ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tests:1m;")
        .server(format!("http2_max_concurrent_streams {streams};"))
        .server(format!(
            "location /echo {{ client_max_body_size 20m; proxy_pass http://127.0.0.1:{backend}; }}"
        ))
        .server(directives)
        .command(program)
}

fn nghttpd(program: &Path, _root: &Path, port: u16, settings: Settings) -> Command {
    let mut command = Command::new(program);
    command.args(["--address=127.0.0.1", "--htdocs=docs", "--echo-upload", "--trailer=x-check: abc"]);
    if let Some(streams) = settings.streams {
        command.arg(format!("--max-concurrent-streams={streams}"));
    }
    if settings.small_windows {
        // Over TLS, nghttpd (libnghttp2 1.52) handles several records before it writes. If the acknowledgement of its settings
        // is among them, and a WINDOW_UPDATE has not gone out yet, it holds what came before the acknowledgement against the
        // smaller window, and resets the stream with FLOW_CONTROL_ERROR for content that was in order when it was sent
        // (RFC 9113, section 6.9.2). So its window over TLS is the one that streams begin with; what a client has to do
        // when a window shrinks under a body is for the relay, other servers and the simulation to show.
        let bits = if settings.tls { "--window-bits=16" } else { "--window-bits=14" };
        command.args([bits, "--connection-window-bits=16"]);
    }
    match settings.tls {
        true => command.arg(port.to_string()).args(["server.key", "server.pem"]),
        false => command.args(["--no-tls", &port.to_string()]),
    };
    command
}

fn apache(program: &Path, root: &Path, port: u16, settings: Settings) -> Command {
    let modules = Path::new("/usr/lib/apache2/modules");
    let mut load = String::new();
    for module in ["mpm_event", "unixd", "authz_core", "mime", "ssl", "http2", "proxy", "proxy_http"] {
        // Some are built in, and differ from system to system.
        let file = modules.join(format!("mod_{module}.so"));
        if file.is_file() {
            load += &format!("LoadModule {module}_module {}\n", file.display());
        }
    }
    // It refuses to serve as root.
    let user = if geteuid().is_root() { "User nobody\nGroup #65534\n" } else { "" };
    let protocols = if settings.http1 { "http/1.1" } else { "h2 h2c http/1.1" };
    let secured = match settings.tls {
        true => "SSLEngine on\nSSLCertificateFile server.pem\nSSLCertificateKeyFile server.key\n",
        false => "",
    };
    let (streams, idle_s) = (settings.streams.unwrap_or(100), settings.idle_s.unwrap_or(60));
    let (requests, backend) = (settings.requests.unwrap_or(0), Backend::port());
    let root_shown = root.display();
    let text = format!(
        "{load}{user}
        ServerRoot {root_shown}
        ServerName localhost
        Listen 127.0.0.1:{port}
        PidFile {root_shown}/pid
        ErrorLog {root_shown}/error.log
        TypesConfig /dev/null
        DefaultRuntimeDir {root_shown}
        StartServers 1
        KeepAlive On
        KeepAliveTimeout {idle_s}
        MaxKeepAliveRequests {requests}
        Protocols {protocols}
        H2Direct on
        H2WindowSize 65535
        H2MaxSessionStreams {streams}
        {secured}
        DocumentRoot {root_shown}/docs
        ProxyPass /echo http://127.0.0.1:{backend}/echo
        <Directory {root_shown}/docs>
            Require all granted
        </Directory>\n"
    );
    fs::write(root.join("apache.conf"), text).expect("the folder can be written to");
    let mut command = Command::new(program);
    command.args(["-D", "FOREGROUND", "-f"]).arg(root.join("apache.conf"));
    command
}

fn h2o(program: &Path, root: &Path, port: u16, settings: Settings) -> Command {
    let path = root.display();
    let secured = match settings.tls {
        true => format!(", ssl: {{certificate-file: {path}/server.pem, key-file: {path}/server.key}}"),
        false => String::new(),
    };
    let user = if geteuid().is_root() { "user: root" } else { "" };
    let (streams, idle_s) = (settings.streams.unwrap_or(100), settings.idle_s.unwrap_or(10));
    let backend = Backend::port();
    let text = format!(
        "{user}
pid-file: {path}/pid
error-log: {path}/error.log
num-threads: 1
http2-max-concurrent-requests-per-connection: {streams}
http2-idle-timeout: {idle_s}
listen: {{host: 127.0.0.1, port: {port}{secured}}}
hosts:
  default:
    paths:
      /:
        file.dir: {path}/docs
      /echo:
        proxy.reverse.url: http://127.0.0.1:{backend}/echo
"
    );
    fs::write(root.join("h2o.conf"), text).expect("the folder can be written to");
    let mut command = Command::new(program);
    // Its master can put another worker in the place of one.
    command.args(["-m", "master", "-c"]).arg(root.join("h2o.conf"));
    command
}

fn node(program: &Path, _root: &Path, port: u16, settings: Settings) -> Command {
    let mut command = Command::new(program);
    command.args(["server.js", &port.to_string()]);
    for (word, is_on) in [("tls", settings.tls), ("http1", settings.http1)] {
        command.args(is_on.then_some(word));
    }
    let idle_ms = settings.idle_s.map(|idle_s| 1000 * idle_s);
    for (name, value) in [("requests", settings.requests), ("streams", settings.streams), ("idle", idle_ms)] {
        command.args(value.map(|value| format!("{name}={value}")));
    }
    command
}

fn go(program: &Path, _root: &Path, port: u16, settings: Settings) -> Command {
    let mut command = Command::new(program);
    command.arg(format!("-listen=127.0.0.1:{port}"));
    for (flag, is_on) in [("-tls", settings.tls), ("-http1", settings.http1)] {
        command.args(is_on.then_some(flag));
    }
    command.args(settings.small_windows.then_some("-window=65536"));
    command.args(settings.streams.map(|streams| format!("-streams={streams}")));
    command.args(settings.idle_s.map(|idle_s| format!("-idle={idle_s}s")));
    command
}

fn caddy(program: &Path, root: &Path, ports: &[u16], settings: Settings) -> Command {
    let path = root.display();
    let (port, admin, backend) = (ports[0], ports[1], Backend::port());
    let protocols = if settings.http1 { "h1" } else { "h1 h2 h2c" };
    let idle_s = settings.idle_s.unwrap_or(300);
    let (site, tls) = match settings.tls {
        true => ("https://localhost", format!("tls {path}/server.pem {path}/server.key")),
        false => ("http://localhost", String::new()),
    };
    let text = format!(
        "{{
    admin 127.0.0.1:{admin}
    auto_https off
    storage file_system {path}/storage
    servers {{
        protocols {protocols}
        timeouts {{
            idle {idle_s}s
        }}
    }}
}}
{site}:{port} {{
    bind 127.0.0.1
    {tls}
    root * {path}/docs
    reverse_proxy /echo 127.0.0.1:{backend}
    file_server
}}
"
    );
    fs::write(root.join("Caddyfile"), text).expect("the folder can be written to");
    let mut command = Command::new(program);
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(root.join("Caddyfile"));
    set_home(&mut command, root);
    command
}

fn set_home(command: &mut Command, root: &Path) {
    command.env("HOME", root).env("XDG_CONFIG_HOME", root).env("XDG_DATA_HOME", root);
}

fn own(program: &Path, _root: &Path, port: u16, settings: Settings) -> Command {
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    if settings.tls {
        command.args(["--tls-cert=server.pem", "--tls-cert-key=server.key"]);
    }
    command.args(settings.http1.then_some("--no-http2"));
    if settings.small_windows {
        command.args(["--h2-window=16k", "--h2-connection-window=64k"]);
    }
    command.args(settings.requests.map(|requests| format!("--close-after={requests}")));
    command.args(settings.idle_s.map(|idle_s| format!("--idle-timeout={idle_s}s")));
    command.args(settings.streams.map(|streams| format!("--h2-max-streams={streams}")));
    command
}
