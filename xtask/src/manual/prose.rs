//! The parts of httperf(1) that do not come from the table of options.
//!
//! Text between backticks is set in bold.

/// A term with its meaning.
pub(crate) struct Entry {
    pub(crate) term: &'static str,
    pub(crate) text: &'static str,
}

pub(super) const fn entry(term: &'static str, text: &'static str) -> Entry {
    Entry { term, text }
}

pub(super) const DESCRIPTION: &[&str] = &[
    "`httperf` measures a web server by offering it load. Connections or sessions start at times that are fixed \
     beforehand, by `--rate` or `--period`, and do not wait for the server: a slow server cannot slow down the \
     load. At the end of the run, a report on stdout says what was offered and what came back.",
    "There are two kinds of workload. In the connection workload, each start is one TCP connection that makes \
     `--num-calls` calls (a call is a request with its reply) in bursts of `--burst-length`. In a session \
     workload (`--wsess`, `--wsesslog`, `--wsesspage`), each start is a user's visit: bursts of calls with think \
     times between them, over as many connections as needed.",
    "A URL is the target: its host, port, path and query stand for `--server`, `--port` and `--uri`. http:// may be left \
     out where the word names a server beyond doubt: localhost, an address, HOST:PORT, HOST.NAME/PATH. If any of these \
     three options is given, the options alone set the target, and the word is ignored, with a warning. Other words are \
     refused unless an option names the server.",
    "The program accepts every command line of the classic httperf 0.9 and prints the same report.",
];

pub(super) const OPTIONS: &[&str] = &[
    "A value follows its option as the next word or after an equals sign. A value shown in brackets is optional, \
     and is only accepted after an equals sign. A long option may be shortened as long as it stays unique, with \
     options of the classic release taking precedence. If an option is given more than once, the last occurrence \
     counts, unless stated otherwise. `--` ends the options.",
    "Times are in seconds unless they end in a unit, us, ms, s, m or h; rates are per second, and may end in k or M for \
     thousands or millions and in /s or /m for per second or per minute. Both may have a fraction.",
];

pub(super) const TIMEOUTS: &[&str] = &[
    "`--timeout` limits each wait for the server: for a connection, for a handshake, for room to send a request, \
     from the end of the request to the first byte of the reply, and from the first byte to the last. It does not \
     limit the call as a whole. `--think-timeout` adds to the last two, for servers that accept a request quickly \
     and answer it slowly. A wait that exceeds its limit counts as `client-timo`; the connection is closed, and \
     its session, if any, has failed. Without either option, or with values of 0 or less, waits are unlimited.",
    "A benchmark needs a limit. Under more load than it can handle, a server falls further and further behind, \
     and connections accumulate until the generator runs out of file descriptors or ports and measures itself. A \
     single reply that never comes keeps the run from ending, and real users would have left long before. With a \
     limit, about rate times limit connections wait at any time: 1,000 a second with a limit of 5 seconds take up \
     to 5,000 file descriptors.",
    "For example, a server that handles 100 requests a second is offered 200 for ten seconds (`httperf serve \
     --capacity 100`). Without a limit there are no errors, and the overload shows only in the times:",
];

pub(super) const TIMEOUTS_WITHOUT: &str = "\
httperf http://127.0.0.1:8080/ --rate 200 --num-conns 2000

Total: connections 2000 requests 2000 replies 2000 test-duration 19.992 s
Connection rate: 100.0 conn/s (10.0 ms/conn, <=1001 concurrent connections)
Reply time [ms]: response 5000.8 transfer 0.0
Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0
";

pub(super) const TIMEOUTS_BETWEEN: &[&str] = &[
    "The run takes twice as long as load was offered, and a mean response time of 5 seconds reflects the length \
     of the run rather than the server. With `--timeout 1` the overload shows as errors, as users would \
     experience it: requests of the first second are answered in time, and from then on the server works on \
     requests that were given up.",
];

pub(super) const TIMEOUTS_WITH: &str = "\
httperf http://127.0.0.1:8080/ --rate 200 --num-conns 2000 --timeout 1

