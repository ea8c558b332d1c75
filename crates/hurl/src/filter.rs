//! Filters: changes of values.

use crate::cursor::{Parsed, Parser};
use crate::{Filter, FilterKind};

/// The filters that are supported, as a hint.
pub(crate) fn known() -> &'static str {
    "filters are count, first, last, nth, regex, replace, replaceRegex, split, toInt, toFloat, toString, urlEncode, \
     urlDecode, htmlEscape, htmlUnescape, base64Encode, base64Decode, base64UrlSafeEncode, base64UrlSafeDecode, \
     location, jsonpath, xpath"
}

impl Parser<'_> {
    /// Parses filters, each after a space. Steps over the spaces after the last, and tells if there were any.
    pub(crate) fn filters(&mut self) -> Parsed<(Vec<Filter>, bool)> {
        let mut filters = Vec::new();
        loop {
            let spaced = self.skip_spaces();
            if !spaced {
                return Ok((filters, false));
            }
            match self.filter()? {
                Some(filter) => filters.push(filter),
                None => return Ok((filters, true)),
            }
        }
    }

    /// Parses a filter, if the next word is the name of one.
    pub(crate) fn filter(&mut self) -> Parsed<Option<Filter>> {
        let start = self.at;
        let word = self.word();
        self.at += word.len();
        let kind = match word {
            "count" => FilterKind::Count,
            "first" => FilterKind::First,
            "last" => FilterKind::Last,
            "nth" => FilterKind::Nth(self.index()?),
            "regex" => FilterKind::Regex(self.pattern_argument()?),
            "replace" => FilterKind::Replace {
                old: self.quoted_argument("the text to replace")?,
                new: self.quoted_argument("the new text")?,
            },
            "replaceRegex" => FilterKind::ReplaceRegex {
                pattern: self.pattern_argument()?,
                new: self.quoted_argument("the new text")?,
            },
            "split" => FilterKind::Split(self.quoted_argument("the separator")?),
            "toInt" => FilterKind::ToInt,
            "toFloat" => FilterKind::ToFloat,
            "toString" => FilterKind::ToText,
            "urlEncode" => FilterKind::UrlEncode,
            "urlDecode" => FilterKind::UrlDecode,
            "htmlEscape" => FilterKind::HtmlEscape,
            "htmlUnescape" => FilterKind::HtmlUnescape,
            "base64Encode" => FilterKind::Base64Encode,
            "base64Decode" => FilterKind::Base64Decode,
            "base64UrlSafeEncode" => FilterKind::Base64UrlSafeEncode,
            "base64UrlSafeDecode" => FilterKind::Base64UrlSafeDecode,
            "location" => FilterKind::Location,
            "jsonpath" => FilterKind::JsonPath(self.quoted_argument("a JSONPath")?),
            "xpath" => FilterKind::XPath(self.quoted_argument("an XPath")?),
            _ => match self.refused_filter(word)? {
                Some(kind) => kind,
                None => {
                    self.at = start;
                    return Ok(None);
                }
            },
        };
        Ok(Some(Filter { kind, span: self.since(start) }))
    }

    /// Parses the argument of a filter that is refused, and stands in for it.
    fn refused_filter(&mut self, word: &str) -> Parsed<Option<FilterKind>> {
        let start = self.at - word.len();
        let (argument, hint) = match word {
            "urlQueryParam" => (true, "take the value with `regex`"),
            "decode" | "charsetDecode" => (true, "texts are UTF-8"),
            "format" | "dateFormat" | "toDate" => (true, "compare dates as texts"),
            "daysAfterNow" | "daysBeforeNow" => (false, "compare dates as texts"),
            "toHex" => (false, "compare bytes with `hex,…;`"),
            "utf8Decode" | "utf8Encode" => (false, "leave it out: texts are UTF-8"),
            _ => return Ok(None),
        };
        if argument {
            self.quoted_argument("a text")?;
        }
        self.refuse(start..start + word.len(), &format!("the filter `{word}`"), Some(hint));
        Ok(Some(FilterKind::Count))
    }

    /// Parses a space and the index of `nth`.
    fn index(&mut self) -> Parsed<i64> {
        self.expect_space("an index")?;
        let start = self.at;
        if self.rest().starts_with("{{") {
            self.lone_expression()?;
            self.refuse(self.since(start), "`{{…}}` as the index of `nth`", Some("write a number"));
            return Ok(0);
        }
        let unexpected = self.expected("an index, such as 0 or -1");
        let digits = self.integer_text().ok_or_else(|| unexpected.clone())?;
        digits.parse().map_err(|_| unexpected)
    }
}
