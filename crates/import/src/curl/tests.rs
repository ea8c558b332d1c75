use proptest::prelude::*;
use url::form_urlencoded;

use super::*;
use crate::workload::reread;

fn import(text: &str) -> Result<(String, Report), String> {
    let (workload, report) = read_with(text).map_err(|error| error.about("a.sh"))?;
    reread::check(&workload);
    Ok((workload.files[0].written(), report))
}

/// Reads commands that find these files.
fn read_with(text: &str) -> Result<(Workload, Report), Error> {
    read(text.as_bytes(), "shop", &mut |path| match path {
        "l.txt" => Some(b"l1\nl2\r\n".to_vec()),
        "a.json" => Some(b"{}".to_vec()),
        "g" => Some(b"a b".to_vec()),
        "raw" => Some(b"\xff\n".to_vec()),
        _ => None,
    })
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(import(text).unwrap().0, expected, "{text}");
}

#[test]
fn commands_as_browsers_copy_them_become_entries() {
    let text = r"curl 'https://shop.example/cart?x=1#top' \
  -H 'accept: application/json' \
  -H 'content-type: application/json' \
  -b 'sid=1; a=2' \
  -H 'sec-fetch-mode: cors' \
  -H 'origin: https://shop.example' \
  --data-raw $'{\'sku\': \'\u0041\'}' \
  --compressed ;
curl -X DELETE 'https://shop.example/cart/1' -H 'accept-encoding: gzip' --compressed -k -m 5";
    check(
        text,
        "POST {{base}}/cart?x=1\naccept: application/json\ncontent-type: application/json\nsec-fetch-mode: \
         cors\norigin: https://shop.example\nCookie: sid=1; a=2\nAccept-Encoding: deflate, gzip, br, zstd\n`{'sku': \
         'A'}`\nHTTP *\n\nDELETE {{base}}/cart/1\naccept-encoding: gzip\nHTTP *\n",
    );
    let (workload, report) = read_with(text).unwrap();
    let toml: toml::Table = workload.toml().parse().unwrap();
    assert_eq!(toml["base"].as_str(), Some("https://shop.example"));
    assert_eq!(toml["options"]["timeout"].as_integer(), Some(5));
    assert_eq!((report.carried, report.notes.len()), (2, 1));
}

#[test]
fn options_change_the_request() {
    for (command, expected) in [
        ("a.example -I", "HEAD {{base}}/\nHTTP *\n"),
        ("-G a.example/x?y=1 -d a=1 --data-urlencode 'b=c d'", "GET {{base}}/x?y=1&a=1&b=c+d\nHTTP *\n"),
        ("a.example -d a=1 -d b=2", "POST {{base}}/\n[Form]\na: 1\nb: 2\nHTTP *\n"),
        (
            "a.example -d @f.txt",
            "POST {{base}}/\nContent-Type: application/x-www-form-urlencoded\nfile,f.txt;\nHTTP *\n",
        ),
        (
            "a.example --json '{\"a\":1}'",
            "POST {{base}}/\nAccept: application/json\nContent-Type: application/json\n{\"a\":1}\nHTTP *\n",
        ),
        (
            "a.example -F a=1 -F 'f=@x.png;type=image/png'",
            "POST {{base}}/\n[Multipart]\na: 1\nf: file,x.png; image/png\nHTTP *\n",
        ),
        ("a.example -T x.bin", "PUT {{base}}/x.bin\nfile,x.bin;\nHTTP *\n"),
        ("a.example -u me:pw -L", "GET {{base}}/\n[BasicAuth]\nme: pw\n[Options]\nlocation: true\nHTTP *\n"),
        ("a.example -H 'X-A;' -H 'Accept:' -A me", "GET {{base}}/\nX-A:\nUser-Agent: me\nHTTP *\n"),
        ("http://me:p%40+w@a.example/", "GET {{base}}/\n[BasicAuth]\nme: p@+w\nHTTP *\n"),
        ("a.example -u :pw", "GET {{base}}/\nAuthorization: Basic OnB3\nHTTP *\n"),
        ("a.example -d ''", "POST {{base}}/\nContent-Type: application/x-www-form-urlencoded\nHTTP *\n"),
        ("a.example -d '{}' -H 'Content-Type:'", "POST {{base}}/\n`{}`\nHTTP *\n"),
        ("a.example/x -T 'a b;1'", "PUT {{base}}/x\nfile,a\\ b\\;1;\nHTTP *\n"),
        ("a.example https://a.example/", "GET {{base}}/\nHTTP *\n"),
        ("a.example http://b.example/", "GET {{base}}/\nHTTP *\n\nGET http://b.example/\nHTTP *\n"),
    ] {
        check(&format!("curl {command}"), expected);
    }
}

