//! Commands and output in README and book: every command is understood, those of the README and of the pages that are to be
//! followed do what they should. `samples` has the output that the pages show.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod samples;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crate::support::bench::run;
use crate::support::program::{
    Exit, Invocation, Killed, Outcome, but_for_the_verdict, stderr, stdout, under_test,
};
use crate::support::words;
use httperf_report::result::{Document, Machine, Part};
use httperf_testkit::sim::{self, Action, HttpPeer, Link};
use tempfile::TempDir;
use xtask::book::Book;
use xtask::markdown::{Block, blocks, commands_in_spans, files_shown};
use xtask::pictures::PICTURES;

/// A command is killed after this long. It takes a second or so on an idle machine.
const LIMIT: Duration = Duration::from_secs(90);

/// Number of commands that run at the same time. They wait more than they compute.
const AT_ONCE: usize = 4;

/// Replacements that make commands of the README and of the book short, in this order. Each is a sequence of whole words.
const SHORTER: &[(&str, &str)] = &[
    // Placeholders.
    ("URL", "http://127.0.0.1:8080/"),
    ("URL_A", "http://127.0.0.1:8080/"),
    ("URL_B", "http://127.0.0.1:8081/"),
    // Fewer connections and calls.
    ("--num-conns 100 --rate 50", "--num-conns 20 --rate 50"),
    ("--rate 100 --num-conns 1000", "--rate 100 --num-conns 50"),
    ("--request-rate 4 --duration 60", "--request-rate 40 --duration 0.5"),
    ("--rate 150 --num-conn 1500", "--rate 150 --num-conn 75"),
    ("--num-conns 1000", "--num-conns 100"),
    // A p99.9 takes a thousand.
    ("--rate 200 --num-conns 2000", "--rate 480 --num-conns 1200"),
    ("--num-conns 7000", "--num-conns 700"),
    ("--num-conns 3000", "--num-conns 600"),
    ("--num-calls 10000", "--num-calls 100"),
    ("--wsess=10,5,1", "--wsess=4,5,0.1"),
    ("--wsess=40,5,1 --rate 2", "--wsess=4,5,0.1 --rate 20"),
    ("8080 1000", "8080 100"),
    ("httperf run shop.toml", "httperf run shop.toml --visits 4"),
    // Less time. As few as 100 calls are enough for a p99.
    ("--rate 200 --duration 10", "--rate 200 --duration 1"),
    ("--duration 5", "--duration 0.5"),
    ("--duration 60", "--duration 1"),
    ("--ws-for 4", "--ws-for 1"),
    ("--warmup 5", "--warmup 0.2"),
    ("--duration 10", "--duration 0.5"),
    ("--duration 30", "--duration 1"),
    ("--runtime 60", "--runtime 0.8"),
    ("--warmup 10 --drain 5", "--warmup 0.2 --drain 0.5"),
    ("-d30s", "-d1s"),
    ("-d10s", "-d1s"),
    ("-z 10s", "-z 1s"),
    ("-duration=10s", "-duration=1s"),
    // There are too few calls for small shares, and a busy machine is slow.
    ("--slo 'p99<50ms, errors<0.1%'", "--slo 'p99<5s, errors<50%'"),
    ("--slo 'p99<50ms'", "--slo 'p99<5s'"),
    ("--slo 'p99<500ms, errors<1%'", "--slo 'p99<5s, errors<50%'"),
    ("--slo 'p95<500ms, failed<1%'", "--slo 'p95<5s, failed<50%'"),
    ("--slo 'ttft.p99<500ms, tpot.p99<50ms'", "--slo 'ttft.p99<5s, tpot.p99<5s'"),
    // Fewer and shorter runs.
    ("--rates 100..800/100", "--rates 50,100 --duration 0.5 --warmup 0 --pause 0 --settle 0"),
    ("--request-rates 100..800/100", "--request-rates 50,100 --duration 0.5 --warmup 0 --pause 0 --settle 0"),
    (
        "httperf capacity",
        "httperf capacity --trials 3 --trial-min 1 --trial-max 1 --pause 0 --start 200 --max-rate 200",
    ),
    ("httperf ab", "httperf ab --rounds 5 --trial 0.3 --warmup 0.1"),
    ("httperf tls-lab", "httperf tls-lab --rounds 5 --handshakes 50 --rate-handshakes 20"),
];

