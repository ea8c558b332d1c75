//! The servers, with what each is told and what its log says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use httperf_testkit::{python, skip};
use rustix::process::Signal;

use crate::server::{Logged, Place, Setting};
use crate::support::group::Group;
use crate::support::program::under_test;
use crate::support::running::{find, optional, tool};

/// A server as it is told.
pub(crate) struct Make {
    pub(crate) name: &'static str,
    /// True if its quick cells are among what `make test` runs.
    pub(crate) is_quick: bool,
    /// Finds the program to start.
    pub(crate) program: fn() -> Option<PathBuf>,
    /// The tree that it runs in, by chroot.
    pub(crate) tree: Option<fn() -> Option<PathBuf>>,
    pub(crate) command: fn(&Path, &Place, &Setting) -> Command,
    /// Reads its log.
    pub(crate) logged: fn(&str) -> Logged,
    /// True if it logs a request when it has answered it, and not when it ends.
    pub(crate) logs_at_once: bool,
    /// Has it read its configuration again.
    pub(crate) reload: Option<fn(&Path, &Place, &Group)>,
    pub(crate) reloads: Reloads,
    /// Where it takes bodies of requests, and answers with 6 bytes.
    pub(crate) upload: &'static str,
    /// Streams that it lets a client have at once if it is to allow a thousand.
    pub(crate) streams: u64,
    /// For groups that are offered: the one agreed on, and whether the server had to ask for it.
    pub(crate) groups: &'static [(&'static str, &'static str, bool)],
    /// Rows that it cannot do, and why.
    pub(crate) lacks: &'static [(&'static str, &'static str)],
}

/// The fate of calls that are under way when a server reads its configuration again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reloads {
    /// All are answered.
    Clean,
    /// It ends some connections (CONNECTION_CLOSE with H3_NO_ERROR) without a GOAWAY before. Whether it has processed a
    /// request that crosses with that cannot be known, so its call has failed.
    Abrupt,
    /// It loses packets, and connections may die of that.
    Lossy,
}

/// Groups of a library that has the post-quantum one which browsers offer, and lacks another.
const POST_QUANTUM: &[(&str, &str, bool)] = &[
    ("X25519MLKEM768", "X25519MLKEM768", false),
    ("X25519", "X25519", false),
    ("P-256", "P-256", false),
    ("MLKEM1024:P-256", "P-256", true),
];

