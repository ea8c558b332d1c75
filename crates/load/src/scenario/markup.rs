//! XPath 1.0 in HTML and XML (<https://www.w3.org/TR/1999/REC-xpath-19991116/>).

use compact_str::CompactString;
use httperf_plan::scenario::{Value, xpath};
use xmloxide::html5::parse_html5;
use xmloxide::parser::{ParseOptions, parse_str_with_options};
use xmloxide::xpath::ast::Expr;
use xmloxide::xpath::{XPathContext, XPathNode, XPathValue};
use xmloxide::{Document, NodeId};

use super::value::{Found, Mismatch, Outcome};

/// The size of the largest document that is read, in bytes, and how deep the elements of HTML may be: the time that its
/// parser takes grows with both.
const SIZE_MAX: usize = 4 << 20;
const DEPTH_MAX: u32 = 256;

/// The greatest depth of elements of XML: its parser calls itself for each level, with some kilobytes of stack.
const XML_DEPTH_MAX: u32 = 100;

const TOO_LARGE: &str = "the body is too large for XPath, which reads 4 MiB at most";
const TOO_DEEP: &str =
    "the elements of the body are nested too deeply for XPath, which reads 256 levels at most";

/// A compiled expression.
#[derive(Debug)]
pub(super) struct XPath {
    expression: Expr,
}

/// A document to look into.
pub(super) struct Markup {
    document: Document,
    /// Prefixes that the document declares first, with their namespaces. As in Hurl, `_` stands for the default one.
    prefixes: Vec<(String, String)>,
}

impl XPath {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        Ok(Self { expression: xpath(text)? })
    }

    /// Evaluates the expression at the root. Nodes are a list of their texts.
    pub(super) fn query(&self, markup: &Markup) -> Outcome<'static> {
        let document = &markup.document;
        let mut context = XPathContext::new(document, document.root());
        markup.prefixes.iter().for_each(|(prefix, namespace)| context.set_namespace(prefix, namespace));
        let value = match context.evaluate(&self.expression).map_err(|_| Mismatch)? {
            XPathValue::NodeSet(nodes) => {
                Value::List(nodes.into_iter().map(|node| Value::Text(text_of(document, node))).collect())
            }
            XPathValue::Boolean(value) => Value::Boolean(value),
            XPathValue::Number(number) if number.is_finite() => Value::Float(number),
            XPathValue::Number(_) => return Err(Mismatch),
            XPathValue::String(text) => Value::Text(text.into()),
        };
        Ok(Some(Found::Owned(value)))
    }
}

/// The string-value of a node (XPath 1.0, section 5).
fn text_of(document: &Document, node: XPathNode) -> CompactString {
    match node {
        XPathNode::Node(id) => document.text_content(id).into(),
        XPathNode::Attribute { owner, index } => {
            let attribute =
                usize::try_from(index).ok().and_then(|index| document.attributes(owner).get(index));
            attribute.map_or_else(CompactString::default, |attribute| attribute.value.as_str().into())
        }
    }
}

impl Markup {
    /// Reads a document of HTML. There is none that cannot be read, but for what takes too long.
    pub(super) fn html(text: &str) -> Result<Self, &'static str> {
        if text.len() > SIZE_MAX {
            return Err(TOO_LARGE);
        }
        if depth(text) > DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        let document = parse_html5(text).map_err(|_| "the body is not HTML")?;
        Ok(Self { document, prefixes: Vec::new() })
    }

    /// Reads a document of XML.
    pub(super) fn xml(text: &str) -> Result<Self, &'static str> {
        if text.len() > SIZE_MAX {
            return Err(TOO_LARGE);
        }
        let options = ParseOptions::default().max_depth(XML_DEPTH_MAX);
        let document =
            parse_str_with_options(text, &options).map_err(|_| "the body is neither HTML nor XML")?;
        let prefixes = document.root_element().map_or_else(Vec::new, |root| prefixes(&document, root));
        Ok(Self { document, prefixes })
    }
}

/// The prefixes that an element declares.
fn prefixes(document: &Document, element: NodeId) -> Vec<(String, String)> {
    let declared = document.attributes(element).iter().filter_map(|attribute| {
        let prefix = match attribute.prefix.as_deref() {
            Some("xmlns") => attribute.name.as_str(),
            None if attribute.name == "xmlns" => "_",
            _ => attribute.name.strip_prefix("xmlns:")?,
        };
        Some((prefix.to_owned(), attribute.value.clone()))
    });
    declared.collect()
}

