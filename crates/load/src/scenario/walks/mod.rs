//! Tests that walk through scenarios read from workload files: each kind of step, failures, and redirects.

mod random;

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use httperf_plan::workload_file::{Files, Given, read};
use httperf_plan::{Endpoint, Plan, Target, Workload};

use super::*;

/// Files by their names.
struct Folder<'a>(&'a [(&'a str, &'a str)]);

impl Files for Folder<'_> {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.0.iter().find(|(name, _)| Path::new(name) == path);
        Ok(file.ok_or(io::ErrorKind::NotFound)?.1.as_bytes().to_vec())
    }
}

/// Two servers: `{{base}}` and `http://pay`.
const BASE: &str = "base = \"http://shop\"\n";

/// The plan that a workload file describes. `seed`: replaces that of the file.
#[track_caller]
fn plan(toml: &str, files: &[(&str, &str)], seed: u64) -> Plan {
    let given = Given { seed: Some(seed), ..Given::default() };
    let text = format!("{BASE}{toml}");
    let file = match read(Path::new("load.toml"), &text, &mut Folder(files), &given) {
        Ok(file) => file,
        Err(problems) => {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
        }
    };
    let target = |url: &httperf_plan::url::HttpUrl| {
        Target::direct(url.authority(), None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()))
    };
    let targets: Vec<Target> = file.origins.iter().map(target).collect();
    Plan::builder(targets[0].clone(), Workload::Scenarios(Box::new(file.scenarios)))
        .targets(targets.try_into().expect("there is a server"))
        .build()
        .expect("it is a plan")
}

fn scenarios(plan: &Plan) -> &httperf_plan::scenario::Scenarios {
    let Workload::Scenarios(scenarios) = &plan.workload else { panic!("the plan has scenarios") };
    scenarios
}

/// One answer for all calls: status, header fields and body.
#[derive(Clone, Copy)]
struct Answer<'a>(u16, &'a str, &'a str);

const OK: Answer<'_> = Answer(200, "", "");

fn read_values<'h>(head: &'h [u8], name: &[u8], each: &mut dyn FnMut(&'h [u8])) {
    for line in head.split(|&byte| byte == b'\n') {
        if let Some(colon) = line.iter().position(|&byte| byte == b':')
            && line[..colon].trim_ascii().eq_ignore_ascii_case(name)
        {
            each(line[colon + 1..].trim_ascii());
        }
    }
}

/// Steps of a visit that no test exceeds.
const STEPS_MAX: usize = 1000;

/// Carries out a visit. Returns a line for each request, pause, and the end.
fn walk<'a>(
    program: &Program<'_>,
    rows: &mut RowsTaken,
    index: u64,
    mut answer: impl FnMut(&str) -> Answer<'a>,
) -> Vec<String> {
    let (mut scratch, mut buffers) = (Scratch::default(), RequestBuffers::default());
    let mut clock = || SystemTime::UNIX_EPOCH;
    let mut visit = Visit::new(program, index, rows);
    let mut lines = Vec::new();
    for _ in 0..STEPS_MAX {
        match visit.advance(program, &mut clock, &mut scratch) {
            Action::Think(pause) => lines.push(format!("think {pause:?}")),
            Action::Finished => return ended(lines, "finished"),
            Action::Failed => return ended(lines, "failed"),
            Action::Call(request) => {
                let target = program.target(&visit, request);
                let Ok(material) = program.fill(&mut visit, request, &mut clock, &mut buffers) else {
                    return ended(lines, "unset");
                };
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let mut line = format!("{} {}", text(material.method), text(material.uri));
                if target > 0 {
                    line += &format!(" @{target}");
                }
                let fields = text(material.headers).replace("Accept: */*\r\n", "");
                if !fields.is_empty() {
                    line += &format!(" [{}]", fields.escape_debug());
                }
                if let Some(body) = material.body.bytes() {
                    line += &format!(" {{{}}}", text(body));
                }
                let Answer(status, head, body) = answer(&line);
                lines.push(line);
                let (head, body) = (head.as_bytes(), body.as_bytes());
                let reply = Reply {
                    status,
                    head,
                    read_values,
                    body: Ok(body),
                    duration: Duration::ZERO,
                    redirects: &[],
                };
                let mut failed = Vec::new();
                visit.judge(program, &reply, &mut clock, &mut scratch, &mut |check| failed.push(check));
                lines.extend(failed.iter().map(|check| format!("check {check} failed")));
            }
        }
    }
    ended(lines, "endless")
}

