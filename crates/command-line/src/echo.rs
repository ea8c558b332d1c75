//! The echo line: the first line of output, which says what the run was asked for.

use httperf_plan::{Arrivals, Parts, secrets};

use crate::args::{Args, SessionArgs, SessionKind, Version};
use crate::grammar::{Given, OptDescription, Tier};
use crate::printf;
use crate::table::COMMAND;

/// The echo line of `args`, with its line end.
///
/// The order, and that some options never appear, are the classic tool's; scripts read this line.
#[must_use]
pub fn line(program: &[u8], args: &Args) -> Vec<u8> {
    let mut line = Line(program.to_vec());
    line.flag("verbose", args.verbose > 0);
    line.parts("print-reply", args.print_reply);
    line.parts("print-request", args.print_request);
    line.flag("hog", args.hog);
    line.flag("close-with-reset", args.close_with_reset);
    line.seconds("think-timeout", args.think_timeout);
    line.seconds("timeout", args.timeout);
    line.seconds("runtime", args.runtime);
    line.text(&format!("--client={}/{}", args.client.index, args.client.count));
    target(&mut line, args);
    line.number("failure-status", args.failure_status.unwrap_or(0).into());
    if let Some(version) = args.http_version.filter(|&version| version != Version::HTTP_11) {
        line.text(&format!("--http-version={version}"));
    }
    line.number("max-connections", args.max_connections.into());
    line.number("max-piped-calls", args.max_piped_calls.into());
    arrivals(&mut line, &args.arrivals);
    let sizes_buffers = !args.has_system_buffers();
    if sizes_buffers {
        line.text(&format!("--send-buffer={}", args.send_buffer));
    }
    line.flag("retry-on-failure", args.retry_on_failure);
    if sizes_buffers {
        line.text(&format!("--recv-buffer={}", args.recv_buffer));
    }
    line.flag("session-cookies", args.session_cookies);
    tls(&mut line, args);
    line.quoted("add-header", args.add_header.as_deref().map(|lines| shown("add-header", lines)).as_deref());
    line.quoted("add-header-file", args.add_header_file.as_deref().map(os_bytes));
    line.bytes("method", args.method.as_deref());
    line.flag("use-timer-cache", args.use_timer_cache);
    workload(&mut line, args);
    line.0.push(b'\n');
    line.0
}

fn target(line: &mut Line, args: &Args) {
    // A list of whole requests names the servers.
    if args.material.targets.is_some() {
        return;
    }
    if args.servers.is_none() {
        line.bytes("server", Some(args.server()));
    }
    match (&args.server_name, args.url()) {
        // The underscore is the classic tool's.
        (Some(name), _) => line.bytes("server_name", Some(name)),
        // The port is in `Host`, which --server and --port alone do not ask for.
        (None, Some(url)) if url.port.is_some() => {
            line.bytes("server-name", Some(&quoted(url.authority().as_bytes())));
        }
        (None, _) => {}
    }
    line.bytes("servers", args.servers.as_deref().map(os_bytes));
    line.number("port", args.port().into());
    line.bytes("uri", Some(&shown("uri", &args.uri())));
}

fn tls(line: &mut Line, args: &Args) {
    let tls = &args.tls;
    line.flag("ssl", args.uses_tls());
    line.bytes("ssl-ciphers", tls.ciphers.as_deref());
    line.bytes("tls-server-name", tls.server_name.as_deref());
    line.flag("ssl-no-reuse", tls.no_reuse);
    line.bytes("ssl-cert", tls.certificate.as_deref().map(os_bytes));
    line.bytes("ssl-key", tls.key.as_deref().map(os_bytes));
    line.bytes("ssl-ca-file", tls.ca_file.as_deref().map(os_bytes));
    line.bytes("ssl-ca-path", tls.ca_path.as_deref().map(os_bytes));
    line.flag("ssl-verify", tls.verify);
    line.bytes("ssl-protocol", tls.protocol.map(|protocol| protocol.name().as_bytes()));
}

fn arrivals(line: &mut Line, arrivals: &Arrivals) {
    match arrivals {
        // Phases come from a workload file and recorded instants from a recording, never from options.
        Arrivals::Sequential | Arrivals::Concurrent(_) | Arrivals::Phased(_) | Arrivals::Recorded { .. } => {}
        Arrivals::Deterministic { period } => line.text(&format!("--rate={}", printf::g(1.0 / period))),
        Arrivals::Uniform { min, max } => {
            line.text(&format!("--period=u{},{}", printf::g(*min), printf::g(*max)));
        }
        Arrivals::Exponential { mean } => line.text(&format!("--period=e{}", printf::g(*mean))),
        Arrivals::Variable(steps) => {
            let steps: Vec<String> = steps
                .iter()
                .map(|step| format!("{},{}", printf::g(step.period), printf::g(step.duration)))
                .collect();
            line.text(&format!("--period=v{}", steps.join(",")));
        }
    }
}

