//! XPath 1.0 in HTML and XML (<https://www.w3.org/TR/1999/REC-xpath-19991116/>).

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::LazyLock;

use compact_str::CompactString;
use httperf_plan::scenario::{Value, xpath};
use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{
    DocumentContentHandlers, ElementContentHandlers, HtmlRewriter, LocalHandlerTypes, MemorySettings,
    Selector, Settings,
};
use xmloxide::parser::{ParseOptions, parse_str_with_options};
use xmloxide::xpath::ast::Expr;
use xmloxide::xpath::{XPathContext, XPathNode, XPathValue};
use xmloxide::{Document, NodeId};

use super::value::{Found, Mismatch, Outcome};

/// The size of the largest document that is read, in bytes, and of all texts of the nodes that an expression finds.
const SIZE_MAX: usize = 4 << 20;
const TEXTS_MAX: usize = 4 * SIZE_MAX;

/// The greatest depth of elements of HTML, which bounds the search for the one that an end tag ends.
const DEPTH_MAX: usize = 256;

/// The greatest depth of elements of XML: its parser calls itself for each level, with some kilobytes of stack.
const XML_DEPTH_MAX: u32 = 100;

/// Memory of the reader of HTML, beside the document.
const READER_MEMORY_MAX: usize = 8 << 20;

const TOO_LARGE: &str = "the body is too large for XPath, which reads 4 MiB at most";
const TOO_DEEP: &str = "the body is no HTML that XPath can read: it may be nested 256 levels deep at most";

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
            XPathValue::NodeSet(nodes) => Value::List(texts_of(document, &nodes)?),
            XPathValue::Boolean(value) => Value::Boolean(value),
            XPathValue::Number(number) if number.is_finite() => Value::Float(number),
            XPathValue::Number(_) => return Err(Mismatch),
            XPathValue::String(text) => Value::Text(text.into()),
        };
        Ok(Some(Found::Owned(value)))
    }
}

/// The texts of nodes. Fails if they are too long together, as each node repeats the texts of those within it.
fn texts_of(document: &Document, nodes: &[XPathNode]) -> Result<Vec<Value>, Mismatch> {
    let (mut texts, mut size) = (Vec::with_capacity(nodes.len()), 0);
    for &node in nodes {
        let text = text_of(document, node);
        size += text.len();
        if size > TEXTS_MAX {
            return Err(Mismatch);
        }
        texts.push(Value::Text(text));
    }
    Ok(texts)
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
    /// Reads a document of HTML: the elements as their tags stand, with `html`, `head` and `body` where these are left out. The
    /// time that it takes grows with the size alone, which that of the algorithm of browsers does not.
    pub(super) fn html(text: &str) -> Result<Self, &'static str> {
        static ALL: LazyLock<Selector> = LazyLock::new(|| "*".parse().expect("it is a selector"));
        if text.len() > SIZE_MAX {
            return Err(TOO_LARGE);
        }
        let page = Rc::new(RefCell::new(Page::new()));
        let (elements, texts) = (Rc::clone(&page), Rc::clone(&page));
        let element = move |element: &mut Element<'_, '_, LocalHandlerTypes>| {
            let Some(opened) = elements.borrow_mut().open(element)? else { return Ok(()) };
            let page = Rc::clone(&elements);
            element.on_end_tag(Box::new(move |_| {
                page.borrow_mut().close(opened);
                Ok(())
            }))
        };
        let text_chunk = move |chunk: &mut TextChunk<'_>| {
            texts.borrow_mut().add_text(chunk);
            Ok(())
        };
        let settings = Settings::new()
            .append_element_content_handler((
                Cow::Borrowed(&*ALL),
                ElementContentHandlers::default().element(element),
            ))
            .append_document_content_handler(DocumentContentHandlers::default().text(text_chunk))
            .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(READER_MEMORY_MAX))
            .with_strict(false);
        let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| ());
        let read = rewriter.write(text.as_bytes()).and_then(|()| rewriter.end());
        read.map_err(|_| TOO_DEEP)?;
        let mut page = page.borrow_mut();
        page.end_text();
        Ok(Self { document: std::mem::take(&mut page.document), prefixes: Vec::new() })
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

/// A page that is being read.
struct Page {
    document: Document,
    /// The elements that are open, outermost first, with their names.
    open: Vec<(NodeId, String)>,
    /// Text that goes on.
    text: String,
    /// The body has begun, or all that is before it is over.
    has_body: bool,
}

/// Elements of the head of a page.
const OF_HEAD: [&str; 9] =
    ["title", "meta", "link", "base", "style", "script", "noscript", "template", "head"];

impl Page {
    fn new() -> Self {
        Self { document: Document::new(), open: Vec::new(), text: String::new(), has_body: false }
    }

