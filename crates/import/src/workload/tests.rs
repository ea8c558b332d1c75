//! Workloads as they are written.

use super::*;

fn written(entry: Entry) -> String {
    StepFile { name: "a.hurl".to_owned(), comments: Vec::new(), entries: vec![entry] }.written()
}

fn post(body: Body) -> Entry {
    Entry {
        method: "POST".to_owned(),
        url: Text::variable("base").then("/x"),
        body: Some(body),
        ..Entry::default()
    }
}

#[test]
fn an_entry_has_its_parts_in_the_order_of_the_grammar() {
    let entry = Entry {
        name: Some("add to\ncart".to_owned()),
        think: Some(Duration::from_millis(1250)),
        method: "POST".to_owned(),
        url: Text::variable("base").then("/a b?c={d}&e=[1]"),
        headers: vec![
            ("Accept".to_owned(), Text::literal("text/html; q=\"1\" # {{x}}")),
            ("X-Empty".to_owned(), Text::literal("")),
            ("Authorization".to_owned(), Text::literal("Bearer ").then_variable("token")),
        ],
        query: vec![("q r".to_owned(), Text::literal(" a\\b\t "))],
        basic_auth: Some((Text::literal("me"), Text::variable("password"))),
        body: Some(Body::Form(vec![("[0]a[b]".to_owned(), "1\n2".to_owned())])),
        status: Some(201),
        follows_redirects: true,
    };
    let expected = r#"# @name add to cart
# @think 1.25s
POST {{base}}/a%20b?c=%7Bd%7D&e=[1]
Accept: text/html; q="1" \# \u{7b}\u{7b}x}}
X-Empty:
Authorization: Bearer {{token}}
[Query]
q\u{20}r: \u{20}a\\b\u{9}\u{20}
[BasicAuth]
me: {{password}}
[Options]
location: true
[Form]
\u{5b}0]a[b]: 1\u{a}2
HTTP 201
"#;
    assert_eq!(written(entry), expected);
}

#[test]
fn comments_give_no_instructions() {
    let file = StepFile {
        name: "a.hurl".to_owned(),
        comments: vec!["\u{a0}@think 5s\nGET /x".to_owned()],
        entries: vec![Entry { name: Some(" ".to_owned()), ..post(Body::Text("x".to_owned())) }],
    };
    assert_eq!(file.written(), "# think 5s GET /x\n\nPOST {{base}}/x\n`x`\nHTTP *\n");
}

