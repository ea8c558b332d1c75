//! Command lines that are refused: the messages and the exit statuses.
//!
//! Each list has a golden file with everything that is printed for it. What the classic program refuses in the
//! same words is compared with it as well.

use std::fs;

use httperf_certificates::Identity;

use crate::support::reference::{Outcome, is_installed, ours, theirs};

/// Command lines that both programs refuse alike.
const AS_EVER: &[&[&str]] = &[
    // The grammar of options.
    &["--bogus"],
    &["--bogus=1"],
    &["---"],
    &["--num", "3"],
    &["--num=3"],
    &["--=x"],
    &["--hog=1"],
    &["--no-h=1"],
    &["--num-conns"],
    &["--uri=/", "--wlog"],
    &["-x"],
    &["-vx"],
    &["-vd"],
    // Numbers.
    &["--burst-length=0"],
    &["--burst-length=-1"],
    &["--burst-length="],
    &["--failure-status=0"],
    &["--failure-status=404x"],
    &["--failure-status=2147483648"],
    &["--http-version=1"],
    &["--http-version=x.y"],
    &["--max-connections=-1"],
    &["--max-connections=4x"],
    &["--max-piped-calls=2147483648"],
    &["--max-piped-calls=x"],
    &["--num-calls=0x10"],
    &["--num-calls="],
    &["--num-conns=1e3"],
    &["--num-conns=99999999999999999999"],
    &["--port=65536"],
    &["--port=-1"],
    &["--port="],
    &["--recv-buffer=x"],
    &["--send-buffer=.5"],
    &["--rate=fast"],
    &["--rate="],
    &["--rate=1e400"],
    &["--rate=4e-320"],
    &["--think-timeout=1x"],
    &["--timeout=1,5"],
    &["--timeout", "--hog"],
    // Clients.
    &["--client=a"],
    &["--client="],
    &["--client=1"],
    &["--client=1x2"],
    &["--client=1/"],
    &["--client=1/z"],
    &["--client=2/2"],
    &["--client=0/0"],
    &["--client=99999999999999999999/1"],
    // Periods.
    &["--period=x1"],
    &["--period=-1"],
    &["--period=+1"],
    &["--period= 1"],
    &["--period=1x"],
    &["--period=d-1"],
    &["--period=d1,2"],
    &["--period=e"],
    &["--period=1e999"],
    &["--period=u"],
    &["--period=u-1,2"],
    &["--period=u1"],
    &["--period=u1;2"],
    &["--period=u1,"],
    &["--period=u1,2x"],
    &["--period=u1,-2"],
    // Sessions and working sets.
    &["--wsess="],
    &["--wsess=1"],
    &["--wsess=1,"],
    &["--wsess=1x,1,1"],
    &["--wsess=1,1"],
    &["--wsess=1,1,-1"],
    &["--wsess=1,1,0,x"],
    &["--wsess=1,1,1e999"],
    &["--wsess=99999999999999999999,1,1"],
    &["--wsess=1,99999999999999999999,1"],
    &["--wsesspage=x"],
    &["--wsesspage=1,y"],
    &["--wsesspage=1,1,z"],
    &["--wsesspage=1,1,0x"],
    &["--wsesslog=x"],
    &["--wsesslog=1"],
    &["--wsesslog=1,-1,f"],
    &["--wsesslog=1,1"],
    &["--wsesslog=1,1;f"],
    &["--wsesslog=1,1,f,g"],
    &["--wset=x"],
    &["--wset=1"],
    &["--wset=1,"],
    &["--wset=1,1.5"],
    &["--wset=1,-0.1"],
    &["--wset=1,1e999"],
    &["--wset=1,0.5,"],
    &["--session-cookies"],
    // After the echo line.
    &["--server="],
    &["--server=not a name"],
    &["--server=127.0.0.1", "--port=1", "--http-version=4.0"],
    &["--server=127.0.0.1", "--port=1", "--wlog=y,missing"],
    &["--server=127.0.0.1", "--port=1", "--wlog=y,empty"],
    &["--server=127.0.0.1", "--port=1", "--wsess=1,1,0", "--wlog=y,missing"],
    &["--server=127.0.0.1", "--port=1", "--wsesslog=1,0,missing"],
    &["--server=127.0.0.1", "--port=1", "--wsesslog=1,0,bad-method"],
    &["--server=127.0.0.1", "--port=1", "--wsesslog=1,0,bad-argument"],
    &["--server=127.0.0.1", "--port=1", "--wsesslog=1,0,unfinished"],
    &[
        "--server=127.0.0.1",
        "--port=1",
        "--wsess=1,8,0",
        "--burst-length=8",
        "--max-connections=2",
        "--max-piped-calls=2",
    ],
];

