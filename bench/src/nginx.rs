//! nginx as the server, in the clear and with a certificate made for it.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::child::Running;

/// A running nginx with one worker. It serves `/1k` and `/1m`.
#[derive(Debug)]
pub(crate) struct Nginx {
    /// Stops when dropped.
    _running: Running,
    _folder: TempDir,
    /// Where it speaks TLS.
    pub(crate) port: u16,
    /// Where it does not.
    pub(crate) clear_port: u16,
}

const PROGRAM: &str = "/usr/sbin/nginx";
const START_LIMIT: Duration = Duration::from_secs(10);

impl Nginx {
    /// Starts it on `core`; `None` if it is not installed.
    pub(crate) fn start(core: usize) -> anyhow::Result<Option<Self>> {
        if !Path::new(PROGRAM).exists() {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        fs::write(root.join("cert.pem"), made.cert.pem())?;
        fs::write(root.join("key.pem"), made.signing_key.serialize_pem())?;
        fs::write(root.join("1k"), vec![b'x'; 1 << 10])?;
        fs::write(root.join("1m"), vec![b'x'; 1 << 20])?;
        let (port, clear_port) = free_ports()?;
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
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if running.has_ended()? || Instant::now() >= deadline {
                let errors = fs::read_to_string(root.join("error.log")).unwrap_or_default();
                bail!("nginx does not start: {errors}{}", running.stderr().context("its output")?);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Some(Nginx { _running: running, _folder: folder, port, clear_port }))
    }
}

/// Two ports that nobody listens on. Both are held at once, so that they differ.
fn free_ports() -> anyhow::Result<(u16, u16)> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let second = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok((first.local_addr()?.port(), second.local_addr()?.port()))
}
