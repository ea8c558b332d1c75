//! nghttpd, nghttp2's HTTP/2 server, in the clear and over TLS.

use std::process::Command;

use tempfile::TempDir;

use crate::child::Running;
use crate::nginx::{free_ports, site, wait_for_port};
use crate::tools::find_program;

/// A running nghttpd with one thread: actually two processes, since each speaks either in the clear or over
/// TLS. They serve the files of a [`site`].
#[derive(Debug)]
pub(crate) struct Nghttpd {
    /// Stop when dropped.
    _running: [Running; 2],
    _folder: TempDir,
    pub(crate) clear_port: u16,
    pub(crate) port: u16,
}

impl Nghttpd {
    /// Starts it on `core`; returns `None` if it is not installed.
    pub(crate) fn start(core: usize) -> anyhow::Result<Option<Self>> {
        let Some(program) = find_program("nghttpd") else { return Ok(None) };
        let folder = site()?;
        let root = folder.path();
        let [clear_port, port] = free_ports()?;
        let start = |port: u16, is_clear: bool| -> anyhow::Result<Running> {
            let mut command = Command::new(&program);
            command.arg("--address=127.0.0.1").arg("--workers=1").arg("-d").arg(root);
            if is_clear {
                command.arg("--no-tls").arg(port.to_string());
            } else {
                command.arg(port.to_string()).arg(root.join("key.pem")).arg(root.join("cert.pem"));
            }
            let mut running = Running::start(command, core)?;
            wait_for_port(&mut running, port)?;
            Ok(running)
        };
        let running = [start(clear_port, true)?, start(port, false)?];
        Ok(Some(Nghttpd { _running: running, _folder: folder, clear_port, port }))
    }
}