Total: connections 2000 requests 2000 replies 200 test-duration 10.999 s
Connection rate: 181.8 conn/s (5.5 ms/conn, <=204 concurrent connections)
Reply time [ms]: response 498.2 transfer 0.0
Errors: total 1800 client-timo 1800 socket-timo 0 connrefused 0 connreset 0
";

pub(super) const TIMEOUTS_VALUES: &[&str] = &[
    "Choose the time a user would wait, and at least ten times the p99 of a lightly loaded server: 5 to 10 \
     seconds for pages, 1 second for requests made by machines, together with `--think-timeout` if a reply takes \
     long to compute. A limit truncates the distribution of times: calls beyond it count as errors and are in no \
     percentile of replies. So compare only runs with the same limit, and report the share of `client-timo` with \
     every figure. Below 1 second, a single lost SYN is already an error, because it is only retransmitted after \
     that time.",
];

pub(super) const REPORT: &[&str] = &[
    "The first line of output repeats the options in effect. After the run, a line `Maximum connect burst length` \
     gives the largest number of connections started at once, and the report follows. D stands for the duration \
     of the run.",
];

pub(super) const REPORT_LINES: &[Entry] = &[
    entry(
        "Total: connections C requests R replies P test-duration D s",
        "Number of connections attempted (all that got a socket), requests sent completely and replies received \
         completely, and the duration of the run.",
    ),
    entry(
        "Connection rate: X conn/s (Y ms/conn, <=N concurrent connections)",
        "Connections divided by D, its inverse, and the largest number of concurrent connections. If the rate is \
         below the one requested, the generator lacked resources.",
    ),
    entry(
        "Connection time [ms]: min avg max median stddev",
        "Lifetimes, from connect to close, of connections that completed at least one call. The median is taken \
         from bins of one millisecond and therefore ends in .5.",
    ),
    entry("Connection time [ms]: connect X", "Mean time to establish a connection."),
    entry(
        "Connection length [replies/conn]: X",
        "Replies divided by connections that completed at least one call.",
    ),
    entry("Request rate: X req/s (Y ms/req)", "Requests divided by D, and its inverse."),
    entry("Request size [B]: X", "Mean size of a request, as a whole number."),
    entry(
        "Reply rate [replies/s]: min avg max stddev (N samples)",
        "Statistics of samples taken every five seconds: a run needs more than five seconds for one sample, and \
         about thirty samples for a useful standard deviation. The time of the first sample depends on \
         `--client`.",
    ),
    entry(
        "Reply time [ms]: response X transfer Y",
        "Mean time from the start of sending a request until the status line of its reply was read, and from \
         there until the reply was complete.",
    ),
    entry(
        "Reply size [B]: header H content C footer F (total T)",
        "Mean sizes, each as a whole number: status line and header, body, and trailer of chunked replies. \
         Chunk-size lines are not counted.",
    ),
    entry("Reply status: 1xx= 2xx= 3xx= 4xx= 5xx=", "Replies by the first digit of their status."),
    entry(
        "CPU time [s]: user U system S (user U% system S% total T%)",
        "CPU time of the generator itself, in seconds and as a share of D. A total near 100% per thread means \
         that the generator may have been the bottleneck.",
    ),
    entry(
        "Net I/O: X KB/s (Y*10^6 bps)",
        "Request, header and content bytes divided by D, in units of 1024 bytes and of a million bits.",
    ),
    entry(
        "Errors: total N client-timo N socket-timo N connrefused N connreset N",
        "Failed connections: all of them, those that exceeded `--timeout` or `--think-timeout`, those that timed \
         out in the system, those refused, and those the server reset or closed while a reply was due.",
    ),
    entry(
        "Errors: fd-unavail N addrunavail N ftab-full N other N",
        "Connections that failed for lack of a file descriptor, of a local port, of room in the system's file \
         table, and for any other reason. If any of these is above 0, the generator was the bottleneck.",
    ),
];

pub(super) const REPORT_SESSIONS: &[&str] = &["A session workload adds these lines:"];

