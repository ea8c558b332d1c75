//! The parts of the manual page that do not come from the table of options.
//!
//! What stands between backticks is set in bold.

/// A term and what it means.
pub(super) struct Entry {
    pub(super) term: &'static str,
    pub(super) text: &'static str,
}

const fn entry(term: &'static str, text: &'static str) -> Entry {
    Entry { term, text }
}

pub(super) const DESCRIPTION: &[&str] = &[
    "`httperf` measures a web server by offering it load. Connections or sessions start at times that are \
     fixed beforehand, by `--rate` or `--period`, and do not wait for the server: a slow server cannot slow down \
     the load that is offered to it. When the workload is done, a report on stdout says what was offered and \
     what came back.",
    "There are two kinds of workload. In the connection workload, each start is one TCP connection that makes \
     `--num-calls` calls (a call is a request with its reply) in bursts of `--burst-length`. In a session \
     workload (`--wsess`, `--wsesslog`, `--wsesspage`), each start is the visit of a user: calls in bursts with \
     think times between them, over as many connections as are needed.",
    "A word that begins with http:// or https:// is the target: its host, port, path and query stand for `--server`, \
     `--port` and `--uri`. Where one of these three is given, options alone say the target, and the word is ignored like \
     any other, with a warning.",
    "The program takes every command line of the classic httperf 0.9 and prints the same report.",
];

pub(super) const OPTIONS: &[&str] = &[
    "A value follows its option as the next word or after an equals sign; one shown in brackets may be left out, \
     and is only taken after an equals sign. A long option may be shortened as long as it stays unique, counting \
     options of the classic release first. Of an option given more than once the last occurrence counts, \
     unless said otherwise. `--` ends the options.",
    "Times are in seconds and may have a fraction.",
];

pub(super) const TIMEOUTS: &[&str] = &[
    "`--timeout` bounds each wait for the server: for a connection, for a handshake, for room to send a request, for the \
     reply to begin once the request was sent, and from its first byte for all of it. It is not a limit for the call as a \
     whole. `--think-timeout` adds to the last two, for servers that are quick to take a request and slow to answer it. A \
     wait that is over counts as `client-timo`; the connection is closed, and its session, if there is one, has failed. \
     Without either option, or with numbers of 0 or less, every wait is unlimited.",
    "A benchmark needs a limit. A server that is offered more than it can handle falls behind by more and more, and \
     connections pile up, until the generator is out of file descriptors or ports and measures itself; a single reply that \
     never comes keeps the run from ending; and users would have left long before. With a limit, about rate times limit \
     connections wait at any time: 1,000 a second with a limit of 5 seconds take up to 5,000 file descriptors.",
    "Here is a server that handles 100 requests a second and is offered 200 for ten seconds (`httperf serve --capacity 100`). \
     Without a limit there are no errors, and the overload shows in the times alone:",
];

pub(super) const TIMEOUTS_WITHOUT: &str = "\
httperf http://127.0.0.1:8080/ --rate 200 --num-conns 2000

Total: connections 2000 requests 2000 replies 2000 test-duration 19.992 s
Connection rate: 100.0 conn/s (10.0 ms/conn, <=1001 concurrent connections)
Reply time [ms]: response 5000.8 transfer 0.0
Errors: total 0 client-timo 0 socket-timo 0 connrefused 0 connreset 0
";

pub(super) const TIMEOUTS_BETWEEN: &[&str] = &[
    "The run takes twice as long as load was offered, and a mean response time of 5 seconds says how long the run was \
     rather than anything of the server. With `--timeout 1` it shows in the errors, as users would meet it: replies to \
     what was asked in the first second come in time, and from then on the server works on requests that were given up.",
];

pub(super) const TIMEOUTS_WITH: &str = "\
httperf http://127.0.0.1:8080/ --rate 200 --num-conns 2000 --timeout 1

Total: connections 2000 requests 2000 replies 200 test-duration 10.999 s
Connection rate: 181.8 conn/s (5.5 ms/conn, <=204 concurrent connections)
Reply time [ms]: response 498.2 transfer 0.0
Errors: total 1800 client-timo 1800 socket-timo 0 connrefused 0 connreset 0
";

pub(super) const TIMEOUTS_VALUES: &[&str] = &[
    "Choose what a user would wait for, and no less than ten times the p99 of a server at ease: 5 to 10 seconds for \
     pages, 1 second for what machines ask, together with `--think-timeout` where a reply takes long to compute. A limit \
     cuts the distribution of times off: what lies beyond is in the errors and in no percentile of replies, so runs that \
     are compared need the same limit, and the share of `client-timo` belongs to every figure. Below 1 second, a SYN \
     that was lost once is an error already, as it is only sent again after that time.",
];

