//! The servers of tables 12.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::child::Running;
use crate::nginx::{free_ports, site_in, wait_for_port};
use crate::tools::{Bench, find_program};

/// A server that speaks HTTP/1.1, HTTP/2 and HTTP/3 at one port.
#[derive(Debug)]
pub(super) struct Server {
    /// Stops when dropped.
    _running: Running,
    _folder: Option<TempDir>,
    pub(super) name: &'static str,
    pub(super) port: u16,
    /// Paths of files, and their sizes.
    pub(super) files: [(&'static str, &'static str); 3],
}

impl Server {
    /// Starts nginx from a tree of `scripts/sid-tree.sh`; `None` without one, or if it cannot be entered.
    pub(super) fn nginx(bench: &Bench) -> anyhow::Result<Option<Self>> {
        let program = find_program("sid/usr/sbin/nginx").filter(|_| rustix::process::geteuid().is_root());
        let Some(tree) = program.as_deref().and_then(|nginx| nginx.ancestors().nth(3)) else {
            return Ok(None);
        };
        let ([port], folder) = (free_ports()?, site_in(tree.join("tmp"))?);
        let command = nginx(tree, folder.path(), port)?;
        let paths = ["1k", "20k", "128k"];
        Self::start(bench, command, "nginx from Debian sid, one worker", port, paths, Some(folder)).map(Some)
    }

    /// Starts `httperf serve`.
    pub(super) fn own(bench: &Bench) -> anyhow::Result<Self> {
        let [port] = free_ports()?;
        let mut command = Command::new(bench.ours.path());
        command.args(["serve", "--http3", &format!("--listen=127.0.0.1:{port}")]);
        Self::start(bench, command, "httperf serve", port, ["size/1k", "size/20k", "size/128k"], None)
    }

    /// Starts it on the server's core.
    fn start(
        bench: &Bench,
        command: Command,
        name: &'static str,
        port: u16,
        paths: [&'static str; 3],
        folder: Option<TempDir>,
    ) -> anyhow::Result<Self> {
        let files = [(paths[0], "1 KiB"), (paths[1], "20 KiB"), (paths[2], "128 KiB")];
        let mut running = Running::start(command, bench.cores.server)?;
        wait_for_port(&mut running, port)?;
        Ok(Server { _running: running, _folder: folder, name, port, files })
    }

    /// The smallest file's.
    pub(super) fn url(&self) -> String {
        format!("https://127.0.0.1:{}/{}", self.port, self.files[0].0)
    }
}

/// `folder` is a site in the tree.
fn nginx(tree: &Path, folder: &Path, port: u16) -> anyhow::Result<Command> {
    let inside = Path::new("/").join(folder.strip_prefix(tree)?);
    let path = inside.display();
    let text = format!(
        "user root; daemon off; master_process off; pid {path}/pid; error_log {path}/error.log;
        worker_rlimit_nofile 20000;
        events {{ worker_connections 18000; }}
        http {{
            access_log off; keepalive_requests 1000000000; keepalive_timeout 600;
            client_body_temp_path {path}/body; proxy_temp_path {path}/proxy;
            fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi; scgi_temp_path {path}/scgi;
            http2 on; http3 on; quic_gso on;
            server {{
                listen 127.0.0.1:{port} ssl backlog=4096; listen 127.0.0.1:{port} quic; root {path};
                ssl_certificate {path}/cert.pem; ssl_certificate_key {path}/key.pem;
                ssl_protocols TLSv1.3; http3_max_concurrent_streams 128;
            }}
        }}\n"
    );
    fs::write(folder.join("nginx.conf"), text)?;
    let mut command = Command::new("/usr/sbin/chroot");
    command.arg(tree).args(["/usr/sbin/nginx", "-c"]).arg(inside.join("nginx.conf"));
    command.arg("-e").arg(inside.join("error.log"));
    Ok(command)
}
