//! The echo line: the first line of output, which says what the run was asked for.

use std::num::NonZeroU32;

use httperf_plan::{Arrivals, Parts};

use crate::command_line::args::{Args, SessionArgs, SessionKind, Threads, Version};
use crate::command_line::printf;

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
    arrivals(&mut line, &args.arrivals, ["rate", "period"]);
    let sizes_buffers = !args.sources.system_buffers;
    if sizes_buffers {
        line.text(&format!("--send-buffer={}", args.send_buffer));
    }
    line.flag("retry-on-failure", args.retry_on_failure);
    if sizes_buffers {
        line.text(&format!("--recv-buffer={}", args.recv_buffer));
    }
    line.flag("session-cookies", args.session_cookies);
    tls(&mut line, args);
    line.quoted("add-header", args.add_header.as_deref());
    line.quoted("add-header-file", args.add_header_file.as_deref().map(os_bytes));
    line.bytes("method", args.method.as_deref());
    line.flag("use-timer-cache", args.use_timer_cache);
    workload(&mut line, args);
    line.0.push(b'\n');
    line.0
}

fn target(line: &mut Line, args: &Args) {
    if args.servers.is_none() {
        line.bytes("server", Some(args.server()));
    }
    // The underscore is the classic tool's.
    line.bytes("server_name", args.server_name.as_deref());
    line.bytes("servers", args.servers.as_deref().map(os_bytes));
    line.number("port", args.port().into());
    line.bytes("uri", Some(args.uri()));
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

fn arrivals(line: &mut Line, arrivals: &Arrivals, [rate, spacing]: [&str; 2]) {
    match arrivals {
        Arrivals::Sequential | Arrivals::Concurrent(_) => {}
        Arrivals::Deterministic { period } => line.text(&format!("--{rate}={}", printf::g(1.0 / period))),
        Arrivals::Uniform { min, max } => {
            line.text(&format!("--{spacing}=u{},{}", printf::g(*min), printf::g(*max)));
        }
        Arrivals::Exponential { mean } => line.text(&format!("--{spacing}=e{}", printf::g(*mean))),
        Arrivals::Variable(steps) => {
            let steps: Vec<String> = steps
                .iter()
                .map(|step| format!("{},{}", printf::g(step.period), printf::g(step.duration)))
                .collect();
            line.text(&format!("--{spacing}=v{}", steps.join(",")));
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
    load(line, args);
    http2(line, args);
}

/// The numbers of connections and calls, unless the end of the run bounds them.
fn counts(line: &mut Line, args: &Args) {
    let load = &args.load;
    let is_new = load.duration > 0.0 || load.concurrency.is_some() || load.call_arrivals.is_some();
    let default = u64::from(!is_new);
    line.number("num-conns", args.num_conns.unwrap_or(default));
    line.number("num-calls", args.num_calls.unwrap_or(default));
}

/// Options that the classic tool does not have come last: this, and HTTP/2.
fn load(line: &mut Line, args: &Args) {
    let load = &args.load;
    line.seconds("duration", load.duration);
    line.number("concurrency", or_zero(load.concurrency));
    line.number("pipeline", or_zero(load.pipeline));
    line.seconds("call-pause", load.call_pause);
    if let Some(calls) = &load.call_arrivals {
        arrivals(line, calls, ["request-rate", "request-period"]);
    }
    line.flag("per-connection", load.per_connection);
    line.number("max-open", or_zero(load.max_open));
    match load.threads {
        None => {}
        Some(Threads::Auto) => line.text("--threads=auto"),
        Some(Threads::Count(count)) => line.number("threads", count.get().into()),
    }
}

/// The number, or 0 for an option that was not given.
fn or_zero(given: Option<NonZeroU32>) -> u64 {
    given.map_or(0, |number| number.get().into())
}

fn http2(line: &mut Line, args: &Args) {
    line.flag("h2c-upgrade", args.http2.upgrade);
    line.number("streams", or_zero(args.http2.streams));
    for (option, size) in args.http2.sizes() {
        if let Some(size) = size {
            line.text(&format!("{option}={size}"));
        }
    }
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

    use super::*;
    use crate::command_line::grammar::parse::words;

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
            "--client=0/1 --server=localhost --port=80 --uri=/ --num-conns=1 --num-calls=1",
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
             --recv-buffer=16384 --concurrency=2 --threads=2 --streams=8 --h2-window=65536 --h2-header-table=0 \
             --h2-max-frame=1048576",
        );
        check(
            &["--h2c-upgrade", "--h2-connection-window=1g"],
            "--client=0/1 --server=localhost --port=80 --uri=/ --send-buffer=4096 --recv-buffer=16384 --num-conns=1 \
             --num-calls=1 --h2c-upgrade --h2-connection-window=1073741824",
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
