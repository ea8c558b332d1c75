//! Libraries that are loaded before the C library (`LD_PRELOAD`): they see what the program does about its connections,
//! and have their way with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use httperf_testkit::skip;
use httperf_testkit::tcp::listen;

use super::peers::{self, Peer};
use super::run_program;
use crate::support::program::{Finished, Invocation, reference, under_test};
use crate::support::running::{Running, find, peer};
use crate::support::words;

/// Builds the library in `hook.c`; `None`, with a word on stdout, without a C compiler.
fn hook(folder: &Path) -> Option<PathBuf> {
    let compiler = find("cc")?;
    let library = folder.join("hook.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sources/hook.c");
    let built = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .output();
    let built = built.expect("the compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some(library)
}

/// `httperf serve` on a port of its own.
fn serve() -> Running {
    let furnish = |_: &Path| Ok(());
    Running::start("127.0.0.1", 1, furnish, |_, ports| {
        let mut command = Command::new(under_test());
        command.args(["serve", "--listen", &format!("127.0.0.1:{}", ports[0])]);
        command
    })
}

/// Runs the program under the hook, which takes its connections elsewhere; what came of it, and how often it called what.
fn run_hooked(hook: &Path, from: u16, to: u16, arguments: &str) -> (Finished, BTreeMap<String, u64>) {
    let counts = peers::file("");
    let mut all = Vec::<OsString>::new();
    for (name, value) in [
        ("LD_PRELOAD", hook.as_os_str().to_owned()),
        ("HOOK_FROM", from.to_string().into()),
        ("HOOK_TO", to.to_string().into()),
        ("HOOK_OUT", counts.path().into()),
    ] {
        let mut setting = OsString::from(name);
        setting.push("=");
        setting.push(value);
        all.push(setting);
    }
    all.push(under_test().into());
    all.extend(words(arguments).into_iter().map(OsString::from));
    let mut invocation = Invocation::new(Path::new("/usr/bin/env"), all);
    invocation.files = vec![("body".to_owned(), vec![b'x'; 20_000])];
    let finished = Finished::of(&invocation);
    let text = fs::read_to_string(counts.path()).expect("the counts can be read");
    let count = |line: &str| {
        line.split_once(' ')
            .map(|(name, count)| (name.to_owned(), count.parse().expect("counts are numbers")))
    };
    (finished, text.lines().filter_map(count).collect())
}

#[test]
fn a_library_before_the_c_library_sees_every_call_about_connections() {
    let folder = tempfile::tempdir().unwrap();
    let hook = peer!(hook(folder.path()));
    let server = serve();
    // What the program is told to connect to, where nobody may arrive.
    let (decoy, from) = listen();
    decoy.set_nonblocking(true).unwrap();
    let target = format!("--server localhost --port {from} --num-conns 5 --num-calls 2 --timeout 20");

    let (run, counts) = run_hooked(&hook, from, server.port(0), &format!("{target} --uri /size/200000"));
    run.succeeded_with("connections=5 requests=10 replies=10 2xx=10 content=200000.0 errors=0");
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert!(count("getaddrinfo") >= 1, "{counts:?}");
    assert_eq!((count("connect"), count("send"), count("sendmsg")), (5, 10, 0), "{counts:?}");
    // Beside those of the run there may be one that tries whether sockets can be made.
    assert!(count("socket") >= 5 && count("close") == count("socket"), "{counts:?}");
    assert_eq!(count("epoll_ctl"), 5, "{counts:?}");
    // With the kernel's time stamps.
    assert!(count("recvmsg") >= 10, "{counts:?}");

    // Without them, what nobody wants to see of a body is discarded; the rest is read.
    let (_, counts) =
        run_hooked(&hook, from, server.port(0), &format!("{target} --uri /size/200000 --record=classic"));
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert!(count("recv") >= 11 && count("recvmsg") == 0, "{counts:?}");

    let post = format!("{target} --uri /size/9 --method POST --body-file body --myaddr 127.0.0.1");
    let (run, counts) = run_hooked(&hook, from, server.port(0), &post);
    run.succeeded_with("connections=5 requests=10 replies=10 2xx=10 content=9.0 errors=0");
    let count = |name: &str| counts.get(name).copied().unwrap_or(0);
    assert_eq!((count("connect"), count("sendmsg")), (5, 10), "{counts:?}");
    assert!(count("bind") >= 5, "{counts:?}");

    assert_eq!(
        decoy.accept().map(|_| ()).unwrap_err().kind(),
        ErrorKind::WouldBlock,
        "a connection went past it"
    );
}

#[test]
fn proxychains_takes_connections_through_its_proxy() {
    let nginx = peer!(Peer::nginx());
    let proxychains = peer!(find("proxychains4"));
    let mut programs = vec![under_test()];
    match reference() {
        Some(classic) => programs.push(classic.to_owned()),
        None => skip::lacking("the classic httperf"),
    }
    for program in programs {
        let proxy = peer!(Peer::tinyproxy("127.0.0.1", "LogLevel Connect"));
        let list = format!("strict_chain\n[ProxyList]\nhttp 127.0.0.1 {}\n", proxy.port());
        let configuration = peers::file(&list);
        let mut all: Vec<OsString> =
            vec!["-q".into(), "-f".into(), configuration.path().into(), program.clone().into()];
        let arguments = format!(
            "--server localhost --port {} --uri /small.txt --num-conns 5 --num-calls 2",
            nginx.port()
        );
        all.extend(words(&arguments).into_iter().map(OsString::from));
        let run = run_program(&proxychains, all);
        run.succeeded_with("connections=5 replies=10 2xx=10 content=6.0 errors=0");
        // For each connection that it is asked for: that there is one, what it is to reach, and that it does.
        let asked = format!("CONNECT 127.0.0.1:{}", nginx.port());
        let log = proxy.output(3 * 5);
        assert_eq!(
            log.iter().filter(|line| line.contains(&asked)).count(),
            5,
            "{}: {log:?}",
            program.display()
        );
    }
}
