use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workload::reread;

/// An entry that started this many milliseconds after the first, took 50 ms and got 200.
fn entry(page: &str, at: u32, method: &str, url: &str, more: &str) -> String {
    let (seconds, millis) = (at / 1000, at % 1000);
    format!(
        r#"{{"pageref":"{page}","startedDateTime":"2026-01-02T03:04:{seconds:02}.{millis:03}Z","time":50,
            "request":{{"method":"{method}","url":"{url}","httpVersion":"h2","headers":[
              {{"name":":authority","value":"shop.example"}},{{"name":"Accept","value":"text/html"}},
              {{"name":"sec-ch-ua","value":"x"}},{{"name":"Cookie","value":"sid=1"}},
              {{"name":"Content-Length","value":"3"}}],"cookies":[],"queryString":[]{more}}},
            "response":{{"status":200,"content":{{"size":3,"text":"{}"}}}},"cache":{{}},"timings":{{}}}}"#,
        "x".repeat(1000)
    )
}

fn archive(entries: &[String]) -> String {
    format!(
        r#"{{"log":{{"version":"1.2","creator":{{"name":"WebInspector"}},"pages":[
            {{"id":"page_1","title":"https://shop.example/","startedDateTime":"2026-01-02T03:04:00Z"}},
            {{"id":"page_2","title":"https://shop.example/cart/view?x=1"}}],"entries":[{}]}}}}"#,
        entries.join(",")
    )
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn import(text: &str, options: Options) -> Result<(Workload, Report), String> {
    let read = read(text.as_bytes(), options).map_err(|error| error.about("a.har"));
    read.inspect(|(workload, _)| reread::check(workload))
}

