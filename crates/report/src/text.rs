//! The text form of a result: the classic report and its additions.

use crate::answer::{Rest, answer};
use crate::classic::classic;
use crate::clocks::times;
use crate::details::details;
use crate::fleet::fleet;
use crate::forms::{Screen, Written as _};
use crate::objectives::section;
use crate::replay::replay;
use crate::result::Document;
use crate::section::{Section, of_connections, of_replies};
use crate::verdict::verdict_section;
use crate::visible;
use crate::visits::visits;

impl Document {
    /// The classic report with the objectives; if `full`, with the additions of the full one.
    #[must_use]
    pub fn text(&self, full: bool) -> String {
        match full {
            true => self.plain_text(),
            false => visible::report(format!("{}{}", classic(&self.plan, &self.summary), section(self))),
        }
    }

    /// The answer alone. Of visits, their steps are part of it.
    #[must_use]
    pub fn answer(&self, screen: Screen) -> String {
        let visits = match self.figures.visits.as_ref() {
            None => String::new(),
            Some(figures) => screen.fitted(visits(Some(figures), screen)) + "\n",
        };
        visible::report(
            visits.trim_start_matches('\n').to_owned() + &answer(self, screen, Rest::Unprinted).to_string(),
        )
    }
}

/// Additions of the full report to the classic one: times, TLS, HTTP/2, details, the verdict, the objectives, and at
/// last the answer, which has a layout of its own.
pub(crate) fn additions(document: &Document, screen: Screen) -> String {
    let Document { plan, summary, verdict, .. } = document;
    let mut text = times(document).to_string();
    text += &visits(document.figures.visits.as_ref(), screen);
    text += &replay(plan, summary).to_string();
    text.extend(of_replies(document).iter().chain(&of_connections(document)).map(Section::to_string));
    text += &format!("{}{}", details(document), fleet(document.fleet.as_ref(), screen));
    text += &format!("{}{}", verdict_section(verdict), section(document));
    format!("{}{}", screen.fitted(text), answer(document, screen, Rest::Above))
}
