//! Files and entries: requests with their responses.

use crate::cursor::{Parsed, Parser};
use crate::limits::{ENTRIES_MAX, FILE_SIZE_MAX, PROBLEMS_MAX};
use crate::text::Form;
use crate::{Entry, File, Problem, Request, Response, Status, Version};

/// The methods by which the next request is found after an error.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// The greatest status.
const STATUS_MAX: u64 = 999;

impl Parser<'_> {
    pub(crate) fn file(&mut self) -> File {
        let mut file = File::default();
        if self.text.len() > FILE_SIZE_MAX {
            self.report(Problem::new(
                0..0,
                format!("expected a file of at most {FILE_SIZE_MAX} bytes, got more"),
            ));
            return file;
        }
        self.eat("\u{feff}");
        let (mut line, mut counted) = (1, 0);
        loop {
            self.skip_blank();
            if self.rest().is_empty() || self.problems.len() >= PROBLEMS_MAX {
                self.drop_marks();
                return file;
            }
            let start = self.at;
            if file.entries.len() >= ENTRIES_MAX {
                self.report(Problem::new(
                    self.here(),
                    format!("expected at most {ENTRIES_MAX} requests, got more"),
                ));
                return file;
            }
            line += self.text.get(counted..start).map_or(0, |text| text.matches('\n').count());
            counted = start;
            match self.entry(line) {
                Ok(entry) => file.entries.push(entry),
                Err(problem) => {
                    self.at = problem.at.start.max(start);
                    self.report(problem);
                    self.skip_to_request();
                }
            }
        }
    }

    fn entry(&mut self, line: usize) -> Parsed<Entry> {
        let comments = self.take_marks();
        let request = self.request()?;
        let response = if self.at_response() { Some(self.response()?) } else { None };
        Ok(Entry { line, comments, request, response })
    }

    fn request(&mut self) -> Parsed<Request> {
        let start = self.at;
        let method = self.method()?;
        let url = self.bare(Form::Value)?;
        if url.pieces.is_empty() {
            return Err(self.expected("a URL after the method"));
        }
        let span = self.since(start);
        self.line_end()?;
        let mut request = Request {
            method,
            url,
            headers: Vec::new(),
            query: Vec::new(),
            form: Vec::new(),
            multipart: Vec::new(),
            cookies: Vec::new(),
            basic_auth: None,
            options: Vec::new(),
            body: None,
            span,
        };
        self.key_values(&mut request.headers)?;
        let mut seen = Vec::new();
        while self.at_section().is_some() {
            self.request_section(&mut request, &mut seen)?;
            self.skip_blank();
        }
        if self.at_body() {
            self.drop_marks();
            request.body = Some(self.body()?);
            self.skip_blank();
        }
        if !self.at_end_of_request() {
            return Err(
                self.unexpected_line("a header field, a section, a body, `HTTP` with a status, or a request")
            );
        }
        Ok(request)
    }

    fn method(&mut self) -> Parsed<String> {
        let start = self.at;
        let unexpected = self.unexpected_line("a request such as `GET https://example.org/`");
        let method = self.take_while(|char| char.is_ascii_uppercase());
        if method.is_empty() || !self.rest().starts_with([' ', '\t']) {
            return Err(unexpected);
        }
        if method == "HTTP" {
            let hint = "a response belongs below its request; a request has one";
            self.refuse(self.since(start), "the method `HTTP`", Some(hint));
        }
        self.skip_spaces();
        Ok(method.to_owned())
    }

    /// Tells if a response or another request comes next, or the end of the file.
    fn at_end_of_request(&self) -> bool {
        self.rest().is_empty() || self.at_response() || self.at_request()
    }

    fn at_request(&self) -> bool {
        let rest = self.rest().trim_start_matches(|char: char| char.is_ascii_uppercase());
        rest.len() < self.rest().len() && rest.starts_with([' ', '\t'])
    }

    fn at_response(&self) -> bool {
        self.rest().starts_with("HTTP")
    }

    fn response(&mut self) -> Parsed<Response> {
        self.drop_marks();
        let start = self.at;
        let version = self.version()?;
        self.expect_space("the status")?;
        let status = self.status()?;
        let span = self.since(start);
        self.line_end().map_err(|problem| problem.with_hint("write the status alone, as in `HTTP 200`"))?;
        let (headers, captures, asserts) = (Vec::new(), Vec::new(), Vec::new());
        let mut response = Response { version, status, headers, captures, asserts, body: None, span };
        self.key_values(&mut response.headers)?;
        let mut seen = Vec::new();
        while self.at_section().is_some() {
            self.response_section(&mut response, &mut seen)?;
            self.skip_blank();
        }
        if self.at_body() {
            self.drop_marks();
            response.body = Some(self.body()?);
            self.skip_blank();
        }
        if !self.rest().is_empty() && !self.at_request() {
            return Err(self.unexpected_line("a header field, a section, a body or a request"));
        }
        Ok(response)
    }

    fn version(&mut self) -> Parsed<Version> {
        let unexpected = self.expected("HTTP, HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3 and a status");
        self.eat("HTTP");
        let version = match self.take_while(|char| !char.is_whitespace()) {
            "" => Version::Any,
            "/1.0" => Version::Http10,
            "/1.1" => Version::Http11,
            "/2" => Version::Http2,
            "/3" => Version::Http3,
            _ => return Err(unexpected),
        };
        Ok(version)
    }

    fn status(&mut self) -> Parsed<Status> {
        if self.eat("*") {
            return Ok(Status::Any);
        }
        let unexpected = self.expected("a status such as 200, or `*`");
        let start = self.at;
        let number: u64 = match self.take_while(|char| char.is_ascii_digit()).parse() {
            Ok(number) => number,
            Err(_) => return Err(unexpected),
        };
        if number > STATUS_MAX {
            self.refuse(
                self.since(start),
                &format!("the status `{number}`"),
                Some("a status has three digits"),
            );
        }
        Ok(Status::Number(u16::try_from(number).unwrap_or(0)))
    }

    fn unexpected_line(&self, what: &str) -> Problem {
        let problem = self.expected(what);
        let word = self.word();
        if word.chars().all(char::is_lowercase)
            && METHODS.iter().any(|method| method.eq_ignore_ascii_case(word))
        {
            return problem.with_hint("write the method in capital letters");
        }
        problem
    }

    /// Steps to the next line that looks like a request, or to the end.
    fn skip_to_request(&mut self) {
        self.marks.clear();
        loop {
            self.take_while(|char| char != '\n');
            if !self.eat("\n") {
                return;
            }
            let line = self.rest().lines().next().unwrap_or("").trim();
            let mut words = line.split_whitespace();
            let is_method = words.next().is_some_and(|word| METHODS.contains(&word));
            let is_url = |word: &str| word.contains("://") || word.starts_with("{{") || word.starts_with('/');
            if is_method && words.next().is_some_and(is_url) {
                return;
            }
        }
    }
}