#[test]
fn each_page_is_a_scenario_with_the_pauses_of_the_recording() {
    let text = archive(&[
        entry("page_1", 0, "GET", "https://shop.example/", ""),
        entry("page_1", 2000, "GET", "https://shop.example/later?a=%7B#top", ""),
        entry("page_1", 60, "GET", "https://shop.example/a.css", ""),
        entry(
            "page_2",
            5000,
            "POST",
            "https://shop.example/cart",
            r#","postData":{"mimeType":"application/json","text":"{\"sku\": \"{{x}}\"}"}"#,
        ),
        entry("", 5100, "GET", "https://shop.example/odd", ""),
    ]);
    let (workload, report) = import(&text, Options::default()).unwrap();
    let files: Vec<(String, String)> =
        workload.written("shop").into_iter().map(|file| (file.name, utf8(file.content))).collect();
    assert_eq!(
        files[1..],
        [
            (
                "home.hurl".to_owned(),
                "# home\n\nGET {{base}}/\nAccept: text/html\nHTTP 200\n\nGET {{base}}/a.css\nAccept: text/html\n\
                 HTTP 200\n\n# @think 1.89s\nGET {{base}}/later?a=%7B\nAccept: text/html\nHTTP 200\n"
                    .to_owned()
            ),
            (
                "cart-view.hurl".to_owned(),
                "# cart/view\n\nPOST {{base}}/cart\nAccept: text/html\n{\"sku\": \"\\u007b\\u007bx}}\"}\nHTTP 200\n"
                    .to_owned()
            ),
            (
                "no-page.hurl".to_owned(),
                "# no page\n\nGET {{base}}/odd\nAccept: text/html\nHTTP 200\n".to_owned()
            ),
        ]
    );
    let toml: toml::Table = files[0].1.parse().unwrap();
    assert_eq!(files[0].0, "shop.toml");
    assert_eq!(toml["base"].as_str(), Some("https://shop.example"));
    let scenarios = toml["scenario"].as_array().unwrap();
    let names: Vec<_> = scenarios.iter().map(|scenario| scenario["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["home", "cart/view", "no page"]);
    assert_eq!(scenarios[0]["steps"][1]["think"].as_str(), Some("2.95s"));
    assert_eq!(toml["options"]["cookies"].as_bool(), Some(true));
    assert!(files[0].1.contains("# name = \"recording\""), "{}", files[0].1);
    assert_eq!(report.carried, 5);
    assert!(report.notes[0].starts_with("each of the 3 pages is a visit of its own"), "{report}");

    let (workload, report) = import(&text, Options { one_visit: true, ..Options::default() }).unwrap();
    let toml: toml::Table = workload.toml().parse().unwrap();
    let [scenario] = &toml["scenario"].as_array().unwrap()[..] else {
        panic!("expected one scenario, got {toml:?}")
    };
    assert_eq!(scenario["name"].as_str(), Some("recording"));
    let steps = scenario["steps"].as_array().unwrap().iter();
    let steps: Vec<_> =
        steps.map(|step| step.get("run").or(step.get("think")).and_then(toml::Value::as_str)).collect();
    assert_eq!(steps, ["home.hurl", "2.95s", "cart-view.hurl", "no-page.hurl"].map(Some));
    assert!(!report.to_string().contains("--one-visit"), "{report}");
}

#[test]
fn what_cannot_be_repeated_is_left_out_by_reason() {
    let ok = entry("page_1", 0, "GET", "https://shop.example/", "");
    let failed = ok.replace("\"status\":200", "\"status\":0");
    let cached = ok.replace("\"cache\":{}", "\"_fromCache\":\"disk\"");
    let socket = ok.replace("https://shop.example/", "wss://shop.example/live");
    let data = ok.replace("https://shop.example/", "data:image/png;base64,xx");
    let other = ok.replace("https://shop.example/", "https://cdn.example/a.js");
    let upgraded = ok.replace("\"status\":200", "\"status\":101");
    let text = archive(&[ok.clone(), failed, cached, socket, data, other, upgraded, ok.replace("GET", "")]);
    let (_, report) = import(&text, Options::default()).unwrap();
    let reasons: Vec<(&str, u64)> =
        report.left_out.iter().map(|group| (&group.reason[..], group.count)).collect();
    assert_eq!(
        reasons,
        [
            ("requests that failed or were blocked", 1),
            ("replies from the browser's cache", 1),
            ("web sockets", 2),
            ("data: and blob: URLs", 1),
            ("entries without a method", 1),
            ("requests to other origins (--all-origins takes them)", 1),
        ]
    );
    assert_eq!(report.carried, 1);
    let (workload, report) = import(&text, Options { all_origins: true, ..Options::default() }).unwrap();
    assert_eq!(report.carried, 2);
    assert!(workload.files[0].written().contains("GET https://cdn.example/a.js\n"));
}

#[test]
fn what_no_workload_can_say_is_left_out_by_reason() {
    let get = |url: &str| entry("", 0, "GET", url, "");
    let text = archive(&[
        get("https://shop.example/"),
        get("http://shop.example/plain"),
        get("https://me:secret@cdn.example/"),
        entry("", 0, "PROPFIND", "https://shop.example/a", "").replace("text/html", "a\\u0001b"),
        entry("", 0, "M-SEARCH", "https://shop.example/b", ""),
    ]);
    let (workload, report) = import(&text, Options { all_origins: true, ..Options::default() }).unwrap();
    let hurl = workload.files[0].written();
    assert!(hurl.contains("GET https://cdn.example/\n"), "{hurl}");
    assert!(hurl.ends_with("PROPFIND {{base}}/a\nHTTP 200\n"), "{hurl}");
    let reasons: Vec<&str> = report.left_out.iter().map(|group| &group.reason[..]).collect();
    assert_eq!(
        reasons,
        [
            "requests whose method a file of steps cannot have",
            OTHER_SCHEME,
            "header fields with control characters"
        ]
    );
}

#[test]
fn requests_beyond_the_maximum_are_left_out() {
    let text = archive(&vec![entry("page_1", 0, "GET", "https://shop.example/", ""); REQUESTS_MAX + 2]);
    let (workload, report) = import(&text, Options::default()).unwrap();
    assert_eq!(workload.files[0].entries.len(), REQUESTS_MAX);
    assert_eq!((&report.left_out[0].reason[..], report.left_out[0].count), (TOO_MANY, 2));
}

#[test]
fn bodies_come_from_text_or_parameters() {
    for (data, expected) in [
        (
            r#"{"mimeType":"application/x-www-form-urlencoded","text":"a=1&b=%20"}"#,
            "[Form]\na: 1\nb: \\u{20}\n",
        ),
        (
            r#"{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a%20b","value":"1+2"}]}"#,
            "[Form]\na\\u{20}b: 1 2\n",
        ),
        (
            r#"{"mimeType":"multipart/form-data; boundary=x","params":[{"name":"f","fileName":"a.png"},{"name":"t","value":"v"}]}"#,
            "[Multipart]\nf: file,a.png;\nt: v\n",
        ),
        (
            r#"{"mimeType":"text/plain","text":"AAE=","encoding":"base64"}"#,
            "Content-Type: text/plain\n`\\u{0}\\u{1}`\n",
        ),
        (r#"{"mimeType":"text/plain","text":"{}"}"#, "Content-Type: text/plain\n{}\n"),
        (
            r#"{"mimeType":"application/x-www-form-urlencoded","params":[{"value":"v"}]}"#,
            "Content-Type: application/x-www-form-urlencoded\n`=v`\n",
        ),
        (r#"{"mimeType":null,"text":null,"params":null}"#, ""),
    ] {
        let more = format!(r#","postData":{data}"#);
        let text = archive(&[entry("", 0, "POST", "https://shop.example/", &more)]);
        let (workload, _) = import(&text, Options::default()).unwrap();
        let hurl = workload.files[0].written();
        assert!(hurl.contains(&format!("Accept: text/html\n{expected}HTTP 200\n")), "{hurl}");
    }
}

#[test]
fn odd_exports_are_read() {
    let text = r#"{"log":{"pages":null,"entries":[{"startedDateTime":5,"time":null,"request":{"method":"GET",
        "url":"https://shop.example/","headers":[{"name":"X","value":null},{"name":"a b","value":""}]},
        "response":{"status":"200"}},{"request":{"method":"GET","url":"https://shop.example/"},
        "response":{"status":304},"_fromCache":null}]}}"#;
    let (workload, report) = import(text, Options::default()).unwrap();
    let expected = "# no page\n\nGET {{base}}/\nX:\nHTTP 200\n\nGET {{base}}/\nHTTP 200\n";
    assert_eq!(workload.files[0].written(), expected);
    assert_eq!((report.carried, report.left_out_count()), (2, 1), "{report}");
}

