//! Configurations of nginx.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

/// A configuration with one `server` block, which serves the folder `docs`. Everything that nginx reads or writes is in
/// one folder.
#[derive(Debug)]
pub(crate) struct Nginx<'a> {
    root: &'a Path,
    has_master: bool,
    requests_per_connection: u32,
    /// Directives of the `http` block.
    http: String,
    /// Directives of the `server` block.
    server: String,
    /// Format of the lines of `access.log`.
    log: Option<&'a str>,
}

impl<'a> Nginx<'a> {
    /// A single process in this folder; it listens nowhere yet.
    pub(crate) fn new(root: &'a Path) -> Self {
        Self {
            root,
            has_master: false,
            requests_per_connection: 1_000_000,
            http: String::new(),
            server: String::new(),
            log: None,
        }
    }

    /// Adds a master, which can reload the configuration.
    pub(crate) fn with_master(self, has_master: bool) -> Self {
        Self { has_master, ..self }
    }

    pub(crate) fn requests_per_connection(self, requests_per_connection: u32) -> Self {
        Self { requests_per_connection, ..self }
    }

    /// Logs a line for each request in `access.log`; `format` is that of the directive `log_format`.
    pub(crate) fn log(self, format: &'a str) -> Self {
        Self { log: Some(format), ..self }
    }

    /// Listens on an address and port, with the parameters of the directive `listen`.
    pub(crate) fn listen(self, place: impl Display) -> Self {
        self.server(format!("listen {place};"))
    }

    /// Uses the certificate that `Certificates::make` puts into the folder.
    pub(crate) fn certificate(self) -> Self {
        self.server("ssl_certificate server.pem; ssl_certificate_key server.key;")
    }

    /// Adds directives to the `http` block.
    pub(crate) fn http(mut self, directives: impl Display) -> Self {
        self.http += &format!("{directives}\n");
        self
    }

    /// Adds directives to the `server` block.
    pub(crate) fn server(mut self, directives: impl Display) -> Self {
        self.server += &format!("{directives}\n");
        self
    }

    /// Writes the configuration, and returns the command that starts nginx in the foreground.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let configuration = self.root.join("nginx.conf");
        fs::write(&configuration, self.text()).expect("the folder can be written to");
        let mut command = Command::new(program);
        command.arg("-p").arg(self.root).arg("-c").arg(configuration);
        // Before its configuration is read, it would write to a log of the system.
        command.arg("-e").arg(self.root.join("error.log"));
        command
    }

    fn text(&self) -> String {
        let Self { requests_per_connection, http, server, .. } = self;
        let root = self.root.display();
        let user = if geteuid().is_root() { "user root;" } else { "" };
        let master = if self.has_master { "on" } else { "off" };
        let log = match self.log {
            Some(format) => format!("log_format tests {format}; access_log {root}/access.log tests;"),
            None => "access_log off;".to_owned(),
        };
        format!(
            "{user} daemon off; master_process {master}; pid {root}/pid; error_log {root}/error.log;
            events {{ worker_connections 2048; }}
            http {{
                {log}
                client_body_temp_path {root}/body; proxy_temp_path {root}/proxy; fastcgi_temp_path {root}/fastcgi;
                uwsgi_temp_path {root}/uwsgi; scgi_temp_path {root}/scgi;
                keepalive_requests {requests_per_connection};
                {http}
                server {{
                    root {root}/docs;
                    {server}
                }}
            }}\n"
        )
    }
}
