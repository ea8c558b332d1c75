//! `httperf run`: workloads of files against nginx and a small shop, and what is said of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use httperf_report::{VisitFigures, steps_csv};
use httperf_testkit::server::{Behaviour, Order, Reply, Server};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::program::{Exit, Finished, Invocation, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::running::{Running, find, peer};
use crate::support::words;

/// A folder with a workload, for the server at a port.
struct Bench {
    folder: TempDir,
    port: u16,
}

impl Bench {
    fn new(port: u16, files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("the folder can be written to");
        }
        Self { folder, port }
    }

    /// Runs the program; `@name` stands for a file in the folder, `URL` for the server.
    fn run(&self, arguments: &str) -> Finished {
        let folder = format!("{}/", self.folder.path().display());
        let url = format!("http://127.0.0.1:{}", self.port);
        let arguments = arguments.replace('@', &folder).replace("URL", &url);
        Finished::of(&Invocation::new(&under_test(), words(&arguments)))
    }

    /// Runs the program, which is to end with one of these exit statuses.
    #[track_caller]
    fn ends(&self, arguments: &str, expected: &[i32]) -> Finished {
        let finished = self.run(arguments);
        assert!(expected.iter().any(|&code| finished.exit == Exit::Code(code)), "{finished}");
        finished
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn json(&self, name: &str) -> Value {
        let text = fs::read(self.path(name)).expect("the result was written");
        serde_json::from_slice(&text).expect("a result is JSON")
    }

    /// Figures of visits in a saved result.
    fn visits(&self, name: &str) -> VisitFigures {
        let figures = self.json(name)["figures"]["visits"].clone();
        serde_json::from_value(figures).expect("a result of scenarios has figures of visits")
    }
}

/// Exit statuses of a run whose objectives were met, or that had none: a busy machine may spoil the verdict.
const RAN: &[i32] = &[0, 3];

const SHOP: &[(&str, &str)] = &[
    (
        "shop.toml",
        r#"
            seed = 7
            [arrivals]
            process = "poisson"
            rate = "300/s"
            visits = 200
            [feed.users]
            file = "users.csv"
            [feed.wishes]
            file = "wishes.csv"
            order = "random"
            [[scenario]]
            name = "buyer"
            weight = 20
            feed = "users"
            on-failure = "end"
            steps = [{ run = "login.hurl" }, { think = "exp(10ms)" }, { run = "cart.hurl", feed = "wishes" }]
            [[scenario]]
            name = "visitor"
            weight = 80
            steps = [{ repeat = "1..3", steps = [{ run = "search.hurl", with = { word = "{{pick:shoe|hat|bag}}" } }, { think = "5ms" }] }]
            [objectives]
            all = "checks>=99.9%, errors<1%"
        "#,
    ),
    ("wishes.csv", "sku,qty,total\nshoe,1,40\nhat,3,45\nbag,2,120\n"),
    (
        "login.hurl",
        "# @name form\nGET {{base}}/login\nHTTP 200\n[Captures]\ncsrf: regex /name=\"_csrf\" value=\"([^\"]+)\"/\n\n\
         # @name log in\nPOST {{base}}/login\n[Options]\nlocation: true\n[Form]\n_csrf: {{csrf}}\nuser: {{user}}\n\
         password: {{password}}\nHTTP 200\n[Asserts]\nbody contains \"Welcome, {{user}}\"\n",
    ),
    (
        "search.hurl",
        "# @name search\nGET {{base}}/search?q={{word}}\nHTTP 200\n[Asserts]\nregex /data-sku=\"(\\w+)\"/ == \"{{word}}\"\n",
    ),
    (
        "cart.hurl",
        "# @name add to cart\nPOST {{base}}/cart\n{\"sku\": \"{{sku}}\", \"qty\": {{qty}}}\nHTTP 201\n[Asserts]\n\
         jsonpath \"$.cart.user\" == \"{{user}}\"\njsonpath \"$.cart.items[0].qty\" == {{qty}}\njsonpath \"$.cart.total\" == {{total}}\n",
    ),
];

/// The shop, in one of its builds.
struct Shop {
    running: Running,
    bench: Bench,
}

impl Shop {
    /// Starts it; `None` if there is no Python.
    fn start(build: &str) -> Option<Self> {
        let python = find("python3")?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/shop.py");
        let command = |_: &Path, ports: &[u16]| {
            let mut command = Command::new(&python);
            command.arg("-B").arg(&source).arg(ports[0].to_string()).arg(build);
            command
        };
        let running = Running::start("127.0.0.1", 1, |_| Ok(()), command);
        let bench = Bench::new(running.port(0), SHOP);
        let users: String = (0..100).map(|user| format!("user{user},pass of user{user}\n")).collect();
        fs::write(bench.path("users.csv"), format!("user,password\n{users}"))
            .expect("the folder can be written to");
        Some(Self { running, bench })
    }

    /// The contents of its database, as it reports them.
    fn stats(&self) -> Value {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.running.port(0))).expect("it accepts");
        stream.write_all(b"GET /stats HTTP/1.0\r\n\r\n").expect("it reads");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("it answers");
        serde_json::from_str(reply.split_once("\r\n\r\n").expect("a reply has a body").1)
            .expect("it says JSON")
    }
}

