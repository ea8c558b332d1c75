use proptest::prelude::*;

use super::*;

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

fn import(text: &str, options: Options) -> Result<(Workload, Report), String> {
    read(text.as_bytes(), options).map_err(|error| error.about("a.har"))
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
        workload.written("shop").into_iter().map(|file| (file.name, file.content)).collect();
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
    let (workload, report) = import(&text, Options { all_origins: true }).unwrap();
    assert_eq!(report.carried, 2);
    assert!(workload.files[0].written().contains("GET https://cdn.example/a.js\n"));
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
        (r#"{"mimeType":"text/plain","text":"AAE=","encoding":"base64"}"#, "`\\u{0}\\u{1}`\n"),
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
    assert_eq!(workload.files[0].written(), "# no page\n\nGET {{base}}/\nHTTP 200\n");
    assert_eq!((report.carried, report.left_out_count()), (1, 1));
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
}
