//! Parts of requests that the classic tool does not have: bodies, header fields, lists of whole requests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use httperf_plan::template::BadRange;
use httperf_plan::{Header, HeaderError, Template, secrets};

use super::rules::REQUESTS;
use crate::args::{Args, FormField, FormValue, os_string};
use crate::grammar::{Opt, ParseStop, Value, any_of};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("body", "TEXT", "sends this body with each request")
        .common()
        .details(&[
            "The method is then POST unless --method says another. No Content-Type is sent unless \
             --header names one.",
            "`{seq}` in it becomes the call's number, from 0; `{rand:LOW-HIGH}` a number at random \
             between two numbers, both included; `{uuid}` a random UUID. The same goes for --uri and the \
             path of a URL, --form, --header and --targets. What they become depends on the call's number \
             and on --client alone, so that a run can be repeated. Nothing else in braces has a meaning.",
        ])
        .conflicts(&[any_of(&["body-file", "form"])])
        .sets(&["request.body"])
        .apply(|args, value| {
            if let Some(file @ [_, ..]) = value.bytes().strip_prefix(b"@") {
                let file = String::from_utf8_lossy(file);
                args.notices.push(format!(
                    "--body sends the text `@{file}`; --body-file {file} sends the contents of the file"
                ));
            }
            args.material.body = Some(template("--body", value.bytes())?);
            Ok(())
        }),
    Opt::with_value("body-file", "FILE", "sends the contents of a file as the body of each request")
        .details(&["The file is read once, before the run, and is sent as it is, without placeholders and \
             without being copied for each call. Otherwise as --body. The send buffer is small by \
             default: --send-buffer makes large bodies go out faster."])
        .conflicts(&[any_of(&["form"])])
        .apply(|args, value| {
            args.material.body_file = Some(file(value)?);
            Ok(())
        }),
    Opt::with_value(
        "form",
        "NAME=VALUE",
        "sends a field of a form with each request; may be given more than once",
    )
    .repeatable()
    .details(&[
        "The fields are sent as a page's form sends them: as `application/x-www-form-urlencoded`, or, \
             if one of them is written NAME=@FILE, as `multipart/form-data` with what is in the file, its \
             name, and the type `application/octet-stream`. A value cannot itself begin with `@`; other \
             types and names of files are for --body-file and --header.",
    ])
    .conflicts(&[any_of(&["header of Content-Type"])
        .when("form with a file")
        .because("its type names a boundary")])
    .apply(|args, value| {
        args.material.form.push(form_field(value)?);
        Ok(())
    }),
    Opt::with_value("header", "NAME: VALUE", "adds a header field; may be given more than once")
        .repeatable()
        .common()
        .details(&[
            "It is checked, has no escapes, and comes after the lines of --add-header. `Host`, \
             `User-Agent` and, in HTTP/1.0, `Connection` take the place of what the program would send; \
             `Content-Length` and `Transfer-Encoding` are refused, as they follow from the body.",
            "Over HTTP/2 names are sent in small letters, `Host` becomes `:authority`, and fields that \
             HTTP/2 forbids (`Connection`, `Keep-Alive`, `Proxy-Connection`, `Transfer-Encoding`, \
             `Upgrade`, `TE` unless it says `trailers`) are left out with a warning. The same holds for \
             --add-header, --add-header-file and --targets.",
        ])
        .sets(&["request.headers"])
        .apply(|args, value| {
            args.material.headers.push(header("--header", value.bytes())?);
            Ok(())
        }),
    Opt::with_value("basic-auth", "USER:PASSWORD", "names the user with a password (Authorization: Basic)")
        .details(&["Others on this machine can see it in the list of processes, and it is in the result \
             of --output, which only you can read."])
        .conflicts(&[any_of(&["bearer"]), any_of(&["header of Authorization"])])
        .apply(|args, value| {
            let credentials = value.bytes();
            if !credentials.contains(&b':') || credentials.iter().any(u8::is_ascii_control) {
                return Err(value.expected("USER:PASSWORD"));
            }
            let value = [&b"Basic "[..], STANDARD.encode(credentials).as_bytes()].concat();
            args.material.authorization = Some(value);
            Ok(())
        }),
    Opt::with_value("bearer", "TOKEN", "names the user with a token (Authorization: Bearer)")
        .details(&["Others on this machine can see it in the list of processes, and it is in the result \
             of --output, which only you can read."])
        .conflicts(&[any_of(&["header of Authorization"])])
        .apply(|args, value| {
            let token = value.bytes();
            if token.is_empty() || !token.iter().all(u8::is_ascii_graphic) {
                return Err(value.expected("a token without blanks"));
            }
            args.material.authorization = Some([&b"Bearer "[..], token].concat());
            Ok(())
        }),
    Opt::with_value(
        "targets",
        "FILE",
        "takes whole requests from a file, one after the other: method, URL, header, body",
    )
    .details(&[
        "The file is in either of the formats that vegeta reads. In the plain one, a request is a line \
         `METHOD URL`, lines of header fields, and perhaps a line `@FILE` that names its body, relative \
         to the list; a blank line ends it, and `#` begins a comment. In the other, each line is an \
         object of JSON: `{\"method\": \"PUT\", \"url\": \"http://host/\", \"header\": {\"Accept\": \
         [\"text/html\"]}, \"body\": \"YWJj\"}`, with the body in base64.",
        "After the last request the first follows again. Header fields take the place of those of the \
         same names in --header. `Host` has the port, unless it is the usual one; PATCH, POST and PUT \
         without a body say that it is empty. Requests may go to several servers, all with http or all \
         with https; then each needs a connection of its own.",
    ])
    .conflicts(&[
        any_of(&["a URL", "server", "servers", "server-name", "port", "uri"])
            .because("the file says where requests go"),
        any_of(REQUESTS).because("the file says what is sent"),
    ])
    .apply(|args, value| {
        args.material.targets = Some(file(value)?);
        Ok(())
    }),
];

