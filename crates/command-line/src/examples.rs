//! Examples of every command, for help, the manual page and the reference.

/// A command line with its purpose.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The purpose, as a heading: no full stop.
    pub purpose: &'static str,
    /// The line, as one types it.
    pub line: &'static str,
}

const fn example(purpose: &'static str, line: &'static str) -> Example {
    Example { purpose, line }
}

/// The examples of a command; those of the program itself have no name.
#[must_use]
pub fn of(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| &examples[..])
}

/// The names of all commands. This crate does not know the commands themselves.
pub fn commands() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(name, _)| *name).filter(|name| !name.is_empty())
}

const EXAMPLES: &[(&str, [Example; 2])] = &[
    (
        "",
        [
            example(
                "200 connections per second for half a minute, whatever the server does",
                "httperf http://127.0.0.1:8080/ --rate 200 --duration 30s --timeout 5s",
            ),
            example(
                "As many calls as 50 connections can make in ten seconds",
                "httperf http://127.0.0.1:8080/ --concurrency 50 --duration 10s",
            ),
        ],
    ),
    (
        "sweep",
        [
            example(
                "A run at each rate from 100 to 2000 per second, with a page of charts",
                "httperf sweep http://127.0.0.1:8080/ --rates 100..2000/100 --timeout 5s --html sweep.html",
            ),
            example(
                "The same for calls over eight kept connections, each rate three times",
                "httperf sweep http://127.0.0.1:8080/ --request-rates 1k..10k/1k --concurrency 8 --repeats 3",
            ),
        ],
    ),
    (
        "capacity",
        [
            example(
                "The highest rate at which 99 % of the calls take less than 50 ms",
                "httperf capacity http://127.0.0.1:8080/ --slo 'p99<50ms, errors<0.1%' --timeout 5s",
            ),
            example(
                "The same for calls over eight kept connections",
                "httperf capacity http://127.0.0.1:8080/ --slo 'p99<50ms' --search request-rate --concurrency 8",
            ),
        ],
    ),
    (
        "compare",
        [
            example("The difference between two results", "httperf compare base.json new.json"),
            example(
                "A check for CI, as a comment on a pull request",
                "httperf compare base.json new.json --fail-if 'p99>+5%' --format markdown",
            ),
        ],
    ),
    (
        "ab",
        [
            example(
                "Two servers in turns, at 200 connections per second",
                "httperf ab http://127.0.0.1:8080/ http://127.0.0.1:8081/ --rate 200",
            ),
            example(
                "Two sets of options for one server",
                "httperf ab https://127.0.0.1:8443/ --rate 200 --a '--tls-groups X25519' --b '--tls-groups P-256'",
            ),
        ],
    ),
    (
        "serve",
        [
            example(
                "A server that takes 20 ms for each reply and sends 500 per second at most",
                "httperf serve --listen 127.0.0.1:8080 --delay 20ms --capacity 500",
            ),
            example(
                "A server with TLS that fails now and then",
                "httperf serve --tls --listen 127.0.0.1:8443 --fault reset:0.01",
            ),
        ],
    ),
    (
        "tls-lab",
        [
            example("The cost of the usual key exchanges", "httperf tls-lab https://127.0.0.1:8443/"),
            example(
                "The cost of post-quantum key exchange, with resumed sessions as well",
                "httperf tls-lab 127.0.0.1:8443 --groups X25519,X25519MLKEM768 --resume",
            ),
        ],
    ),
    (
        "idleconn",
        [
            example("A thousand idle connections beside a test", "httperf idleconn 127.0.0.1 8080 1000"),
            example("The same for ten seconds", "httperf idleconn 127.0.0.1 8080 1000 --duration 10"),
        ],
    ),
    (
        "doctor",
        [
            example("A look at this machine before a test", "httperf doctor"),
            example(
                "The same for a certain load",
                "httperf doctor http://192.0.2.1/ --rate 5k --connections 10000",
            ),
        ],
    ),
    (
        "self-check",
        [
            example("The accuracy of this machine, and the load it can offer", "httperf self-check"),
            example("The same in a third of the time, as JSON", "httperf self-check --quick --json"),
        ],
    ),
    (
        "replay",
        [
            example(
                "Yesterday's requests, four times as fast",
                "httperf replay access.log http://127.0.0.1:8080 --speed 4",
            ),
            example(
                "What a log has, and the first requests; nothing is sent",
                "httperf replay access.log http://127.0.0.1:8080 --dry-run",
            ),
        ],
    ),
    (
        "import",
        [
            example("The requests of an nginx log, with their times", "httperf import log access.log"),
            example("A workload of what a browser recorded", "httperf import har shop.har -o shop"),
        ],
    ),
    (
        "fleet",
        [
            example(
                "A job script of Slurm for eight machines",
                "httperf fleet slurm --ranks 8 --time 10m -- http://shop.example/ --rate 80k --duration 5m > job.sh",
            ),
            example(
                "The same as a job of Kubernetes, with an image that has httperf",
                "httperf fleet kubernetes --image registry.example/httperf:1.0.0 --ranks 8 -- http://shop/ --rate 80k \
                 --duration 5m | kubectl create -f -",
            ),
        ],
    ),
    (
        "report",
        [
            example("The report of a saved run", "httperf report run.json"),
            example("Several runs as rows of a table", "httperf report --format csv run.json again.json"),
        ],
    ),
    (
        "plot",
        [
            example("The percentiles of a run", "httperf plot run.json --output run.svg"),
            example(
                "Throughput and latency over the time of a run",
                "httperf plot run.json --what timeline --output run.png",
            ),
        ],
    ),
    (
        "merge",
        [
            example(
                "The sum of two generators that worked together",
                "httperf merge a.json b.json --output all.json",
            ),
            example("The report of that sum", "httperf merge a.json b.json | httperf report /dev/stdin"),
        ],
    ),
    (
        "rerun",
        [
            example("The same run again", "httperf rerun run.json"),
            example("The same, saved for a comparison", "httperf rerun run.json --output again.json"),
        ],
    ),
    (
        "completions",
        [
            example("For this shell", "source <(httperf completions bash)"),
            example(
                "For every fish to come",
                "httperf completions fish > ~/.config/fish/completions/httperf.fish",
            ),
        ],
    ),
    (
        "run",
        [
            example(
                "The load that a file describes, with a page of charts",
                "httperf run shop.toml --html shop.html",
            ),
            example(
                "Ten visits per second to one server, each making the requests of a Hurl file",
                "httperf run login.hurl --base http://127.0.0.1:8080 --rate 10 --duration 30s",
            ),
        ],
    ),
    (
        "new",
        [
            example("A workload for the test server", "httperf new shop"),
            example("A workload for a server of one's own", "httperf new shop --base https://shop.example"),
        ],
    ),
    (
        "schema",
        [
            example("The schema of what --output writes", "httperf schema result"),
            example("The schema of a saved sweep", "httperf schema sweep"),
        ],
    ),
    (
        "like",
        [
            example(
                "The command that does what a command line of wrk does",
                "httperf like wrk -t4 -c100 -d30s http://127.0.0.1:8080/",
            ),
            example(
                "The same for a command line of ab, carried out at once",
                "httperf like --run ab -n 1000 -c 10 http://127.0.0.1:8080/",
            ),
        ],
    ),
    (
        "help",
        [
            example("A list of tasks, with a command line for each", "httperf help"),
            example("All options of a command", "httperf help capacity"),
        ],
    ),
];