/// Commands of the README that are not run, and why.
const NOT_RUN: &[(&str, &str)] =
    &[("httperf self-check", "it takes a minute and wants an idle machine; tests/measured runs it")];

/// Commands whose exit status is their answer, which depends on the machine: those that are as good as 0 here.
const ANSWERS: &[(&str, &[i32])] = &[
    // Equal servers may differ by chance, and on a busy machine rounds may be INVALID.
    ("httperf ab", &[1, 2]),
    // Trials may be too disturbed.
    ("httperf capacity", &[2]),
    // The machine may have a problem.
    ("httperf doctor", &[2]),
    // Four visits are too few for the objectives of the file.
    ("httperf run shop.toml", &[4]),
    ("httperf new shop --base http://127.0.0.1:8080 && httperf run shop.toml", &[4]),
    // Runs of a second are too short for a comparison, or differ by chance.
    (
        "httperf http://127.0.0.1:8081/ --rate 200 --duration 30 --timeout 5 --output new.json && httperf compare",
        &[1, 2],
    ),
];

/// Ends of commands whose objective is missed, as the page says: their exit status is 4.
const MISSED: &[&str] = &["--rate 700 --num-conns 7000 --timeout 5 --slo 'p99<100ms, errors<1%'"];

/// Folders with pages whose commands are run.
const FOLLOWED: [&str; 4] = ["docs/start/", "docs/concepts/", "docs/measure/", "docs/recipes/"];

/// Replacements within a script of the shell.
const SHORTER_SCRIPT: &[(&str, &str)] = &[("sleep 5;", "sleep 0.3;"), ("--duration 10", "--duration 2")];

/// Subjects of warnings that depend on the machine.
const MACHINE: &[&str] = &["open files", "local ports", "conntrack", "processors", "quota"];

/// Commands that are refused, as the documents say.
const REFUSED: &[&str] = &["httperf like k6"];

/// README, or a page of the book.
struct Page {
    /// Path from the root, without `docs/guide/`.
    name: String,
    /// Path from the root.
    path: String,
    text: String,
}

/// The pages of the book with commands, except for generated ones, whose commands others test, and those of the inside, which
/// show few.
fn pages() -> Vec<Page> {
    let has_commands = |page: &xtask::book::Page| {
        let path = &page.path[..];
        path == "README.md"
            || path == "docs/index.md"
            || path == "docs/internals/how-exact.md"
            || path.starts_with("docs/guide/")
            || path.starts_with("docs/reference/") && !page.text.starts_with("<!-- Generated by ")
            || is_followed(path)
    };
    let page = |page: xtask::book::Page| Page {
        name: page.path.trim_start_matches("docs/guide/").to_owned(),
        path: page.path,
        text: page.text,
    };
    let pages = Book::read().unwrap().pages;
    pages.into_iter().filter(has_commands).map(page).collect()
}

fn is_followed(path: &str) -> bool {
    FOLLOWED.iter().any(|folder| path.starts_with(folder))
}

fn readme() -> String {
    pages().into_iter().find(|page| page.name == "README.md").unwrap().text
}

/// The commands in blocks of a page.
fn typed(text: &str) -> Vec<String> {
    blocks(text).iter().flat_map(Block::commands).collect()
}

#[test]
fn every_command_is_understood() {
    for Page { name, text, .. } in pages() {
        let commands = typed(&text).into_iter().chain(commands_in_spans(&text));
        for command in commands.filter(|command| !command.contains('…')) {
            let outcome = understood(&command);
            let status = if REFUSED.contains(&&command[..]) { 1 } else { 0 };
            assert_eq!(outcome.exit, Exit::Code(status), "{name}: {command}: {}", stderr(&outcome));
        }
    }
}