pub(super) const REPORT: &[&str] = &[
    "The first line of output repeats the options in effect. After the run, a line `Maximum connect burst \
     length` gives the largest number of connections that were started in one go, and the report follows. \
     D stands for the duration of the run.",
];

pub(super) const REPORT_LINES: &[Entry] = &[
    entry(
        "Total: connections C requests R replies P test-duration D s",
        "How many connections were attempted (all for which there was a socket), how many requests were sent \
         completely, how many replies came back complete, and how long the run took.",
    ),
    entry(
        "Connection rate: X conn/s (Y ms/conn, <=N concurrent connections)",
        "Connections divided by D, the inverse of that, and the most connections that existed at once. If the \
         rate is below the one asked for, the generator was short of something.",
    ),
    entry(
        "Connection time [ms]: min avg max median stddev",
        "Lifetimes of connections that completed at least one call, from the connect to the close. The median is \
         taken from bins of one millisecond and therefore ends in .5.",
    ),
    entry(
        "Connection time [ms]: connect X",
        "The mean time from the start of a connect until the connection was established.",
    ),
    entry(
        "Connection length [replies/conn]: X",
        "Replies divided by connections that completed at least one call.",
    ),
    entry("Request rate: X req/s (Y ms/req)", "Requests divided by D, and the inverse of that."),
    entry("Request size [B]: X", "The mean number of bytes in a request, as a whole number."),
    entry(
        "Reply rate [replies/s]: min avg max stddev (N samples)",
        "Over samples taken every five seconds: a run needs more than five seconds for one sample, and some \
         thirty samples for a standard deviation worth having. The time of the first sample depends on \
         `--client`.",
    ),
    entry(
        "Reply time [ms]: response X transfer Y",
        "The mean time from the start of sending a request until the status line of its reply was read, and from \
         there until the reply was complete.",
    ),
    entry(
        "Reply size [B]: header H content C footer F (total T)",
        "Mean numbers of bytes, each as a whole number: status line and header, body, and trailer of chunked \
         replies. Chunk-size lines are counted nowhere.",
    ),
    entry("Reply status: 1xx= 2xx= 3xx= 4xx= 5xx=", "Replies by the first digit of their status."),
    entry(
        "CPU time [s]: user U system S (user U% system S% total T%)",
        "What the generator itself used, in seconds and as a share of D. A total near 100% for each thread means \
         that the generator may have been the bottleneck.",
    ),
    entry(
        "Net I/O: X KB/s (Y*10^6 bps)",
        "Request, header and content bytes divided by D, in units of 1024 bytes and of a million bits.",
    ),
    entry(
        "Errors: total N client-timo N socket-timo N connrefused N connreset N",
        "Failed connections: all of them, those that ran into `--timeout` or `--think-timeout`, those that \
         the system gave up, those refused, and those the server reset or closed while a reply was due.",
    ),
    entry(
        "Errors: fd-unavail N addrunavail N ftab-full N other N",
        "Connections that failed for want of a file descriptor, of a local port, of room in the system's file \
         table, and for any other reason. Unless they are 0, the generator was the bottleneck.",
    ),
];

pub(super) const REPORT_SESSIONS: &[&str] = &["A session workload adds these lines:"];

pub(super) const REPORT_SESSION_LINES: &[Entry] = &[
    entry(
        "Session rate [sess/s]: min avg max stddev (S/T)",
        "Successful sessions per second over the same samples, except that the average is over all of D; S sessions \
         of T were successful.",
    ),
    entry(
        "Session: avg X connections/session",
        "Connections established by successful sessions, on average.",
    ),
    entry("Session lifetime [s]: X", "The mean duration of successful sessions."),
    entry("Session failtime [s]: X", "The mean duration of failed sessions."),
    entry(
        "Session length histogram: N0 N1 ...",
        "How many sessions received no reply, one reply, two replies, and so on.",
    ),
];

