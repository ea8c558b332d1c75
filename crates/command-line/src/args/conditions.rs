//! Conditions behind the terms of rules. Most terms are options, and hold if the option was given.

use std::ffi::OsString;

use httperf_plan::{Arrivals, ReplyClock, StreamedReplies, TlsVersion};

use super::{Args, FormValue, Protocol, STDOUT, SessionKind, UriChoice, Version};
use crate::grammar::parse::given;
use crate::grammar::{Command, Order, ParseStop, rules};
use crate::table::COMMAND;

/// A term, and whether it holds.
type Condition = (&'static str, fn(&Args) -> bool);

/// Terms that depend on a value, or that can be given in several ways.
///
/// A value that is the default, such as `--max-connections=0`, says nothing. Of options that override each other, the last
/// counts.
const CONDITIONS: &[Condition] = &[
    ("rate", |args| args.arrivals != Arrivals::Sequential && !args.is_given("period")),
    ("period", |args| args.arrivals != Arrivals::Sequential && args.is_given("period")),
    ("request-rate", |args| args.load.call_arrivals.is_some() && !args.is_given("request-period")),
    ("duration", |args| args.load.duration > 0.0),
    ("drain", |args| args.results.drain.is_some_and(|drain| drain > 0.0)),
    ("wlog", |args| args.uri_choice == UriChoice::Log),
    ("wset", |args| args.uri_choice == UriChoice::Set),
    ("wsess", |args| matches!(args.session_kind(), Some(SessionKind::Calls(_)))),
    ("wsesslog", |args| matches!(args.session_kind(), Some(SessionKind::File(_)))),
    ("wsesspage", |args| matches!(args.session_kind(), Some(SessionKind::Pages(_)))),
    ("burst-length", |args| args.burst_length.get() > 1),
    ("call-pause", |args| args.load.call_pause > 0.0),
    // In sessions it is the number of connections of each.
    ("max-connections", |args| args.max_connections > 0 && args.session.is_none()),
    ("pipeline above 1", |args| args.load.pipeline.is_some_and(|depth| depth.get() > 1)),
    ("streams above 1", |args| args.http2.streams.is_some_and(|count| count.get() > 1)),
    ("llm", |args| args.material.replies.streams.model.is_some() && args.material.prompts.file.is_none()),
    ("stream=off", |args| args.material.replies.streams.read == StreamedReplies::None),
    ("form with a file", |args| {
        args.material.form.iter().any(|field| matches!(field.value, FormValue::File(_)))
    }),
    ("header of Authorization", |args| args.material.has_header("Authorization")),
    ("header of Content-Type", |args| args.material.has_header("Content-Type")),
    ("header of TE", |args| args.material.has_header("TE")),
    ("header of grpc-timeout", |args| args.material.has_header("grpc-timeout")),
    (URL, |args| !args.typed_urls.is_empty()),
    ("websocket", |args| args.websocket_option().is_some()),
    ("a URL that begins with ws:// or wss://", |args| args.url().is_some_and(|url| url.websocket)),
    ("ws-messages=0", |args| args.websockets.messages == Some(0)),
    ("http-version=1.0", |args| args.version() == Version::HTTP_10),
    ("http-version=1.1", |args| args.version() == Version::HTTP_11),
    ("http-version=2", |args| args.version() == Version::HTTP_2),
    ("http-version=3", |args| args.version() == Version::HTTP_3),
    ("http-version=auto", |args| args.version() == Version::Auto),
    (
        "ssl-protocol of an older version",
        |args| matches!(args.tls.protocol, Some(Protocol::Only(version)) if version < TlsVersion::Tls13),
    ),
    ("tls-max below 1.3", |args| args.tls.max.is_some_and(|max| max < TlsVersion::Tls13)),
    ("tls-resume=0", |args| args.tls.resume == Some(0.0)),
    ("tcp-nodelay=no", |args| !args.sources.no_delay),
    ("record=classic", |args| args.results.classic_record),
    ("clock=kernel", |args| args.results.clock == ReplyClock::Kernel),
    ("output=-", |args| args.results.output.as_deref().is_some_and(|file| file == STDOUT)),
    ("steps=-", |args| args.results.steps_on_stdout()),
];

/// The term for a word that is a URL.
const URL: &str = "a URL";

impl Args {
    /// Notes the options of a run among the words of a command line.
    pub fn note_given<A, B>(&mut self, command: &Command<A, B>, words: &[OsString], order: Order) {
        let is_own = |name: &str| command.also.is_some() && command.has(name);
        self.given
            .extend(given(command, words, order).into_iter().filter(|given| !is_own(given.option.long)));
    }

    /// Refuses options that cannot be used together, and those without what they need, as their declarations say.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_rules(&self) -> Result<(), ParseStop> {
        rules::check(COMMAND.options(), |term| self.said(term), &self.brought)
    }

    /// Returns how a term of a rule was given, as messages show it; `None` if it does not hold.
    fn said(&self, term: &str) -> Option<String> {
        let holds = match CONDITIONS.iter().find(|(name, _)| *name == term) {
            Some((_, holds)) => holds(self),
            None => self.is_given(term),
        };
        holds.then(|| match self.websocket_option() {
            Some(option) if term == "websocket" => option.to_owned(),
            _ if term.starts_with("http-version=") => self.version_option(),
            _ => rules::shown(term),
        })
    }

    fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given.option.long == name)
    }

    fn session_kind(&self) -> Option<&SessionKind> {
        self.session.as_ref().map(|session| &session.kind)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::tests::parsed;
    use super::*;
    use crate::grammar::rules::{option_of, shown};
    use crate::grammar::{OptDescription, Rule, ValueForm};

    /// The rules of all options: what cannot be used together, and what is needed.
    fn conflicts() -> impl Iterator<Item = (&'static OptDescription, &'static Rule)> {
        COMMAND.options().flat_map(|option| option.conflicts.iter().map(move |rule| (option, rule)))
    }

    fn needs() -> impl Iterator<Item = (&'static OptDescription, &'static Rule)> {
        COMMAND.options().flat_map(|option| option.needs.iter().map(move |rule| (option, rule)))
    }

    /// A word that makes a term hold.
    fn word(term: &str) -> String {
        if let Some(name) = term.strip_prefix("header of ") {
            return format!("--header={name}: x");
        }
        match term {
            URL => "http://h/".to_owned(),
            "a URL that begins with ws:// or wss://" => "ws://h/".to_owned(),
            "pipeline above 1" => "--pipeline=2".to_owned(),
            "streams above 1" => "--streams=2".to_owned(),
            "ssl-protocol of an older version" => "--ssl-protocol=TLSv1.2".to_owned(),
            "form with a file" => "--form=a=@f".to_owned(),
            "tls-max below 1.3" => "--tls-max=1.2".to_owned(),
            _ if term.contains('=') => format!("--{term}"),
            _ => {
                let option = COMMAND.options().find(|option| option.long == term);
                match option.unwrap_or_else(|| panic!("{term} is an option")).value {
                    ValueForm::None | ValueForm::Optional(_) => format!("--{term}"),
                    ValueForm::Required(_) => format!("--{term}={}", value(term)),
                }
            }
        }
    }

    /// A value that an option takes.
    fn value(option: &str) -> &'static str {
        match option {
            "wsess" | "wsesspage" => "1,2,0",
            "wsesslog" => "1,0,f",
            "wlog" => "y,f",
            "wset" => "1,0",
            "connect-to" => ":::",
            "proxy" => "http://h",
            "form" => "a=b",
            "basic-auth" => "a:b",
            "goodput" => "ttft<1s",
            "llm" => "openai",
            "grpc" => "a.B/C",
            "ws-expect" => "any",
            "h2-connection-window" => "1m",
            "h2-max-frame" => "16k",
            "quic-max-datagram" => "1400",
            "quic-congestion" => "cubic",
            "quic-version" => "1",
            "tls-cert-compression" => "zlib",
            "tos" => "4",
            "split" => "uri",
            "until" => "p99:5%",
            "slo" => "p99<1s",
            "metrics" => "127.0.0.1:9464",
            "otlp" => "http://h/",
            "fleet" => "0/2",
            "meet" => "dir:f",
            "start-at" => "2026-11-23T15:00:00Z",
            _ => "2",
        }
    }

    fn refused(words: &[String]) -> Option<String> {
        let words: Vec<&str> = words.iter().map(|word| &word[..]).collect();
        parsed(&words).err().map(|stop| stop.text())
    }

    #[test]
    fn the_terms_of_rules_are_options_or_conditions() {
        // One is an option of `httperf run`.
        let exists = |name: &str| name == "steps" || COMMAND.options().any(|known| known.long == name);
        let mut used: HashSet<&str> = HashSet::new();
        for (option, rule) in conflicts().chain(needs()) {
            for &term in rule.others.iter().chain(&rule.form) {
                let is_condition = CONDITIONS.iter().any(|(name, _)| *name == term);
                let name = option_of(term);
                assert!(name.is_none_or(exists), "--{}: {term}", option.long);
                assert!(is_condition || name == Some(term), "--{}: {term}", option.long);
                used.insert(term);
            }
            assert!(rule.form.is_none_or(|form| option_of(form) == Some(option.long)), "--{}", option.long);
            used.insert(option.long);
        }
        for (name, _) in CONDITIONS {
            assert!(used.contains(name), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_used_together_is_refused_in_one_sentence() {
        let mut pairs: HashSet<[&str; 2]> = HashSet::new();
        for (option, rule) in conflicts() {
            let subject = rule.subject(option);
            for &other in rule.others {
                let mut pair = [subject, other];
                pair.sort_unstable();
                assert!(pairs.insert(pair), "{pair:?} is there twice");
                // An option of `httperf run`.
                if other != "steps=-" {
                    let words = [word(subject), word(other)];
                    let expected = rule.conflict(&shown(subject), &shown(other));
                    assert_eq!(refused(&words), Some(expected), "{words:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_needed_is_asked_for_in_one_sentence() {
        for (option, rule) in needs() {
            let subject = rule.subject(option);
            // What the rules before it need is there.
            let earlier = option.needs.iter().take_while(|earlier| !std::ptr::eq(*earlier, rule));
            let earlier = earlier.map(|earlier| word(earlier.others[0]));
            // Some options imply a version.
            let version = rule.others[0].starts_with("http-version").then(|| "--http-version=1.0".to_owned());
            let words: Vec<String> = [word(subject)].into_iter().chain(earlier).chain(version).collect();
            let expected = rule.need(&shown(subject));
            assert_eq!(refused(&words).as_ref(), Some(&expected), "{words:?}");
            for other in rule.others {
                let words = [&words[..], &[word(other)]].concat();
                assert_ne!(refused(&words).as_ref(), Some(&expected), "{words:?}");
            }
        }
    }

    #[test]
    fn a_default_that_is_typed_is_refused_nowhere() {
        let calls = ["--request-rate=1", "--duration=1"];
        for words in [
            &["--max-connections=0", "--burst-length=1", "--rate=0", "--call-pause=0"][..],
            &["--period=0", "--tcp-nodelay=yes", "--stream=auto", "--drain=0"],
            &["--record=full", "--html=f", "--clock=program"],
        ] {
            assert_eq!(parsed(&[words, &calls].concat()).map(drop), Ok(()), "{words:?}");
        }
        assert!(parsed(&["--max-open=4", "--max-connections=0", "--rate=1"]).is_ok());
        assert!(parsed(&["--http-version=3", "--tls-max=1.3", "--ssl-protocol=TLSv1.3"]).is_ok());
        assert!(parsed(&["--call-pause=1", "--concurrency=2", "--pipeline=1"]).is_ok());
    }

    #[test]
    fn of_options_that_override_each_other_the_last_counts() {
        assert!(parsed(&["--wsesslog=1,0,f", "--body=x", "--wsess=1,1,0"]).is_ok());
        assert!(parsed(&["--rate=5", "--request-rate=1", "--duration=1", "--period=0"]).is_ok());
        // A number of connections means another thing in a session.
        assert!(parsed(&["--max-open=9", "--max-connections=4", "--wsess=1,1,0"]).is_ok());
        let message = "--max-open cannot be used with --max-connections: --max-connections skips arrivals instead of letting them wait";
        let words = ["--max-open=9", "--max-connections=4", "--rate=1"].map(str::to_owned);
        assert_eq!(refused(&words).as_deref(), Some(message));
    }

    #[test]
    fn a_message_names_what_was_typed() {
        for (words, message) in [
            (["ws://h/", "--body=x"], "ws:// cannot be used with --body: calls open WebSockets"),
            (["ws://h/", "--http-version=3"], "ws:// needs --http-version=1.1 or 2"),
            (
                ["--http-version=2", "--pipeline=2"],
                "--pipeline cannot be used with --http-version=2: there, --streams says how many calls may be outstanding",
            ),
        ] {
            assert_eq!(refused(&words.map(str::to_owned)).as_deref(), Some(message));
        }
    }
}
