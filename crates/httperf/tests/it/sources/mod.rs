//! The way of connections: from which addresses, to which, through which proxy, and with which socket options; with
//! real servers and proxies, which say what they saw.

mod peers;
mod preload;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use crate::support::program::{Exit, Finished, Invocation, under_test};
use crate::support::running::{find, peer};
use crate::support::words;
use httperf_testkit::tcp::{free_port, serve};
use peers::{CREDENTIALS, Peer};

fn run(arguments: &str) -> Finished {
    run_program(&under_test(), words(arguments).into_iter().map(OsString::from).collect())
}

fn run_program(program: &Path, words: Vec<OsString>) -> Finished {
    Finished::of(&Invocation::new(program, words))
}

impl Finished {
    /// The program ended well and printed nothing but the classic report, with these values.
    #[track_caller]
    pub(crate) fn succeeded_with(&self, expected: &str) {
        assert_eq!(self.exit, Exit::Code(0), "{self}");
        self.check_report(&self.stdout, expected);
    }
}

/// How often each beginning of a line of the log occurs: the first so many words of it.
fn tally(log: &[String], word_count: usize) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for line in log {
        let start: Vec<&str> = line.split(' ').take(word_count).collect();
        *tally.entry(start.join(" ")).or_insert(0) += 1;
    }
    tally
}

#[test]
fn connections_come_from_all_addresses_of_a_prefix_in_turn() {
    let nginx = peer!(Peer::nginx());
    let run = run(&format!(
        "--server 127.0.0.1 --port {} --uri /small.txt --num-conns 44 --myaddr 127.0.9.0/29 --myaddr 127.0.9.20-127.0.9.22",
        nginx.port()
    ));
    run.succeeded_with("connections=44 replies=44 2xx=44 errors=0");
    let tally = tally(&nginx.log(44), 2);
    let sources = (0..8).chain(20..23);
    let expected = sources.map(|host| (format!("127.0.9.{host} 127.0.0.1"), 4)).collect();
    assert_eq!(tally, expected);
}

/// Runs the program where these lines are the only ones in `/etc/hosts`.
fn run_with_hosts(hosts: &str, arguments: &str) -> Option<Finished> {
    peers::has_namespaces("--mount").then(|| {
        let file = peers::file(hosts);
        let script = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
        let mut all: Vec<OsString> =
            words("--map-root-user --mount sh -c").into_iter().map(Into::into).collect();
        all.extend([script.into(), "sh".into(), file.path().into(), under_test().into()]);
        all.extend(words(arguments).into_iter().map(OsString::from));
        run_program(Path::new("unshare"), all)
    })
}

const TWO_ADDRESSES: &str = "127.0.8.1 many.test\n127.0.8.2 many.test\n";

#[test]
fn every_local_address_meets_every_address_of_the_server() {
    let nginx = peer!(Peer::nginx());
    let run = peer!(run_with_hosts(
        TWO_ADDRESSES,
        &format!(
            "--server many.test --port {} --uri /small.txt --num-conns 48 --myaddr 127.0.9.0/29 --all-addresses",
            nginx.port()
        ),
    ));
    run.succeeded_with("connections=48 replies=48 2xx=48 errors=0");
    let sources =
        (0..8).flat_map(|host| [1, 2].map(|server| (format!("127.0.9.{host} 127.0.8.{server}"), 3)));
    assert_eq!(tally(&nginx.log(48), 2), sources.collect());
}

#[test]
fn the_first_address_is_the_only_one_unless_all_are_asked_for() {
    let nginx = peer!(Peer::nginx());
    let arguments = format!("--server many.test --port {} --uri /small.txt --num-conns 6", nginx.port());
    peer!(run_with_hosts(TWO_ADDRESSES, &arguments)).succeeded_with("replies=6 2xx=6 errors=0");
    assert_eq!(tally(&nginx.log(6), 2), [("127.0.0.1 127.0.8.1".to_owned(), 6)].into());
}

#[test]
fn all_addresses_are_those_of_both_ip_versions() {
    let nginx = peer!(Peer::nginx());
    let hosts = "::1 many.test\n127.0.0.1 many.test\n";
    let arguments =
        format!("--server many.test --port {} --uri /small.txt --num-conns 6 --all-addresses", nginx.port());
    peer!(run_with_hosts(hosts, &arguments)).succeeded_with("replies=6 2xx=6 errors=0");
    let expected = [("127.0.0.1 127.0.0.1".to_owned(), 3), ("::1 ::1".to_owned(), 3)];
    assert_eq!(tally(&nginx.log(6), 2), expected.into());
}

