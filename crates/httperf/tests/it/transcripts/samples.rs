//! Samples of output in README and book: each has the form of what the program prints, or a reason why it is not compared.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::{fs, thread};

use httperf_testkit::skip;
use xtask::markdown::{Block, blocks};

use super::{Page, Server, Servers, in_shell, pages, readme, typed};
use crate::support::bench::run;
use crate::support::program::{stderr, stdout};

/// Samples in the documents, by the beginnings of their first lines.
const SAMPLES: &[(&str, &str, Check)] = &[
    ("README.md", "make demo ", Check::NotCompared("commands that build and test everything")),
    ("README.md", "http://127.0.0.1:8080: ", Check::Compared(check_answer)),
    ("README.md", "X25519MLKEM768 costs ", Check::Compared(check_tls_lab)),
    ("docs/start/five-minutes.md", "http://127.0.0.1:8080: ", Check::Compared(check_first_answer)),
    ("docs/measure/tls-cost.md", "X25519MLKEM768 costs ", Check::Compared(check_tls_lab)),
    (
        "docs/concepts/knee.md",
        "connections/s ",
        Check::NotCompared("a sweep takes minutes; pages/tests/it/sweep.rs has its table"),
    ),
    (
        "docs/concepts/queue.md",
        "calls/s ",
        Check::NotCompared("a sweep takes minutes; pages/tests/it/sweep.rs has its table"),
    ),
    ("docs/concepts/samples.md", "Latency, 95 % ", Check::NotCompared("a run of half a minute")),
    (
        "docs/concepts/tail-latency.md",
        "Times ",
        Check::NotCompared("rows of a table that other tests look for"),
    ),
    ("docs/concepts/tail-latency.md", "p95=", Check::NotCompared("commands of the shell")),
    ("docs/concepts/tail-latency.md", "131 of 200", Check::NotCompared("what these commands print")),
    (
        "docs/start/from-vegeta.md",
        "GET ",
        Check::NotCompared("a file, with which the page's commands are run"),
    ),
    ("docs/recipes/visits.md", "GET ", Check::NotCompared("a file, with which the page's commands are run")),
    (
        "docs/recipes/visits.md",
        "{\"item\": 7}",
        Check::NotCompared("a file, with which the page's commands are run"),
    ),
    (
        "docs/recipes/visits.md",
        "10.0.0.1 ",
        Check::NotCompared("a file, with which the page's commands are run"),
    ),
    (
        "docs/recipes/protocols.md",
        "{\"prompt\": ",
        Check::NotCompared("a file, with which the page's commands are run"),
    ),
    ("accuracy.md", "scripts/bench-tools.sh ", Check::NotCompared("commands that take eight minutes")),
    (
        "capacity.md",
        "objectives: p99<50ms, ",
        Check::NotCompared("a search takes minutes; tests/measured makes some"),
    ),
    ("ci.md", "# Load tests of a pull request", Check::Compared(check_github_file)),
    ("ci.md", "# Load tests of a merge request", Check::Compared(check_gitlab_file)),
    ("coming-from.md", "$ httperf like ", Check::NotCompared("tests/it/like.rs compares them word for word")),
    ("coming-from.md", "echo ", Check::NotCompared("a command of another program in front")),
    (
        "compare.md",
        "            base ",
        Check::NotCompared("rows of a table that pages/tests/it/compare.rs has"),
    ),
    ("compare.md", "--fail-if ", Check::NotCompared("options")),
    ("fleet.md", "export ", Check::NotCompared("a command of the shell")),
    (
        "fleet.md",
        "Fleet of 3",
        Check::NotCompared("a table of three machines; tests/it/fleet.rs looks for its lines"),
    ),
    ("fleet-kubernetes.md", "podman ", Check::NotCompared("a command of another program")),
    ("install.md", "docker run ", Check::NotCompared("a command of another program")),
    ("install.md", "brew ", Check::NotCompared("commands of another program")),
    ("fleet-slurm.md", "export ", Check::NotCompared("commands of other programs")),
    ("http2.md", "HTTP/2 streams ", Check::Compared(check_http2)),
    ("http3.md", "HTTP/2+3 streams ", Check::NotCompared("tests/it/alt_svc.rs looks for these lines")),
    ("import.md", "{\"httperf-trace\"", Check::NotCompared("tests/it/import.rs compares traces")),
    ("library.md", "[dev-dependencies]", Check::NotCompared("a part of a file of Cargo's")),
    ("library.md", "use httperf::", Check::NotCompared("tests/it/library.rs compiles it")),
    ("llm.md", "tokens ", Check::NotCompared("tests/it/streams.rs looks for these lines")),
    ("llm.md", "goodput ", Check::NotCompared("pages/tests/it/streams.rs has this line")),
    ("llm.md", "{\"prompt\": ", Check::NotCompared("a file; plan/src/prompts/tests.rs has each form")),
    ("llm.md", "# @name first turn", Check::NotCompared("a file, which tests/it/conversations.rs runs")),
    ("llm.md", "first,second", Check::NotCompared("a file, which tests/it/conversations.rs runs")),
    ("llm.md", "base = ", Check::NotCompared("a file, which tests/it/conversations.rs runs")),
    ("llm.md", "echo ", Check::NotCompared("a command of the shell")),
    ("llm.md", "httperf: --prompts: ", Check::NotCompared("tests/it/prompts.rs compares such messages")),
    ("metrics.md", "scrape_configs:", Check::NotCompared("a file of another program")),
    ("metrics.md", "histogram_quantile(", Check::NotCompared("queries of another program")),
    ("objectives.md", "Objectives: ", Check::Compared(check_objectives)),
    ("replay.md", "Replay of ", Check::NotCompared("tests/it/replays.rs looks for these lines")),
    (
        "scenarios.md",
        "# @name sign-in page",
        Check::NotCompared("a file, which tests/it/workload_files.rs runs"),
    ),
    ("scenarios.md", "# @name browse", Check::NotCompared("a file")),
    ("scenarios.md", "# @name add to cart", Check::NotCompared("a file")),
    ("scenarios.md", "user,country", Check::NotCompared("a file")),
    ("scenarios.md", "sku", Check::NotCompared("a file")),
    ("scenarios.md", "base = ", Check::NotCompared("a file")),
    ("serve.md", "id: 0", Check::NotCompared("origin/tests/it/streams.rs has such events")),
    ("serve.md", "connections HTTP/1 ", Check::NotCompared("tests/it/serve.rs looks for these counters")),
    ("streams.md", "events ", Check::NotCompared("tests/it/streams.rs looks for this line")),
    ("streams.md", "Streams ", Check::NotCompared("pages/tests/it/streams.rs has this section")),
    ("grpc.md", "replied ", Check::NotCompared("tests/it/grpc.rs looks for the line of gRPC")),
    ("grpc.md", "gRPC calls ", Check::NotCompared("tests/it/grpc.rs looks for these lines")),
    ("websockets.md", "round trip ", Check::NotCompared("tests/it/websockets.rs looks for these lines")),
    ("websockets.md", "WebSockets ", Check::NotCompared("tests/it/websockets.rs looks for its lines")),
    ("websockets.md", "[[scenario]]", Check::NotCompared("a file; plan/fixtures/workloads has such steps")),
    (
        "sweep.md",
        "192.0.2.7:80: ",
        Check::NotCompared("a sweep takes minutes; pages/tests/it/sweep.rs has its table"),
    ),
    ("sweep.md", "jq ", Check::NotCompared("a command of another program")),
    ("docs/reference/interval-log.md", "jq ", Check::NotCompared("a command of another program")),
    ("docs/reference/python.md", "", Check::NotCompared("python/tests/test_examples.py runs it")),
    ("docs/reference/result.md", "{", Check::NotCompared("the parts of a document, in words")),
    ("docs/reference/sweep.md", "{", Check::NotCompared("the parts of a document, in words")),
];