pub(crate) const MAKES: &[Make] = &[
    Make {
        name: "quinn",
        is_quick: true,
        program: || Some(under_test()),
        tree: None,
        command: own,
        logged: own_logged,
        logs_at_once: false,
        // It reads no configuration: each of its connections ends after a while.
        reload: Some(|_, _, _| {}),
        reloads: Reloads::Clean,
        upload: "/size/6",
        streams: 1000,
        groups: &[
            ("X25519MLKEM768", "X25519MLKEM768", false),
            ("MLKEM1024", "MLKEM1024", false),
            ("P-384", "P-384", false),
        ],
        lacks: &[],
    },
    Make {
        name: "ngtcp2",
        is_quick: true,
        program: || find("gtlsserver"),
        tree: None,
        command: ngtcp2,
        logged: ngtcp2_logged,
        logs_at_once: true,
        reload: None,
        reloads: Reloads::Clean,
        upload: "/size/6",
        streams: 1000,
        groups: &[("X25519", "X25519", false), ("P-256", "P-256", false), ("MLKEM1024:P-384", "P-384", true)],
        lacks: &[
            ("reload", "gtlsserver 0.12 reads no configuration"),
            ("reload amid replies", "gtlsserver 0.12 reads no configuration"),
            (
                "early data rejected",
                "ngtcp2 0.12 closes connections whose early data it refuses (STREAM_LIMIT_ERROR)",
            ),
        ],
    },
    Make {
        name: "Caddy",
        is_quick: true,
        program: || tool("caddy"),
        tree: None,
        command: caddy,
        logged: caddy_logged,
        logs_at_once: true,
        reload: Some(reload_caddy),
        // Caddy 2.10 with quic-go 0.54.
        reloads: Reloads::Abrupt,
        upload: "/upload",
        streams: 100,
        groups: POST_QUANTUM,
        lacks: &[("Retry", "Caddy 2.10 sends Retry only under load that it cannot be told")],
    },
    Make {
        name: "aioquic",
        is_quick: true,
        program: python_with_aioquic,
        tree: None,
        command: aioquic,
        logged: aioquic_logged,
        logs_at_once: true,
        reload: None,
        reloads: Reloads::Clean,
        upload: "/size/6",
        streams: 128,
        groups: &[("X25519", "X25519", false), ("P-256", "P-256", false)],
        lacks: &[
            ("reload", "aioquic 1.7 has no GOAWAY"),
            ("reload amid replies", "aioquic 1.7 has no GOAWAY"),
            ("early data rejected", "aioquic 1.7 has no HelloRetryRequest"),
        ],
    },
    Make {
        name: "quiche",
        is_quick: false,
        program: || optional("quiche-server"),
        tree: None,
        command: quiche,
        logged: quiche_logged,
        logs_at_once: true,
        reload: None,
        reloads: Reloads::Clean,
        upload: "",
        streams: 100,
        groups: POST_QUANTUM,
        lacks: &[
            ("reload", "the example of quiche 0.30 sends no GOAWAY"),
            ("reload amid replies", "the example of quiche 0.30 sends no GOAWAY"),
            ("uploads", "the example of quiche 0.30 refuses bodies"),
        ],
    },
    Make {
        name: "nginx",
        is_quick: false,
        program: chroot,
        tree: Some(sid_tree),
        command: nginx,
        logged: nginx_logged,
        logs_at_once: true,
        reload: Some(|_, _, group| group.signal_leader(Signal::HUP)),
        // nginx 1.30 has its old and its new workers read the same socket: what reaches the wrong one is lost.
        reloads: Reloads::Lossy,
        upload: "/upload",
        streams: 1000,
        groups: POST_QUANTUM,
        lacks: &[(
            "reload amid replies",
            "nginx 1.30 loses packets of all connections that go on, and their calls",
        )],
    },
    Make {
        name: "haproxy",
        is_quick: false,
        program: chroot,
        tree: Some(sid_tree),
        command: haproxy,
        logged: haproxy_logged,
        logs_at_once: true,
        reload: Some(|_, _, group| group.signal_leader(Signal::USR2)),
        reloads: Reloads::Clean,
        upload: "/size/6",
        streams: 1000,
        groups: POST_QUANTUM,
        lacks: &[
            ("early data accepted", "haproxy 3.2 takes no early data over OpenSSL's QUIC"),
            ("early data rejected", "haproxy 3.2 takes no early data over OpenSSL's QUIC"),
        ],
    },
];

/// Our own test server, on quinn and h3.
fn own(program: &Path, place: &Place, setting: &Setting) -> Command {
    let mut command = Command::new(program);
    command.args(["serve", "--http3", &format!("--listen=127.0.0.1:{}", place.port), "--size=6"]);
    command.args(setting.small_windows.then_some("--h3-window=20k"));
    command.args(setting.retry.then_some("--h3-retry"));
    command.args(setting.goaways.then_some("--close-after=20"));
    command.args(setting.early_data.then_some("--tls-early-data"));
    // One of ours is to be lacking, so that it has to ask for another.
    command.args(setting.early_data.then_some("--tls-groups=X25519MLKEM768,X25519,P-256"));
    command
}

fn own_logged(text: &str) -> Logged {
    let count = |name: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix(name))
            .find_map(|rest| rest.strip_prefix("  ")?.trim().parse().ok())
            .or(Some(0))
    };
    let full: Option<u64> = count("TLS handshakes, full");
    let resumed = count("TLS handshakes, resumed");
    Logged {
        requests: count("requests"),
        handshakes: full.zip(resumed).map(|(full, resumed)| full + resumed),
        resumed,
        early: count("TLS early data accepted"),
        retries: count("Retry packets sent"),
        ..Logged::default()
    }
}

/// ngtcp2 with GnuTLS.
fn ngtcp2(program: &Path, place: &Place, setting: &Setting) -> Command {
    let mut command = Command::new(program);
    command.args(["--htdocs=docs", "--no-quic-dump", "--no-http-dump"]);
    if setting.small_windows {
        command.args(["--max-stream-data-bidi-remote=20K", "--max-stream-window=20K"]);
    }
    command.args(setting.retry.then_some("--validate-addr"));
    command.args(setting.many_streams.then_some("--max-streams-bidi=1000"));
    command.args(["127.0.0.1", &place.port.to_string(), "server.key", "server.pem"]);
    command
}