    /// Adds an element. Returns it, if it can have content.
    fn open(&mut self, element: &Element<'_, '_, LocalHandlerTypes>) -> Result<Option<NodeId>, &'static str> {
        let name = element.tag_name();
        self.end_text();
        self.complete(&name);
        while self.open.last().is_some_and(|(_, open)| ended_by(&name).contains(&open.as_str())) {
            self.open.pop();
        }
        let node = self.begin(&name);
        for attribute in element.attributes() {
            self.document.set_attribute(
                node,
                &attribute.name(),
                &htmlize::unescape_attribute(attribute.value()),
            );
        }
        if !element.can_have_content() {
            self.open.pop();
            return Ok(None);
        }
        if self.open.len() > DEPTH_MAX { Err(TOO_DEEP) } else { Ok(Some(node)) }
    }

    /// Opens `html`, `head` and `body` where a page leaves out their tags before this element, or before text (`""`).
    fn complete(&mut self, name: &str) {
        if self.open.is_empty() && name != "html" {
            self.begin("html");
        }
        if self.has_body || ["html", "body", "frameset"].contains(&name) {
            self.has_body |= name == "body" || name == "frameset";
            return;
        }
        if OF_HEAD.contains(&name) {
            if self.open.len() == 1 && name != "head" {
                self.begin("head");
            }
        } else if !self.open.iter().any(|(_, open)| OF_HEAD.contains(&open.as_str()) && open != "head") {
            self.open.truncate(1);
            self.begin("body");
            self.has_body = true;
        }
    }

    fn begin(&mut self, name: &str) -> NodeId {
        let parent = self.open.last().map_or_else(|| self.document.root(), |(node, _)| *node);
        let node = self.document.create_element(name);
        self.document.append_child(parent, node);
        self.open.push((node, name.to_owned()));
        node
    }

    /// Ends an element, and all within.
    fn close(&mut self, node: NodeId) {
        self.end_text();
        if let Some(place) = self.open.iter().rposition(|(open, _)| *open == node) {
            self.open.truncate(place);
        }
    }

    fn add_text(&mut self, chunk: &TextChunk<'_>) {
        let text = chunk.as_str();
        if self.text.is_empty() && !text.trim().is_empty() {
            self.complete("");
        }
        match chunk.text_type() {
            TextType::Data | TextType::RCData => self.text.push_str(&htmlize::unescape(text)),
            _ => self.text.push_str(text),
        }
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if let (Some((parent, _)), false) = (self.open.last(), text.is_empty()) {
            let node = self.document.create_text(&text);
            self.document.append_child(*parent, node);
        }
    }
}

/// The elements whose end may be left out before an element with this name.
fn ended_by(name: &str) -> &'static [&'static str] {
    match name {
        "li" => &["p", "li"],
        "dt" | "dd" => &["p", "dt", "dd"],
        "option" => &["option"],
        "optgroup" => &["option", "optgroup"],
        "td" | "th" => &["p", "td", "th"],
        "tr" => &["p", "td", "th", "tr"],
        "thead" | "tbody" | "tfoot" => &["p", "td", "th", "tr", "thead", "tbody", "tfoot"],
        "body" => &["head"],
        "address" | "article" | "aside" | "blockquote" | "div" | "dl" | "fieldset" | "footer" | "form"
        | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "header" | "hr" | "main" | "nav" | "ol" | "p" | "pre"
        | "section" | "table" | "ul" => &["p"],
        _ => &[],
    }
}

impl fmt::Debug for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    fn tags_that_are_left_out_are_there_all_the_same() {
        let page = Markup::html(
            "<title>T</title><h1>A<p>one<p>two<table><tr><td>1<td>2<tr><td>3</table><select><option>x<option>y</select>\
             <dl><dt>k<dd>v</dl><svg><path d='1'/><path d='2'/></svg><br>end<script>if (a<b) x('<div>')</script><!-- <i> -->",
        );
        let page = page.unwrap();
        for (expression, number) in [
            ("count(/html/head/title)", 1.0),
            ("count(/html/body/h1)", 1.0),
            ("count(//p)", 2.0),
            ("count(//p//p)", 0.0),
            ("count(//tr)", 2.0),
            ("count(//tr[1]/td)", 2.0),
            ("count(//select/option)", 2.0),
            ("count(//dl/dt)", 1.0),
            ("count(//dl/dd)", 1.0),
            ("count(//svg/path)", 2.0),
            ("count(//div | //i)", 0.0),
        ] {
            assert_eq!(find(&page, expression), Some(Value::Float(number)), "{expression}");
        }
        // A long list, none of its items ended, and many elements that end themselves.
        let list = Markup::html(&format!("<ul>{}</ul>", "<li>x".repeat(2_000))).unwrap();
        assert_eq!(find(&list, "count(/html/body/ul/li)"), Some(Value::Float(2_000.0)));
        let picture = Markup::html(&format!("<svg>{}</svg>", "<path/>".repeat(2_000))).unwrap();
        assert_eq!(find(&picture, "count(//path)"), Some(Value::Float(2_000.0)));
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
        for deep in ["<div>", "<div></x>", "<svg><tr>", "<b id=1><i>", "<table><td>", "<option><select>"] {
            assert_eq!(Markup::html(&deep.repeat(SIZE_MAX / deep.len())).err(), Some(TOO_DEEP), "{deep}");
        }
        assert_eq!(Markup::html(&"x".repeat(SIZE_MAX + 1)).err(), Some(TOO_LARGE));
        // What browsers repeat for each paragraph.
        let page: String = (0..50_000).map(|number| format!("<p><b id={number}></p>")).collect();
        assert!(Markup::html(&page).is_ok());
        let nested = format!("{}{}", "<div>".repeat(200), "x".repeat(SIZE_MAX / 2));
        assert_eq!(find(&Markup::html(&nested).unwrap(), "//div"), None);
        assert!(Markup::xml(&"<a>".repeat(100_000)).is_err());
        assert!(Markup::xml(&["<a>".repeat(100), "</a>".repeat(100)].concat()).is_ok());
        let bomb = "<!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>\
            <!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>\
            <!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'><!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'>\
            <!ENTITY g '&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;'><!ENTITY h '&g;&g;&g;&g;&g;&g;&g;&g;&g;&g;'>]><a>&h;</a>";
        let size = Markup::xml(bomb).map_or(0, |read| read.document.text_content(read.document.root()).len());
        assert!(size < 1 << 24, "{size}");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}