pub(super) const REPORT_VERBOSE: &[&str] = &[
    "With `-v` reply rates are printed as they are sampled, and with `-v -v` a histogram of connection lifetimes \
     precedes the report. `--report` chooses between this classic report and the full one, which adds to it: \
     percentiles, and for TLS what was agreed on, the time and the size of handshakes of each kind, and why any \
     failed. Of the percentiles, `latency` counts from the instant at which a call was due (its arrival, or the end of \
     the reply or the pause before it) and `service` from the first byte sent, both to the end of the reply; `lag` is how \
     late the generator began the work on an arrival, and so its own error; `receive lag` is its error at the other end, how \
     long replies lay in the machine before they were read. With `--kernel-sends`, `send lag` is how long the kernel had \
     requests before it sent them, and `kernel to kernel` the time from then to its receipt of the replies. From ten seconds on, figures of the latency \
     have 95 % confidence intervals, which take into account that latencies which follow each other are alike. The \
     slowest calls are listed with the time before their first byte was sent, until the status line, and until the end.",
];

pub(super) const VERDICT: &[&str] = &[
    "Each run is judged: `VALID`, `SUSPECT` (some figures may be off) or `INVALID` (they describe the generator or the \
     machine rather than the server). The verdict is the end of the full report, and in every other form of result. \
     After the classic report, the reasons of an `INVALID` run are told on stderr. The reasons:",
];

pub(super) const VERDICT_REASONS: &[Entry] = &[
    entry(
        "client cpu",
        "The generator needed all of its processor, and was late: it set the pace, not the server.",
    ),
    entry("schedule lag", "Lateness is a tenth of the latency or more, at the median or at p99."),
    entry(
        "paused",
        "The generator should have run and did not: it was stopped, or others had its processor.",
    ),
    entry("receive lag", "Replies lay in this machine for that long before they were read."),
    entry("unstamped", "With `--clock=kernel`, the kernel did not stamp these replies."),
    entry("clock set", "The wall clock was set, by which the kernel stamps what it receives."),
    entry("rate, arrival process", "Fewer arrivals were started than were due, or in bursts."),
    entry("descriptors, ports", "Connections failed for want of a file descriptor or a local port."),
    entry("time stolen, kept waiting", "Other virtual machines, or other programs, had the processor."),
    entry(
        "few samples",
        "Fewer than 100 calls were answered (a note: fewer than 1000, which is too few for p99.9).",
    ),
    entry(
        "unfinished",
        "Calls were under way when the run ended, so that no percentile knows how long they take; `--drain` lets them \
         end.",
    ),
    entry("arrivals skipped", "`--max-connections` were open."),
    entry("log incomplete, not recorded", "`--calls` could not keep up; `--record=classic` was given."),
    entry(
        "server stall, arrivals held, steady from, never steady",
        "Notes: the server stood still; arrivals waited for a connection; latency became steady only after a while, or \
         never did.",
    ),
];

pub(super) const RESULTS: &[&str] = &[
    "`--output` writes the result as a JSON document: the plan, the machine, the verdict, all counters and histograms, the \
     run second by second, and its slowest calls. `httperf report` renders it again in every form, `httperf merge` adds up \
     those of generators that worked together (`--client`), and `httperf rerun` runs its plan: the same requests at the \
     same times. Files are found to be writable before the run, and never left half-written.",
];

pub(super) const SEVERAL_RUNS: &[&str] = &[
    "`httperf sweep` makes a run at each of many rates, waits between them until local ports and the server \
     have recovered, and ends early when the server is far beyond saturation. It prints a table with a row \
     for each rate, and the knee, from which on replies no longer follow the load. `--output` keeps it as a \
     document, `--resume` goes on with one; `--csv`, `--tsv`, `--html`, `--svg` and `--png` are other forms. \
     Rates at which the generator was the bottleneck are marked and count for nothing.",
    "`httperf capacity` finds the highest rate at which the server keeps to the objectives (`--slo`), by \
     trials that get longer as the interval gets narrower. The first line says the figure with its interval \
     of 95 %, or why there is none; the trials follow.",
    "`httperf compare` says of the results that `--output` has written which figures are better or worse than \
     those of the first, with intervals of 95 % confidence; `httperf ab` makes runs of two servers, or with \
     two sets of options, in turns and compares them. With `--fail-if` a figure may change by so much.",
    "`httperf plot` draws results and sweeps as SVG or PNG. The guides in docs/guide explain the methods.",
];

pub(super) const TLS_LAB: &[&str] = &[
    "`httperf tls-lab` answers what a way of making TLS handshakes costs, such as post-quantum key exchange. It asks the \
     server for each key-exchange group and cipher suite of its lists; what is accepted is a variant. After trials \
     that warm up, each round has one trial of each variant: `--handshakes` one after the other, for their time, then \
     `--rate-handshakes` with `--concurrency` at once, for the sustained rate. Variants take turns in an order that \
     is drawn anew for each round, so that what changes on either machine meanwhile meets all of them alike.",
    "The table has a row for each variant, with resumed handshakes in a row of their own:",
];