#[test]
fn another_address_stands_in_for_a_server_and_the_name_stays() {
    let nginx = peer!(Peer::nginx());
    let (port, secured) = (nginx.port(), nginx.secured_port());
    run(&format!("http://a.invalid:81/small.txt --num-conns 3 --connect-to a.invalid:81:[::1]:{port}"))
        .succeeded_with("connections=3 replies=3 2xx=3 errors=0");
    run(&format!(
        "https://localhost/small.txt --num-conns 3 --connect-to :443:127.0.8.2:{secured} --ssl-verify --ssl-ca-file {}",
        nginx.certificates.path("ca.pem")
    ))
    .succeeded_with("connections=3 replies=3 2xx=3 errors=0");
    // The certificate has 127.0.0.1 in it, which was asked for, and not 127.0.8.2.
    run(&format!(
        "https://127.0.0.1/small.txt --connect-to ::127.0.8.2:{secured} --ssl-verify --ssl-ca-file {}",
        nginx.certificates.path("ca.pem")
    ))
    .succeeded_with("connections=1 replies=1 2xx=1 errors=0");
    let expected = [
        ("::1 ::1 http host=a.invalid:81", 3),
        ("127.0.0.1 127.0.8.2 https host=localhost", 3),
        ("127.0.0.1 127.0.8.2 https host=127.0.0.1", 1),
    ];
    let expected = expected.into_iter().map(|(start, count)| (start.to_owned(), count)).collect();
    assert_eq!(tally(&nginx.log(7), 4), expected);
}

#[test]
fn a_proxy_gets_requests_that_name_the_server() {
    let nginx = peer!(Peer::nginx());
    let mut seen = 0;
    for address in ["127.0.0.1", "[::1]"] {
        let squid = peer!(Peer::squid(address, ""));
        let tinyproxy = peer!(Peer::tinyproxy(address, ""));
        let target = format!("http://{address}:{}/small.txt", nginx.port());
        // squid keeps connections; tinyproxy says that it closes them.
        run(&format!("{target} --num-conns 3 --num-calls 5 --proxy http://{address}:{}", squid.port()))
            .succeeded_with("connections=3 requests=15 replies=15 2xx=15 content=6.0 errors=0");
        run(&format!("{target} --num-conns 3 --proxy http://{address}:{}", tinyproxy.port()))
            .succeeded_with("connections=3 requests=3 replies=3 2xx=3 content=6.0 errors=0");
        let log = nginx.log(seen + 18);
        assert_eq!(log.len(), seen + 18, "{log:?}");
        for line in &log[seen..] {
            let start = format!(" host={address}:{} GET /small.txt HTTP/1.", nginx.port());
            assert!(line.contains(&start) && !line.contains("via=- "), "{line}");
        }
        seen = log.len();
    }
}

#[test]
fn through_a_tunnel_a_server_gets_what_it_would_get_without_a_proxy() {
    let nginx = peer!(Peer::nginx());
    let mut seen = 0;
    for address in ["127.0.0.1", "[::1]"] {
        for proxy in [Peer::squid(address, ""), Peer::tinyproxy(address, "")] {
            let proxy = peer!(proxy);
            let through = format!("--num-conns 3 --num-calls 4 --proxy http://{address}:{}", proxy.port());
            run(&format!("http://{address}:{}/small.txt --proxy-tunnel {through}", nginx.port()))
                .succeeded_with(
                    "connections=3 requests=12 replies=12 2xx=12 content=6.0 errors=0 length=4.000",
                );
            let log = nginx.log(seen + 12);
            let line = format!(
                "http host={address}:{} GET /small.txt HTTP/1.1 authorization=- via=- sni=-",
                nginx.port()
            );
            assert!(log[seen..].iter().all(|logged| logged.ends_with(&line)), "{log:?}");
            seen = log.len();
        }
    }
    assert_eq!(seen, 48);
}

#[test]
fn over_tls_the_proxy_is_always_asked_for_a_tunnel() {
    let nginx = peer!(Peer::nginx());
    let mut seen = 0;
    for proxy in [Peer::squid("127.0.0.1", ""), Peer::tinyproxy("127.0.0.1", "")] {
        let proxy = peer!(proxy);
        for workload in
            ["--num-conns 3 --num-calls 4", "--wsess=3,4,0", "--num-conns 3 --num-calls 4 --tls-resume 50"]
        {
            run(&format!(
                "https://localhost:{}/small.txt --proxy http://127.0.0.1:{} --ssl-verify --ssl-ca-file {} {workload}",
                nginx.secured_port(),
                proxy.port(),
                nginx.certificates.path("ca.pem"),
            ))
            .succeeded_with("connections=3 requests=12 replies=12 2xx=12 content=6.0 errors=0");
            let log = nginx.log(seen + 12);
            let line = format!(
                "https host=localhost:{} GET /small.txt HTTP/1.1 authorization=- via=- sni=localhost",
                nginx.secured_port()
            );
            assert!(log[seen..].iter().all(|logged| logged.ends_with(&line)), "{log:?}");
            seen = log.len();
        }
    }
    assert_eq!(seen, 72);
}