fn ngtcp2_logged(text: &str) -> Logged {
    Logged {
        requests: Some(lines_with(text, "request headers started")),
        handshakes: Some(lines_with(text, "QUIC handshake has completed")),
        ..Logged::default()
    }
}

/// Caddy, on quic-go.
fn caddy(program: &Path, place: &Place, _setting: &Setting) -> Command {
    let Place { root, port, backend, .. } = place;
    let path = root.display();
    let text = format!(
        "{{\n admin unix/{path}/admin.sock\n grace_period 5s\n auto_https disable_redirects\n persist_config off\n \
         storage file_system {path}/storage\n}}\n\
         https://localhost:{port} {{\n bind 127.0.0.1\n tls {path}/server.pem {path}/server.key\n root * {path}/docs\n \
         handle /upload {{\n rewrite * /size/6\n reverse_proxy 127.0.0.1:{backend}\n }}\n handle {{\n file_server\n }}\n \
         log {{\n output file {path}/access.log\n format json\n }}\n}}\n"
    );
    fs::write(root.join("Caddyfile"), text).unwrap();
    let mut command = Command::new(program);
    command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    command.env("HOME", root).env("XDG_CONFIG_HOME", root);
    command
}

fn reload_caddy(program: &Path, place: &Place, _group: &Group) {
    let mut command = Command::new(program);
    command.args(["reload", "--force", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    command.arg(format!("--address=unix/{}/admin.sock", place.root.display()));
    command.current_dir(&place.root).env("HOME", &place.root);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn caddy_logged(text: &str) -> Logged {
    let requests = || text.lines().filter(|line| line.contains("\"proto\":\"HTTP/3.0\""));
    let read = requests().filter_map(|line| {
        let rest = line.split("\"bytes_read\":").nth(1)?;
        rest.split(',').next()?.parse::<u64>().ok()
    });
    Logged {
        requests: Some(requests().count() as u64),
        body_bytes: Some(read.sum()),
        resumed_requests: Some(requests().filter(|line| line.contains("\"resumed\":true")).count() as u64),
        ..Logged::default()
    }
}

fn python_with_aioquic() -> Option<PathBuf> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let look = || python::with_package(Path::new(env!("CARGO_TARGET_TMPDIR")), "aioquic");
    let python = PYTHON.get_or_init(look).clone();
    if python.is_none() {
        skip::without("aioquic");
    }
    python
}

/// A server of ours on aioquic.
fn aioquic(program: &Path, place: &Place, setting: &Setting) -> Command {
    fs::write(place.root.join("server.py"), include_str!("aioquic_server.py")).unwrap();
    let window = if setting.small_windows { "20000" } else { "1000000" };
    let mut command = Command::new(program);
    command.args(["server.py", &place.port.to_string(), "server.pem", "server.key", window]);
    command.args(setting.retry.then_some("retry")).arg("tickets");
    command
}

fn aioquic_logged(text: &str) -> Logged {
    let bodies = text.lines().filter(|line| line.starts_with("request "));
    Logged {
        requests: Some(lines_with(text, "request ")),
        handshakes: Some(lines_with(text, "handshake ")),
        resumed: Some(lines_with(text, "resumed=True")),
        early: Some(lines_with(text, "early=True")),
        body_bytes: Some(bodies.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()),
        ..Logged::default()
    }
}

/// quiche's example, which sends a Retry to every connection.
fn quiche(program: &Path, place: &Place, _setting: &Setting) -> Command {
    let examples = place.root.join("examples");
    if !examples.exists() {
        fs::create_dir(&examples).unwrap();
        fs::copy(place.root.join("server.pem"), examples.join("cert.crt")).unwrap();
        fs::copy(place.root.join("server.key"), examples.join("cert.key")).unwrap();
        fs::rename(place.root.join("docs"), examples.join("root")).unwrap();
    }
    let mut command = Command::new(program);
    command.env("LISTEN", format!("127.0.0.1:{}", place.port));
    command
}

fn quiche_logged(text: &str) -> Logged {
    Logged {
        requests: Some(lines_with(text, "got request")),
        handshakes: Some(lines_with(text, "New connection")),
        // Its Retry packets are one for each datagram, and a hello with a post-quantum share takes two.
        ..Logged::default()
    }
}

/// The tree that `scripts/sid-tree.sh` makes.
fn sid_tree() -> Option<PathBuf> {
    let nginx = optional("sid/usr/sbin/nginx")?;
    nginx.ancestors().nth(3).map(Path::to_owned)
}

fn chroot() -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        skip::without("root");
        return None;
    }
    find("chroot")
}