/// The greatest depth at which elements of HTML are nested. Those whose end may be left out, and those without one, do not count:
/// another of their kind, or their parent, ends them.
fn depth(text: &str) -> u32 {
    const ENDED_BY_OTHERS: [&str; 36] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr", "li", "dt", "dd", "p", "option", "optgroup", "tr", "td", "th", "thead", "tbody",
        "tfoot", "colgroup", "caption", "rt", "rp", "html", "head", "body", "frame", "bgsound", "keygen",
    ];
    let (mut depth, mut deepest) = (0_u32, 0);
    for (at, _) in text.match_indices('<') {
        let rest = &text[at + 1..];
        let is_end = rest.starts_with('/');
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let length =
            rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(rest.len());
        let name = &rest[..length];
        if name.is_empty() || ENDED_BY_OTHERS.iter().any(|other| name.eq_ignore_ascii_case(other)) {
            continue;
        }
        depth = if is_end { depth.saturating_sub(1) } else { depth + 1 };
        deepest = deepest.max(depth);
    }
    deepest
}

impl std::fmt::Debug for Markup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Markup").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    const PAGE: &str = "<!DOCTYPE html><html><head><title>Shop &amp; more</title></head><body><h1 id=a>Hi <b>there</b></h1>\
        <ul><li class='x'>1<li>2<li>3</ul><a href='/n?p=2'>next</a><input type=hidden name=csrf value='tok-1'></body></html>";

    fn find(markup: &Markup, expression: &str) -> Option<Value> {
        XPath::new(expression).unwrap().query(markup).ok().flatten().map(Found::into_value)
    }

    fn list(texts: &[&str]) -> Value {
        Value::List(texts.iter().map(|&text| Value::Text(text.into())).collect())
    }

    #[test]
    fn values_of_html_have_the_types_of_xpath() {
        let page = Markup::html(PAGE).unwrap();
        let text = |text: &str| Some(Value::Text(text.into()));
        for (expression, expected) in [
            ("string(//title)", text("Shop & more")),
            ("string(/html/head/title)", text("Shop & more")),
            ("normalize-space(//h1)", text("Hi there")),
            ("string(//a/@href)", text("/n?p=2")),
            ("string(//input[@name='csrf']/@value)", text("tok-1")),
            ("count(//li)", Some(Value::Float(3.0))),
            ("sum(//li)", Some(Value::Float(6.0))),
            ("boolean(//form)", Some(Value::Boolean(false))),
            ("contains(//a, 'nex')", Some(Value::Boolean(true))),
            ("//li", Some(list(&["1", "2", "3"]))),
            ("//li[2]", Some(list(&["2"]))),
            ("//li/@class", Some(list(&["x"]))),
            ("//form", Some(list(&[]))),
            ("number(//h1)", None),
            ("$unknown", None),
            ("nonsense(//h1)", None),
        ] {
            assert_eq!(find(&page, expression), expected, "{expression}");
        }
    }

    #[test]
    fn elements_of_xml_may_have_prefixes() {
        let feed = Markup::xml("<f xmlns='urn:a' xmlns:p='urn:b'><e>1</e><p:e k='v'>2</p:e></f>").unwrap();
        assert_eq!(find(&feed, "string(//_:e)"), Some(Value::Text("1".into())));
        assert_eq!(find(&feed, "string(//p:e)"), Some(Value::Text("2".into())));
        assert_eq!(find(&feed, "string(//*[local-name()='e'][2]/@k)"), Some(Value::Text("v".into())));
        assert_eq!(find(&feed, "//_:none"), Some(list(&[])));
        assert!(Markup::xml("<f><e></f>").is_err() && Markup::xml("{}").is_err());
    }

    #[test]
    fn an_expression_is_read_before_the_run() {
        for text in ["//li[", "", "//h1 ~ 2", "string(", &"(".repeat(65), &"-".repeat(65)] {
            assert!(XPath::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_takes_too_long_is_not_read() {
        let began = Instant::now();
        assert_eq!(Markup::html(&"<div>".repeat(100_000)).err(), Some(TOO_DEEP));
        assert_eq!(Markup::html(&"<b>x</b><i>".repeat(300)).err(), Some(TOO_DEEP));
        assert_eq!(Markup::html(&"x".repeat(SIZE_MAX + 1)).err(), Some(TOO_LARGE));
        assert!(Markup::xml(&"<a>".repeat(100_000)).is_err());
        assert!(Markup::xml(&["<a>".repeat(100), "</a>".repeat(100)].concat()).is_ok());
        let bomb = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>\
            <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>\
            <!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'>\
            <!ENTITY g '&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;'><!ENTITY h '&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;'>]><a>&h;</a>";
        let size = Markup::xml(bomb).map_or(0, |read| read.document.text_content(read.document.root()).len());
        assert!(size < 1 << 24, "{size}");
        // A page of many items, none of them ended, is no deep one.
        assert!(Markup::html(&format!("<ul>{}</ul>", "<li>x".repeat(2_000))).is_ok());
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