/// Runs a command such that it takes all options and does nothing.
fn understood(command: &str) -> Outcome {
    let ends = [" # ", " | ", " > ", " &"];
    let end = ends.iter().filter_map(|end| command.find(end)).min().unwrap_or(command.len());
    let words = words(&command[..end]);
    let words = words[1..].iter().map(|word| if word == "URL" { "http://127.0.0.1/" } else { word });
    let is_translation = command.starts_with("httperf like ");
    // What is to be translated belongs to another tool, and a fleet is only printed. Behind the options of all others, `--help`
    // ends the program if they are right.
    let words: Vec<&str> = if is_translation {
        words.filter(|&word| word != "--run").collect()
    } else if command.starts_with("httperf fleet ") && command.contains(" -- ") {
        words.collect()
    } else {
        words.chain(["--help"]).collect()
    };
    let mut invocation = Invocation::new(&under_test(), words);
    invocation.files = vec![("targets.txt".to_owned(), b"GET http://127.0.0.1/\n".to_vec())];
    invocation.limit = LIMIT;
    invocation.run().unwrap()
}

/// A row of the README's table of tasks.
struct Task {
    purpose: String,
    command: String,
}

fn tasks(readme: &str) -> Vec<Task> {
    let rows = readme.lines().skip_while(|line| !line.starts_with("| you want to ")).skip(2);
    let cells = rows.take_while(|line| line.starts_with('|')).map(|line| line.split(" | ").collect());
    let task = |cells: Vec<&str>| Task {
        purpose: cells[0].trim_start_matches("| ").to_owned(),
        command: cells[1].trim_matches('`').to_owned(),
    };
    cells.map(task).collect()
}

#[test]
fn the_tasks_of_the_readme_are_among_those_of_help_in_the_same_words_and_order() {
    let help = stdout(&run("help"));
    let mut listed = help.split("\n\n").filter_map(|task| task.split_once(":\n    "));
    let readme = tasks(&readme());
    assert!(readme.len() >= 10, "the table of tasks is not found");
    let subcommand = |command: &str| {
        let second = command.split(' ').nth(1).unwrap().to_owned();
        if second == "URL" || second.starts_with("http:") { String::new() } else { second }
    };
    for Task { purpose, command } in readme {
        let (_, line) =
            listed.find(|(listed, _)| *listed == purpose).unwrap_or_else(|| panic!("{purpose}: {help}"));
        assert_eq!(subcommand(&command), subcommand(line), "{purpose}");
    }
}

#[test]
fn every_picture_is_one_that_the_program_draws_from_what_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    for picture in PICTURES {
        let drawn = folder.path().join("picture.svg");
        picture.draw(&under_test(), &drawn).unwrap();
        let same = fs::read(&drawn).unwrap() == fs::read(xtask::root().join(picture.path)).unwrap();
        assert!(same, "{} is not what `httperf plot` draws of {:?}", picture.path, picture.documents);
    }
    for Page { name, path, text } in pages() {
        let folder = path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        // Those of concepts are drawn by hand.
        if path.starts_with("docs/concepts/") {
            continue;
        }
        // The text of a picture may go on in the next line.
        for shown in text.split("![").skip(1) {
            let path = shown.split_once("](").and_then(|(_, rest)| rest.split(')').next()).unwrap();
            let path = format!("{folder}{path}");
            assert!(PICTURES.iter().any(|picture| picture.path == path), "{name} shows {path}");
        }
    }
}

/// `httperf serve` as a page shows it, but on a port of its own.
struct Server {
    _process: Killed,
    port: u16,
}

impl Server {
    fn start(command: &str) -> Self {
        let words = words(command);
        let mut program = Command::new(under_test());
        // The last address counts.
        program.args(&words[1..]).arg("--listen=127.0.0.1:0");
        let mut process = Killed(program.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port =
            line.trim_end().trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.unwrap_or_else(|| panic!("`{command}` says `{line}`"));
        Self { _process: process, port }
    }
}

/// The servers that the commands of a page load.
struct Servers {
    /// With the ports that the page names.
    by_port: Vec<(u16, Server)>,
}

impl Servers {
    fn start(page: &str) -> Self {
        let commands = typed(page).into_iter().chain(commands_in_spans(page));
        let commands = commands.filter(|command| is_server(command) && !command.ends_with('&'));
        let named = |command: String| {
            let port = command.split("127.0.0.1:").nth(1)?.split(' ').next()?.parse().ok()?;
            Some((port, command))
        };
        let mut named: Vec<(u16, String)> = commands.filter_map(named).collect();
        // The other one that is compared with the first.
        let first = named.iter().find(|(port, _)| *port == 8080).map(|(_, command)| command.clone());
        if let Some(first) = first.filter(|_| named.iter().all(|(port, _)| *port != 8081)) {
            named.push((8081, first));
        }
        named.sort();
        named.dedup_by_key(|(port, _)| *port);
        let by_port = named.into_iter().map(|(port, command)| (port, Server::start(&command)));
        Self { by_port: by_port.collect() }
    }

