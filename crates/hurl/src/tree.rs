//! The syntax tree of a Hurl file.
//!
//! Texts are decoded: escapes are replaced by the characters that they stand for. Spans are ranges of bytes in the
//! parsed text.

use std::ops::Range;
use std::time::Duration;

/// A range of bytes in the parsed text.
pub type Span = Range<usize>;

/// A Hurl file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// A request with what is expected of its reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The line of the request, from 1.
    pub line: usize,
    /// The directives of ours in the comments directly above the request.
    pub comments: Vec<Comment>,
    /// The request.
    pub request: Request,
    /// The expected reply.
    pub response: Option<Response>,
}

/// A directive of ours in a comment, such as `# @name add to cart`. No name occurs twice above an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The name, without the `@`.
    pub name: CommentName,
    /// The text after the name, without spaces at its ends; never empty.
    pub value: String,
    /// The place of the value.
    pub span: Span,
}

/// The name of a directive in a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentName {
    /// `@name`: the name of the step in reports.
    Name,
    /// `@think`: a pause before the request.
    Think,
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The method: capital letters.
    pub method: String,
    /// The URL.
    pub url: Template,
    /// The header fields, in order.
    pub headers: Vec<KeyValue>,
    /// `[Query]`: parameters that are added to the URL.
    pub query: Vec<KeyValue>,
    /// `[Form]`: the fields of an URL-encoded form.
    pub form: Vec<KeyValue>,
    /// `[Multipart]`: the parts of a form with files.
    pub multipart: Vec<Part>,
    /// `[Cookies]`: cookies of this request alone.
    pub cookies: Vec<KeyValue>,
    /// `[BasicAuth]`: name and password.
    pub basic_auth: Option<KeyValue>,
    /// `[Options]`, in order. One that occurs again replaces the earlier one; variables add up.
    pub options: Vec<RequestOption>,
    /// The body.
    pub body: Option<Body>,
    /// The request line: method and URL.
    pub span: Span,
}

/// A name with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// The name.
    pub key: Template,
    /// The value.
    pub value: Template,
    /// The place of both.
    pub span: Span,
}

/// A part of a form with files.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name.
    pub name: Template,
    /// The content.
    pub value: PartValue,
    /// The place of both.
    pub span: Span,
}

/// The content of a part of a form.
#[derive(Clone, Debug, PartialEq)]
pub enum PartValue {
    /// A text.
    Text(Template),
    /// `file,path; type`: the content of a file.
    File {
        /// The path.
        path: Template,
        /// The content type; without one it follows from the path.
        content_type: Option<Template>,
    },
}

/// An option of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestOption {
    /// The option and its value.
    pub setting: Setting,
    /// The place of both.
    pub span: Span,
}

/// An option and its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// `delay`: a pause before the request.
    Delay(Fixed<Duration>),
    /// `skip`: leaves the request out.
    Skip(Fixed<bool>),
    /// `repeat`: the number of times that the request is made.
    Repeat(Fixed<u64>),
    /// `location`: follows redirects.
    Location(Fixed<bool>),
    /// `variable`: sets a variable.
    Variable {
        /// The name of the variable.
        name: String,
        /// The value: not bytes, a file, a regular expression or an expression alone.
        value: Value,
    },
}

/// A value that is fixed in the file, or an expression for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fixed<T> {
    /// This value.
    Value(T),
    /// `{{…}}` alone: the value that it has when the request is made.
    Expression(Expression),
}

/// The expectations of a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The expected version of HTTP.
    pub version: Version,
    /// The expected status.
    pub status: Status,
    /// The expected header fields: each must occur with this value.
    pub headers: Vec<KeyValue>,
    /// `[Captures]`, in order.
    pub captures: Vec<Capture>,
    /// `[Asserts]`, in order.
    pub asserts: Vec<Assert>,
    /// The expected body.
    pub body: Option<Body>,
    /// The line with version and status.
    pub span: Span,
}

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `HTTP`: any.
    Any,
    /// `HTTP/1.0`.
    Http10,
    /// `HTTP/1.1`.
    Http11,
    /// `HTTP/2`.
    Http2,
    /// `HTTP/3`.
    Http3,
}

