//! Servers of other makes that speak TLS: nginx, `openssl s_server`, Go's crypto/tls, Caddy.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use crate::support::certificates::Certificates;
use crate::support::nginx::Nginx;
use crate::support::running::{Running, find, go_program, tool};

/// A running server with its certificates; dropping it stops it.
#[derive(Debug)]
pub(crate) struct Peer {
    running: Running,
    pub(crate) port: u16,
    pub(crate) certificates: Certificates,
}

impl Peer {
    /// nginx; `settings` are directives of its `server` block. It serves `/small.txt` (6 bytes) and `/large.bin`
    /// (100 MiB), and logs what was negotiated for each request.
    pub(crate) fn nginx(settings: &str) -> Option<Self> {
        let program = find("nginx")?;
        Some(Self::start(|root, port| {
            let nginx = Nginx::new(root).listen(format!("127.0.0.1:{port} ssl")).log(
                "'$ssl_protocol $ssl_cipher $ssl_curve reused=$ssl_session_reused '
                 'early=$ssl_early_data $request_method sni=$ssl_server_name'",
            );
            let nginx = if settings.contains("ssl_certificate ") { nginx } else { nginx.certificate() };
            let nginx = nginx.server("ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tests:1m;");
            nginx.server(settings).command(&program)
        }))
    }

    /// `openssl s_server` with the server's certificate and these further arguments.
    pub(crate) fn openssl(arguments: &str) -> Option<Self> {
        let program = find("openssl")?;
        Some(Self::start(|root, port| {
            let mut command = Command::new(&program);
            command.current_dir(root);
            command.args(["s_server", "-accept", &format!("127.0.0.1:{port}")]);
            command.args(["-cert", "server.pem", "-key", "server.key", "-naccept", "10000"]);
            command.args(arguments.split_whitespace());
            command
        }))
    }

    /// The server in `server.go`, with these flags.
    pub(crate) fn go(flags: &str) -> Option<Self> {
        let program = go_program("tls_servers/server.go", "tls-server")?;
        Some(Self::start(|root, port| {
            let mut command = Command::new(&program);
            command.current_dir(root).arg(format!("-listen=127.0.0.1:{port}")).args(flags.split_whitespace());
            command
        }))
    }

    /// Caddy as a file server, otherwise as it comes.
    pub(crate) fn caddy() -> Option<Self> {
        let program = tool("caddy")?;
        Some(Self::start(|root, port| {
            let path = root.display();
            let text = format!(
                "{{\n admin off\n auto_https off\n storage file_system {path}/storage\n}}\n\
                 https://localhost:{port} {{\n bind 127.0.0.1\n tls {path}/server.pem {path}/server.key\n root * {path}/docs\n \
                 file_server\n}}\n"
            );
            fs::write(root.join("Caddyfile"), text).expect("the folder can be written to");
            let mut command = Command::new(&program);
            command.args(["run", "--adapter", "caddyfile", "--config"]).arg(root.join("Caddyfile"));
            command.env("HOME", root).env("XDG_CONFIG_HOME", root).env("XDG_DATA_HOME", root);
            command
        }))
    }

    /// The lines of what the server logged about requests, once there are as many as expected.
    pub(crate) fn log(&self, lines: usize) -> Vec<String> {
        self.running.lines("access.log", lines)
    }

    /// Waits until the server has printed this.
    pub(crate) fn wait_for(&self, text: &str) {
        self.running.wait_for(text);
    }

    /// Types a line on the server's terminal.
    pub(crate) fn type_in(&mut self, line: &str) {
        self.running.type_in(line);
    }

    fn start(command: impl Fn(&Path, u16) -> Command) -> Self {
        let furnish = |root: &Path| {
            Certificates::make(root);
            let docs = root.join("docs");
            fs::create_dir(&docs)?;
            fs::write(docs.join("small.txt"), "small\n")?;
            File::create(docs.join("large.bin"))?.set_len(super::LARGE_SIZE)
        };
        let running = Running::start("127.0.0.1", 1, furnish, |root, ports| command(root, ports[0]));
        Self { port: running.port(0), certificates: Certificates::of(running.folder()), running }
    }
}