#[test]
fn bad_commands_are_refused() {
    for (text, message) in [
        ("", "a.sh: expected commands of curl, got none"),
        ("# only\n", "a.sh: expected commands of curl, got none"),
        ("\nwget x", "a.sh:2: expected a command of curl, got `wget`"),
        ("Invoke-WebRequest -Uri x", "a.sh:1: expected a command of curl, got `Invoke-WebRequest`"),
        ("curl -s", "a.sh:1: expected a URL, got none"),
        ("curl ftp://a/", "a.sh:1: expected a URL of http or https, got `ftp://a/`"),
        ("curl a -X", "a.sh:1: -X: expected a value, got none"),
        ("curl a -X 'a b'", "a.sh:1: -X: expected a method, got `a b`"),
        ("curl a -X get", "a.sh:1: -X: expected a method in capital letters, got `get`"),
        (
            "curl a -H nocolon",
            "a.sh:1: -H: expected a header field such as `Accept: text/html`, or @FILE, got `nocolon`",
        ),
        ("curl a -d x -d @f", "a.sh:1: -d: expected a file that can be read, got `@f`"),
        ("curl a -d x -F a=1", "a.sh:1: -F: expected no -d as well, which makes another request"),
        ("curl a -d x -I", "a.sh:1: -I: expected no -d as well, which makes another request"),
        ("curl a -b $'a=\\x01'", "a.sh:1: -b: expected cookies without control characters, got `a=\u{1}`"),
        ("curl a -T -", "a.sh:1: -T: expected FILE, as standard input is not read, got `-`"),
        ("curl a -F =x", "a.sh:1: -F: expected NAME=VALUE, NAME=@FILE or NAME=<FILE, got `=x`"),
        ("curl a -u me", "a.sh:1: -u: expected USER:PASSWORD, got `me`"),
        ("curl a -d @-", "a.sh:1: -d: expected text or @FILE, as standard input is not read, got `@-`"),
        ("curl a -m soon", "a.sh:1: -m: expected a number of seconds, got `soon`"),
        (
            "curl $URL",
            "a.sh:1: expected text, got `$URL`, which only a running shell knows\nhint: quote it with '…' if it \
             is meant as it stands",
        ),
        (
            "curl ^\"http://a/^\"",
            "a.sh:1: expected a command for bash, got one for cmd, with `^`\nhint: copy it as cURL (bash)",
        ),
    ] {
        assert_eq!(import(text).map(|(hurl, _)| hurl), Err(message.to_owned()), "{text}");
    }
    let error = read(&b"curl \xff"[..], "x", &mut |_| None).unwrap_err().about("a.sh");
    assert_eq!(error, "a.sh:1:6: expected text in UTF-8");
    let unknown = "a.sh:1: expected an option that can be translated, got `--nope`";
    assert_eq!(import("curl a --nope").unwrap_err(), unknown);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>(), words in ".*") {
        let _ = read(&bytes[..], "x", &mut |_| None);
        let _ = import(&format!("curl http://a/ {words}"));
    }

    #[test]
    fn any_command_is_read_as_it_was_written(
        words in proptest::collection::vec(words(), 0..6),
        url in reread::text(),
        second in proptest::option::of(reread::text()),
    ) {
        let second = second.map(|url| format!("http://user:p%40ss@other.example/{url}"));
        let urls = [format!("https://shop.example/{url}")].into_iter().chain(second);
        check_command(&words.into_iter().flatten().chain(urls).collect::<Vec<String>>());
    }
}