fn nginx(program: &Path, place: &Place, setting: &Setting) -> Command {
    let Place { inside, port, backend, .. } = place;
    let retry = if setting.retry { "on" } else { "off" };
    let early = if setting.early_data { "on" } else { "off" };
    let window = if setting.small_windows { "20k" } else { "64k" };
    let streams = if setting.many_streams { 1000 } else { 128 };
    let text = format!(
        "daemon off; worker_processes 1; pid {inside}/nginx.pid; error_log {inside}/error.log info; user root;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\n\
         log_format line '$http3 first=$connection_requests resumed=$ssl_session_reused early=$ssl_early_data \
         bytes=$request_length $status $request';\n\
         access_log {inside}/access.log line; keepalive_requests 1000000; client_max_body_size 20m;\n\
         client_body_temp_path {inside}/bodies; proxy_temp_path {inside}/replies;\n\
         ssl_session_cache shared:tickets:1m;\n\
         server {{\n\
         listen 127.0.0.1:{port} quic; ssl_certificate {inside}/server.pem; ssl_certificate_key {inside}/server.key;\n\
         ssl_protocols TLSv1.3; ssl_early_data {early}; quic_retry {retry}; root {inside}/docs;\n\
         http3_max_concurrent_streams {streams}; http3_stream_buffer_size {window};\n\
         location /upload {{ proxy_pass http://127.0.0.1:{backend}/size/6; }}\n\
         }} }}\n"
    );
    fs::write(place.root.join("nginx.conf"), text).unwrap();
    let mut command = Command::new(program);
    command.arg(sid_tree().expect("it was there")).arg("nginx");
    command.args(["-e", &format!("{inside}/error.log"), "-c", &format!("{inside}/nginx.conf")]);
    command
}

fn nginx_logged(text: &str) -> Logged {
    let lengths =
        text.lines().filter_map(|line| line.split(" bytes=").nth(1)?.split(' ').next()?.parse::<u64>().ok());
    Logged {
        requests: Some(lines_with(text, "h3 first=")),
        handshakes: Some(lines_with(text, "h3 first=1 ")),
        resumed: Some(lines_with(text, "h3 first=1 resumed=r")),
        early: Some(lines_with(text, "early=1")),
        // With the fields before them.
        body_bytes: Some(lengths.sum()),
        ..Logged::default()
    }
}

fn haproxy(program: &Path, place: &Place, setting: &Setting) -> Command {
    let Place { inside, port, backend, .. } = place;
    let retry = if setting.retry { "quic-force-retry" } else { "" };
    let streams = if setting.many_streams { 1000 } else { 100 };
    let text = format!(
        "global\n nbthread 1\n log stdout format raw local0 info\n stats socket {inside}/haproxy.sock mode 600 level admin\n \
         tune.quic.frontend.max-streams-bidi {streams}\n\
         defaults\n mode http\n log global\n timeout client 30s\n timeout server 30s\n timeout connect 5s\n\
         frontend front\n bind quic4@127.0.0.1:{port} ssl crt {inside}/both.pem alpn h3 {retry}\n \
         log-format \"call %HV %HM %HP %ST resumed=%[ssl_fc_is_resumed] %[ssl_fc_curve] bytes=%U\"\n default_backend back\n\
         backend back\n server one 127.0.0.1:{backend}\n"
    );
    fs::write(place.root.join("haproxy.cfg"), text).unwrap();
    let mut command = Command::new(program);
    command.arg(sid_tree().expect("it was there"));
    command.args(["haproxy", "-W", "-f", &format!("{inside}/haproxy.cfg")]);
    command
}

fn haproxy_logged(text: &str) -> Logged {
    let lengths = text.lines().filter_map(|line| line.split(" bytes=").nth(1)?.parse::<u64>().ok());
    Logged {
        requests: Some(lines_with(text, "call HTTP/3.0 ")),
        resumed_requests: Some(lines_with(text, " resumed=1 ")),
        // With the fields before them.
        body_bytes: Some(lengths.sum()),
        ..Logged::default()
    }
}

fn lines_with(text: &str, what: &str) -> u64 {
    text.lines().filter(|line| line.contains(what)).count() as u64
}