#[test]
fn a_proxy_that_asks_who_it_is_is_told_and_the_server_is_not() {
    let nginx = peer!(Peer::nginx());
    let (user, password, in_url) = CREDENTIALS;
    let proxy = peer!(Peer::tinyproxy("127.0.0.1", &format!("BasicAuth {user} {password}")));
    let (port, secured) = (nginx.port(), nginx.secured_port());
    let with = format!("--num-conns 2 --proxy http://{in_url}127.0.0.1:{}", proxy.port());
    let without = format!("--num-conns 2 --proxy http://127.0.0.1:{}", proxy.port());
    for target in [
        format!("http://127.0.0.1:{port}/small.txt"),
        format!("http://127.0.0.1:{port}/small.txt --proxy-tunnel"),
        format!("https://127.0.0.1:{secured}/small.txt"),
    ] {
        run(&format!("{target} {with}")).succeeded_with("replies=2 2xx=2 errors=0");
    }
    assert!(nginx.log(6).iter().all(|line| line.contains(" authorization=- ")));

    run(&format!("http://127.0.0.1:{port}/small.txt {without}"))
        .succeeded_with("replies=2 2xx=0 4xx=2 errors=0");
    let refused = run(&format!("http://127.0.0.1:{port}/small.txt --proxy-tunnel {without}"));
    refused.succeeded_with("connections=2 requests=0 replies=0 errors=2 other=2");
    assert_eq!(
        refused.stderr.matches("httperf: the proxy refused a tunnel with status 407\n").count(),
        1,
        "{refused}"
    );
    let refused = run(&format!("https://127.0.0.1:{secured}/small.txt {without}"));
    assert_eq!(refused.exit, Exit::Code(255), "{refused}");
    assert!(
        refused.stderr.contains("the first TLS handshake failed: the proxy refused a tunnel\n"),
        "{refused}"
    );
    assert_eq!(nginx.log(6).len(), 6);
}

#[test]
fn a_tunnel_to_where_nobody_listens_is_refused_by_the_proxy() {
    let squid = peer!(Peer::squid("127.0.0.1", ""));
    let closed = free_port();
    let run = run(&format!(
        "http://127.0.0.1:{closed}/ --proxy-tunnel --num-conns 3 --timeout 5 --proxy http://127.0.0.1:{}",
        squid.port()
    ));
    run.succeeded_with("connections=3 replies=0 errors=3 other=3");
    assert_eq!(run.stderr.matches("the proxy refused a tunnel with status 503\n").count(), 1, "{run}");
}

#[test]
fn a_proxy_that_does_not_answer_or_says_nonsense_is_an_error_of_its_class() {
    let proxy = |answer: &'static [u8]| {
        serve(move |_, mut stream| {
            let mut request = [0; 1024];
            let count = stream.read(&mut request).expect("the request arrives");
            assert!(request[..count].starts_with(b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n"));
            stream.write_all(answer).expect("the answer is read");
            if answer.is_empty() {
                // Until the other end gives up.
                assert_eq!(stream.read(&mut request).expect("the connection ends"), 0);
            }
        })
    };
    for (answer, class) in [
        (&b""[..], "client-timo"),
        (b"nonsense\r\n\r\n", "other"),
        (b"HTTP/1.1 999 No\r\n\r\n", "other"),
        (b"HTTP/1.1 200 OK\r\nHalf: a header", "connreset"),
        (b"HTTP/1.1 200 OK\r\n\r\nbytes that answer nothing", "other"),
    ] {
        let port = proxy(answer);
        run(&format!(
            "http://127.0.0.1:9/ --proxy-tunnel --num-conns 2 --timeout 0.3 --proxy http://127.0.0.1:{port}"
        ))
        .succeeded_with(&format!("connections=2 replies=0 errors=2 {class}=2"));
    }
}

/// Prints the type of service that each connection's SYN had, and answers each request.
const MARKS_SERVER: &str = r#"
import socket, struct, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
level, wanted, options = (41, 66, 6) if family == socket.AF_INET6 else (0, 13, 9)
server = socket.socket(family, socket.SOCK_STREAM)
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind((sys.argv[1], int(sys.argv[2])))
server.listen()
while True:
    client, _ = server.accept()
    client.setsockopt(level, wanted, 1)
    control = client.getsockopt(level, options, 256)
    if client.recv(4096):
        length, _, _ = struct.unpack_from("qii", control)
        print(struct.unpack_from("i" if length == 20 else "B", control, 16)[0])
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    client.close()
"#;

#[test]
fn packets_bear_the_mark_that_was_asked_for() {
    for address in ["127.0.0.1", "[::1]"] {
        let server = peer!(Peer::python(MARKS_SERVER, address));
        for option in ["", "--dscp ef", "--dscp=af21", "--dscp 8", "--tos 0x10"] {
            run(&format!("http://{address}:{}/ {option}", server.port()))
                .succeeded_with("replies=1 2xx=1 errors=0");
        }
        assert_eq!(server.output(5), ["0", "184", "72", "32", "16"], "{address}");
    }
}

/// Runs in a network of its own, with a server that takes data with the SYN if the kernel lets it.
const NETWORK_SCRIPT: &str = r#"
ip link set lo up
eval "$SETTINGS"
python3 -u -c '
import socket
server = socket.socket()
server.setsockopt(socket.IPPROTO_TCP, 23, 100)
server.bind(("127.0.0.1", 8080))
server.listen()
print("listening")
while True:
    client, _ = server.accept()
    while client.recv(4096):
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    client.close()
' > listening &
until [ -s listening ]; do sleep 0.01; done
"$@" > report 2> errors
echo "status $?"
kill $!
cat errors
awk '/^TcpExt:/ && !n { n = split($0, names); next } /^TcpExt:/ { split($0, values)
    for (i = 2; i <= n; i++) if (names[i] == "TCPFastOpenActive") print names[i], values[i] }' /proc/net/netstat