/// Reads a command of these words, if it is one, and expects its first request to be what they say.
fn check_command(words: &[String]) {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let command = format!("curl {}", quoted.join(" "));
    let Ok((workload, _)) = read_with(&command) else { return };
    reread::check(&workload);
    let entry = &workload.files[0].entries[0];
    let carried = |name: &str, value: &str| {
        entry.headers.iter().any(|(known, text)| known == name && text.as_literal() == Some(value))
    };
    let is_plain = |text: &str| text.trim() == text && !text.is_empty();
    let is_once = |options: &[&str]| words.iter().filter(|word| options.contains(&&word[..])).count() == 1;
    // -G moves data to the query, so that a body is that of a form.
    let is_in_query = words.iter().any(|word| word == "-G");
    for pair in words.windows(2) {
        let (option, text) = (&pair[0][..], &pair[1][..]);
        match option {
            "-H" => {
                let Some((name, value)) = text.split_once(": ") else { continue };
                let is_removed = words.iter().any(|word| word.trim() == format!("{name}:"));
                if name.starts_with("X-") && is_plain(value) && !is_removed {
                    assert!(carried(name, value), "{command}");
                }
            }
            "-A" if is_once(&["-A"]) && is_plain(text) => assert!(carried("User-Agent", text), "{command}"),
            "-X" if is_once(&["-X"]) => assert_eq!(entry.method, text, "{command}"),
            "--data-raw" if is_once(&["--data-raw", "--json", "-d", "-T"]) && !is_in_query => {
                match &entry.body {
                    None => assert!(text.is_empty(), "{command}"),
                    Some(Body::Text(body) | Body::Json(body)) => assert_eq!(body, text),
                    Some(Body::Form(form)) => {
                        let sent: Vec<_> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
                        assert_eq!(form, &sent);
                    }
                    Some(other) => panic!("{other:?} of {command}"),
                }
            }
            _ => {}
        }
    }
}

/// An option with its value.
fn words() -> impl Strategy<Value = Vec<String>> {
    let header = prop_oneof![
        (
            proptest::sample::select(&["X-A", "X-B!#", "Content-Type", "HTTP", "Authorization"][..]),
            reread::text()
        )
            .prop_map(|(name, value)| format!("{name}: {value}")),
        proptest::sample::select(&["Content-Type:", "Content-Type: application/json", "X-Empty;"][..])
            .prop_map(str::to_owned),
        reread::text(),
    ];
    let body = || prop_oneof![reread::text(), reread::json().prop_map(|value| value.to_string())];
    let pair = || (reread::text(), reread::text());
    let option = |option: &'static str| move |value: String| vec![option.to_owned(), value];
    prop_oneof![
        header.prop_map(option("-H")),
        reread::text().prop_map(option("-A")),
        proptest::sample::select(&["GET", "POST", "HTTP", "M-X"][..])
            .prop_map(str::to_owned)
            .prop_map(option("-X")),
        body().prop_map(option("--data-raw")),
        body().prop_map(option("--data-raw")),
        body().prop_map(option("-d")),
        body().prop_map(option("--json")),
        reread::text().prop_map(|text| format!("a={text}")).prop_map(option("-b")),
        pair().prop_map(|(user, password)| format!("{user}:{password}")).prop_map(option("-u")),
        pair().prop_map(|(name, value)| format!("{name}={value}")).prop_map(option("-F")),
        pair().prop_map(|(name, value)| format!("{name}=@{value}")).prop_map(option("-F")),
        reread::text().prop_map(option("-T")),
        reread::text().prop_map(|text| format!("@{text}")).prop_map(option("-d")),
        any::<f64>().prop_map(|seconds| seconds.to_string()).prop_map(option("-m")),
        proptest::sample::select(&["-G", "-L", "-k", "-I", "--compressed"][..])
            .prop_map(|flag| vec![flag.to_owned()]),
    ]
}
