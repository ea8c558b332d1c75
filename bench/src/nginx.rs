//! nginx as the server, in the clear and with a generated certificate.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use httperf_certificates::Identity;
use tempfile::TempDir;

use crate::child::Running;

/// A running nginx with one worker. It serves the files of a [`site`].
#[derive(Debug)]
pub(crate) struct Nginx {
    /// Stops when dropped.
    _running: Running,
    _folder: TempDir,
    /// Port for TLS.
    pub(crate) port: u16,
    /// Port in the clear.
    pub(crate) clear_port: u16,
    /// Ports for HTTP/2, over TLS and in the clear.
    pub(crate) http2_port: u16,
    pub(crate) clear_http2_port: u16,
}

const PROGRAM: &str = "/usr/sbin/nginx";
const START_LIMIT: Duration = Duration::from_secs(10);

impl Nginx {
    /// Starts it on `core`; returns `None` if it is not installed.
    pub(crate) fn start(core: usize) -> anyhow::Result<Option<Self>> {
        if !Path::new(PROGRAM).exists() {
            return Ok(None);
        }
        let folder = site()?;
        let root = folder.path();
        let [port, clear_port, http2_port, clear_http2_port] = free_ports()?;
        let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
        let path = root.display();
        let text = format!(
            "{user} daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;
            worker_rlimit_nofile 20000;
            events {{ worker_connections 18000; }}
            http {{
                access_log off; keepalive_requests 1000000000; keepalive_timeout 600;
                client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
                fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
                server {{
                    listen 127.0.0.1:{port} ssl backlog=4096; root {path};
                    listen 127.0.0.1:{clear_port} backlog=4096;
                    listen 127.0.0.1:{http2_port} ssl http2 backlog=4096;
                    listen 127.0.0.1:{clear_http2_port} http2 backlog=4096;
                    ssl_certificate cert.pem; ssl_certificate_key key.pem;
                    ssl_protocols TLSv1.3; ssl_session_cache shared:bench:1m;
                }}
            }}\n"
        );
        fs::write(root.join("nginx.conf"), text)?;
        let mut command = Command::new(PROGRAM);
        command
            .arg("-p")
            .arg(root)
            .arg("-c")
            .arg(root.join("nginx.conf"))
            .arg("-e")
            .arg(root.join("error.log"));
        let mut running = Running::start(command, core)?;
        wait_for_port(&mut running, port)
            .with_context(|| fs::read_to_string(root.join("error.log")).unwrap_or_default())?;
        Ok(Some(Nginx { _running: running, _folder: folder, port, clear_port, http2_port, clear_http2_port }))
    }
}

/// Creates a folder with `/1k`, `/20k`, `/100k`, `/128k` and `/1m` to serve, and a certificate (`cert.pem`, `key.pem`).
pub(crate) fn site() -> anyhow::Result<TempDir> {
    site_in(std::env::temp_dir())
}

/// As [`site`], below this folder.
pub(crate) fn site_in(parent: impl AsRef<Path>) -> anyhow::Result<TempDir> {
    let folder = tempfile::tempdir_in(parent)?;
    let root = folder.path();
    let made = Identity::self_signed("localhost")?;
    fs::write(root.join("cert.pem"), made.certificate_pem())?;
    fs::write(root.join("key.pem"), made.key_pem())?;
    for (name, size) in
        [("1k", 1 << 10), ("20k", 20 << 10), ("100k", 100 << 10), ("128k", 128 << 10), ("1m", 1 << 20)]
    {
        fs::write(root.join(name), vec![b'x'; size])?;
    }
    Ok(folder)
}

/// Waits until a server that was just started listens.
pub(crate) fn wait_for_port(server: &mut Running, port: u16) -> anyhow::Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if server.has_ended()? || Instant::now() >= deadline {
            bail!("the server does not start: {}", server.stderr().context("its output")?);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Finds free ports. All are bound at once, so that they differ.
pub(crate) fn free_ports<const COUNT: usize>() -> anyhow::Result<[u16; COUNT]> {
    let held: Vec<TcpListener> =
        (0..COUNT).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
    let mut ports = [0; COUNT];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