pub(super) const REPORT_SESSION_LINES: &[Entry] = &[
    entry(
        "Session rate [sess/s]: min avg max stddev (S/T)",
        "Successful sessions per second in the same samples, except that the average is over all of D; S of T \
         sessions were successful.",
    ),
    entry(
        "Session: avg X connections/session",
        "Mean number of connections established by a successful session.",
    ),
    entry("Session lifetime [s]: X", "Mean duration of successful sessions."),
    entry("Session failtime [s]: X", "Mean duration of failed sessions."),
    entry(
        "Session length histogram: N0 N1 ...",
        "Number of sessions that received no reply, one reply, two replies, and so on.",
    ),
];

pub(super) const REPORT_VERBOSE: &[&str] = &[
    "With `-v` reply rates are printed as they are sampled, and with `-v -v` a histogram of connection lifetimes \
     precedes the report. `--report` chooses between the answer (one screen: the conclusion, the load, replies, \
     errors, latency, verdict), this classic report, and the full one, which adds percentiles and, for TLS, the negotiated parameters, the time and size of handshakes of each kind, and the causes of \
     failed ones.",
    "Among the percentiles, `latency` counts from the instant at which a call was due (its arrival, or the end of \
     the preceding reply or pause) and `service` from the first byte sent, both to the end of the reply. `lag` is \
     the delay before the generator began the work on an arrival, and so its own error. `receive lag` is its \
     error at the other end: the time that replies waited in this machine before they were read. With \
     `--kernel-sends`, `send lag` is the time from writing a request until the kernel sent it, and `kernel to \
     kernel` the time from then until the kernel received the reply. In runs of ten seconds or more, latency \
     figures have 95 % confidence intervals, which account for the correlation of successive latencies. The \
     slowest calls are listed with the times until their first byte was sent, until the status line, and until \
     the end.",
];

pub(super) const VERDICT: &[&str] = &[
    "Each run gets a verdict: `VALID`, `SUSPECT` (some figures may be off) or `INVALID` (they describe the \
     generator or the machine rather than the server). The verdict ends the answer and the full report, and is part of every \
     other form of result. After the classic report, the reasons for `INVALID` are printed on stderr. The \
     reasons:",
];

pub(super) const VERDICT_REASONS: &[Entry] = &[
    entry(
        "client cpu",
        "The generator used all of its CPU time and was late: it set the pace, not the server.",
    ),
    entry("schedule lag", "The lag is a tenth of the latency or more, at the median or at p99."),
    entry(
        "paused",
        "The generator was ready to run but did not: it was stopped, or other programs had its processor.",
    ),
    entry(
        "receive lag",
        "Replies waited in this machine before they were read, for a tenth of the latency or more.",
    ),
    entry("unstamped", "With `--clock=kernel`, some replies have no kernel timestamp."),
    entry("clock set", "The wall clock, which the kernel uses for timestamps, was set during the run."),
    entry("rate, arrival process", "Fewer arrivals than due were started, or they were started in bursts."),
    entry("descriptors, ports", "Connections failed for lack of a file descriptor or a local port."),
    entry(
        "datagrams lost",
        "Over HTTP/3, datagrams were lost in this machine's own buffers, not at the server or on the way. Raise \
         net.core.rmem_max.",
    ),
    entry("time stolen, kept waiting", "Other virtual machines, or other programs, used the processor."),
    entry("few samples", "Fewer than 100 calls were answered (a note: fewer than 1000, too few for p99.9)."),
    entry(
        "unfinished",
        "Calls were in progress when the run ended, so that no percentile includes them; `--drain` lets them \
         finish.",
    ),
    entry("arrivals skipped", "The limit of `--max-connections` was reached."),
    entry(
        "in flight",
        "The number of replies in flight is not their rate times their service time (Little's law), although it must be: times \
         or counts of the result are wrong.",
    ),
    entry("log incomplete, not recorded", "`--calls` could not keep up; `--record=classic` was given."),
    entry(
        "server stall, arrivals held, steady from, never steady",
        "Notes: the server stalled; arrivals waited for a connection; latency became steady only after a while, \
         or never.",
    ),
];