fn workload(line: &mut Line, args: &Args) {
    let session = args.session.as_ref().filter(|session| session.count != 0);
    match session {
        Some(SessionArgs { count, think, kind: SessionKind::File(file) }) => {
            let start = format!("{count},{},", printf::f3(*think));
            line.bytes("wsesslog", Some(&[start.as_bytes(), os_bytes(file)].concat()));
        }
        Some(SessionArgs { count, think, kind: SessionKind::Pages(pages) }) => {
            line.text(&format!("--wsesspage={count},{pages},{}", printf::f3(*think)));
        }
        Some(SessionArgs { count, think, kind: SessionKind::Calls(calls) }) => {
            line.text(&format!("--wsess={count},{calls},{}", printf::f3(*think)));
            bursts_and_files(line, args);
        }
        None => {
            counts(line, args);
            bursts_and_files(line, args);
        }
    }
    line.flag("periodic-stats", args.periodic_stats);
    new_options(line, args);
}

/// The numbers of connections and calls, unless the end of the run bounds them.
fn counts(line: &mut Line, args: &Args) {
    let load = &args.load;
    let is_new = load.duration > 0.0 || load.concurrency.is_some() || load.call_arrivals.is_some();
    let default = u64::from(!is_new);
    line.number("num-conns", args.num_conns.unwrap_or(default));
    line.number("num-calls", args.num_calls.unwrap_or(default));
}

/// Options that the classic tool does not have come last, in the order of their table, as they were typed.
fn new_options(line: &mut Line, args: &Args) {
    // Two that say the same: only the last counts.
    const CALL_ARRIVALS: [&str; 2] = ["request-rate", "request-period"];
    let overridden = |option: &OptDescription| {
        let last = args.given.iter().rfind(|given| CALL_ARRIVALS.contains(&given.option.long));
        CALL_ARRIVALS.contains(&option.long) && last.is_some_and(|last| last.option.long != option.long)
    };
    for option in COMMAND.options().filter(|option| option.tier == Tier::New && !overridden(option)) {
        let given = args.given.iter().filter(|given| given.option.long == option.long);
        let skipped = if option.is_repeatable { 0 } else { given.clone().count().saturating_sub(1) };
        given.skip(skipped).for_each(|given| line.given(given));
    }
}

/// A value as the line shows it: without what is secret. One that is no text is shown as it is.
fn shown(option: &str, value: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(value) {
        Ok(text) => secrets::value(option, text).into_bytes(),
        Err(_) => value.to_vec(),
    }
}

/// A value in quotes if a shell needs them, on one line, so that the shell gives the same bytes for it.
fn quoted(value: &[u8]) -> Vec<u8> {
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./,:=%@+".contains(byte) || !byte.is_ascii();
    if value.iter().all(is_plain) {
        return value.to_vec();
    }
    if value.iter().any(u8::is_ascii_control) {
        return escaped(value);
    }
    let mut text = vec![b'\''];
    for &byte in value {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            byte => text.push(byte),
        }
    }
    text.push(b'\'');
    text
}

/// A value with control characters as a shell takes it on one line.
///
/// <https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_04>
fn escaped(value: &[u8]) -> Vec<u8> {
    let mut text = b"$'".to_vec();
    for &byte in value {
        match byte {
            b'\'' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\t' => text.extend_from_slice(b"\\t"),
            byte if byte.is_ascii_control() => text.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            byte => text.push(byte),
        }
    }
    text.push(b'\'');
    text
}

fn bursts_and_files(line: &mut Line, args: &Args) {
    if args.burst_length.get() != 1 {
        line.number("burst-length", args.burst_length.get());
    }
    if let Some(wset) = args.wset.filter(|wset| wset.files != 0) {
        line.text(&format!("--wset={},{}", wset.files, printf::f3(wset.miss_rate)));
    }
}

fn os_bytes(text: &std::ffi::OsStr) -> &[u8] {
    std::os::unix::ffi::OsStrExt::as_bytes(text)
}

/// The line as far as it is written.
struct Line(Vec<u8>);

impl Line {
    fn text(&mut self, text: &str) {
        self.0.push(b' ');
        self.0.extend_from_slice(text.as_bytes());
    }