pub(super) const TLS_LAB_COLUMNS: &[Entry] = &[
    entry(
        "p50, p99 [ms]",
        "The time of a handshake, which begins when the connection is established: the mean over rounds of each trial's \
         percentile, with its interval of 95 % confidence. Of 100 handshakes p99 is the second slowest.",
    ),
    entry("sent, received [B]", "Bytes of a handshake in each direction, TLS records included, on average."),
    entry(
        "CPU [ms]",
        "Processor time that the generator used for a connection with its handshake, in the trials of handshakes one \
         after the other.",
    ),
    entry("rate [1/s]", "Handshakes completed in a second, of any kind, with several at once."),
    entry(
        "p50 ratio",
        "The p50 divided by that of the first row: the geometric mean over rounds of the ratio within each round.",
    ),
];

pub(super) const TLS_LAB_VERDICT: &[&str] = &[
    "Sentences at the end say what each variant costs in comparison with the first. A difference whose interval \
     includes zero is called not significant. With some twenty variants, expect one of them to be called significant by \
     chance; a group that is named twice shows what chance does.",
];

pub(super) const SELF_CHECK: &[&str] = &[
    "`httperf self-check` measures how exact measurements on this machine are, and how much \
     load it can offer. It runs the generator against servers of its own, in this process and on the loopback interface, \
     on a processor of its own if there are two. Where packets may be captured (CAP_NET_RAW) it also holds its figures \
     against the kernel's time stamps. Run it while the machine has nothing else to do. Its table says:",
];

pub(super) const SELF_CHECK_ROWS: &[Entry] = &[
    entry(
        "Latency",
        "How long calls took as measured (from the first byte sent to the last one read), minus how long they took by the \
         server's own clock, and by the packets. Bias is the mean of that, the error its size. By the server's clock, the \
         way to the server and back is part of the bias.",
    ),
    entry(
        "Schedule",
        "How far arrivals were from the instants at which they were due: when the work on them began, when their request \
         was sent (the connection had to be established first), and when the kernel saw their SYN.",
    ),
    entry(
        "Intervals",
        "Of deterministic arrivals, how far the intervals between them were from those planned. Of Poisson arrivals, the \
         Kolmogorov-Smirnov distance D to the exponential distribution of the rate asked for, and how often chance makes \
         it that large (the p-value); the same of the schedule itself shows what of it is chance.",
    ),
    entry(
        "Capacity",
        "The highest rates at which 99 % of arrivals are less than 1 ms late and replies keep up, and what limits them: \
         connections with one request each, and requests on connections that are kept.",
    ),
];

pub(super) const SELF_CHECK_VERDICT: &[&str] = &[
    "The machine is within bounds if at each rate the median of how late \
     arrivals begin is below 100 us and the p99 below 1 ms, and each bias by the server's clock is below 200 us.",
];

pub(super) const EXIT_STATUS: &[Entry] = &[
    entry("0", "The run took place, whatever errors were counted; or help or the version was printed."),
    entry(
        "1",
        "An option or a file could not be used, the server's name could not be resolved, output could not be \
         written, `httperf tls-lab` has nothing to report because the server accepts no variant, or `httperf self-check` \
         could not be carried out. `httperf compare` and `httperf ab`: a figure is worse, or beyond `--fail-if`.",
    ),
    entry(
        "2",
        "With `--strict`, the run is SUSPECT; `httperf doctor` found what would spoil the measurement; `httperf \
         self-check` found the machine out of bounds; or `httperf capacity`, `httperf compare` or `httperf ab` cannot \
         tell.",
    ),
    entry("3", "With `--strict`, the run is INVALID."),
    entry(
        "4",
        "An objective (`--slo`) was missed, or there was too little to tell whether it was met; in a sweep, at all rates; \
         in a search for the capacity, at the lowest. In a run this goes before 2, 129 and 143, and 3 before this.",
    ),
    entry("129, 143", "SIGHUP, or SIGTERM, ended the run. What was measured until then has been reported."),
    entry(
        "255",
        "The first TLS handshake of the run failed and none succeeded (what was measured has been reported); \
         `--session-cookies` without a session workload; or `--server` together with `--servers`.",
    ),
];