pub(super) const RESULTS: &[&str] = &[
    "`--output` writes the result as a JSON document: the plan, the machine, the verdict, all counters and \
     histograms, the time series, and the slowest calls. `httperf report` renders it again in every format, \
     `httperf merge` combines the results of generators that ran together (`--client`), and `httperf rerun` \
     repeats its plan: the same requests at the same times. Output files are checked for write access before the \
     run, and are never left half-written.",
];

pub(super) const SEVERAL_RUNS: &[&str] = &[
    "`httperf sweep` makes a run at each of many rates, waits between runs until local ports and the server have \
     recovered, and ends early if the server is far beyond saturation. It prints a table with a row for each \
     rate, and the knee, the rate from which replies no longer follow the load. `--output` saves it as a \
     document, and `--resume` continues one; `--csv`, `--tsv`, `--html`, `--svg` and `--png` write other formats. \
     Rates at which the generator was the bottleneck are marked and ignored in the figures.",
    "`httperf capacity` finds the highest rate at which the server meets the objectives (`--slo`), with trials \
     that get longer as the interval narrows. The trials are printed as they are made; the last line gives \
     the rate with its 95 % confidence interval, or the reason why there is none.",
    "`httperf compare` reports which figures of results written by `--output` are better or worse than those of \
     the first one, with 95 % confidence intervals. `httperf ab` makes alternating runs against two servers, or \
     with two sets of options, and compares them. `--fail-if` sets the changes that count as failures.",
    "`httperf import` makes a workload or a trace of a recording: access logs of nginx, Apache, Caddy and AWS's load \
     balancers, HTTP Archives of browsers, curl commands, OpenAPI descriptions, and GoReplay's files. What could not be \
     carried over is counted on standard error.",
    "`httperf replay` makes the requests of an access log, a trace or a file of GoReplay again, each at its time or \
     `--speed` times as fast, by clients with connections and cookies of their own, and compares status and time of each \
     with the recording.",
    "`httperf plot` draws results and sweeps as SVG or PNG. The guides in docs/guide explain the methods.",
];

pub(super) const TLS_LAB: &[&str] = &[
    "`httperf tls-lab` measures the cost of different kinds of TLS handshakes, such as post-quantum key exchange. \
     It offers the server each key-exchange group and cipher suite of its lists; each one that the server \
     accepts is a variant. After warm-up trials, each round has one trial of each variant: `--handshakes` one \
     after the other, for their time, then `--rate-handshakes` with `--concurrency` at once, for the sustained \
     rate. The order of variants is drawn anew for each round, so that changes on either machine affect all of \
     them alike.",
    "The table has a row for each variant, with resumed handshakes in a row of their own:",
];

pub(super) const TLS_LAB_COLUMNS: &[Entry] = &[
    entry(
        "p50, p99 [ms]",
        "Time of a handshake, from when the connection is established: the mean over rounds of each trial's \
         percentile, with its 95 % confidence interval. Of 100 handshakes p99 is the second slowest.",
    ),
    entry(
        "sent, received [B]",
        "Mean number of bytes of a handshake in each direction, including TLS records.",
    ),
    entry(
        "CPU [ms]",
        "CPU time of the generator for a connection with its handshake, in the trials with one handshake after \
         the other.",
    ),
    entry("rate [1/s]", "Handshakes of any kind completed per second, with several at once."),
    entry(
        "p50 ratio",
        "p50 divided by that of the first row: the geometric mean over rounds of the ratio within each round.",
    ),
];

pub(super) const TLS_LAB_VERDICT: &[&str] = &[
    "Sentences at the end state the cost of each variant relative to the first. A difference whose interval \
     includes zero is called not significant. With about twenty variants, expect one to be called significant by \
     chance; a group that is named twice shows the effect of chance.",
];

pub(super) const SELF_CHECK: &[&str] = &[
    "`httperf self-check` measures the accuracy of measurements on this machine, and the load it can offer. It \
     runs the generator against built-in servers, in the same process and on the loopback interface, on a \
     processor of their own if there are two. If packets can be captured (CAP_NET_RAW), it also compares its \
     figures with the kernel's timestamps. Run it on an otherwise idle machine. Its table shows:",
];

