use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::scenario::{Operand, Test};

/// The files of a fixture, which begin with `=== NAME`. The first is the one that is read.
#[derive(Clone, Debug, Default)]
struct Folder {
    first: PathBuf,
    files: BTreeMap<PathBuf, String>,
}

impl Folder {
    fn new(fixture: &str) -> Self {
        let mut folder = Self::default();
        for section in fixture.split("=== ").skip(1) {
            let (name, text) = section.split_once('\n').expect("a section begins with a line with its name");
            if folder.files.is_empty() {
                folder.first = name.into();
            }
            folder.files.insert(name.into(), text.to_owned());
        }
        folder
    }

    fn read(&self, given: &Given) -> Result<WorkloadFile, Vec<FileProblem>> {
        let is_hurl = self.first.extension().is_some_and(|extension| extension == "hurl");
        let reader = if is_hurl { of_hurl } else { read };
        reader(&self.first, &self.files[&self.first], &mut self.clone(), given)
    }
}

impl Files for Folder {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(file.clone().into_bytes())
    }
}

const GOOD: [(&str, &str); 7] = [
    ("shop", include_str!("../../fixtures/workloads/shop.txt")),
    ("bodies", include_str!("../../fixtures/workloads/bodies.txt")),
    ("options", include_str!("../../fixtures/workloads/options.txt")),
    ("looks", include_str!("../../fixtures/workloads/looks.txt")),
    ("single", include_str!("../../fixtures/workloads/single.txt")),
    ("smallest", include_str!("../../fixtures/workloads/smallest.txt")),
    ("websockets", include_str!("../../fixtures/workloads/websockets.txt")),
];

/// Files in which something is wrong: cases that begin with `##### TITLE`.
const BAD: &str = include_str!("../../fixtures/workloads/bad.txt");