grep -o 'replies [0-9]* ' report
grep -o '^Errors: total [0-9]*' report
grep -o 'addrunavail [0-9]*' report
"#;

/// Runs the program in a network of its own, which shell commands set up. Returns what it says about the outcome.
fn in_network(settings: &str, arguments: &str) -> Option<String> {
    if !peers::has_namespaces("--net") {
        return None;
    }
    let _ = (find("ip")?, find("python3")?);
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let output = Command::new("timeout")
        .args(["30", "unshare", "--map-root-user", "--net", "sh", "-c", NETWORK_SCRIPT, "sh"])
        .arg(under_test())
        .args(words(arguments))
        .env("SETTINGS", settings)
        .current_dir(folder.path())
        .output()
        .expect("timeout can be started");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn fast_open_sends_requests_with_the_syn_once_there_is_a_cookie() {
    let ten = "--server 127.0.0.1 --port 8080 --num-conns 10 --tcp-fastopen";
    let allowed = peer!(in_network("echo 3 > /proc/sys/net/ipv4/tcp_fastopen", ten));
    assert_eq!(allowed, "status 0\nTCPFastOpenActive 9\nreplies 10 \nErrors: total 0\naddrunavail 0\n");
    let refused = peer!(in_network("echo 2 > /proc/sys/net/ipv4/tcp_fastopen", ten));
    assert_eq!(
        refused,
        "status 1\nhttperf: --tcp-fastopen: this system refuses TCP Fast Open: Operation not supported (os error 95)\n\
         hint: sysctl -w net.ipv4.tcp_fastopen=1\nTCPFastOpenActive 0\n"
    );
}

#[test]
fn each_local_address_has_ports_of_its_own() {
    // A closed connection keeps its port for a minute.
    let settings = "echo 40000 40003 > /proc/sys/net/ipv4/ip_local_port_range
        echo 0 > /proc/sys/net/ipv4/tcp_tw_reuse";
    let twelve = "--server 127.0.0.1 --port 8080 --num-conns 12 --rate 100 --myaddr";
    let one = peer!(in_network(settings, &format!("{twelve} 127.0.0.1")));
    assert!(one.ends_with("replies 4 \nErrors: total 8\naddrunavail 8\n"), "{one}");
    assert!(
        one.contains("httperf: warning: local ports: 4 local ports for one server, 12 are needed"),
        "{one}"
    );
    let three = peer!(in_network(settings, &format!("{twelve} 127.0.0.1-127.0.0.3")));
    assert!(three.ends_with("replies 12 \nErrors: total 0\naddrunavail 0\n"), "{three}");
    assert!(!three.contains("local ports"), "{three}");
}

#[test]
fn an_address_of_another_machine_is_refused_before_any_connection() {
    let nginx = peer!(Peer::nginx());
    let server = format!("--server 127.0.0.1 --port {} --uri /small.txt", nginx.port());
    for (pool, address) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.0/24", "192.0.2.1"),
        ("127.0.0.1 --myaddr 192.0.2.1-192.0.2.9", "192.0.2.1"),
        ("127.255.255.254-128.0.0.3", "128.0.0.3"),
    ] {
        let run = run(&format!("{server} --myaddr {pool}"));
        assert_eq!(run.exit, Exit::Code(1), "{run}");
        let message =
            format!("httperf: --myaddr: expected local addresses of this machine, got `{address}`\n");
        assert_eq!(run.stderr, message);
    }
    assert_eq!(nginx.log(0), [""; 0]);
}