/// Replies of a step that were neither failed nor errors.
fn right(figures: &VisitFigures, scenario: &str, step: &str) -> u64 {
    let scenario =
        figures.total.iter().find(|row| row.scenario == scenario).expect("there is such a scenario");
    let step = scenario.steps.iter().find(|row| row.step == step).expect("there is such a step");
    step.calls - step.failed - step.http_errors - step.unexpected
}

#[test]
fn a_mix_of_visits_to_a_shop_is_accounted_for_on_both_sides() {
    let shop = peer!(Shop::start("right"));
    let run = shop.bench.ends("run @shop.toml --base URL --threads 2 --output @r.json", RAN);
    let (figures, stats) = (shop.bench.visits("r.json"), shop.stats());
    let visits: Vec<u64> = figures.total.iter().map(|row| row.completed + row.abandoned + row.cut).collect();
    assert_eq!(visits.iter().sum::<u64>(), 200, "{run}");
    assert_eq!(figures.total.iter().map(|row| row.completed).sum::<u64>(), 200, "{run}");
    // Five standard deviations of a binomial distribution: 5 * sqrt(200 * 0.2 * 0.8).
    assert!(visits[0].abs_diff(40) <= 28, "{visits:?}");
    let orders = right(&figures, "buyer", "add to cart");
    assert_eq!((orders, stats["orders"].as_u64()), (visits[0], Some(orders)), "{run}");
    assert_eq!(stats["ordered"], stats["sold"]);
    let logins: Vec<&str> =
        stats["logins"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let users: BTreeSet<&str> = logins.iter().copied().collect();
    assert_eq!((logins.len() as u64, users.len()), (visits[0], logins.len()), "no row was used twice");
    let expected: BTreeSet<String> = (0..visits[0]).map(|user| format!("user{user}")).collect();
    assert!(users.iter().copied().eq(expected.iter().map(String::as_str)), "none was skipped: {users:?}");
    let checks = |row: &httperf_report::StepRow| (row.checks_made, row.checks_failed);
    assert!(figures.total[0].steps.iter().map(checks).all(|(made, failed)| made > 0 && failed == 0));
    let calls: u64 = figures.total.iter().flat_map(|row| &row.steps).map(|row| row.calls).sum();
    assert_eq!(stats["requests"].as_array().map(Vec::len), Some(calls as usize), "redirects are calls");
}

#[test]
fn broken_builds_of_a_shop_are_found_by_the_checks() {
    for (build, step, look) in
        [("price", "add to cart", "jsonpath \"$.cart.total\""), ("token", "form", "csrf")]
    {
        let shop = peer!(Shop::start(build));
        let command = "run @shop.toml --base URL --visits 60 --output @r.json --calls @calls.csv";
        let run = shop.bench.ends(command, &[3, 4]);
        let failed = format!("failed: buyer/{step}: {look}");
        let abandoned = format!("abandoned at buyer/{step}: ");
        assert!(run.stdout.contains(&failed) && run.stdout.contains(&abandoned), "{run}");
        assert!(run.stdout.contains(&format!("\nfailed       buyer/{step}: {look}")), "{run}");
        let figures = shop.bench.visits("r.json");
        let buyers = &figures.total[0];
        assert!(buyers.completed == 0 && buyers.abandoned > 0, "{run}");
        // Each call is in the log, with its step and what its reply failed.
        let mut log = csv::Reader::from_path(shop.bench.path("calls.csv")).expect("it was written");
        let rows: Vec<csv::StringRecord> = log.records().collect::<Result<_, _>>().expect("it is CSV");
        let count = |scenario: &str, step: &str, look: Option<&str>| {
            let is_it = |row: &&csv::StringRecord| {
                let failed = look.map_or(row[20].is_empty(), |look| row[20].starts_with(look));
                (&row[17], &row[18], &row[19]) == (scenario, step, "") && failed
            };
            rows.iter().filter(is_it).count() as u64
        };
        let row = buyers.steps.iter().find(|row| row.step == step).expect("it has figures");
        assert_eq!(count("buyer", step, Some(look)), row.failures[0].replies, "{rows:?}");
        assert_eq!(count("visitor", "search", None), figures.total[1].steps[0].calls, "{rows:?}");
        assert_eq!(rows.len(), calls(&figures));
    }
}

#[test]
fn a_saved_result_is_rendered_the_same_and_all_its_forms_agree() {
    let shop = peer!(Shop::start("price"));
    let run = shop.bench.ends("run @shop.toml --base URL --visits 60 --output @r.json", &[3, 4]);
    assert_eq!(shop.bench.ends("report @r.json", &[0]).stdout, run.stdout);
    let again = shop.bench.ends("report --format json @r.json", &[0]).stdout;
    let (again, saved): (Value, _) =
        (serde_json::from_str(&again).expect("it is JSON"), shop.bench.json("r.json"));
    // What is printed has no secrets, which the plan may have.
    for part in ["parts", "summary", "figures", "verdict", "objectives"] {
        assert_eq!(again[part], saved[part], "{part}");
    }
    let figures = shop.bench.visits("r.json");
    let csv = steps_csv(&figures);
    let mut lines = csv.lines().skip(1);
    for scenario in &figures.total {
        let row = shop_row(&run.stdout, &scenario.scenario);
        let counts = [scenario.completed, scenario.abandoned, scenario.cut].map(|count| count.to_string());
        assert_eq!(row[..3], counts, "{}: {run}", scenario.scenario);
        for step in &scenario.steps {
            let row = step_row(&run.stdout, &scenario.scenario, &step.step);
            let errors = step.failed + step.http_errors + step.unexpected;
            let counts = [step.calls, errors, step.checks_failed].map(|count| count.to_string());
            assert_eq!(row[..3], counts, "{}: {run}", step.step);
            let ms = |value: Option<f64>| value.map_or("n/a".to_owned(), |value| format!("{value:.2}"));
            assert_eq!(row[3], ms(step.latency_ms.p50), "{}: {run}", step.step);
            let line = lines.next().expect("a line for each step");
            let cells: Vec<&str> = line.split(',').collect();
            let counts =
                [step.calls, step.failed, step.http_errors, step.unexpected, step.unfinished, step.abandoned];
            let counts = counts.map(|count| count.to_string());
            assert_eq!(
                (cells[2], &cells[4..10]),
                (&step.step[..], &counts.each_ref().map(String::as_str)[..]),
                "{csv}"
            );
        }
    }
    assert_eq!(lines.next(), None);
}

/// The cells of the row of a step, below the line with the name of its scenario.
#[track_caller]
fn step_row(text: &str, scenario: &str, step: &str) -> Vec<String> {
    let below: Vec<&str> = text.lines().skip_while(|line| line.trim() != scenario).collect();
    shop_row(&below.join("\n"), step)
}

/// The cells of the row of a table that ends with this name, or begins with it.
#[track_caller]
fn shop_row(text: &str, name: &str) -> Vec<String> {
    let row = text.lines().find_map(|line| {
        let line = line.trim();
        line.strip_suffix(name)
            .filter(|rest| rest.ends_with(' '))
            .or_else(|| line.strip_prefix(name).filter(|rest| rest.starts_with(' ')))
    });
    row.unwrap_or_else(|| panic!("no row of {name}: {text}")).split_whitespace().map(str::to_owned).collect()
}

/// A workload with all that is random, for a server that answers everything.
const RANDOM: &[(&str, &str)] = &[
    (
        "random.toml",
        r#"
            seed = 3
            [arrivals]
            rate = "400/s"
            visits = 80
            [feed.users]
            file = "users.csv"
            at-end = "cycle"
            [feed.things]
            file = "things.jsonl"
            order = "random"
            [[scenario]]
            name = "fed"
            weight = 2
            feed = "users"
            steps = [
              { repeat = "1..3", steps = [{ choose = [{ weight = 2, run = "user.hurl" }, { run = "thing.hurl", feed = "things" }] }] },
              { think = "exp(2ms)" }, { run = "body.hurl" } ]
            [[scenario]]
            name = "plain"
            steps = [{ run = "pick.hurl", with = { word = "{{pick:x|y|z}}" } }]
        "#,
    ),
    ("users.csv", "user\nann\nbob\ncid\ndan\neve\n"),
    ("things.jsonl", "{\"thing\":1}\n{\"thing\":2}\n{\"thing\":3}\n"),
    ("user.hurl", "GET {{base}}/user/{{user}}/{{newUuid}}\n"),
    ("thing.hurl", "GET {{base}}/thing/{{thing}}\n"),
    ("pick.hurl", "GET {{base}}/pick/{{word}}\n"),
    ("body.hurl", "POST {{base}}/body/{{newUuid}}\nfile,body.txt;\n"),
    ("body.txt", "contents"),
];

fn random() -> Option<(RealServer, Bench)> {
    let server = RealServer::start(Kind::Nginx, Settings { has_log: true, ..Settings::default() })?;
    let bench = Bench::new(server.port(), RANDOM);
    Some((server, bench))
}

/// Returns the request targets that nginx has logged after the first `before`, sorted, once there are `count` of them.
fn logged(server: &RealServer, before: usize, count: usize) -> Vec<String> {
    let began = Instant::now();
    while server.logged().len() < before + count && began.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    let mut targets: Vec<String> =
        server.logged().into_iter().skip(before).map(|(_, target)| target).collect();
    targets.sort();
    targets
}

/// The number of calls in a saved result.
fn calls(figures: &VisitFigures) -> usize {
    let steps = figures.total.iter().flat_map(|row| &row.steps);
    usize::try_from(steps.map(|row| row.calls).sum::<u64>()).expect("calls are few")
}

#[test]
fn any_number_of_threads_and_a_rerun_make_the_same_visits() {
    let (server, bench) = peer!(random());
    bench.ends("run @random.toml --base URL --threads 1 --output @r.json", RAN);
    let count = calls(&bench.visits("r.json"));
    let first = logged(&server, 0, count);
    assert!(first.len() == count && count > 120, "{count} calls, {} logged", first.len());
    let mut before = count;
    for command in [
        "run @random.toml --base URL --threads 2",
        "run @random.toml --base URL --threads 7",
        "rerun @r.json",
    ] {
        bench.ends(command, RAN);
        assert_eq!(logged(&server, before, count), first, "{command}");
        before = server.logged().len();
    }
    bench.ends("run @random.toml --base URL --seed 4", RAN);
    assert_ne!(logged(&server, before, 80), first, "another seed makes other visits");
}

#[test]
fn a_rerun_refuses_feeds_and_bodies_that_have_changed() {
    let (server, bench) = peer!(random());
    bench.ends("run @random.toml --base URL --visits 3 --output @r.json", RAN);
    let count = logged(&server, 0, calls(&bench.visits("r.json"))).len();
    for (name, text) in RANDOM.iter().filter(|(name, _)| !name.ends_with(".hurl") && !name.ends_with(".toml"))
    {
        fs::write(bench.path(name), format!("{text}more")).expect("the folder can be written to");
        let refused = bench.ends("rerun @r.json", &[1]);
        let expected = format!(
            "expected `{}` to be what it was, got a file of another SHA-256",
            bench.path(name).display()
        );
        assert!(refused.stderr.contains(&expected), "{refused}");
        fs::remove_file(bench.path(name)).expect("it is there");
        let refused = bench.ends("rerun @r.json", &[1]);
        assert!(
            refused.stderr.contains(&format!("cannot read `{}`", bench.path(name).display())),
            "{refused}"
        );
        fs::write(bench.path(name), text).expect("the folder can be written to");
    }
    thread::sleep(Duration::from_millis(50));
    assert_eq!(server.logged().len(), count, "nothing was sent");
    bench.ends("rerun @r.json", RAN);
}

#[test]
fn a_dry_run_shows_what_is_then_sent_and_sends_nothing() {
    let (server, bench) = peer!(random());
    let shown = bench.ends("run @random.toml --base URL --visits 20 --dry-run", &[0]);
    let targets = shown.stdout.lines().filter_map(|line| {
        let (method, target) = line.trim().split_once(" /")?;
        ["GET", "POST"].contains(&method).then(|| format!("/{target}"))
    });
    let mut targets: Vec<String> = targets.collect();
    targets.sort();
    assert!(targets.len() > 20 && server.logged().is_empty(), "{shown}");
    bench.ends("run @random.toml --base URL --visits 20", RAN);
    assert_eq!(logged(&server, 0, targets.len()), targets, "{shown}");
}

#[test]
fn everything_wrong_in_the_files_is_told_with_its_place_and_nothing_is_sent() {
    let (server, bench) = peer!(random());
    for (name, text) in [
        (
            "bad.toml",
            "seed = -1\n[feed.users]\nfile = \"users.csv\"\n[[scenario]]\nname = \"s\"\nsteps = [{ run = \"1.hurl\" }, { run = \"2.hurl\" }, { run = \"3.hurl\" }, { think = \"soon\" }]\n",
        ),
        ("users.csv", "user,password\nann\n"),
        ("1.hurl", "GET {{base}}/\nHTTP 2000\n"),
        ("2.hurl", "GET {{base}}/{{unknown}}\n"),
        ("3.hurl", "GET {{base}}/\nHTTP 200\n[Asserts]\nbody contains\n"),
    ] {
        fs::write(bench.path(name), text).expect("the folder can be written to");
    }
    for command in ["run @bad.toml --base URL --check", "run @bad.toml --base URL"] {
        let refused = bench.ends(command, &[1]);
        for place in
            ["bad.toml:1:8: ", "bad.toml:6:", "users.csv:2:1: ", "1.hurl:2:", "2.hurl:1:", "3.hurl:4:"]
        {
            let place = bench.path(place);
            assert!(refused.stderr.contains(&*place.to_string_lossy()), "{}: {refused}", place.display());
        }
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(server.logged(), []);
}

/// An objective that is missed in one part of a run alone decides the exit status, JUnit and the document, whatever the part.
#[test]
fn objectives_of_every_part_decide_the_exit_status() {
    const ALL: &str = "errors<1%, failed<1%, unexpected<1%, checks>=99%, abandoned<1%";
    let server = Server::start(Behaviour::in_turn(Order::PerServer, vec![Reply::ok(b"{\"l\":[1]}")]));
    let server = server.expect("a port is free");
    let files = [
        ("good.hurl", "# @name last\nGET {{base}}/\nHTTP 200\n"),
        ("wrong.hurl", "# @name last\nGET {{base}}/\nHTTP 200\n[Asserts]\nbody contains \"nothing\"\n"),
        (
            "unfilled.hurl",
            "GET {{base}}/\nHTTP 200\n[Captures]\nl: jsonpath \"$.l\"\n\n# @name last\nGET {{base}}/{{l}}\nHTTP 200\n",
        ),
    ];
    let bench = Bench::new(server.port(), &files);
    for (steps, objectives, status, outcome) in [
        ("good", ALL, 0, "met"),
        ("wrong", "unexpected<1%", 4, "missed"),
        ("wrong", "checks>=99%", 4, "missed"),
        ("unfilled", "errors<1%", 4, "missed"),
        ("unfilled", "failed<1%", 4, "missed"),
        ("unfilled", "abandoned<1%", 4, "missed"),
    ] {
        for scope in ["all", "scenario.s", "step.last", "step.\"s/last\"", "phase.p"] {
            let workload = format!(
                "[arrivals]\nphases = [{{ name = \"p\", for = \"100ms\", rate = \"100/s\" }}]\n\
                 [[scenario]]\nname = \"s\"\nsteps = [{{ run = \"{steps}.hurl\" }}]\n\
                 [objectives]\n{scope} = \"{objectives}\"\n"
            );
            fs::write(bench.path("w.toml"), workload).expect("the folder can be written to");
            let options = "run @w.toml --base URL --drain 5 --output @r.json --junit @j.xml";
            let finished = bench.ends(options, &[status]);
            let judged = bench.json("r.json")["objectives"].clone();
            let judged = judged.as_array().expect("a list");
            assert!(judged.iter().all(|judged| judged["outcome"] == outcome), "{scope} {finished}");
            let junit = fs::read_to_string(bench.path("j.xml")).expect("it was written");
            let failed =
                junit.matches("classname=\"objective\" time=\"0.000\">\n            <failure").count();
            assert_eq!(failed, if status == 0 { 0 } else { judged.len() }, "{scope} {junit}");
            let text = &finished.stdout;
            let word = if status == 0 { "PASS" } else { "FAIL" };
            assert!(text.contains(&format!("\nobjectives   {word}")), "{scope} {text}");
            if steps == "unfilled" {
                let reason = "`l` is a list, which cannot be filled in";
                assert!(text.contains(reason) && junit.contains(reason), "{text}\n{junit}");
            }
        }
    }
}

#[test]
fn rows_without_a_value_that_is_filled_in_are_found_before_a_run() {
    let files = [
        (
            "users.jsonl",
            "{\"user\":\"ann\",\"pw\":\"1\"}\n{\"user\":\"bob\"}\n{\"user\":\"eve\",\"pw\":{\"a\":1}}\n",
        ),
        ("login.hurl", "POST {{base}}/login\n[Form]\nuser: {{user}}\npw: {{pw}}\nHTTP 200\n"),
        (
            "w.toml",
            "[arrivals]\nusers = 1\nvisits = 3\n[feed.u]\nfile = \"users.jsonl\"\n\
             [[scenario]]\nname = \"s\"\nfeed = \"u\"\nsteps = [{ run = \"login.hurl\" }]\n",
        ),
    ];
    let server = Server::start(Behaviour::in_turn(Order::PerServer, vec![Reply::ok(b"hello")]));
    let server = server.expect("a port is free");
    let bench = Bench::new(server.port(), &files);
    let found = "users.jsonl: expected a text for `pw` in each row, as login.hurl:1 fills it in, got none in row 2, and none \
                 that is text in 1 more";
    let checked = bench.ends("run @w.toml --base URL --check", &[1]);
    assert!(checked.stderr.contains(found), "{checked}");
    let ran = bench.ends("run @w.toml --base URL --trace", &[0]);
    assert!(ran.stderr.contains(found), "{ran}");
    for reason in ["login.hurl:1: `pw` has no value", "`pw` is an object, which cannot be filled in"] {
        assert!(
            ran.stderr.contains(reason) && ran.stdout.replace("\n             ", " ").contains(reason),
            "{ran}"
        );
    }
}