fn ended(mut lines: Vec<String>, end: &str) -> Vec<String> {
    lines.push(end.to_owned());
    lines
}

/// Walks through the only visit of a workload file whose steps name `a.hurl` and `b.hurl`.
#[track_caller]
fn check<'a>(steps: &str, files: &[(&str, &str)], answer: impl FnMut(&str) -> Answer<'a>, expected: &[&str]) {
    let plan = plan(&format!("[[scenario]]\nname = \"s\"\nsteps = [{steps}]"), files, 0);
    let program = Program::new(&plan, scenarios(&plan)).expect("it compiles");
    assert_eq!(walk(&program, &mut RowsTaken::new(&program), 0, answer), expected);
}

const A: (&str, &str) = ("a.hurl", "GET {{base}}/a\n");
const B: (&str, &str) = ("b.hurl", "GET {{base}}/b\n");

// Steps.

#[test]
fn steps_follow_one_another_with_their_pauses() {
    check(
        r#"{ run = "a.hurl" }, { think = "3s" }, { run = "b.hurl" }"#,
        &[A, ("b.hurl", "GET {{base}}/b\n# @think 20ms\nGET http://pay/c\n")],
        |_| OK,
        &["GET /a", "think 3s", "GET /b", "think 20ms", "GET /c @1", "finished"],
    );
}

#[test]
fn rounds_are_made_as_often_as_drawn_also_within_each_other() {
    check(
        r#"{ repeat = 2, steps = [{ run = "a.hurl" }, { repeat = 2, steps = [{ run = "b.hurl" }] }] }"#,
        &[A, B],
        |_| OK,
        &["GET /a", "GET /b", "GET /b", "GET /a", "GET /b", "GET /b", "finished"],
    );
    check(
        r#"{ repeat = 0, steps = [{ run = "a.hurl" }] }, { run = "b.hurl" }"#,
        &[A, B],
        |_| OK,
        &["GET /b", "finished"],
    );
}