pub(super) const SELF_CHECK_ROWS: &[Entry] = &[
    entry(
        "Latency",
        "Measured time of calls (from the first byte sent to the last one read), minus their time by the server's \
         clock, and by the captured packets. Bias is the mean of this difference, error its absolute value. By \
         the server's clock, the bias includes the way to the server and back.",
    ),
    entry(
        "Schedule",
        "Deviation of arrivals from the instants at which they were due: when the work on them began, when their \
         request was sent (after the connection was established), and when the kernel saw their SYN.",
    ),
    entry(
        "Intervals",
        "For deterministic arrivals, the deviation of the intervals between them from the planned ones. For \
         Poisson arrivals, the Kolmogorov-Smirnov distance D to the exponential distribution of the requested \
         rate, and the probability that chance makes it that large (the p-value); the same for the schedule \
         itself shows how much of it is chance.",
    ),
    entry(
        "Capacity",
        "The highest rates at which 99 % of arrivals are less than 1 ms late and replies keep up, and their \
         limiting factors: for connections with one request each, and for requests on persistent connections.",
    ),
];

pub(super) const SELF_CHECK_VERDICT: &[&str] = &[
    "The machine is within bounds if at each rate the median lateness of arrivals is below 100 us and the p99 \
     below 1 ms, and each bias by the server's clock is below 200 us.",
];

pub(crate) const EXIT_STATUS: &[Entry] = &[
    entry("0", "The run took place, whatever errors were counted; or help or the version was printed."),
    entry(
        "1",
        "An option or a file could not be used, the server's name could not be resolved, output could not be \
         written, the server accepts no variant of `httperf tls-lab`, or `httperf self-check` failed. `httperf \
         compare` and `httperf ab`: a figure is worse, or beyond `--fail-if`.",
    ),
    entry(
        "2",
        "With `--strict`, the run is SUSPECT; `httperf doctor` found problems that would distort the measurement; \
         `httperf self-check` found the machine out of bounds; or `httperf capacity`, `httperf compare` or \
         `httperf ab` is inconclusive.",
    ),
    entry("3", "With `--strict`, the run is INVALID."),
    entry(
        "4",
        "An objective (`--slo`) was missed, or there was too little data to tell; in a sweep, at all rates; in a \
         search for the capacity, at the lowest rate. In a run, 4 takes precedence over 2, 129 and 143, and 3 \
         over 4.",
    ),
    entry("129, 143", "SIGHUP or SIGTERM ended the run. Results up to then have been reported."),
    entry(
        "255",
        "The first TLS handshake of the run failed and none succeeded (the results have been reported); \
         `--session-cookies` without a session workload; `--server` together with `--servers`; or `httperf \
         idleconn` was not given a server, a port and a number that it can use.",
    ),
];

pub(super) const SIGNALS: &[&str] = &[
    "SIGINT, SIGTERM and SIGHUP end a run at once, even while it drains, and the report is printed. SIGHUP is \
     ignored if the program was started that way, as with `nohup`. A second signal kills the program without a \
     report if it comes at least half a second after the first. An earlier one counts as part of the same \
     request, because `timeout` signals the program and then its process group.",
];

pub(super) const STATE: &[&str] = &[
    "`$XDG_STATE_HOME/httperf/self-check.json`, or `~/.local/state/httperf/self-check.json`, holds the results of \
     the latest `httperf self-check`.",
];

pub(super) const WLOG: &[&str] = &[
    "URIs that each end in a NUL byte, which is optional for the last one. A file without any NUL holds one URI \
     on each line. Empty entries are skipped.",
];

pub(super) const WSESSLOG: &[&str] = &["One request per line, such as:"];

pub(super) const WSESSLOG_EXAMPLE: &str = "\
# A user who reads a page, then fills in a form.
/index.html think=2.5
    /style.css
    /logo.png
/form method=POST contents='name=value'

# Another one.
/news.html
";

pub(super) const WSESSLOG_MEANING: &[&str] = &[
    "A line that begins with a URI starts a burst. Lines that begin with a blank add requests to it, which are \
     sent together once the first request of the burst has been answered. An empty line ends a session. Lines \
     that begin with # are ignored. A URI may be followed by:",
];