#[test]
fn one_bad_entry_or_string_does_not_refuse_the_others() {
    let fine = r#"{"request":{"method":"GET","url":"https://shop.example/fine"},"response":{"status":200}}"#;
    for (bad, left_out) in [
        ("null", 1),
        ("7", 1),
        (r#"{"request":null,"response":null}"#, 1),
        (r#"{"request":[]}"#, 1),
        (
            r#"{"request":{"method":"GET","url":"https://shop.example/x","headers":[null,{"name":"A","value":1}]}}"#,
            0,
        ),
        (
            r#"{"request":{"method":"POST","url":"https://shop.example/x","postData":{"text":"nice \ud83d"}}}"#,
            0,
        ),
        (
            "{\"comment\":\"\u{1}\n\",\"time\":NaN,\"request\":{\"method\":\"GET\",\"url\":\"https://shop.example/x\"}}",
            0,
        ),
        (r#"{"request":{"method":"GET","url":"https://shop.example/x"},"response":{"status":0}}"#, 1),
    ] {
        let text = format!("\u{feff}{{\"log\":{{\"entries\":[{bad},{fine}]}}}}");
        let (_, report) = import(&text, Options::default()).unwrap();
        assert_eq!((report.carried, report.left_out_count()), (2 - left_out, left_out), "{bad}: {report}");
    }
}

#[test]
fn entries_without_a_response_expect_any_status() {
    for response in ["", r#","response":null"#, r#","response":{}"#, r#","response":{"status":"none"}"#] {
        let request = r#"{"method":"GET","url":"https://shop.example/"}"#;
        let text = format!(r#"{{"log":{{"entries":[{{"request":{request}{response}}}]}}}}"#);
        let (workload, report) = import(&text, Options::default()).unwrap();
        assert_eq!(workload.files[0].written(), "# no page\n\nGET {{base}}/\nHTTP *\n", "{text}");
        assert!(report.to_string().contains("note: some entries have no response"), "{report}");
    }
}

/// An entry with a reply of this type.
fn reply(at: u32, url: &str, status: u16, kind: &str) -> String {
    let content = format!(r#""content":{{"mimeType":"{kind}""#);
    entry("", at, "GET", url, "")
        .replace(r#""content":{"size":3"#, &content)
        .replace(r#""status":200"#, &format!(r#""status":{status}"#))
}

#[test]
fn the_main_server_is_that_of_the_first_page() {
    let cdn = |at| reply(at, "https://cdn.example/a.css", 200, "text/css");
    let page = |at, status| reply(at, "https://shop.example/", status, "text/html; charset=utf-8");
    for (entries, main) in [
        (vec![page(0, 200), cdn(1), cdn(2), cdn(3), cdn(4), cdn(5), cdn(6)], "https://shop.example"),
        // Exports may have their entries in another order.
        (vec![cdn(3), cdn(4), cdn(5), page(2, 304), page(1, 200)], "https://shop.example"),
        (
            vec![reply(0, "https://old.example/", 301, "text/html"), page(1, 200), cdn(2), cdn(3)],
            "https://shop.example",
        ),
        (
            vec![cdn(0), reply(1, "https://shop.example/x", 200, "Application/XHTML+xml")],
            "https://shop.example",
        ),
        (
            vec![page(0, 200), reply(1, "https://ads.example/frame", 200, "text/html"), cdn(2)],
            "https://shop.example",
        ),
        // Without a page, most requests tell.
        (
            vec![reply(0, "https://api.example/", 200, "application/json"), cdn(1), cdn(2)],
            "https://cdn.example",
        ),
        (vec![page(0, 404), cdn(1), cdn(2)], "https://cdn.example"),
    ] {
        let (workload, _) = import(&archive(&entries), Options::default()).unwrap();
        assert_eq!(workload.base.as_deref(), Some(main), "{entries:?}");
    }
}

#[test]
fn a_strangers_recording_names_files_in_the_folder_of_the_workload_alone() {
    for (file, expected) in [
        ("/etc/passwd", "file,passwd;"),
        ("../../.ssh/id_ed25519", "file,id_ed25519;"),
        (r"C:\\fakepath\\a.png", "file,a.png;"),
        ("a/..", "v"),
    ] {
        let data = format!(
            r#","postData":{{"mimeType":"multipart/form-data","params":[{{"name":"f","fileName":"{file}","value":"{}"}}]}}"#,
            if expected == "v" { "v" } else { "" }
        );
        let text = archive(&[entry("", 0, "POST", "https://shop.example/", &data)]);
        let (workload, _) = import(&text, Options::default()).unwrap();
        let hurl = workload.files[0].written();
        assert!(hurl.contains(&format!("[Multipart]\nf: {expected}\n")), "{hurl}");
        assert_eq!(workload.missing.len(), usize::from(expected != "v"));
    }
}

#[test]
fn a_file_that_the_archive_has_is_written_beside_the_workload() {
    let data = r#","postData":{"mimeType":"multipart/form-data; boundary=x","params":[
        {"name":"f","fileName":"/home/me/a.txt","contentType":"text/x","value":"hello"}]}"#;
    let text = archive(&[entry("", 0, "POST", "https://shop.example/", data)]);
    let (workload, _) = import(&text, Options::default()).unwrap();
    let hurl = workload.files[0].written();
    assert!(hurl.contains("[Multipart]\nf: file,a.txt; text/x\n"), "{hurl}");
    let written = workload.written("shop").pop().unwrap();
    assert_eq!(
        (written.name.as_str(), &written.content[..], workload.missing.len()),
        ("a.txt", &b"hello"[..], 0)
    );
}

#[test]
fn a_type_that_only_the_body_tells_is_sent() {
    let data = r#","postData":{"mimeType":"application/x-own","text":"x"}"#;
    let text = archive(&[entry("", 0, "POST", "https://shop.example/", data)]);
    let hurl = import(&text, Options::default()).unwrap().0.files[0].written();
    assert!(hurl.contains("Content-Type: application/x-own\n`x`\n"), "{hurl}");
}

#[test]
fn bad_archives_are_refused() {
    for (text, message) in [
        ("", "a.har:1: EOF while parsing a value"),
        ("{}", "a.har:1:2: missing field `log`"),
        ("{\"log\":\n{\"entries\":7}}", "a.har:2:13: invalid type: integer `7`, expected a sequence"),
        ("{\"log\":{\"entries\":[]}}", "a.har: expected an archive with entries, got none"),
        (
            "{\"log\":{\"entries\":[{}]}}",
            "a.har: expected requests that can be carried over, got 1 others, as of entries without a URL",
        ),
    ] {
        let message = message.replace("a.har:1: EOF", "a.har:1:0: EOF");
        assert_eq!(import(text, Options::default()).err(), Some(message), "{text}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>(), url in ".*", method in ".*") {
        let _ = read(&bytes[..], Options::default());
        let url = serde_json::to_string(&format!("https://shop.example/{url}")).unwrap();
        let method = serde_json::to_string(&method).unwrap();
        let text = format!(r#"{{"log":{{"entries":[{{"request":{{"method":{method},"url":{url}}},"response":{{"status":200}}}}]}}}}"#);
        if let Ok((workload, _)) = read(text.as_bytes(), Options::default()) {
            prop_assert!(workload.toml().parse::<toml::Table>().is_ok());
            prop_assert_eq!(workload.files[0].written().lines().count(), 4);
        }
    }

    #[test]
    fn any_request_is_read_as_it_was_recorded(
        entries in proptest::collection::vec(recorded(), 1..4),
        titles in [reread::text(), reread::text()],
        all_origins: bool,
    ) {
        check_entries(entries, &titles, Options { all_origins, ..Options::default() });
    }
}

/// Reads an archive of these entries, if any can be carried over, and expects their requests.
fn check_entries(mut recorded: Vec<Value>, titles: &[String; 2], options: Options) {
    const NUMBER: &str = "X-Number";
    for (number, entry) in recorded.iter_mut().enumerate() {
        let field = json!({"name": NUMBER, "value": number.to_string()});
        entry["request"]["headers"].as_array_mut().unwrap().push(field);
    }
    let pages = [json!({"id": "0", "title": titles[0]}), json!({"id": "1", "title": titles[1]})];
    let archive = json!({"log": {"pages": pages, "entries": recorded}}).to_string();
    let Ok((workload, report)) = read(archive.as_bytes(), options) else { return };
    reread::check(&workload);
    let entries: Vec<&Entry> = workload.files.iter().flat_map(|file| &file.entries).collect();
    assert_eq!(u64::try_from(entries.len()).unwrap(), report.carried);
    for entry in entries {
        let number = entry.headers.iter().find(|(name, _)| name == NUMBER).unwrap().1.as_literal().unwrap();
        let request = &recorded[number.parse::<usize>().unwrap()]["request"];
        assert_eq!(entry.method, request["method"].as_str().unwrap());
        let is_carried = |(name, value): &(&str, &str)| {
            is_name(name) && is_value(value) && !name.eq_ignore_ascii_case("content-type")
        };
        let fields = request["headers"].as_array().unwrap().iter();
        let fields = fields.map(|field| (field["name"].as_str().unwrap(), field["value"].as_str().unwrap()));
        let carried = entry.headers.iter().map(|(name, value)| (&name[..], value.as_literal().unwrap()));
        assert!(carried.filter(is_carried).eq(fields.filter(is_carried)), "{entry:?} of {request}");
        let text = request["postData"]["text"].as_str().unwrap();
        match &entry.body {
            Some(_) if text.is_empty() => {}
            None => assert!(text.is_empty()),
            Some(Body::Text(body) | Body::Json(body)) => assert_eq!(body, text),
            Some(Body::Form(form)) => {
                let sent: Vec<_> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
                assert_eq!(form, &sent);
            }
            Some(other) => panic!("{other:?} of {request}"),
        }
    }
}

/// An entry of an archive.
fn recorded() -> impl Strategy<Value = Value> {
    let select = |words: &'static [&'static str]| proptest::sample::select(words);
    let method = select(&["GET", "GET", "POST", "PATCH", "get", "M-SEARCH", "HTTP", "CONNECT", ""]);
    let origin = select(&[
        "https://shop.example/",
        "https://shop.example/",
        "https://shop.example:8443/",
        "http://shop.example/",
        "https://me:pw@other.example",
        "ws://a/",
    ]);
    let url = (origin, reread::text()).prop_map(|(origin, rest)| format!("{origin}{rest}"));
    let names = select(&["Accept", "HTTP", "x!#$%&'*+^|~", "GET", "Content-Type", "Authorization"]);
    let name = prop_oneof![reread::text(), names.prop_map(str::to_owned)];
    // Fields of a connection or a browser are left out for another reason.
    let name = name.prop_filter("a field of the request", |name| {
        !is_of_the_connection(name) && !is_of_the_browser(name) && !name.eq_ignore_ascii_case("cookie")
    });
    let headers = proptest::collection::vec((name, reread::text()), 0..4);
    let kind = select(&[
        "text/plain",
        "application/json",
        "application/json; charset=UTF-8",
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=UTF-8",
        "multipart/form-data; boundary=x",
        "",
    ]);
    let text =
        prop_oneof![reread::text(), reread::json().prop_map(|value| value.to_string()), Just(String::new())];
    let params = proptest::collection::vec((reread::text(), reread::text(), reread::text()), 0..3);
    let rest = (0u32..60, any::<u16>(), 0u8..3);
    (method, url, headers, kind, text, params, rest).prop_map(|(method, url, headers, kind, text, params, rest)| {
        let (second, status, page) = rest;
        let headers = headers.into_iter().map(|(name, value)| json!({"name": name, "value": value}));
        let params = params.into_iter().map(|(name, value, file)| json!({"name": name, "value": value, "fileName": file}));
        let body = json!({"mimeType": kind, "text": text, "params": params.collect::<Vec<_>>()});
        json!({
            "pageref": page.to_string(), "startedDateTime": format!("2026-01-02T03:04:{second:02}Z"), "time": 5,
            "request": {"method": method, "url": url, "headers": headers.collect::<Vec<_>>(), "postData": body},
            "response": {"status": status},
        })
    })
}