#[test]
fn a_condition_chooses_between_steps() {
    let capture = ("a.hurl", "GET {{base}}/a\nHTTP *\n[Captures]\nstock: jsonpath \"$.stock\"\n");
    let steps = r#"{ run = "a.hurl" }, { if = 'variable "stock" > 0', steps = [{ run = "b.hurl" }], else = [{ think = "1s" }] }"#;
    check(steps, &[capture, B], |_| Answer(200, "", r#"{"stock":3}"#), &["GET /a", "GET /b", "finished"]);
    check(steps, &[capture, B], |_| Answer(200, "", r#"{"stock":0}"#), &["GET /a", "think 1s", "finished"]);
}

#[test]
fn a_loop_ends_with_its_condition_or_after_its_most_rounds() {
    let capture = ("a.hurl", "GET {{base}}/a\nHTTP *\n[Captures]\nleft: jsonpath \"$.left\"\n");
    let steps = r#"{ run = "a.hurl" }, { while = 'variable "left" > 0', at-most = 3, steps = [{ run = "a.hurl" }] }, { run = "b.hurl" }"#;
    let mut calls = 0;
    let answers = [r#"{"left":2}"#, r#"{"left":1}"#, r#"{"left":0}"#];
    let counted = |_: &str| {
        calls += 1;
        Answer(200, "", answers.get(calls - 1).copied().unwrap_or_default())
    };
    check(steps, &[capture, B], counted, &["GET /a", "GET /a", "GET /a", "GET /b", "finished"]);
    let endless = |_: &str| Answer(200, "", r#"{"left":1}"#);
    check(steps, &[capture, B], endless, &["GET /a", "GET /a", "GET /a", "GET /a", "GET /b", "finished"]);
}

#[test]
fn a_loop_that_makes_no_call_ends_the_visit() {
    check(
        r#"{ repeat = 1000000, steps = [{ repeat = 1000000, steps = [] }] }, { run = "a.hurl" }"#,
        &[A],
        |_| OK,
        &["failed"],
    );
}

#[test]
fn captured_values_flow_into_uris_fields_and_bodies() {
    let file = "GET {{base}}/a\nHTTP *\n[Captures]\nid: header \"X-Id\"\n\n\
                POST {{base}}/b/{{id}}?q={{id}}\nX-Id: {{id}}\n{ \"id\": \"{{id}}\" }\n";
    check(
        r#"{ run = "a.hurl" }"#,
        &[("a.hurl", file)],
        |_| Answer(200, "X-Id: n \u{fc}\n", ""),
        &[
            "GET /a",
            "POST /b/n%20%C3%BC?q=n%20%C3%BC [X-Id: n ü\\r\\nContent-Type: application/json\\r\\n] {{ \"id\": \"n ü\" }}",
            "finished",
        ],
    );
}

#[test]
fn a_value_from_a_reply_begins_no_header_field_and_no_request() {
    let file = "GET {{base}}/a\nHTTP *\n[Captures]\nbad: jsonpath \"$.bad\"\n\nGET {{base}}/{{bad}}\nX-Bad: {{bad}}\n";
    let body = r#"{"bad":"1\r\nEvil: 2\r\n\r\nGET /evil HTTP/1.1\u0000"}"#;
    let plan = plan("[[scenario]]\nname = \"s\"\nsteps = [{ run = \"a.hurl\" }]", &[("a.hurl", file)], 0);
    let program = Program::new(&plan, scenarios(&plan)).expect("it compiles");
    let lines = walk(&program, &mut RowsTaken::new(&program), 0, |_| Answer(200, "", body));
    assert_eq!(
        lines[1],
        "GET /1%0D%0AEvil:%202%0D%0A%0D%0AGET%20/evil%20HTTP/1.1%00 \
         [X-Bad: 1  Evil: 2    GET /evil HTTP/1.1 \\r\\n]"
    );
}

// Failures.

const CHECKED: &str = "GET {{base}}/a\nHTTP 200\n[Captures]\nid: header \"X-Id\"\n[Asserts]\nbody contains \"yes\"\nbody contains \"sure\"\n";

#[test]
fn a_failed_check_ends_the_visit_only_if_the_plan_says_so() {
    let run = |given: &str| format!(r#"{{ run = "a.hurl"{given} }}, {{ run = "b.hurl" }}"#);
    let files = [("a.hurl", CHECKED), B];
    let reply = |_: &str| Answer(200, "X-Id: 1\n", "yes");
    check(&run(""), &files, reply, &["GET /a", "check 1 failed", "GET /b", "finished"]);
    check(&run(", on-failure = \"end\""), &files, reply, &["GET /a", "check 1 failed", "failed"]);
    let status = |_: &str| Answer(500, "X-Id: 1\n", "yes sure");
    check(&run(", on-failure = \"end\""), &files, status, &["GET /a", "failed"]);
}

#[test]
fn a_failed_capture_ends_the_visit_in_any_case() {
    let reply = |_: &str| Answer(200, "", "yes sure");
    check(
        r#"{ run = "a.hurl" }, { run = "b.hurl" }"#,
        &[("a.hurl", CHECKED), B],
        reply,
        &["GET /a", "failed"],
    );
}

// Redirects.

const FOLLOWING: &str = "[Options]\nlocation: true\n";

#[test]
fn redirects_are_followed_to_the_servers_of_the_plan_only() {
    let file = format!("GET {{{{base}}}}/shop/a\n{FOLLOWING}\nGET http://pay/\n");
    let to = |location: &'static str| {
        move |line: &str| match line {
            "GET /shop/a" => Answer(302, location, ""),
            _ => OK,
        }
    };
    for (location, expected) in [
        ("Location: /b\n", &["GET /b"][..]),
        ("Location: b?c\n", &["GET /shop/b?c"]),
        ("Location: http://pay/x\n", &["GET /x @1"]),
        ("Location: http://elsewhere/x\n", &[]),
        ("", &[]),
    ] {
        let expected = [&["GET /shop/a"][..], expected, &["GET / @1", "finished"]].concat();
        check(r#"{ run = "a.hurl" }"#, &[("a.hurl", &file)], to(location), &expected);
    }
}

#[test]
fn a_relative_redirect_is_resolved_against_the_uri_that_was_filled_in() {
    let file = format!("GET {{{{base}}}}/shop/{{{{newUuid}}}}/a\n{FOLLOWING}");
    let plan = plan("[[scenario]]\nname = \"s\"\nsteps = [{ run = \"a.hurl\" }]", &[("a.hurl", &file)], 0);
    let program = Program::new(&plan, scenarios(&plan)).expect("it compiles");
    let lines = walk(&program, &mut RowsTaken::new(&program), 0, |line| {
        if line.ends_with("/a") { Answer(302, "Location: b\n", "") } else { OK }
    });
    assert_eq!(lines[1], lines[0].replace("/a", "/b"), "{lines:?}");
}

#[test]
fn credentials_and_names_for_one_server_do_not_follow_a_redirect_to_another() {
    let file = format!(
        "GET {{{{base}}}}/a\nAuthorization: Bearer 1\nCookie: sid=1\nHost: other\nX-Kept: 1\n{FOLLOWING}\nGET http://pay/\n"
    );
    let all = "Authorization: Bearer 1\\r\\nCookie: sid=1\\r\\nHost: other\\r\\nX-Kept: 1\\r\\n";
    for (location, expected) in [
        ("Location: /b\n", format!("GET /b [{all}]")),
        ("Location: http://pay/b\n", "GET /b @1 [X-Kept: 1\\r\\n]".to_owned()),
    ] {
        let first = format!("GET /a [{all}]");
        let answer = |line: &str| if line.contains("/a") { Answer(307, location, "") } else { OK };
        check(
            r#"{ run = "a.hurl" }"#,
            &[("a.hurl", &file)],
            answer,
            &[&first, &expected, "GET / @1", "finished"],
        );
    }
}

#[test]
fn a_redirect_turns_a_post_into_a_get_as_its_status_says() {
    let file = format!("POST {{{{base}}}}/a\n{FOLLOWING}```\nbody\n```\n");
    for (status, expected) in [
        (301, "GET /b"),
        (302, "GET /b"),
        (303, "GET /b"),
        (307, "POST /b {body\n}"),
        (308, "POST /b {body\n}"),
    ] {
        let answer = |line: &str| if line.contains("/a") { Answer(status, "Location: /b\n", "") } else { OK };
        let expected = ["POST /a {body\n}", expected, "finished"];
        check(r#"{ run = "a.hurl" }"#, &[("a.hurl", &file)], answer, &expected);
    }
}

#[test]
fn redirects_in_a_circle_are_followed_to_a_bound_and_the_last_is_judged() {
    let file = format!("GET {{{{base}}}}/a\n{FOLLOWING}HTTP 200\n");
    let plan = plan("[[scenario]]\nname = \"s\"\nsteps = [{ run = \"a.hurl\" }]", &[("a.hurl", &file)], 0);
    let program = Program::new(&plan, scenarios(&plan)).expect("it compiles");
    let lines = walk(&program, &mut RowsTaken::new(&program), 0, |_| Answer(302, "Location: /a\n", ""));
    assert_eq!(lines.len(), 1 + REDIRECTS_MAX + 1, "the call, its redirects, and the end");
}