fn shown(problems: &[FileProblem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Checks that the rules of plans hold for a workload.
#[track_caller]
fn checked(workload: &WorkloadFile) {
    let phases = match &workload.arrivals {
        Some(Arrivals::Phased(phased)) => phased.phases.len(),
        _ => 1,
    };
    assert_eq!(crate::scenario::check::check(&workload.scenarios, workload.origins.len(), phases), Ok(()));
}

#[track_caller]
fn good(fixture: &str, given: &Given) -> WorkloadFile {
    Folder::new(fixture).read(given).unwrap_or_else(|problems| panic!("{}", shown(&problems)))
}

/// Reads a workload with one step file.
fn small(toml: &str, hurl: &str) -> Result<WorkloadFile, Vec<FileProblem>> {
    Folder::new(&format!("=== w.toml\n{toml}\n=== a.hurl\n{hurl}\n")).read(&Given::default())
}

const SCENARIO: &str = "[[scenario]]\nname = \"s\"\nsteps = [{ run = \"a.hurl\" }]";

/// Returns the single request of a step file.
#[track_caller]
fn request(hurl: &str) -> crate::scenario::StepRequest {
    let workload = small(SCENARIO, hurl).unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    let [request] = <[_; 1]>::try_from(workload.scenarios.requests).expect("it is one request");
    request
}

#[track_caller]
fn refused(toml: &str, hurl: &str, expected: &str) {
    let problems = small(toml, hurl).expect_err("something is wrong");
    assert!(shown(&problems).contains(expected), "expected: {expected}\n{}", shown(&problems));
}

#[test]
fn good_files_are_read_into_scenarios() {
    let given = Given { base: Some("http://given.example".to_owned()), ..Given::default() };
    for (name, fixture) in GOOD {
        let given = if name == "single" { &given } else { &Given::default() };
        let workload = good(fixture, given);
        checked(&workload);
        let WorkloadFile { scenarios, arrivals, runtime, objectives, origins, options, variables } = workload;
        let mut text = serde_json::to_string_pretty(&scenarios).unwrap();
        let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
        write!(text, "\narrivals {arrivals:#?}\nruntime {runtime:?}\norigins {origins:?}\n").unwrap();
        writeln!(text, "variables {variables:?}").unwrap();
        writeln!(text, "objectives {}", serde_json::to_string_pretty(&objectives).unwrap()).unwrap();
        for FileOption { name, values, .. } in options {
            writeln!(text, "option {name} {values:?}").unwrap();
        }
        for feed in &scenarios.feeds {
            let rows = (0..feed.rows.count()).map(|row| format!("{:?}\n", feed.rows.row(row)));
            write!(text, "rows of {}\n{}", feed.name, rows.collect::<String>()).unwrap();
        }
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_file_that_is_no_toml_is_refused_with_its_first_lines() {
    let problems = small(&"127.0.0.1 - - [22/Nov/2026:05:09:07 +0000] \"GET /\" 200\n".repeat(40), "");
    let problems = problems.expect_err("it is a log");
    let text = shown(&problems);
    assert!((2..=5).contains(&problems.len()), "{text}");
    assert!(text.ends_with(" more of these; a workload file is in TOML\n"), "{text}");
}

#[test]
fn bad_files_are_refused_with_all_that_is_wrong() {
    let mut text = String::new();
    for case in BAD.split("##### ").skip(1) {
        let (title, fixture) = case.split_once('\n').unwrap();
        let problems = Folder::new(fixture).read(&Given::default()).expect_err(title);
        assert!(!problems.is_empty(), "{title}");
        write!(text, "##### {title}\n{}\n", shown(&problems)).unwrap();
    }
    insta::assert_snapshot!("bad", text);
}

#[test]
fn the_schema_accepts_good_files_and_refuses_unknown_keys() {
    let schema = schema();
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    for (name, fixture) in GOOD.iter().filter(|(name, _)| *name != "single") {
        let folder = Folder::new(fixture);
        let mut json = as_json(&folder.files[&folder.first]);
        let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0], "{name}");
        json["scenario"][0]["stepz"] = serde_json::json!([]);
        assert!(!validator.is_valid(&json), "{name}");
    }
}

fn as_json(toml: &str) -> serde_json::Value {
    fn value(toml: &DeValue<'_>) -> serde_json::Value {
        match toml {
            DeValue::Array(list) => list.iter().map(|element| value(element.get_ref())).collect(),
            DeValue::Table(table) => {
                let members =
                    table.iter().map(|(name, toml)| (name.get_ref().to_string(), value(toml.get_ref())));
                serde_json::Value::Object(members.collect())
            }
            scalar => match constant(scalar) {
                Some(Value::Integer(number)) => number.into(),
                Some(Value::Float(number)) => number.into(),
                Some(Value::Boolean(truth)) => truth.into(),
                Some(Value::Text(text)) => text.as_str().into(),
                other => panic!("{other:?}"),
            },
        }
    }
    let document = toml::de::DeTable::parse(toml).expect("good files are TOML");
    value(&DeValue::Table(document.into_inner()))
}

/// Collects the names of the properties of a schema, at any depth.
fn collect_properties(schema: &serde_json::Value, names: &mut BTreeSet<String>) {
    match schema {
        serde_json::Value::Object(members) => {
            if let Some(properties) = members.get("properties").and_then(serde_json::Value::as_object) {
                names.extend(properties.keys().cloned());
            }
            members.values().for_each(|member| collect_properties(member, names));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|element| collect_properties(element, names)),
        _ => {}
    }
}

#[test]
fn the_reference_and_the_schema_have_every_key() {
    let reference = reference();
    let rows = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    let in_reference: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let mut in_schema = BTreeSet::new();
    collect_properties(&schema(), &mut in_schema);
    assert!(in_schema.len() > 30 && in_schema.contains("max-open"), "{in_schema:?}");
    assert_eq!(in_reference, in_schema);
}

/// Returns the request target of a request for this URL.
fn target(url: &str) -> String {
    let uri = request(&format!("GET {url}")).uri;
    String::from_utf8_lossy(uri.as_literal().expect("nothing is left to fill in")).into_owned()
}

#[test]
fn a_url_is_encoded_where_it_must_be_and_loses_its_fragment() {
    for (url, expected) in [
        ("http://h", "/"),
        ("http://h?x=1", "/?x=1"),
        ("http://h/a%20b/ü?q=%7B", "/a%20b/%C3%BC?q=%7B"),
        ("http://h/a#b?c", "/a"),
        ("HTTP://h/a", "/a"),
    ] {
        assert_eq!(target(url), expected, "{url}");
    }
    assert_eq!(target("http://h/a#b\n[Query]\nx-y: ä& b"), "/a?x-y=%C3%A4%26%20b");
}

#[test]
fn constants_of_the_command_line_replace_those_of_the_file() {
    let toml = format!("base = \"http://file\"\nseed = 1\n[variables]\nid = 1\n{SCENARIO}");
    let folder =
        Folder::new(&format!("=== w.toml\n{toml}\n=== a.hurl\nGET {{{{base}}}}/{{{{id}}}}/{{{{more}}}}\n"));
    let given = Given {
        base: Some("https://given:8443".to_owned()),
        variables: vec![("id".to_owned(), "007".to_owned()), ("more".to_owned(), "x".to_owned())],
        seed: Some(9),
        runtime: Some(Duration::from_secs(3)),
        visits: Some(4),
        version: None,
    };
    let workload = folder.read(&given).unwrap();
    let origin = workload.origins[0].to_string();
    let uri = workload.scenarios.requests[0].uri.as_literal().unwrap();
    assert_eq!((&origin[..], uri), ("https://given:8443/", &b"/007/x"[..]));
    assert_eq!((workload.scenarios.seed, workload.scenarios.count), (9, 4));
    assert_eq!(workload.runtime, Some(Duration::from_secs(3)));
}

#[test]
fn a_version_of_the_command_line_is_the_one_that_replies_may_have() {
    let folder = Folder::new(&format!("=== w.toml\n{SCENARIO}\n=== a.hurl\nGET http://h/\nHTTP/2 200\n"));
    assert!(folder.read(&Given::default()).is_err());
    for version in [HttpVersion::Http2, HttpVersion::Auto] {
        assert!(folder.read(&Given { version: Some(version), ..Given::default() }).is_ok());
    }
}

#[test]
fn rates_of_the_short_form_are_plain_arrivals() {
    for (keys, expected) in [
        ("rate = 4", Arrivals::Deterministic { period: 0.25 }),
        ("rate = \"240/m\"\nprocess = \"uniform\"", Arrivals::Uniform { min: 0.0, max: 0.5 }),
        ("rate = \"14400/h\"\nprocess = \"poisson\"", Arrivals::Exponential { mean: 0.25 }),
        ("users = 3", Arrivals::Concurrent(std::num::NonZeroU32::new(3).unwrap())),
    ] {
        let workload =
            small(&format!("[arrivals]\nvisits = 5\n{keys}\n{SCENARIO}"), "GET http://h/").unwrap();
        assert_eq!(workload.arrivals, Some(expected), "{keys}");
        assert_eq!((workload.runtime, workload.scenarios.count), (None, 5), "{keys}");
    }
}

#[test]
fn the_rows_of_a_feed_that_stops_end_a_run() {
    let toml = |order: &str| {
        format!(
            "[arrivals]\nrate = 1\n[feed.f]\nfile = \"f.csv\"\norder = \"{order}\"\n{SCENARIO}\nfeed = \"f\""
        )
    };
    let read = |order| {
        let fixture = format!("=== w.toml\n{}\n=== a.hurl\nGET http://h/\n=== f.csv\nx\n1\n", toml(order));
        Folder::new(&fixture).read(&Given::default()).is_ok()
    };
    assert_eq!((read("unique"), read("random")), (true, false));
}

#[test]
fn a_failed_check_ends_the_visit_where_the_nearest_table_says_so() {
    let toml = "[[scenario]]\nname = \"s\"\non-failure = \"end\"\n\
                steps = [{ run = \"a.hurl\" }, { repeat = 2, steps = [{ run = \"a.hurl\", on-failure = \"continue\" }] }]";
    let workload = small(toml, "GET http://h/").unwrap();
    let call = |ends_on_failure| Step::Call { request: 0, ends_on_failure };
    let repeated = Step::Repeat { min: 2, max: 2, steps: vec![call(false)] };
    assert_eq!(workload.scenarios.scenarios.first().steps, [call(true), repeated]);
}

#[test]
fn header_fields_of_the_file_take_the_place_of_those_that_follow() {
    let header = |hurl: &str| {
        let headers = request(hurl).headers.into_iter();
        let shown = headers.map(|header| {
            let value =
                header.value.as_literal().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            format!("{}: {value}", header.name)
        });
        shown.collect::<Vec<_>>()
    };
    assert_eq!(header("POST http://h/\n{}"), ["Accept: */*", "Content-Type: application/json"]);
    assert_eq!(
        header("POST http://h/\ncontent-type: text/x\naccept: text/y\n{}"),
        ["content-type: text/x", "accept: text/y"]
    );
    assert_eq!(header("POST http://h/\n```xml\n<a/>\n```"), ["Accept: */*", "Content-Type: application/xml"]);
}

#[test]
fn an_option_knows_its_place() {
    let workload = small(&format!("[options]\nrate = 7\nquiet = true\n{SCENARIO}"), "GET http://h/").unwrap();
    let [rate, quiet] = &workload.options[..] else { panic!("{:?}", workload.options) };
    assert_eq!((&rate.name[..], &rate.values[..]), ("rate", &["7".to_owned()][..]));
    assert_eq!(quiet.values, ["true"]);
    let shown = rate.problem("expected no rate", Some("leave it out")).to_string();
    assert_eq!(shown, "w.toml:2:1: expected no rate\n  rate = 7\n  ^^^^^^^^\nhint: leave it out");
}

#[test]
fn a_problem_in_a_long_line_shows_what_is_around_it() {
    let long = format!("a = 1 # {}", "é".repeat(300));
    refused(&format!("{long}\n{SCENARIO}"), "GET http://h/", "w.toml:1:1: expected a key of the file");
    let text = format!("base = \"{}\" # {}\r\n", "x".repeat(100), "y".repeat(100));
    refused(&format!("{text}{SCENARIO}"), "GET http://h/", &format!("\n         {}\n", "^".repeat(60)));
}

#[test]
fn files_that_are_too_large_or_no_text_are_refused() {
    struct Fixed(Vec<u8>);

    impl Files for Fixed {
        fn read(&mut self, _: &Path) -> io::Result<Vec<u8>> {
            Ok(self.0.clone())
        }
    }

    let problem = |bytes: Vec<u8>| {
        let problems = read(Path::new("w.toml"), SCENARIO, &mut Fixed(bytes), &Given::default()).unwrap_err();
        problems[0].message().to_owned()
    };
    assert_eq!(
        problem(b"GET \xff".to_vec()),
        "expected text in UTF-8 in `a.hurl`, got another byte at offset 4"
    );
    let expected = "expected at most 16777216 bytes in `a.hurl`, got 16777217";
    assert_eq!(problem(vec![b'#'; TEXT_SIZE_MAX + 1]), expected);
}

#[test]
fn paths_are_those_of_the_folder_of_the_file_that_names_them() {
    let mut folder =
        Folder::new("=== x\n=== flows/a.hurl\nPOST http://h/\nfile,b.bin;\n=== flows/b.bin\nabc");
    let toml =
        "[[scenario]]\nname = \"s\"\nsteps = [{ run = \"./flows/a.hurl\" }, { run = \"flows/a.hurl\" }]";
    let workload = read(Path::new("some/w.toml"), toml, &mut folder, &Given::default()).unwrap();
    let [request] = &workload.scenarios.requests[..] else { panic!("it is one request") };
    assert_eq!(request.origin, "flows/a.hurl:1");
    let Some([crate::scenario::StepBodyPart::File(file)]) = request.body.as_deref() else {
        panic!("{request:?}")
    };
    assert_eq!((file.path.as_path(), file.size), (Path::new("some/flows/b.bin"), 3));
}

#[test]
fn requests_are_bounded_by_the_room_for_their_figures() {
    let hurl = "GET http://h/\n\n".repeat(Scenarios::FIGURES_MAX);
    assert!(small(SCENARIO, &hurl).is_ok());
    refused(
        SCENARIO,
        &format!("{hurl}GET http://h/"),
        "a.hurl:2001:1: expected at most 1000 requests in all files",
    );
    let phase = "phases = [{ name = \"a\", for = 1, rate = 1 }, { name = \"b\", for = 1, rate = 1 }]";
    let phased = format!("[arrivals]\n{phase}\n{SCENARIO}");
    refused(&phased, &hurl, "expected at most 1000 steps with requests, counted for each phase, got 2000");
}

#[test]
fn a_request_that_repeats_counts_as_a_step_with_steps() {
    let nested = |depth: usize| {
        let (open, close) = ("{ repeat = 1, steps = [".repeat(depth), "] }".repeat(depth));
        format!("[[scenario]]\nname = \"s\"\nsteps = [{open}{{ run = \"a.hurl\" }}{close}]")
    };
    let repeated = "GET http://h/\n[Options]\nrepeat: 2";
    assert!(small(&nested(Scenarios::DEPTH_MAX - 1), "GET http://h/").is_ok());
    assert!(small(&nested(Scenarios::DEPTH_MAX - 2), repeated).is_ok());
    refused(&nested(Scenarios::DEPTH_MAX - 1), repeated, "expected at most 16 steps within one another");
    refused(&nested(Scenarios::DEPTH_MAX), "GET http://h/", "expected at most 16 steps within one another");
}

/// Reads a scenario with these steps. `a.hurl` uses the variable that `login.hurl` sets.
fn with_steps(steps: &str) -> Result<WorkloadFile, Vec<FileProblem>> {
    Folder::new(&format!(
        "=== w.toml\n[[scenario]]\nname = \"s\"\nsteps = [{steps}]\n\
         [[scenario]]\nname = \"t\"\nsteps = [{{ run = \"login.hurl\" }}]\n\
         === a.hurl\nGET http://h/\nX: {{{{token}}}}\n\
         === login.hurl\nGET http://h/\nHTTP 200\n[Captures]\ntoken: body\n"
    ))
    .read(&Given::default())
}

#[test]
fn a_variable_is_set_before_its_use_if_any_way_there_sets_it() {
    let (use_it, set_it) = ("{ run = \"a.hurl\" }", "{ run = \"login.hurl\" }");
    for steps in [
        format!("{set_it}, {use_it}"),
        format!("{{ run = \"a.hurl\", with = {{ token = 1 }} }}, {use_it}"),
        format!("{{ repeat = \"0..1\", steps = [{set_it}] }}, {use_it}"),
        format!("{{ repeat = 2, steps = [{use_it}, {{ repeat = 1, steps = [{set_it}] }}] }}"),
        format!("{{ choose = [{{ steps = [{set_it}] }}, {{ think = \"1s\" }}] }}, {use_it}"),
        format!("{{ if = 'variable \"token\" exists', steps = [{use_it}], else = [{set_it}] }}, {use_it}"),
        format!("{{ while = 'variable \"token\" not exists', at-most = 2, steps = [{set_it}] }}, {use_it}"),
    ] {
        assert!(with_steps(&steps).is_ok(), "{steps}");
    }
    for steps in [
        use_it.to_owned(),
        format!("{use_it}, {set_it}"),
        format!("{{ repeat = 1, steps = [{use_it}, {set_it}] }}"),
        format!("{{ choose = [{{ steps = [{set_it}] }}, {{ steps = [{use_it}] }}] }}"),
        r#"{ run = "login.hurl", with = { x = "{{token}} y" } }"#.to_owned(),
    ] {
        let problems = with_steps(&steps).expect_err(&steps);
        assert!(shown(&problems).contains("is set before this request, got `token`"), "{}", shown(&problems));
    }
}

#[test]
fn many_problems_are_cut_off() {
    let toml: String = (0..1000).map(|number| format!("x{number} = 1\n")).collect();
    assert_eq!(small(&toml, "").unwrap_err().len(), 100);
}

/// Returns the fixture with some bytes of its first file replaced.
fn mutated(fixture: &str, edits: &[(usize, String)]) -> Folder {
    let mut folder = Folder::new(fixture);
    for (at, text) in edits {
        let names: Vec<PathBuf> = folder.files.keys().cloned().collect();
        let file = folder.files.get_mut(&names[at % names.len()]).expect("it is one of the names");
        let letters: Vec<char> = file.chars().collect();
        let start = at % (letters.len() + 1);
        let end = (start + at % 5).min(letters.len());
        *file =
            letters[..start].iter().collect::<String>() + text + &letters[end..].iter().collect::<String>();
    }
    folder
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fail(toml: String, hurl: String) {
        check_read(format!("{toml}\n=== a.hurl\n{hurl}").as_bytes());
        check_read(format!("{SCENARIO}\n{toml}\n=== a.hurl\n{hurl}").as_bytes());
    }

    #[test]
    fn no_change_of_a_good_file_makes_the_reader_fail(
        fixture in 0..GOOD.len(),
        edits in proptest::collection::vec((any::<usize>(), "[\\[\\]{}\"'=.,\n# a-z0-9:/é]{0,6}"), 1..6),
    ) {
        let given = Given { base: Some("http://h".to_owned()), ..Given::default() };
        match mutated(GOOD[fixture].1, &edits).read(&given) {
            Ok(workload) => checked(&workload),
            Err(problems) => prop_assert!(!problems.is_empty() && !shown(&problems).is_empty()),
        }
    }
}

#[test]
fn a_path_from_a_reply_may_follow_the_server() {
    let given = Given { base: Some("http://h:80".to_owned()), ..Given::default() };
    let capture = "GET http://h:80/\nHTTP 200\n[Captures]\nnext: header \"Location\"\n\n";
    for (url, is_taken) in [
        ("{{base}}{{next}}", true),
        ("{{base}}{{next}}.json", true),
        ("{{base}}{{next urlDecode}}?x=1", true),
        ("http://h:80{{next}}", true),
        ("http://h{{next}}/more", true),
        ("http://[::1]{{next}}?a=b", true),
        ("http://h:80/{{next}}", true),
        // No server is known before the run.
        ("{{next}}", false),
        ("http://{{next}}/", false),
        ("http://h.{{next}}", false),
        ("http://h:{{next}}/", false),
        ("http://h-{{next}}.example/", false),
        ("http://h{{next}}.example/", false),
        ("{{base}}{{newUuid}}", false),
    ] {
        let folder =
            Folder::new(&format!("=== w.toml\n{SCENARIO}\n=== a.hurl\n{capture}GET {url}\nHTTP 200\n"));
        let read = folder.read(&given);
        assert_eq!(read.is_ok(), is_taken, "{url}");
    }
}

#[test]
fn a_request_has_one_cookie_field() {
    let request = request("GET http://h/\nCookie: a=1\nX: y\ncookie: b=2\n[Cookies]\nc: 3\nd: 4\nHTTP 200\n");
    let cookies: Vec<_> = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("Cookie"))
        .map(|header| header.value.as_literal().unwrap())
        .collect();
    assert_eq!(cookies, [&b"a=1; b=2; c=3; d=4"[..]]);
    assert!(request.headers.iter().any(|header| header.name == "X"));
}

#[test]
fn malformed_expressions_are_told_together_each_at_its_place() {
    let hurl = "GET http://h/\nHTTP 200\n[Captures]\na: jsonpath \"$.x[\"\nb: regex /x/\n[Asserts]\n\
                body matches /(/\nbody regex \"[\" == \"a\"\nbody jsonpath \"x\" exists\n\
                body replaceRegex /(/ \"\" == \"\"\njsonpath \"$.a-b\" exists\n";
    let problems = small(SCENARIO, hurl).unwrap_err();
    let places: Vec<_> = problems.iter().map(FileProblem::position).collect();
    assert_eq!(places, [(4, 13), (5, 4), (7, 6), (8, 12), (9, 15), (10, 6)], "{}", shown(&problems));
}

#[test]
fn whole_numbers_of_any_size_keep_their_digits() {
    let request = request("GET http://h/\nHTTP 200\n[Asserts]\njsonpath \"$.id\" == 9223372036854775808\n");
    let expected = Operand::Value(Value::BigInteger("9223372036854775808".into()));
    assert_eq!(request.checks[0].predicate.test, Test::Equals(expected));
    let workload = small(
        &format!("[variables]\nid = 18446744073709551616\n{SCENARIO}"),
        "GET http://h/{{id}}\nHTTP 200\n",
    );
    let uri = workload.unwrap().scenarios.requests[0].uri.clone();
    assert_eq!(uri.as_literal(), Some(&b"/18446744073709551616"[..]));
}