/// Command lines that the classic program accepts, does not know, or fails on in another way.
const NEWLY: &[&[&str]] = &[
    // Negative numbers, which used to wrap round, and other values that were taken for something else.
    &["--num-conns=-1"],
    &["--num-calls=-1"],
    &["-d1", "--bogus"],
    &["--send-buffer=-1"],
    &["--recv-buffer=2147483648"],
    &["--max-connections=1000001"],
    &["--failure-status=5000000000"],
    &["--http-version=-1.1"],
    &["--client=0/4294967297"],
    &["--wsess=-1,1,0"],
    &["--wset=1,nan"],
    &["--wset=4294967296,1"],
    &["--period="],
    // A negative rate, which used to make connections one after the other.
    &["--rate=-5"],
    &["--rate=nan"],
    &["--rate=-5/s"],
    // Units that are none.
    &["--rate=5m"],
    &["--timeout=5sec"],
    // Options of the last development version.
    &["--period=v"],
    &["--period=v1"],
    &["--period=v1,x"],
    &["--period=v1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"],
    &["--runtime=0"],
    &["--runtime=nan"],
    &["--runtime=soon"],
    &["--server=a", "--servers=empty"],
    &["http://a/", "--servers=empty"],
    &["--servers=missing"],
    &["--servers=empty"],
    &["--servers=separators"],
    &["--myaddr=not a name"],
    &["--myaddr=127.0.0.9-127.0.0.1"],
    &["--myaddr=not a name-127.0.0.1"],
    &["--myaddr=127.0.0.1-not a name"],
    &["--myaddr=127.0.0.1-::1"],
    // New options.
    &["--report=full", "--report=x"],
    &["--report="],
    &["--unix-socket="],
    &["--clock="],
    &["--clock=wall"],
    &["--clock=kernel", "--unix-socket=/run/x"],
    &["--clock=kernel", "--record=classic"],
    &["--spin=1"],
    &["--print-lifetimes=x"],
    &["--pri=x"],
    &["--serv=x", "--bogus"],
    // Closed loops, calls at a rate, threads.
    &["--concurrency=0"],
    &["--concurrency=many"],
    &["--concurrency=4294967296"],
    &["--streams=99999999999999999999"],
    &["--streams=00"],
    &["--ws-size=4294967296"],
    &["--concurrency=8", "--wsess=10,1,0"],
    &["--concurrency=8", "--rate=10", "--max-connections=4"],
    &["--pipeline=0"],
    &["--pipeline=2"],
    &["--pipeline=2", "--rate=10", "--concurrency=8"],
    &["--pipeline=2", "--concurrency=2", "--burst-length=2"],
    &["--pipeline=2", "--concurrency=2", "--http-version=1.0"],
    &["--duration=0"],
    &["--duration=-1"],
    &["--duration=soon"],
    &["--duration=1", "--runtime=1"],
    &["--drain=1", "--rate=10"],
    &["--warmup=5", "--server=127.0.0.1"],
    &["--warmup=5", "--rate=10", "--num-conns=20", "--server=127.0.0.1"],
    &["--warmup=2e19", "--duration=1"],
    &["--warmup=1000000001", "--duration=1"],
    &["--warmup=nan", "--duration=1"],
    &["--drain=1e308", "--duration=1"],
    &["--drain=-1", "--duration=1"],
    &["--duration=1e19"],
    &["--duration=inf"],
    &["--duration=-0"],
    &["--runtime=nan"],
    &["--request-rate=nan", "--duration=1"],
    &["--call-pause=inf"],
    &["--call-pause=-1"],
    &["--call-pause=1", "--wsess=1,1,1"],
    &["--call-pause=1", "--request-rate=1", "--duration=1"],
    &["--call-pause=1", "--concurrency=2", "--pipeline=2"],
    &["--request-rate=0", "--duration=1"],
    &["--request-rate=fast", "--duration=1"],
    &["--request-rate=10"],
    &["--request-rate=10", "--duration=1", "--rate=10"],
    &["--request-rate=10", "--duration=1", "--wsess=1,1,1"],
    &["--request-rate=10", "--duration=1", "--num-conns=5"],
    &["--request-rate=10", "--duration=1", "--max-connections=5"],
    &["--request-rate=10", "--duration=1", "--burst-length=5"],
    &["--request-rate=10", "--duration=1", "--concurrency=2", "--server=127.0.0.1", "--threads=3"],
    &["--request-rate=10", "--duration=1", "--concurrency=1", "--servers=two"],
    &["--request-rate=10", "--duration=1", "--per-connection", "--servers=two"],
    &["--request-rate=10", "--duration=1", "--ssl", "--tls-handshake-only"],
    &["--request-period=x1", "--duration=1"],
    &["--request-period=0", "--duration=1"],
    &["--per-connection"],
    &["--max-open=0"],
    &["--max-open=5"],
    &["--max-open=5", "--concurrency=5"],
    &["--max-open=5", "--request-rate=10", "--duration=1"],
    &["--max-open=5", "--rate=10", "--max-connections=5"],
    &["--max-open=3", "--wsess=1,1,1", "--server=127.0.0.1"],
    &["--threads=0"],
    &["--threads=all"],
    &["--threads=2", "--server=127.0.0.1"],
    &["--threads=2", "--rate=10", "--server=127.0.0.1"],
    &["--threads=9", "--concurrency=8", "--server=127.0.0.1"],
    // The way to the server, and sockets.
    &["--myaddr=10.0.0.0/33"],
    &["--myaddr=fd00::/48"],
    &["--myaddr=127.0.0.1/"],
    &["--myaddr=127.0.0.1", "--myaddr=::1"],
    &["--myaddr=::1", "--server=127.0.0.1"],
    &["--myaddr=192.0.2.1", "--server=127.0.0.1"],
    &["--myaddr=127.0.0.1", "--myaddr=192.0.2.0/24", "--server=127.0.0.1"],
    &["--myaddr=127.255.255.255-128.0.0.0", "--server=127.0.0.1"],
    &["--connect-to=a:80:b"],
    &["--connect-to=a:80:b:port"],
    &["--connect-to=::1:80:b:1"],
    &["--connect-to=::not a name:", "--server=127.0.0.1"],
    &["--proxy=localhost:3128"],
    &["--proxy=https://localhost:3128"],
    &["--proxy=http://localhost:3128/path"],
    &["--proxy=http://not%20a%20name/"],
    &["--proxy=http://no..such/"],
    &["--proxy=http://localhost", "--connect-to=:::"],
    &["--proxy=http://localhost", "--unix-socket=socket"],
    &["--proxy-tunnel"],
    &["--all-addresses", "--unix-socket=socket"],
    &["--tcp-nodelay=maybe"],
    &["--tcp-fastopen", "--num-calls=0"],
    &["--tos=3"],
    &["--tos=256"],
    &["--dscp=64"],
    &["--dscp=af14"],
    &["--dscp=ef", "--tos=0x10"],
    &["--system-buffers", "--send-buffer=4096"],
    &["--recv-buffer=1", "--system-buffers"],
    // Objectives.
    &["--slo=ttft<5ms"],
    &["--slo=e2e<5ms"],
    &["--slo=ttft.p99<5ms", "--server=127.0.0.1"],
    // A start that nobody lives to see.
    &["--start-at=9000-01-01T00:00:00Z", "--server=127.0.0.1"],
    // URLs.
    &["http://"],
    &["http://[::1/"],
    &["http://host:port/"],
    &["http://user:secret@host/"],
    &["http://host/a b"],
    // Mistakes that the classic program reports late, without a line end, or not at all.
    &["--server=127.0.0.1", "--wsesspage=1,1,0", "--uri=x"],
    &["--server=127.0.0.1", "--wlog=y"],
    &["--server=127.0.0.1", "--wlog=n,separators"],
    &["--server=127.0.0.1", "--wsesslog=1,0,only-comments"],
    &["--server=127.0.0.1", "--wsesslog=1,0,empty"],
    // Bodies, header fields and lists of requests.
    &["--body={rand:9-1}"],
    &["--uri=/{rand:a-b}", "--server=127.0.0.1"],
    &["--body=a", "--body-file=b"],
    &["--form=a=b", "--body=c"],
    &["--body=a", "--wsesslog=1,0,only-comments"],
    &["--body-file=missing", "--server=127.0.0.1"],
    &["--body-file=without-certificates", "--server=127.0.0.1"],
    &["--body-file="],
    &["--form=a"],
    &["--form=a=@missing", "--server=127.0.0.1"],
    &["--form=a=@key", "--header=Content-Type: text/plain", "--server=127.0.0.1"],
    &["--header=Accept"],
    &["--header=Accept : text/html"],
    &["--header=A: b\r\nC: d"],
    &["--header=Content-Length: 5"],
    &["--header=transfer-encoding: chunked"],
    &["--header=X: {rand:}"],
    &["--header=Host: a", "--header=HOST: b"],
    &["--header=A: b", "--add-header=C: d\\n\\nbody", "--server=127.0.0.1"],
    &["--basic-auth=name"],
    &["--bearer=two words"],
    &["--basic-auth=a:b", "--bearer=c"],
    &["--bearer=a", "--header=Authorization: b"],
    &["--targets=missing"],
    &["--targets=empty"],
    &["--targets=only-comments"],
    &["--targets=bad-method"],
    &["--targets=no-url"],
    &["--targets=bad-field"],
    &["--targets=no-body"],
    &["--targets=bad-json"],
    &["--targets=bad-base64"],
    &["--targets=both-schemes"],
    &["--targets=two-servers", "--num-calls=2"],
    &["--targets=two-servers", "--ssl"],
    &["--targets=two-servers", "--uri=/x"],
    &["--targets=two-servers", "http://127.0.0.1/"],
    &["--targets=two-servers", "--body=x"],
    // Checks of replies.
    &["--expect-status=9xx"],
    &["--expect-status=200-100"],
    &["--expect-status="],
    &["--expect-size=1k"],
    &["--expect-size=9-1"],
    &["--expect-body-hash=sha256:abc"],
    &["--expect-body-hash=md5:d41d8cd98f00b204e9800998ecf8427e"],
    &["--compressed=yes"],
    // TLS.
    &["--ssl-protocol=SSLv3"],
    &["--tls-min=2"],
    &["--tls-max=auto"],
    &["--tls-min=1.3", "--tls-max=1.2"],
    &["--tls-groups=X25519:P-257"],
    &["--tls-groups="],
    &["--tls-groups=SecP256r1MLKEM768"],
    &["--tls-max=1.2", "--ssl-ciphers=NO-SUCH-CIPHER"],
    &["--ssl-protocol=TLSv1.2", "--ssl-ciphers="],
    &["--tls-sigalgs=md5"],
    &["--tls-alpn=h2"],
    &["--tls-alpn=", "--tls-handshake-only"],
    &["--tls-server-name=127.0.0.1"],
    &["--tls-keylog="],
    &["--tls-keylog=missing/keys", "--server=127.0.0.1"],
    &["--tls-resume=130"],
    &["--tls-resume=30", "--wsess=1,1,0"],
    &["--tls-resume=30", "--ssl-no-reuse"],
    &["--tls-early-data", "--tls-max=1.2"],
    &["--tls-early-data", "--wsess=1,1,0", "--ssl-no-reuse"],
    &["--tls-handshake-only", "--wsess=1,1,0"],
    &["--tls-handshake-only", "--tls-early-data"],
    &["--tls-cert-compression=gzip"],
    &["--tls-groups=X25519", "http://127.0.0.1/"],
    &["--ssl", "--ssl-certificate=missing", "--ssl-key=key"],
    &["--ssl", "--ssl-certificate=empty", "--ssl-key=key"],
    &["--ssl", "--ssl-certificate=certificate", "--ssl-key=empty"],
    &["--ssl", "--ssl-certificate=certificate", "--ssl-key=other-key"],
    &["--ssl", "--ssl-certificate=certificate", "--ssl-key=encrypted-key"],
    &["--ssl", "--ssl-certificate=certificate"],
    &["--ssl", "--ssl-key=key"],
    &["--ssl", "--ssl-verify", "--ssl-ca-file=missing"],
    &["--ssl", "--ssl-verify", "--ssl-ca-file=empty"],
    &["--ssl", "--ssl-ca-file=empty"],
    &["--ssl", "--ssl-verify", "--ssl-ca-path=missing"],
    &["--ssl", "--ssl-verify", "--ssl-ca-path=without-certificates"],
];