#[test]
fn bodies_are_written_so_that_their_bytes_stay() {
    for (bytes, kind, expected) in [
        (
            &b"{\"a\": {\"b\": \"{{{x}}\"}}"[..],
            "application/json",
            "{\"a\": {\"b\": \"\\u007b\\u007b\\u007bx}}\"}}",
        ),
        (b"{not json}", "application/json", "`{not json}`"),
        (b"a=1&b=x+y%21", "application/x-www-form-urlencoded; charset=UTF-8", "[Form]\na: 1\nb: x y!"),
        (b"a=1&&b", "application/x-www-form-urlencoded", "`a=1&&b`"),
        (b"one`two#\r\n{{x}}\\", "text/plain", "`one\\`two\\#\\u{d}\\u{a}\\u{7b}\\u{7b}x}}\\\\`"),
        (b"\xff\x00", "image/png", "base64,/wA=;"),
        ("é".as_bytes(), "text/plain", "`é`"),
        (b"[1]", "application/json", "`[1]`"),
        (b"[1, 2]", "application/json", "[1, 2]"),
        (b"{\"E\": 1E5}", "application/json", "`{\"E\": 1E5}`"),
        (b"{\"E\": 1e5}", "application/json", "{\"E\": 1e5}"),
        (b"[\"\\ud83d\"]", "application/json", "`[\"\\\\ud83d\"]`"),
    ] {
        let entry = post(Body::of(bytes, Some(kind)).unwrap());
        assert_eq!(written(entry), format!("POST {{{{base}}}}/x\n{expected}\nHTTP *\n"));
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(Body::of(deep.as_bytes(), None), Some(Body::Text(deep)));
    assert_eq!(Body::of(b"", None), None);
    let parts = vec![
        ("a".to_owned(), Part::Text("file,x;".to_owned())),
        ("b".to_owned(), Part::File { name: FileName::last_of("/my file{1}.png").unwrap(), kind: None }),
        (
            "c".to_owned(),
            Part::File { name: FileName::last_of("c").unwrap(), kind: Some("a/b; c".to_owned()) },
        ),
    ];
    let expected = "POST {{base}}/x\n[Multipart]\na: \\u{66}ile,x;\nb: file,my\\ file\\{1\\}.png;\nc: file,c; a/b; \
                    c\nHTTP *\n";
    assert_eq!(written(post(Body::Multipart(parts))), expected);
}

#[test]
fn a_workload_is_toml() {
    let workload = Workload {
        comments: vec!["Made of\na recording.".to_owned()],
        base: Some("https://shop.example".to_owned()),
        variables: vec![("token".to_owned(), "a\"b\\c\u{7}é".to_owned())],
        files: Vec::new(),
        scenarios: vec![
            Scenario {
                name: "page \"1\"".to_owned(),
                steps: vec![
                    Step::Run("page-1.hurl".to_owned()),
                    Step::Think(Duration::from_millis(80)),
                    Step::Choose(vec![
                        ("a.hurl".to_owned(), None),
                        ("b.hurl".to_owned(), Some("changes data".to_owned())),
                    ]),
                ],
                disabled: None,
            },
            Scenario {
                name: "whole".to_owned(),
                steps: vec![Step::Run("page-1.hurl".to_owned())],
                disabled: Some("Instead of the above".to_owned()),
            },
        ],
        options: vec![("cookies".to_owned(), "true".to_owned())],
        ..Workload::default()
    };
    let text = workload.toml();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["base"].as_str(), Some("https://shop.example"));
    assert_eq!(table["variables"]["token"].as_str(), Some("a\"b\\c\u{7}é"));
    let scenarios = table["scenario"].as_array().unwrap();
    assert_eq!(scenarios.len(), 1, "{text}");
    assert_eq!(scenarios[0]["name"].as_str(), Some("page \"1\""));
    let steps = scenarios[0]["steps"].as_array().unwrap();
    assert_eq!(steps[1]["think"].as_str(), Some("80ms"));
    assert_eq!(steps[2]["choose"].as_array().unwrap().len(), 1, "{text}");
    assert_eq!(table["options"]["cookies"].as_bool(), Some(true));
    // The comments are a workload as well.
    let enabled = text.replace("# [[scen", "[[scen").replace("# name", "name").replace("# steps", "steps");
    let enabled = enabled.replace("#   {", "  {").replace("# ]", "]");
    assert_eq!(enabled.parse::<toml::Table>().unwrap()["scenario"].as_array().unwrap().len(), 2, "{enabled}");
}

#[test]
fn names_of_files_are_plain_and_different() {
    let mut taken = HashSet::new();
    let mut stem = |text| file_stem(text, "page", &mut taken);
    assert_eq!(
        [stem("GET /pets/{id}"), stem("get-pets id"), stem("../../etc"), stem("é"), stem("")],
        ["get-pets-id", "get-pets-id-2", "etc", "page", "page-2"]
    );
}

#[test]
fn a_file_is_named_without_a_path_whatever_the_recording_says() {
    for (path, expected) in [
        ("pic.png", Some("pic.png")),
        ("/etc/passwd", Some("passwd")),
        ("../../x", Some("x")),
        ("C:\\fakepath\\a b.png", Some("a b.png")),
        ("a/..\\b\nc", Some("b_c")),
        ("", None),
        ("/", None),
        ("a/..", None),
        (".", None),
    ] {
        assert_eq!(FileName::last_of(path).as_ref().map(FileName::as_str), expected, "{path}");
    }
}

#[test]
fn attached_files_keep_their_names_unless_others_have_them() {
    let mut workload = Workload::default();
    let mut attach = |path: &str, content: &str| {
        workload.attach(&FileName::last_of(path).unwrap(), content.into()).as_str().to_owned()
    };
    assert_eq!(
        [
            attach("a/pic.png", "1"),
            attach("b/pic.png", "2"),
            attach("c/PIC.png", "1"),
            attach("x.toml", "1"),
            attach("page.HURL", "1"),
            attach(".hidden", "1"),
            attach("plain", "1"),
            attach("plain", "2"),
        ],
        ["pic.png", "pic-2.png", "pic.png", "x.toml.data", "page.HURL.data", ".hidden", "plain", "plain-2"]
    );
}