    /// A command with the ports of these servers.
    fn reached_by(&self, command: &str) -> String {
        self.by_port.iter().fold(command.to_owned(), |command, (named, server)| {
            let command = command.replace(&format!(":{named}"), &format!(":{}", server.port));
            command.replace(&format!(" {named} "), &format!(" {} ", server.port))
        })
    }

    /// A command, shortened, for these servers.
    fn prepare(&self, command: &str) -> String {
        self.reached_by(&shortened(command).0)
    }
}

fn is_server(command: &str) -> bool {
    command.starts_with("httperf serve ")
}

/// A shorter form of a command, and the indices of the rules that made it so.
fn shortened(command: &str) -> (String, BTreeSet<usize>) {
    let mut used = BTreeSet::new();
    let mut command = format!(" {command} ");
    for (index, (long, short)) in SHORTER.iter().enumerate() {
        let (long, short) = (format!(" {long} "), format!(" {short} "));
        if command.contains(&long) {
            used.insert(index);
            command = command.replace(&long, &short);
        }
    }
    (command.trim().to_owned(), used)
}

/// Runs a command as a shell does, in a folder with these files.
fn in_shell(command: &str, files: &[(String, Vec<u8>)]) -> Outcome {
    let program = under_test().display().to_string();
    let script = format!("httperf() {{ exec '{program}' \"$@\"; }}; {command}");
    let mut invocation = Invocation::new(Path::new("/bin/sh"), ["-c", &script]);
    invocation.files = files.to_vec();
    invocation.limit = LIMIT;
    invocation.run().unwrap()
}

#[test]
fn the_commands_of_the_readme_can_be_followed() {
    let readme = readme();
    let commands: Vec<String> =
        typed(&readme).into_iter().chain(tasks(&readme).into_iter().map(|task| task.command)).collect();
    let is_left_out = |command: &String| {
        NOT_RUN.iter().any(|(left_out, _)| command == left_out) || command.starts_with("httperf serve")
    };
    let unknown = NOT_RUN.iter().find(|(left_out, _)| !commands.iter().any(|command| command == left_out));
    assert_eq!(unknown, None, "not in the README");
    for command in commands.iter().filter(|command| command.starts_with("httperf serve")) {
        drop(Server::start(command));
    }
    let followed: Vec<&String> = commands.iter().filter(|command| !is_left_out(command)).collect();
    assert!(followed.len() >= 25, "{followed:?}");
    let servers = Servers::start(&readme);
    let files = files(&servers);
    let (rest, failures) = (Mutex::new(followed.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            // One command has no influence on what another one finds.
            scope.spawn(|| {
                let servers = Servers::start(&readme);
                loop {
                    let next = rest.lock().unwrap().next();
                    let Some(command) = next else { return };
                    let failure = failure(command, &servers.prepare(command), &files);
                    failures.lock().unwrap().extend(failure);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a command in its shorter form, and says what went wrong.
fn failure(command: &str, shorter: &str, files: &[(String, Vec<u8>)]) -> Option<String> {
    what_failed(command, shorter, &in_shell(shorter, files))
}

/// Says what went wrong with a command that was run in its shorter form.
fn what_failed(command: &str, shorter: &str, outcome: &Outcome) -> Option<String> {
    let also = ANSWERS.iter().find(|(beginning, _)| command.starts_with(beginning));
    let also = also.map_or(&[][..], |(_, statuses)| statuses);
    let expected = if MISSED.iter().any(|end| command.ends_with(end)) { 4 } else { 0 };
    let is_well = matches!(outcome.exit, Exit::Code(code) if code == expected || also.contains(&code));
    let said = but_for_the_verdict(&stderr(outcome));
    let is_of_machine =
        |line: &str| MACHINE.iter().any(|what| line.contains(&format!(": warning: {what}: ")));
    // `httperf like` has notes, and `--check` says it if all is well.
    let is_usual = |line: &str| line.starts_with("note: ") || line.ends_with(": nothing is wrong");
    if is_well && said.lines().all(|line| is_usual(line) || is_of_machine(line)) {
        return None;
    }
    Some(format!("{command}\n{shorter}\n{}{said}\n{:?}\n", stdout(outcome), outcome.exit))
}

#[test]
fn the_pages_of_the_book_can_be_followed() {
    let pages: Vec<Page> = pages().into_iter().filter(|page| is_followed(&page.path)).collect();
    assert!(pages.len() >= 15, "{}", pages.len());
    // Those with the most commands first, so that none is left over at the end.
    let mut pages: Vec<(usize, Page)> =
        pages.into_iter().map(|page| (typed(&page.text).len(), page)).collect();
    pages.sort_by_key(|(commands, _)| std::cmp::Reverse(*commands));
    let (rest, failures) = (Mutex::new(pages.iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = rest.lock().unwrap().next();
                    let Some((_, page)) = next else { return };
                    let failed = follow(page);
                    failures.lock().unwrap().extend(failed);
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Types the commands of a page one after the other, in a folder with the files that it shows, and says what went wrong.
fn follow(page: &Page) -> Vec<String> {
    let servers = Servers::start(&page.text);
    let folder = Folder::new();
    for (name, contents) in files_shown(&page.text) {
        fs::write(folder.0.path().join(name), servers.reached_by(&contents)).unwrap();
    }
    let mut failures = Vec::new();
    for block in blocks(&page.text) {
        if is_script(&block) {
            let script = alone(&block.lines.join("\n"), SHORTER_SCRIPT);
            failures.extend(what_failed(&block.lines.join("\n"), &script, &folder.run(&script)));
            failures.extend(is_seen_by_an_open_loop_alone(&folder));
            continue;
        }
        for command in block.commands().iter().filter(|command| !is_server(command)) {
            let shorter = servers.prepare(command);
            failures.extend(what_failed(command, &shorter, &folder.run(&shorter)));
        }
    }
    failures.into_iter().map(|failure| format!("{}: {failure}", page.path)).collect()
}

/// Returns whether a block is a script of the shell, which starts a server by itself.
fn is_script(block: &Block) -> bool {
    block.first_line().ends_with(" &")
}

/// Says what is wrong if the stall of a server does not show as the page says.
fn is_seen_by_an_open_loop_alone(folder: &Folder) -> Option<String> {
    let [closed, open] = ["closed-loop.json", "open-loop.json"].map(|name| folder.latency_ms(name, "p90"));
    // One second of two was a stall, in which half of the calls of the open loop were due.
    let shows = open > 500.0 && closed < open / 2.0;
    (!shows).then(|| format!("p90 of the closed loop {closed} ms, of the open loop {open} ms"))
}

/// A script with other words, and with a port of its own in place of the one that it names.
fn alone(script: &str, shorter: &[(&str, &str)]) -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = shorter.iter().fold(script.to_owned(), |script, (long, short)| {
        assert!(script.contains(long), "a rule without a place: {long}");
        script.replace(long, short)
    });
    script.replace(":8080", &format!(":{port}"))
}

/// A folder in which commands are typed one after the other.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".bin")).unwrap();
        symlink(under_test(), folder.path().join(".bin/httperf")).unwrap();
        Self(folder)
    }

    /// Runs commands of a shell.
    fn run(&self, commands: &str) -> Outcome {
        let mut invocation = Invocation::new(Path::new("/bin/sh"), ["-c", commands]);
        invocation.folder = Some(self.0.path().to_owned());
        invocation.search_path = vec![self.path(".bin")];
        invocation.limit = LIMIT;
        invocation.run().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A percentile of the latency that a result has, in milliseconds.
    fn latency_ms(&self, result: &str, percentile: &str) -> f64 {
        let text = fs::read_to_string(self.path(result)).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["figures"]["latency_ms"][percentile]
            .as_f64()
            .unwrap_or_else(|| panic!("{result}: {percentile}"))
    }
}

#[test]
fn every_recipe_has_a_title_one_command_and_an_explanation() {
    let mut recipes = 0;
    for Page { name, text, .. } in pages().iter().filter(|page| page.path.starts_with("docs/recipes/")) {
        for recipe in text.split("\n## ").skip(1) {
            let title = recipe.lines().next().unwrap();
            assert_eq!(typed(recipe).len(), 1, "{name}: {title}");
            let words = recipe
                .lines()
                .filter(|line| !line.starts_with("    "))
                .flat_map(str::split_whitespace)
                .count();
            assert!(words > 20, "{name}: {title}");
            recipes += 1;
        }
    }
    assert!(recipes >= 30, "{recipes}");
}

#[test]
fn every_rule_that_shortens_has_a_command() {
    let commands: Vec<String> = pages()
        .iter()
        .flat_map(|page| typed(&page.text))
        .chain(tasks(&readme()).into_iter().map(|task| task.command))
        .collect();
    let used: BTreeSet<usize> = commands.iter().flat_map(|command| shortened(command).1).collect();
    let unused: Vec<_> =
        (0..SHORTER.len()).filter(|rule| !used.contains(rule)).map(|rule| SHORTER[rule]).collect();
    assert!(unused.is_empty(), "rules without a command: {unused:?}");
}

/// The files that the README's commands read: results, requests for these servers, and a workload.
fn files(servers: &Servers) -> Vec<(String, Vec<u8>)> {
    let result = |options: &str| {
        let command = format!(
            "httperf http://127.0.0.1:8080/ --rate 100 --num-conns 20 {options} --output /dev/stdout"
        );
        let outcome = in_shell(&format!("{} --quiet", servers.prepare(&command)), &[]);
        let printed = stdout(&outcome);
        // The document follows the classic report.
        let begin = printed.find("\n{").unwrap_or_else(|| panic!("{printed}{}", stderr(&outcome)));
        printed.as_bytes()[begin..].to_vec()
    };
    let requests = servers.reached_by("GET http://127.0.0.1:8080/\nGET http://127.0.0.1:8080/other\n");
    let workload = servers.reached_by(
        "base = 'http://127.0.0.1:8080/'\n[[scenario]]\nname = 'visitor'\nsteps = [{ run = 'shop.hurl' }]\n",
    );
    let simulated = simulated().into_bytes();
    let sweep =
        "httperf sweep http://127.0.0.1:8080/ --rates 20,40 --duration 1 --warmup 0 --pause 0 --json --quiet";
    let sweep = in_shell(&servers.prepare(sweep), &[]).stdout;
    [
        ("run.json", result("")),
        ("a.json", result("--client 0/2")),
        ("b.json", result("--client 1/2")),
        ("base.json", simulated.clone()),
        ("new.json", simulated),
        ("requests.txt", requests.into_bytes()),
        ("sweep.json", sweep),
        ("shop.toml", workload.into_bytes()),
        ("shop.hurl", b"GET {{base}}size/10\nHTTP 200\n".to_vec()),
        ("prompts.jsonl", b"{\"prompt\": \"Tell me of the sea\", \"max_tokens\": 4}\n".to_vec()),
        ("access.log", LOG.as_bytes().to_vec()),
    ]
    .map(|(name, contents)| (name.to_owned(), contents))
    .into()
}

/// Two requests of an access log.
const LOG: &str = r#"10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] "GET /a HTTP/1.1" 200 2 "-" "curl"
10.0.0.2 - - [22/Nov/2026:22:42:31 +0000] "GET /b HTTP/1.1" 200 2 "-" "curl"
"#;

/// Half a minute in no time: a result that is long enough for a comparison.
fn simulated() -> String {
    let plan = sim::calls(3000, 100.0, 20);
    let page = |_: &_| vec![Action::Send(Duration::from_millis(1), sim::reply(200, "", "hello"))];
    let summary = sim::run(&plan, Link::default(), HttpPeer::new(page)).summary;
    let part = Part {
        started: "2026-11-21T07:00:00Z".to_owned(),
        client: None,
        run: None,
        command: vec!["httperf".to_owned()],
        httperf: "1.0.0".to_owned(),
        ended_early: None,
        machine: Machine::default(),
        capacity: None,
    };
    Document::new(part, plan, summary).json()
}