    fn flag(&mut self, name: &str, set: bool) {
        if set {
            self.text(&format!("--{name}"));
        }
    }

    /// A number, unless it is 0.
    fn number(&mut self, name: &str, number: u64) {
        if number != 0 {
            self.text(&format!("--{name}={number}"));
        }
    }

    /// A time, if it is above 0.
    fn seconds(&mut self, name: &str, seconds: f64) {
        if seconds > 0.0 {
            self.text(&format!("--{name}={}", printf::g(seconds)));
        }
    }

    /// An option as it was typed.
    fn given(&mut self, given: &Given) {
        self.text(&format!("--{}", given.option.long));
        if let Some(value) = &given.value {
            self.0.push(b'=');
            self.0.extend_from_slice(&quoted(&shown(given.option.long, value)));
        }
    }

    fn parts(&mut self, name: &str, parts: Option<Parts>) {
        match parts {
            None => {}
            Some(Parts::Header) => self.text(&format!("--{name}=header")),
            Some(Parts::Body) => self.text(&format!("--{name}=body")),
            Some(Parts::All) => self.text(&format!("--{name}")),
        }
    }

    fn bytes(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.text(&format!("--{name}="));
            self.0.extend_from_slice(value);
        }
    }

    fn quoted(&mut self, name: &str, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.bytes(name, Some(&[b"'", value, b"'"].concat()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    use super::*;
    use crate::grammar::parse::words;

    #[track_caller]
    fn check(argv: &[&str], expected: &str) {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        assert_eq!(String::from_utf8(line(b"httperf", &args)).unwrap(), format!("httperf {expected}\n"));
    }

    #[test]
    fn without_options_the_defaults_that_are_always_shown() {
        check(
            &[],
            "--client=0/1 --server=localhost --port=80 --uri=/ --send-buffer=4096 --recv-buffer=16384 \
             --num-conns=1 --num-calls=1",
        );
    }

    #[test]
    fn of_a_url_the_line_has_the_port_that_is_sent_in_host() {
        let rest = "--uri=/ --send-buffer=4096 --recv-buffer=16384 --num-conns=1 --num-calls=1";
        check(&["http://a/"], &format!("--client=0/1 --server=a --port=80 {rest}"));
        check(&["a:81"], &format!("--client=0/1 --server=a --server-name=a:81 --port=81 {rest}"));
        check(
            &["http://[::1]:81"],
            &format!("--client=0/1 --server=::1 --server-name='[::1]:81' --port=81 {rest}"),
        );
        check(
            &["a:81", "--server-name=b"],
            &format!("--client=0/1 --server=a --server_name=b --port=81 {rest}"),
        );
    }

    #[test]
    fn options_of_the_last_development_version_have_their_places() {
        check(
            &[
                "--periodic-stats",
                "--use-timer-cache",
                "--add-header-file=h",
                "--runtime=5",
                "--servers=list",
                "--period=v.5,10,2,1e9",
                "--timeout=1",
                "--method=",
                "--add-header=",
            ],
            "--timeout=1 --runtime=5 --client=0/1 --servers=list --port=80 --uri=/ \
             --period=v0.5,10,2,1e+09 --send-buffer=4096 --recv-buffer=16384 --add-header='' \
             --add-header-file='h' --method= --use-timer-cache --num-conns=1 --num-calls=1 --periodic-stats",
        );
    }

    #[test]
    fn buffers_that_are_left_to_the_kernel_have_no_size() {
        check(
            &["--system-buffers", "--proxy=http://127.0.0.1:1"],
            "--client=0/1 --server=localhost --port=80 --uri=/ --num-conns=1 --num-calls=1 \
             --proxy=http://127.0.0.1:1 --system-buffers",
        );
    }

    #[test]
    fn new_options_come_last_in_the_order_of_their_table_as_they_were_typed() {
        let classic =
            "--client=0/1 --server=localhost --port=80 --uri=/ --send-buffer=4096 --recv-buffer=16384";
        check(
            &[
                "--html=a b.html",
                "--drain=2s",
                "--warmup=.5",
                "--dur=10s",
                "--duration=1m",
                "--live",
                "--spin",
            ],
            &format!("{classic} --spin --duration=1m --warmup=.5 --drain=2s --html='a b.html' --live"),
        );
        check(
            &[
                "--request-period=e.5",
                "--request-rate=2k",
                "--num-calls=9",
                "--slo",
                "p99<5ms",
                "--slo=errors<1%",
            ],
            &format!("{classic} --num-calls=9 --request-rate=2k --slo='p99<5ms' --slo='errors<1%'"),
        );
        check(
            &["--body=it's\n", "--header=X: y"],
            &format!("{classic} --num-conns=1 --num-calls=1 --body=$'it\\'s\\n' --header='X: y'"),
        );
    }

    #[test]
    fn a_shell_reads_the_same_bytes() {
        let control: Vec<u8> = (1..=127).collect();
        let values: [&[u8]; 8] = [
            b"",
            b"plain",
            b"it's \"$HOME\" `x` \\n *",
            b"two\nlines\r\n",
            b"\x1b[31m7",
            b"it's\t\\ 8\x017",
            "\u{fc}\u{7f}".as_bytes(),
            &control,
        ];
        // Not every /bin/sh knows $'...' yet.
        let shells = ["bash", "sh"].into_iter().filter(|shell| read_by(shell, b"$'\\n'") == b"\n");
        for shell in shells {
            for value in values {
                let text = quoted(value);
                assert!(!text.iter().any(u8::is_ascii_control), "{}", text.escape_ascii());
                let read = read_by(shell, &text);
                assert_eq!(read.escape_ascii().to_string(), value.escape_ascii().to_string(), "{shell}");
            }
        }
    }

    /// The bytes that a shell gives a program for this text.
    fn read_by(shell: &str, text: &[u8]) -> Vec<u8> {
        let script = OsString::from_vec([b"printf %s ", text].concat());
        Command::new(shell).arg("-c").arg(script).output().unwrap().stdout
    }

    #[test]
    fn what_is_secret_is_left_out() {
        let given = |argv: &[&str]| {
            let mut args = Args::default();
            args.parse(&words(argv)).unwrap();
            String::from_utf8(line(b"httperf", &args)).unwrap()
        };
        for (option, shown) in [
            ("--basic-auth=user:secret", "--basic-auth=..."),
            ("--bearer=secret", "--bearer=..."),
            ("--header=authorization: secret", "--header='authorization: ...'"),
            ("--header=Cookie: id=secret", "--header='Cookie: ...'"),
            ("--proxy=http://user:secret@127.0.0.1:1", "--proxy=http://...@127.0.0.1:1"),
        ] {
            let line = given(&[option]);
            assert!(line.contains(shown) && !line.contains("secret"), "{line}");
        }
    }

    #[test]
    fn a_list_of_requests_takes_the_place_of_the_target() {
        check(
            &["--targets=list", "--num-conns=2"],
            "--client=0/1 --send-buffer=4096 --recv-buffer=16384 --num-conns=2 --num-calls=1 --targets=list",
        );
    }

    #[test]
    fn options_of_http2_come_last() {
        check(
            &[
                "--h2-header-table=0",
                "--h2-window=64k",
                "--http-version=2.0",
                "--streams=8",
                "--concurrency=2",
                "--threads=2",
                "--h2-max-frame=1m",
            ],
            "--client=0/1 --server=localhost --port=80 --uri=/ --http-version=2 --send-buffer=4096 \
             --recv-buffer=16384 --concurrency=2 --threads=2 --streams=8 --h2-window=64k --h2-header-table=0 \
             --h2-max-frame=1m",
        );
        check(
            &["--http-version=2", "--h2-connection-window=1g"],
            "--client=0/1 --server=localhost --port=80 --uri=/ --http-version=2 --send-buffer=4096 \
             --recv-buffer=16384 --num-conns=1 --num-calls=1 --h2-connection-window=1g",
        );
        check(
            &["--http-version=auto"],
            "--client=0/1 --server=localhost --port=80 --uri=/ --http-version=auto --send-buffer=4096 \
             --recv-buffer=16384 --num-conns=1 --num-calls=1",
        );
    }

    #[test]
    fn a_session_file_hides_bursts_and_working_sets() {
        check(
            &["--wsesslog=2,.5,f", "--burst-length=2", "--wset=3,1", "--num-conns=9", "-n"],
            "--client=0/1 --server=localhost --port=80 --uri=/ --send-buffer=4096 --recv-buffer=16384 \
             --wsesslog=2,0.500,f --periodic-stats",
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_come_out_as_they_went_in() {
        let mut args = Args::default();
        args.parse(&[OsString::from_vec(b"--uri=/\xff".to_vec())]).unwrap();
        assert!(line(b"\xfe", &args).starts_with(b"\xfe --client"));
        assert!(line(b"\xfe", &args).windows(9).any(|part| part == b"--uri=/\xff "));
    }
}