#[test]
fn what_was_always_refused_is_refused_in_the_same_words() {
    let folder = files();
    insta::assert_snapshot!("as_ever", transcript(AS_EVER, &folder));
    if !is_installed() {
        return;
    }
    for argv in AS_EVER {
        let ours = ours(argv, folder.path()).without_hints();
        assert_eq!(ours, theirs(argv, folder.path()), "{argv:?}");
    }
}

#[test]
fn what_is_refused_for_new_reasons_says_so_in_one_sentence() {
    insta::assert_snapshot!("newly", transcript(NEWLY, &files()));
}

#[test]
fn whatever_is_refused_has_a_message_and_an_exit_status() {
    let folder = files();
    for argv in AS_EVER.iter().chain(NEWLY) {
        let outcome = ours(argv, folder.path());
        assert!(matches!(outcome.status, 1 | 255), "{argv:?}: {outcome:?}");
        assert!(outcome.stderr.starts_with("httperf"), "{argv:?}: {outcome:?}");
        assert!(outcome.stdout.lines().count() <= 1, "nothing but the echo line: {argv:?}: {outcome:?}");
    }
}

/// A folder with the files that the command lines name.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let [own, other] =
        [0; 2].map(|_| Identity::self_signed("client").expect("a certificate takes nothing but memory"));
    let pem = |bytes: Vec<u8>| String::from_utf8(bytes).expect("PEM is text");
    for (name, contents) in [
        ("empty", ""),
        ("separators", "\0\0\0"),
        ("two", "127.0.0.1\n127.0.0.2\n"),
        ("bad-method", "/a\n/b method=BREW\n"),
        ("bad-argument", "/a\n  /b colour=red\n"),
        ("unfinished", "/a contents=abc\\\n"),
        ("only-comments", "# nothing\n\n# here\n"),
        ("no-url", "GET http://127.0.0.1/\n\n  GET /path\n"),
        ("bad-field", "GET http://127.0.0.1/\nAccept: text/html\nX : y\n"),
        ("no-body", "POST http://127.0.0.1/\n@missing\n"),
        (
            "bad-json",
            "{\"method\": \"GET\", \"url\": \"http://127.0.0.1/\"}\n{\"method\": \"GET\", \"uri\": \"/\"}\n",
        ),
        ("bad-base64", "{\"method\": \"PUT\", \"url\": \"http://127.0.0.1/\", \"body\": \"no base64\"}\n"),
        ("both-schemes", "GET http://127.0.0.1/\nGET https://127.0.0.1/\n"),
        ("two-servers", "GET http://127.0.0.1:1/\nGET http://127.0.0.1:2/\n"),
        ("certificate", &pem(own.certificate_pem())),
        ("key", &pem(own.key_pem())),
        ("other-key", &pem(other.key_pem())),
        (
            "encrypted-key",
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        ),
    ] {
        fs::write(folder.path().join(name), contents).expect("it can be written to");
    }
    fs::create_dir(folder.path().join("without-certificates")).expect("a folder can be made in it");
    folder
}

fn transcript(cases: &[&[&str]], folder: &tempfile::TempDir) -> String {
    let mut text = String::new();
    for argv in cases {
        let Outcome { status, stdout, stderr } = ours(argv, folder.path());
        text += &format!("$ httperf '{}'\n{stdout}{stderr}exit status {status}\n\n", argv.join("' '"));
    }
    text
}
