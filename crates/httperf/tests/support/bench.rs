//! A test server of this process, a folder for results, and the program between them.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use httperf_origin::{Config, Counts, Handle, ListenAddress, spawn};
use tempfile::TempDir;

use super::program::{Invocation, Outcome, under_test};
use super::words;

/// A server, and a folder for results.
pub(crate) struct Bench {
    server: Handle,
    pub(crate) port: u16,
    pub(crate) folder: TempDir,
}

impl Bench {
    /// A server that answers at once, and with 200.
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    /// A server on a port of its own, otherwise as it is configured.
    pub(crate) fn with(config: Config) -> Self {
        let listen: ListenAddress = "127.0.0.1:0".parse().expect("an address");
        let server = spawn(Config { listen: listen.0, ..config }).expect("a port is free");
        let port = server.tcp_address().expect("it listens on TCP").port();
        Self { server, port, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Stops the server. Returns what it counted.
    pub(crate) fn stop(self) -> Counts {
        self.server.stop().expect("the server has served")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file was written")
    }

    /// Runs the program against the server; `@name` stands for a file in the folder.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        run(&format!("--server 127.0.0.1 --port {} {}", self.port, self.expand(arguments)))
    }

    /// Runs a subcommand.
    pub(crate) fn command(&self, arguments: &str) -> Outcome {
        run(&self.expand(arguments))
    }

    /// Arguments with the folder for each `@` that begins a path; that of `user@host` stays.
    pub(crate) fn expand(&self, arguments: &str) -> String {
        let mut expanded = String::new();
        for character in arguments.chars() {
            match character {
                '@' if !expanded.ends_with(char::is_alphanumeric) => {
                    write!(expanded, "{}/", self.folder.path().display()).expect("a string takes all");
                }
                _ => expanded.push(character),
            }
        }
        expanded
    }
}

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &str) -> Outcome {
    let mut invocation = Invocation::new(&under_test(), words(arguments));
    invocation.limit = Duration::from_secs(90);
    invocation.run().expect("the program can be started")
}