pub(super) const SIGNALS: &[&str] = &[
    "SIGINT, SIGTERM and SIGHUP end a run at once and have it report what was measured, also in its drain; SIGHUP does \
     not if the program was started to ignore it, as by `nohup`. A further signal kills it without a report if it comes \
     half a second after the first, or later: what comes sooner is part of the same request, as `timeout` signals the \
     program and then its process group.",
];

pub(super) const STATE: &[&str] =
    &["`$XDG_STATE_HOME/httperf/self-check.json`, or `~/.local/state/httperf/self-check.json`, \
     holds the results of the latest `httperf self-check`."];

pub(super) const WLOG: &[&str] = &[
    "URIs that each end in a NUL byte; the last one need not. A file without any NUL holds one URI on each line. \
     Empty entries are skipped.",
];

pub(super) const WSESSLOG: &[&str] = &["Lines that each describe a request, such as:"];

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
    "A line that begins with a URI starts a burst; lines that begin with a blank add requests to it, which are \
     sent together once the first request of the burst was answered. An empty line ends a session. A line that \
     begins with # is ignored. A URI may be followed by:",
];

pub(super) const WSESSLOG_ARGUMENTS: &[Entry] = &[
    entry(
        "method=NAME",
        "The method: DELETE, GET (the default), HEAD, OPTIONS, PATCH, POST, PROPFIND, PUT, REPORT or TRACE.",
    ),
    entry("think=X", "The think time after the burst, in seconds, instead of the one in the option."),
    entry("contents=STRING", "The body of the request; `Content-length` is sent with it."),
];

pub(super) const WSESSLOG_QUOTING: &[&str] = &[
    "The string ends at a blank. Blanks between single or double quotes belong to it, and quoted and plain parts \
     may follow each other directly. `\\n`, `\\r` and `\\t` stand for line feed, carriage return and tab, a \
     backslash before any other character for that character, and a backslash at the end of a line for a line \
     feed, with the string going on in the next line.",
];

pub(super) const ENVIRONMENT: &[Entry] = &[
    entry(
        "SSLKEYLOGFILE",
        "A file to append the secrets of TLS sessions to, unless `--tls-keylog` names another.",
    ),
    entry(
        "XDG_STATE_HOME",
        "The folder below which `httperf self-check` keeps its results, instead of ~/.local/state.",
    ),
    entry("POSIXLY_CORRECT", "If set, the first word that is not an option ends the options."),
];

pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("One connection with one request:", "httperf http://www.example.com/index.html"),
    (
        "A thousand connections, 50 of them started each second, each given five seconds:",
        "httperf --server www.example.com --rate 50 --num-conns 1000 --timeout 5",
    ),
    (
        "Ten calls on each connection, five at a time, with exponential intervals of 20 ms on average:",
        "httperf --period=e0.02 --num-conns 500 --num-calls 10 --burst-length 5 http://localhost:8080/",
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
        "What post-quantum key exchange costs a server, and how much of that resumption saves:",
        "httperf tls-lab --groups X25519,X25519MLKEM768 --resume https://www.example.com/",
    ),
    (
        "A minute of Poisson arrivals after ten seconds of warm-up, kept as a document and as a page with charts:",
        "httperf http://localhost:8080/ --period e0.005 --num-conns 1000000 --warmup 10 --runtime 60 --drain 5 \
         --timeout 5 --output run.json --html run.html",
    ),
    (
        "Whether a server keeps to what was agreed, for a pipeline that reads results of tests:",
        "httperf http://localhost:8080/ --rate 200 --duration 60 --timeout 5 --slo 'p99<50ms, errors<0.1%' \
         --junit slo.xml",
    ),
    (
        "How it behaves as the load grows, as a table, a document and three graphs:",
        "httperf sweep http://localhost:8080/ --rates 100..2000/100 --timeout 5 --output sweep.json --svg sweep.svg",
    ),
    (
        "The highest rate within objectives:",
        "httperf capacity http://localhost:8080/ --slo 'p99<50ms, errors<0.1%' --timeout 5",
    ),
    (
        "Whether a new build is slower, as a comment for a pull request, or with trials that take turns:",
        "httperf compare base.json new.json --fail-if 'p99>+5%' --format markdown\n\
         httperf ab http://old:8080/ http://new:8080/ --request-rate 200",
    ),
    (
        "The same once more, and both as rows of a table:",
        "httperf rerun run.json --output again.json\nhttperf report --format csv run.json again.json",
    ),
    ("How exact this machine is, and how much load it can offer:", "httperf self-check"),
];