/// Check of a sample.
#[derive(Clone, Copy)]
enum Check {
    /// With what the program prints.
    Compared(fn(&Block)),
    /// Not at all, for this reason.
    NotCompared(#[expect(dead_code, reason = "for those who read the table")] &'static str),
}

#[test]
fn samples_have_the_form_of_what_is_printed() {
    let mut unused: BTreeSet<(&str, &str)> = SAMPLES.iter().map(|(page, first, _)| (*page, *first)).collect();
    let mut compared = Vec::new();
    for Page { name, text, .. } in pages() {
        for block in blocks(&text).into_iter().filter(Block::is_sample) {
            let known = SAMPLES
                .iter()
                .find(|(page, first, _)| *page == name && block.first_line().starts_with(first));
            let (page, first, check) =
                known.unwrap_or_else(|| panic!("{name} has a sample that SAMPLES lacks: {block:?}"));
            unused.remove(&(*page, *first));
            if let Check::Compared(check) = check {
                compared.push((block, *check));
            }
        }
    }
    assert!(unused.is_empty(), "no such samples: {unused:?}");
    thread::scope(|scope| {
        for (block, check) in compared {
            scope.spawn(move || check(&block));
        }
    });
}

/// The answer of the tour's second run.
fn check_answer(sample: &Block) {
    check_answer_of(&readme(), "--rate 400", sample);
}

/// The first answer of the first page.
fn check_first_answer(sample: &Block) {
    let page = pages().into_iter().find(|page| page.path == "docs/start/five-minutes.md").unwrap();
    check_answer_of(&page.text, "--rate 200", sample);
}

/// The answer of the first command of a page that has these words.
fn check_answer_of(page: &str, words: &str, sample: &Block) {
    let servers = Servers::start(page);
    let commands = typed(page);
    let command = commands.iter().find(|command| command.contains(words)).unwrap();
    let outcome = in_shell(&format!("{} --report=answer", servers.prepare(command)), &[]);
    let printed = stdout(&outcome);
    assert!(printed.starts_with("http://"), "{printed}{}", stderr(&outcome));
    let (sample, printed) = (forms(sample.lines.iter()), forms(printed.lines()));
    let (sample_verdict, sample) = sample.split_last().unwrap();
    let end = printed.iter().position(|line| line.starts_with("verdict ")).unwrap();
    let printed = &printed[..end];
    // On a busy machine, the generator may be the limit: that is the conclusion then.
    let is_disturbed = printed.iter().any(|line| line.starts_with("conclusion limited by the generator"));
    let (sample, printed) = match is_disturbed {
        false => (sample.to_vec(), printed.to_vec()),
        true => (without_conclusion(sample), without_conclusion(printed)),
    };
    assert_eq!(sample, printed);
    // That of a run on a busy machine has a reason instead.
    let valid = snapshot("answer__a_run_with_objectives_ends_with_its_answer");
    assert_eq!(Some(sample_verdict), forms(valid.lines()).last());
}

/// The lines of an answer without its conclusion, which takes up to three.
fn without_conclusion(lines: &[String]) -> Vec<String> {
    let begin = lines.iter().position(|line| line.starts_with("conclusion ")).unwrap();
    let end = lines.iter().position(|line| line.starts_with("offered ")).unwrap();
    [&lines[..begin], &lines[end..]].concat()
}

/// The sentence of the TLS lab.
fn check_tls_lab(sample: &Block) {
    const ATTEMPTS: usize = 3;
    let readme = readme();
    let servers = Servers::start(&readme);
    let commands = typed(&readme);
    let command = commands.iter().find(|command| command.starts_with("httperf tls-lab ")).unwrap();
    for _ in 0..ATTEMPTS {
        let outcome = in_shell(&servers.prepare(command), &[]);
        let printed = stdout(&outcome);
        let sentence = printed.lines().find(|line| line.starts_with("X25519MLKEM768 costs "));
        let sentence = sentence.unwrap_or_else(|| panic!("{printed}{}", stderr(&outcome)));
        if !sentence.ends_with("is not significant") {
            return assert_eq!(form(sentence), form(sample.first_line()));
        }
    }
    skip::disturbed("times of handshakes do not differ by more than chance");
}

/// Three objectives: one is met, one is missed and one is unknown, whatever the machine does.
fn check_objectives(sample: &Block) {
    let server = Server::start("httperf serve --status 200:97,503:3");
    let outcome = run(&format!(
        "http://127.0.0.1:{}/ --rate 400 --num-conns 400 --slo 'p99<50s, errors<0.1%, p99.99<1000s'",
        server.port
    ));
    let printed = stdout(&outcome);
    let begin = printed.find("Objectives: ").unwrap_or_else(|| panic!("{printed}{}", stderr(&outcome)));
    assert_eq!(forms(sample.lines.iter()), forms(printed[begin..].lines()));
}

/// The workflow for GitHub is the file that can be copied.
fn check_github_file(sample: &Block) {
    check_file("docs/recipes/ci-github.yml", sample);
}

/// The pipeline for GitLab is the file that can be copied.
fn check_gitlab_file(sample: &Block) {
    check_file("docs/recipes/ci-gitlab.yml", sample);
}

fn check_file(path: &str, sample: &Block) {
    let file = fs::read_to_string(xtask::root().join(path)).unwrap();
    assert_eq!(sample.lines, file.lines().collect::<Vec<_>>(), "{path}");
}

/// The section on HTTP/2 with all that it can show: no server provokes all of that.
fn check_http2(sample: &Block) {
    let printed = snapshot("reports__the_http2_section_with_all_that_it_can_show");
    assert_eq!(forms(sample.lines.iter()), forms(printed.lines()));
}

/// A snapshot of the tests of reports.
fn snapshot(name: &str) -> String {
    let path = xtask::root().join(format!("crates/pages/tests/it/snapshots/it__{name}.snap"));
    let file = fs::read_to_string(path).unwrap();
    file.split_once("\n---\n").unwrap().1.to_owned()
}

/// The forms of all lines that are not empty.
fn forms(lines: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    lines.into_iter().map(|line| form(line.as_ref())).filter(|form| !form.is_empty()).collect()
}

/// A line without its figures: figures become `#`, units of time `s`, bars `▁`, and blanks one blank.
fn form(line: &str) -> String {
    let word = |word: &str| {
        let is_bar = word.chars().all(|bar| ('▁'..='█').contains(&bar));
        if is_bar { "▁".to_owned() } else { without_numbers(word) }
    };
    let mut words: Vec<String> = line.split_whitespace().map(word).collect();
    // Bars may have gaps.
    words.dedup_by(|word, before| word == "▁" && before == "▁");
    let form = words.join(" ");
    ["ns", "µs", "ms"]
        .iter()
        .fold(form, |form, unit| form.replace(&format!("#{unit}"), "#s").replace(&format!("# {unit}"), "# s"))
}

/// A word with `#` for each number, except for those in names such as `p50`.
fn without_numbers(word: &str) -> String {
    let characters: Vec<char> = word.chars().collect();
    let is_digit = |index: usize| characters.get(index).is_some_and(char::is_ascii_digit);
    // Points and commas belong to a number if they stand between digits.
    let is_inner = |index: usize| {
        matches!(characters[index], '.' | ',') && index > 0 && is_digit(index - 1) && is_digit(index + 1)
    };
    let mut text = String::new();
    let (mut before, mut is_figure) = (None, false);
    for (index, &character) in characters.iter().enumerate() {
        let goes_on = is_figure && (is_digit(index) || is_inner(index));
        is_figure = goes_on || is_digit(index) && !before.is_some_and(is_of_name);
        if !goes_on {
            text.push(if is_figure { '#' } else { character });
        }
        before = Some(character);
    }
    text
}

/// Returns whether a digit behind this character belongs to a name.
fn is_of_name(before: char) -> bool {
    before.is_alphanumeric() || before == '.'
}

#[test]
fn a_form_has_no_figures() {
    for (line, expected) in [
        ("replied      499.2/s  6,000 of 6,000 calls (100.0 %)", "replied #/s # of # calls (# %)"),
        ("http://127.0.0.1:8080: 12.0 s measured", "http://#:#: # s measured"),
        ("p99.9  > p50<5ms X25519MLKEM768 +5", "p99.9 > p50<#s X25519MLKEM768 +#"),
        ("20.3 ms ▁▁ ▂█ 2.86 s, 4 µs.", "# s ▁ # s, # s."),
    ] {
        assert_eq!(form(line), expected);
    }
}
