//! `httperf serve` as a user meets it: what it prints, what it serves, how it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use rustix::process::{Pid, Signal, kill_process};

/// A running `httperf serve`; killed if a test fails before it is stopped.
struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The first line it printed.
    announcement: String,
}

impl Served {
    fn start(options: &[&str]) -> Self {
        let mut command = Command::new(cargo_bin("httperf"));
        let mut child = command.arg("serve").args(options).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut announcement = String::new();
        stdout.read_line(&mut announcement).unwrap();
        Self { child, stdout, announcement }
    }

    fn connect(&self) -> TcpStream {
        let address = self.announcement.strip_prefix("listening on http://").unwrap();
        TcpStream::connect(address.strip_suffix("/\n").unwrap()).unwrap()
    }

    /// Sends the signal and returns the rest of what was printed, and whether the program ended well.
    fn end(mut self, signal: Signal) -> (String, bool) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).unwrap();
        (printed, self.child.wait().unwrap().success())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It has usually ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a command that ends by itself, and returns what it printed.
fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The status with which `httperf serve` refuses these options, and its message.
fn refusal(options: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(cargo_bin("httperf")).arg("serve").args(options).output().unwrap();
    assert!(output.stdout.is_empty(), "it listened with {options:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn exchange(mut stream: impl std::io::Read + std::io::Write, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

const LAST_REQUEST: &str = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

#[test]
fn it_says_where_it_listens_serves_and_counts() {
    let served = Served::start(&["--listen=127.0.0.1:0", "--size=5", "--status=404"]);
    let reply = exchange(served.connect(), LAST_REQUEST);
    assert!(reply.starts_with("HTTP/1.1 404 Not Found\r\n") && reply.ends_with("\r\n\r\n01234"), "{reply}");
    let (printed, well) = served.end(Signal::TERM);
    assert!(well);
    let size = reply.len();
    let expected = format!(
        "connections accepted  {:>3}\n\
         open at the most      {:>3}\n\
         requests              {:>3}\n\
         replies               {:>3}\n\
         bytes sent            {size:>3}\n\
         replies 4xx           {:>3}\n",
        1, 1, 1, 1, 1
    );
    assert_eq!(printed, expected);
}

#[test]
fn it_speaks_http_3_on_the_udp_port_of_the_same_number() {
    let served = Served::start(&["--listen=127.0.0.1:0", "--size=5", "--http3", "--h3-retry"]);
    let address = served.announcement.strip_prefix("listening on https://").unwrap();
    let (_, port) = address.strip_suffix("/\n").unwrap().split_once(':').unwrap();
    let output = Command::new("timeout")
        .args(["20", "gtlsclient", "--exit-on-all-streams-close", "127.0.0.1", port])
        .args([format!("https://localhost:{port}/size/5"), format!("https://localhost:{port}/status/404")])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if matches!(output.status.code(), Some(126 | 127)) {
        return httperf_testkit::skip::lacking("gtlsclient");
    }
    let (printed, well) = served.end(Signal::TERM);
    assert!(well);
    for (name, count) in [
        ("connections accepted", "1"),
        ("requests", "2"),
        ("replies 2xx", "1"),
        ("replies 4xx", "1"),
        ("connections HTTP/3", "1"),
        ("Retry packets sent", "1"),
        ("TLS handshakes, full", "1"),
    ] {
        let line = printed.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or("");
        assert_eq!(line.split_whitespace().last(), Some(count), "{name}: {printed}");
    }
}

#[test]
fn http_3_does_not_go_with_a_unix_domain_socket() {
    let (status, message) = refusal(&["--http3", "--listen=unix:/nowhere"]);
    assert!(message.contains("--http3: expected an address with a port in --listen"), "{message}");
    assert_ne!(status, Some(0));
}

#[test]
fn an_interrupt_ends_it_in_order_even_while_clients_wait() {
    let served = Served::start(&["--listen=127.0.0.1:0", "--fault=stall:1"]);
    let mut waiting = served.connect();
    waiting.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (_, well) = served.end(Signal::INT);
    assert!(well);
    // Closed or reset, depending on whether the request was read in time.
    assert_eq!(waiting.read(&mut [0; 10]).unwrap_or(0), 0);
}

#[test]
fn it_serves_a_unix_domain_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let served = Served::start(&["--listen", &format!("unix:{}", path.display())]);
    assert_eq!(served.announcement, format!("listening on unix:{}\n", path.display()));
    let reply = exchange(UnixStream::connect(&path).unwrap(), LAST_REQUEST);
    assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
    assert!(served.end(Signal::TERM).1);
    assert!(!path.exists());
}

#[test]
fn an_address_in_use_is_explained() {
    let served = Served::start(&["--listen=127.0.0.1:0"]);
    let port = served.connect().peer_addr().unwrap().port();
    let listen = format!("127.0.0.1:{port}");
    let output = Command::new(cargo_bin("httperf")).args(["serve", "--listen", &listen]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = format!("httperf serve: cannot listen on http://{listen}/: Address already in use");
    assert!(message.starts_with(&expected), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_bad_value_ends_it_with_status_1() {
    let output = Command::new(cargo_bin("httperf")).args(["serve", "--delay=x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "httperf serve: --delay: expected a duration such as 50ms, got `x`\n");
}

#[test]
fn under_tls_it_writes_a_certificate_that_clients_can_trust() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("certificate.pem").display().to_string();
    let served = Served::start(&["--listen=127.0.0.1:0", "--size=5", "--tls-write-cert", &certificate]);
    let url = served.announcement.strip_prefix("listening on ").unwrap().trim_end();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let body = run("curl", &["-sS", "--max-time", "20", "--noproxy", "*", "--cacert", &certificate, url]);
    assert_eq!(body, "01234");
    let (printed, well) = served.end(Signal::TERM);
    assert!(well);
    for count in ["TLS handshakes, full ", "TLS version TLSv1.3 ", "TLS cipher TLS_AES_", "TLS group "] {
        assert!(printed.contains(count), "{count} is not in {printed}");
    }
}

#[test]
fn over_http_2_it_grants_what_its_options_say_and_counts_what_it_did() {
    let served =
        Served::start(&["--listen=127.0.0.1:0", "--size=5", "--close-after=2", "--h2-max-streams=77"]);
    let url = served.announcement.strip_prefix("listening on ").unwrap().trim_end();
    // Two requests on one connection; a curl with an nghttp2 of 2026 cannot send the second to any server.
    let (first, second) = (format!("{url}1"), format!("{url}2"));
    let Ok(output) = Command::new("nghttp").args(["--timeout=20", &first, &second]).output() else {
        return httperf_testkit::skip::lacking("nghttp");
    };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0123401234");
    let options = ["-sS", "--max-time", "20", "--noproxy", "*", "-w", " %{http_version}\n"];
    assert_eq!(run("curl", &[&options[..], &["--http1.1", url]].concat()), "01234 1.1\n");

    // The server's SETTINGS come first; among them is the one of streams: 3, and then 77 in four bytes.
    let mut client = served.connect();
    client.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut settings = [0; 33];
    client.read_exact(&mut settings).unwrap();
    assert!(settings[9..].chunks(6).any(|setting| setting == [0, 3, 0, 0, 0, 77]), "{settings:?}");
    drop(client);

    let (printed, well) = served.end(Signal::TERM);
    assert!(well);
    let count = |name: &str| {
        let line = printed.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .unwrap_or_else(|| panic!("{printed}"))
    };
    for (name, expected) in
        [("requests", 3), ("replies", 3), ("connections HTTP/1", 1), ("connections HTTP/2", 2)]
    {
        assert_eq!(count(name), expected, "{name}: {printed}");
    }
    assert!(count("GOAWAY frames sent") >= 1, "{printed}");
}

#[test]
fn without_http_2_it_speaks_http_1_alone() {
    let served = Served::start(&["--listen=127.0.0.1:0", "--tls", "--size=5", "--no-http2"]);
    let url = served.announcement.strip_prefix("listening on ").unwrap().trim_end();
    let options = ["-sSk", "--max-time", "20", "--noproxy", "*", "-w", " %{http_version}", "--http2"];
    assert_eq!(run("curl", &[&options[..], &[url]].concat()), "01234 1.1");
    assert!(!served.end(Signal::TERM).0.contains("HTTP/2"));
}

/// A self-signed certificate in one file and its key in another, made by `openssl`.
fn certificate_and_key(folder: &Path, name: &str) -> [String; 2] {
    let [certificate, key] =
        ["certificate", "key"].map(|what| folder.join(format!("{name}-{what}.pem")).display().to_string());
    let request = "req -x509 -newkey rsa:2048 -nodes -subj /CN=somebody -addext subjectAltName=IP:127.0.0.1";
    let files = ["-keyout", &key, "-out", &certificate];
    run("openssl", &request.split(' ').chain(files).collect::<Vec<_>>());
    [certificate, key]
}

#[test]
fn it_shows_a_certificate_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate_and_key(folder.path(), "own");
    let both = folder.path().join("both.pem").display().to_string();
    std::fs::write(&both, [std::fs::read(&certificate).unwrap(), std::fs::read(&key).unwrap()].concat())
        .unwrap();
    for options in [&["--tls-cert", &certificate, "--tls-cert-key", &key][..], &["--tls-cert", &both]] {
        let served = Served::start(&[&["--listen=127.0.0.1:0", "--size=5"], options].concat());
        let url = served.announcement.strip_prefix("listening on ").unwrap().trim_end();
        let body = run("curl", &["-sS", "--max-time", "20", "--noproxy", "*", "--cacert", &certificate, url]);
        assert_eq!(body, "01234", "{options:?}");
        assert!(served.end(Signal::TERM).1);
    }
}

#[test]
fn certificates_and_keys_that_cannot_be_used_are_refused_before_it_listens() {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = certificate_and_key(folder.path(), "one");
    let [_, other] = certificate_and_key(folder.path(), "other");
    let encrypted = folder.path().join("encrypted.pem").display().to_string();
    run("openssl", &["pkey", "-in", &key, "-aes128", "-passout", "pass:secret", "-out", &encrypted]);
    let nowhere = folder.path().join("no/such/file").display().to_string();
    let missing = "No such file or directory (os error 2)";
    for (options, expected) in [
        (
            vec!["--tls-cert", &nowhere],
            format!("--tls-cert: cannot read `{nowhere}`: {missing}"),
        ),
        (
            vec!["--tls-cert", &certificate, "--tls-cert-key", &nowhere],
            format!("--tls-cert-key: cannot read `{nowhere}`: {missing}"),
        ),
        (
            vec!["--tls-cert", &key],
            format!("--tls-cert: expected a PEM certificate in `{key}`"),
        ),
        (
            vec!["--tls-cert", &certificate],
            format!("--tls-cert: expected a PEM private key in `{certificate}`"),
        ),
        (
            vec!["--tls-cert", &certificate, "--tls-cert-key", &encrypted],
            format!("--tls-cert-key: expected a key that is not encrypted in `{encrypted}`"),
        ),
        (
            vec!["--tls-cert", &certificate, "--tls-cert-key", &other],
            format!(
                "--tls-cert-key: expected the key of the certificate in `{certificate}`, got that of another in `{other}`"
            ),
        ),
        (
            vec!["--tls-write-cert", &nowhere],
            format!("cannot write the certificate to {nowhere}: {missing}"),
        ),
        (
            vec!["--tls-groups=P-257"],
            "--tls-groups: expected key-exchange groups such as X25519MLKEM768, X25519, P-256 or P-384, got `P-257`"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal(&options), (Some(1), format!("httperf serve: {expected}\n")), "{options:?}");
    }
}

#[test]
fn help_lists_its_options() {
    let output = Command::new(cargo_bin("httperf")).args(["serve", "--help"]).output().unwrap();
    assert!(output.status.success());
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.starts_with("Usage: httperf serve "), "{help}");
    for option in
        ["--listen ADDR:PORT", "--delay T", "--fault KIND:PROBABILITY", "--capacity X", "--tls-groups LIST"]
    {
        assert!(help.contains(option), "{option}");
    }
}