pub(super) const WSESSLOG_ARGUMENTS: &[Entry] = &[
    entry(
        "method=NAME",
        "The method: DELETE, GET (the default), HEAD, OPTIONS, PATCH, POST, PROPFIND, PUT, REPORT or TRACE.",
    ),
    entry("think=X", "The think time after the burst, in seconds, instead of the option's."),
    entry("contents=STRING", "The body of the request; `Content-length` is sent with it."),
];

pub(super) const WSESSLOG_QUOTING: &[&str] = &[
    "The string ends at a blank. Blanks between single or double quotes belong to it, and quoted and plain parts \
     may follow each other directly. `\\n`, `\\r` and `\\t` stand for line feed, carriage return and tab, a \
     backslash before any other character for that character, and a backslash at the end of a line for a line \
     feed, with the string going on in the next line.",
];

pub(crate) const ENVIRONMENT: &[Entry] = &[
    entry(
        "SSLKEYLOGFILE",
        "File to which the secrets of TLS sessions are appended, unless `--tls-keylog` names another.",
    ),
    entry(
        "SSL_CERT_FILE",
        "File with the authorities that `--ssl-verify` trusts, instead of /etc/ssl/cert.pem.",
    ),
    entry(
        "SSL_CERT_DIR",
        "Folders with such authorities, separated by colons, each in a file named by hash, as `openssl rehash` names it; \
         instead of /etc/ssl/certs.",
    ),
    entry("XDG_STATE_HOME", "Folder for the results of `httperf self-check`, instead of ~/.local/state."),
    entry("HOME", "The folder that ~ stands for, where `XDG_STATE_HOME` is not set."),
    entry("POSIXLY_CORRECT", "If set, options end at the first word that is not an option."),
    entry("NO_COLOR", "If set and not empty, nothing is coloured."),
    entry("TERM", "With the value `dumb`, there are no colours, no progress line and no pager."),
    entry("PAGER", "Program that shows long help on a terminal. Default: `less`. Empty or `cat`: none."),
    entry("LESS", "Options of `less`. Default: `-FRX`."),
    entry(
        "HTTPERF_FLEET_SIZE",
        "Number of ranks of a fleet, where the launcher gives only the rank (Kubernetes).",
    ),
    entry("HTTPERF_FLEET_MEET", "Place at which the ranks of a fleet meet, unless `--meet` names one."),
    entry("HTTPERF_FLEET_SECRET", "What all ranks of a fleet know and nobody else."),
    entry(
        "OTEL_EXPORTER_OTLP_HEADERS",
        "Further header fields for `--otlp`: name=value,name=value, percent-encoded.",
    ),
    entry("INFLUX_TOKEN", "Token for the URL of `--influx`."),
    entry(
        "SLURM_ARRAY_TASK_MIN, SLURM_ARRAY_TASK_STEP",
        "Of a Slurm array, the first identifier and the step from one to the next, so that any array has ranks from 0.",
    ),
];

/// Examples of what the commands have none of their own for.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    (
        "Ten calls on each connection, five at a time, with exponential intervals of 20 ms on average:",
        "httperf --period=e20ms --num-conns 500 --num-calls 10 --burst-length 5 http://localhost:8080/",
    ),
    (
        "A hundred sessions of five calls with two seconds between them, ten started each second:",
        "httperf --wsess=100,5,2 --rate 10 --timeout 5 --server localhost",
    ),
    (
        "Sessions from a file, with cookies:",
        "httperf --wsesslog=20,1,visits.txt --session-cookies --server localhost",
    ),
    (
        "A minute of Poisson arrivals after ten seconds of warm-up, saved as a document and as a page with charts:",
        "httperf http://localhost:8080/ --period e5ms --warmup 10s --duration 1m --drain 5s --timeout 5s \
         --output run.json --html run.html",
    ),
    (
        "A check of objectives, for a pipeline that reads test results:",
        "httperf http://localhost:8080/ --rate 200 --duration 1m --timeout 5s --slo 'p99<50ms, errors<0.1%' \
         --junit slo.xml",
    ),
];