/// A status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `*`: any.
    Any,
    /// This one; at most 999.
    Number(u16),
}

/// A value that is taken from a reply and kept in a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// The name of the variable.
    pub name: String,
    /// The place of the value.
    pub query: Query,
    /// The filters applied to it, in order.
    pub filters: Vec<Filter>,
    /// `redact`: the value is a secret that no output may show.
    pub redacted: bool,
    /// The place of the whole.
    pub span: Span,
}

/// A condition on a reply or on a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Assert {
    /// The place of the value.
    pub query: Query,
    /// The filters applied to it, in order.
    pub filters: Vec<Filter>,
    /// The condition that it must meet.
    pub predicate: Predicate,
    /// The place of the whole.
    pub span: Span,
}

/// A place of a value, with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The place of the value.
    pub kind: QueryKind,
    /// The place in the text.
    pub span: Span,
}

/// A place of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryKind {
    /// `status`.
    Status,
    /// `header "name"`.
    Header(Template),
    /// `cookie "name[Attribute]"`.
    Cookie {
        /// The name.
        name: Template,
        /// The attribute; the value without one.
        attribute: Option<CookieAttribute>,
    },
    /// `body`: the body as text.
    Body,
    /// `bytes`: the body as bytes.
    Bytes,
    /// `sha256`: the digest of the body.
    Sha256,
    /// `jsonpath "path"`.
    JsonPath(Template),
    /// `xpath "expression"`.
    XPath(Template),
    /// `regex "pattern"` or `regex /pattern/`.
    Regex(Pattern),
    /// `variable "name"`.
    Variable(String),
    /// `duration`: the time of the reply in milliseconds.
    Duration,
    /// `redirects`: the redirects that were followed.
    Redirects,
}

/// An attribute of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieAttribute {
    /// `Value`.
    Value,
    /// `Expires`.
    Expires,
    /// `Max-Age`.
    MaxAge,
    /// `Domain`.
    Domain,
    /// `Path`.
    Path,
    /// `Secure`.
    Secure,
    /// `HttpOnly`.
    HttpOnly,
    /// `SameSite`.
    SameSite,
}

/// A change of a value, with its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The change.
    pub kind: FilterKind,
    /// The place in the text.
    pub span: Span,
}

/// A change of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum FilterKind {
    /// `count`.
    Count,
    /// `first`.
    First,
    /// `last`.
    Last,
    /// `nth 2`; negative indexes count from the end.
    Nth(i64),
    /// `regex "pattern"` or `regex /pattern/`.
    Regex(Pattern),
    /// `replace "old" "new"`.
    Replace {
        /// The text to replace.
        old: Template,
        /// The text that replaces it.
        new: Template,
    },
    /// `replaceRegex /pattern/ "new"`.
    ReplaceRegex {
        /// The pattern to replace.
        pattern: Pattern,
        /// The text that replaces each match.
        new: Template,
    },
    /// `split ","`.
    Split(Template),
    /// `toInt`.
    ToInt,
    /// `toFloat`.
    ToFloat,
    /// `toString`.
    ToText,
    /// `urlEncode`.
    UrlEncode,
    /// `urlDecode`.
    UrlDecode,
    /// `htmlEscape`.
    HtmlEscape,
    /// `htmlUnescape`.
    HtmlUnescape,
    /// `base64Encode`.
    Base64Encode,
    /// `base64Decode`.
    Base64Decode,
    /// `base64UrlSafeEncode`.
    Base64UrlSafeEncode,
    /// `base64UrlSafeDecode`.
    Base64UrlSafeDecode,
    /// `location`: the target of a redirect.
    Location,
    /// `jsonpath "path"`.
    JsonPath(Template),
    /// `xpath "expression"`.
    XPath(Template),
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// `not`: inverts the test.
    pub not: bool,
    /// The test.
    pub test: Test,
    /// The place of both.
    pub span: Span,
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `==`.
    Equals(Value),
    /// `!=`.
    Differs(Value),
    /// `>`.
    Above(Value),
    /// `>=`.
    AtLeast(Value),
    /// `<`.
    Below(Value),
    /// `<=`.
    AtMost(Value),
    /// `startsWith`.
    StartsWith(Value),
    /// `endsWith`.
    EndsWith(Value),
    /// `contains`.
    Contains(Value),
    /// `includes`.
    Includes(Value),
    /// `matches`.
    Matches(Pattern),
    /// `exists`.
    Exists,
    /// `isEmpty`.
    IsEmpty,
    /// `isInteger`.
    IsInteger,
    /// `isFloat`.
    IsFloat,
    /// `isNumber`.
    IsNumber,
    /// `isBoolean`.
    IsBoolean,
    /// `isString`.
    IsText,
    /// `isCollection`.
    IsCollection,
    /// `isList`.
    IsList,
    /// `isObject`.
    IsObject,
    /// `isDate`.
    IsDate,
    /// `isIsoDate`.
    IsIsoDate,
    /// `isUuid`.
    IsUuid,
    /// `isIpv4`.
    IsIpv4,
    /// `isIpv6`.
    IsIpv6,
}