fn template(option: &str, text: &[u8]) -> Result<Template, ParseStop> {
    Template::parse(text).map_err(|error| bad_range(option, &error))
}

fn bad_range(option: &str, error: &BadRange) -> ParseStop {
    ParseStop::rejected(format!("{option}: expected {error}, got `{}`", error.found))
}

fn header(option: &str, line: &[u8]) -> Result<Header, ParseStop> {
    Header::parse(line).map_err(|error| match &error {
        HeaderError::Range(range) => bad_range(option, range),
        _ => {
            let shown = secrets::value("header", &String::from_utf8_lossy(line)).escape_debug().to_string();
            ParseStop::rejected(format!("{option}: expected {error}, got `{shown}`"))
        }
    })
}

pub(super) fn file(value: Value<'_>) -> Result<std::ffi::OsString, ParseStop> {
    if value.bytes().is_empty() {
        return Err(value.expected("the name of a file"));
    }
    Ok(os_string(value.bytes()))
}

fn form_field(value: Value<'_>) -> Result<FormField, ParseStop> {
    let expected = || value.expected("NAME=VALUE or NAME=@FILE");
    let text = value.bytes();
    let equals = text.iter().position(|&byte| byte == b'=').filter(|&at| at > 0).ok_or_else(expected)?;
    let (name, text) = (template("--form", &text[..equals])?, &text[equals + 1..]);
    let value = match text.strip_prefix(b"@") {
        Some(b"") => return Err(expected()),
        Some(path) => FormValue::File(os_string(path)),
        None => FormValue::Text(template("--form", text)?),
    };
    Ok(FormField { name, value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::parsed;

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        let stop = parsed(argv).map(|_| "accepted").unwrap_err();
        assert_eq!(stop, ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn credentials_become_a_header_value() {
        let value = |argv: &[&str]| parsed(argv).unwrap().material.authorization.unwrap();
        // The example of RFC 7617, section 2.
        assert_eq!(value(&["--basic-auth=Aladdin:open sesame"]), b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(value(&["--bearer=a.b", "--bearer=mF_9.B5f-4.1JqM=="]), b"Bearer mF_9.B5f-4.1JqM==");
        check_error(&["--basic-auth=name"], "--basic-auth: expected USER:PASSWORD, got `...`");
        check_error(&["--bearer=a b"], "--bearer: expected a token without blanks, got `...`");
    }

    #[test]
    fn a_field_of_a_form_is_text_or_a_file() {
        let form = parsed(&["--form=a=b=c", "--form", "d=@e", "--form=f="]).unwrap().material.form;
        let text = |text: &str| FormValue::Text(Template::literal(text.as_bytes()));
        let values: Vec<FormValue> = form.into_iter().map(|field| field.value).collect();
        assert_eq!(values, [text("b=c"), FormValue::File("e".into()), text("")]);
        for (value, shown) in [("", ""), ("a", "a"), ("=a", "=..."), ("a=@", "a=@")] {
            let expected = format!("--form: expected NAME=VALUE or NAME=@FILE, got `{shown}`");
            check_error(&["--form", value], &expected);
        }
    }

    #[test]
    fn what_a_file_leaves_open_may_be_said() {
        assert!(parsed(&["--body=a", "--wsess=1,1,0"]).is_ok());
        assert!(parsed(&["--header=A: b", "--wsesslog=1,0,f"]).is_ok());
        assert!(parsed(&["--targets=f", "--wsess=1,1,0", "--header=A: b", "--unix-socket=/s"]).is_ok());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        check_error(
            &["--header=Accept"],
            "--header: expected a header field such as `Accept: text/html`, got `Accept`",
        );
        check_error(
            &["--header=A: b\r\nC: d"],
            "--header: expected a header field without control characters in it, got `A: b\\r\\nC: d`",
        );
        check_error(
            &["--body={rand:9-1}"],
            "--body: expected {rand:LOW-HIGH} with whole numbers, LOW not above HIGH, got `{rand:9-1}`",
        );
        check_error(
            &["--header=Host: a", "--header=host: b"],
            "--header: expected Host once, got it more than once",
        );
    }
}