/// A value written in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number of 64 bits with a sign.
    Integer(i64),
    /// Any other whole number: its digits, after a minus sign if it is negative.
    BigInteger(String),
    /// A number with a fraction; finite.
    Float(f64),
    /// A text: quoted, between backticks, or of several lines.
    Text(Template),
    /// `{{…}}` alone: the value with its type.
    Expression(Expression),
    /// `base64,…;` or `hex,…;`.
    Bytes(Vec<u8>),
    /// `file,path;`: the content of a file.
    File(Template),
    /// `/pattern/`: a regular expression.
    Regex(String),
}

/// A regular expression. Its syntax is not checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// A text that is filled in: `"…"`.
    Text(Template),
    /// The pattern as it is written between slashes, with `\/` as `/`.
    Fixed(String),
}

/// A body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// The form and content.
    pub kind: BodyKind,
    /// The place in the text.
    pub span: Span,
}

/// The form and content of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum BodyKind {
    /// A JSON value, as it is written but for exponents, which have a small `e`: the pieces make up its text.
    Json(Vec<JsonPiece>),
    /// An XML document, as it is written. It has no expressions.
    Xml(String),
    /// A text: between backticks, or of several lines.
    Text {
        /// The text.
        text: Template,
        /// The language after the opening backticks.
        language: Option<Language>,
    },
    /// `base64,…;` or `hex,…;`.
    Bytes(Vec<u8>),
    /// `file,path;`: the content of a file.
    File(Template),
}

/// The language of a text of several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `json`.
    Json,
    /// `xml`.
    Xml,
    /// `raw`: the text has neither expressions nor escapes.
    Raw,
}

/// A piece of a JSON text.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonPiece {
    /// A part of the text: escapes in strings are not decoded.
    Source(String),
    /// An expression in place of a JSON value.
    Value(Expression),
    /// An expression in a JSON string: what it gives must be escaped.
    InString(Expression),
}

/// A text with expressions that are filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    /// The pieces, in order. No literal is empty, and no two are adjacent.
    pub pieces: Vec<Piece>,
    /// The place in the text, with delimiters such as quotes.
    pub span: Span,
}

/// A piece of a text with expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A fixed text.
    Literal {
        /// The text, decoded.
        text: String,
        /// Its place, in which it may be written with escapes.
        span: Span,
    },
    /// `{{…}}`.
    Expression(Expression),
}

/// An expression: `{{source filter filter}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The source of the value.
    pub source: Source,
    /// The filters applied to it, in order.
    pub filters: Vec<Filter>,
    /// The place in the text, with the braces.
    pub span: Span,
}

/// The source of the value of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The value of a variable.
    Variable(String),
    /// `newUuid`: a random UUID.
    NewUuid,
    /// `newDate`: the present date and time.
    NewDate,
    /// `pick:a|b|c`: one of these texts. At least one.
    Pick(Vec<String>),
}

impl Template {
    /// Returns the text if there is nothing to fill in.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [] => Some(""),
            [Piece::Literal { text, .. }] => Some(text),
            _ => None,
        }
    }

    /// Returns the expressions, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Expression(expression) => Some(expression),
            Piece::Literal { .. } => None,
        })
    }
}
