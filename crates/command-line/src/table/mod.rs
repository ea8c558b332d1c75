//! The options of the program itself: those of the classic tool and ours.

mod checks;
mod fleet;
mod general;
mod grpc;
mod http2;
mod load;
mod material;
mod metrics;
pub mod objectives;
mod quic;
pub mod reports;
mod requests;
pub mod results;
mod rules;
mod schedule;
mod sessions;
mod sockets;
mod sources;
mod streams;
mod target;
mod tls;
mod websocket;
mod workload;

pub use self::tls::parse_server_name;

use std::ffi::OsString;

use httperf_report::PlanOptions;

use crate::args::Args;
use crate::grammar::parse::other_words;
use crate::grammar::{Command, Group, Order, ParseStop, parse};

/// The program itself.
pub const COMMAND: Command<Args> = Command {
    name: "",
    summary: "Offers HTTP load to a server on a fixed schedule and reports what came back.",
    words: "[URL]",
    groups: &[
        Group { title: "Target", options: target::OPTIONS },
        Group { title: "Way to the server", options: sources::WAY },
        Group { title: "Schedule", options: schedule::OPTIONS },
        Group { title: "Duration, closed loop, calls at a rate, threads", options: load::OPTIONS },
        Group { title: "Workload", options: workload::OPTIONS },
        Group { title: "Sessions", options: sessions::OPTIONS },
        Group { title: "Requests", options: requests::OPTIONS },
        Group { title: "Bodies and header fields", options: material::OPTIONS },
        Group { title: "Checks of replies", options: checks::OPTIONS },
        Group { title: "Streams and language models", options: streams::OPTIONS },
        Group { title: "WebSockets", options: websocket::OPTIONS },
        Group { title: "gRPC", options: grpc::OPTIONS },
        Group { title: "HTTP/2", options: http2::OPTIONS },
        Group { title: "QUIC, under HTTP/3", options: quic::OPTIONS },
        Group { title: "TLS", options: tls::OPTIONS },
        Group { title: "Timeouts and sockets", options: sockets::OPTIONS },
        Group { title: "Socket options", options: sources::SOCKETS },
        Group { title: "Recording", options: results::RECORDING },
        Group { title: "Objectives", options: objectives::OPTIONS },
        Group { title: "Fleet", options: fleet::OPTIONS },
        Group { title: "Results", options: results::FILES },
        Group { title: "Reports", options: reports::FORMS },
        Group { title: "Printed meanwhile", options: reports::PRINTED },
        Group { title: "General", options: general::OPTIONS },
    ],
    also: None,
    word: target::word,
};

impl Args {
    /// Applies a command line (without the program's name) to these arguments.
    ///
    /// # Errors
    ///
    /// The mistake in it, or what it asks for instead of a run. The notices of what came before stay in
    /// `self`.
    pub fn parse(&mut self, argv: &[OsString]) -> Result<(), ParseStop> {
        let order = Order::from_environment();
        parse(&COMMAND, argv, order, self)?;
        self.note_given(&COMMAND, argv, order);
        self.settle_buffers();
        self.check_words(other_words(&COMMAND, argv, order))?;
        self.check()
    }
}

/// The options that set fields of a plan.
pub fn plan_options() -> PlanOptions {
    let options = COMMAND.options().flat_map(|option| option.sets.iter().map(|path| (*path, option.long)));
    PlanOptions::new(options.map(|(path, name)| (path, format!("--{name}"))))
}

/// Of these options those that say what a run is: for commands that make several.
pub const RUN: &[Group<Args>] = COMMAND.groups.split_at(RUN_GROUPS).0;

/// The number of those groups, which come first above.
const RUN_GROUPS: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn options_set_fields_that_plans_have() {
        let schema: Value = serde_json::from_str(&httperf_report::result::schema()).expect("it is JSON");
        let plan = &schema["properties"]["plan"];
        let mut paths: Vec<&str> = COMMAND.options().flat_map(|option| option.sets).copied().collect();
        for path in &paths {
            let names: Vec<&str> = path.strip_prefix("rpc.").unwrap_or(path).split('.').collect();
            assert!(has_field(&schema, plan, &names), "{path}");
        }
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count, "no two options set the same field");
    }

    /// Returns whether values of this part of a schema may have the field at these names.
    fn has_field(schema: &Value, part: &Value, names: &[&str]) -> bool {
        let Some((name, rest)) = names.split_first() else { return true };
        if let Some(reference) = part["$ref"].as_str() {
            let target = schema.pointer(reference.trim_start_matches('#')).expect("it is in the schema");
            return has_field(schema, target, names);
        }
        let choices = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| part[key].as_array());
        part["properties"].get(name).is_some_and(|field| has_field(schema, field, rest))
            || choices.flatten().any(|choice| has_field(schema, choice, names))
    }

    #[test]
    fn no_two_options_share_a_name_or_a_letter() {
        let mut names: Vec<&str> = COMMAND.options().map(|option| option.long).collect();
        let mut letters: Vec<char> = COMMAND.options().filter_map(|option| option.short).collect();
        let (name_count, letter_count) = (names.len(), letters.len());
        names.sort_unstable();
        names.dedup();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!((names.len(), letters.len()), (name_count, letter_count));
    }

    #[test]
    fn what_says_what_a_run_is_comes_first() {
        let titles: Vec<&str> = RUN.iter().map(|group| group.title).collect();
        assert_eq!((titles[0], titles[RUN_GROUPS - 1]), ("Target", "Fleet"));
        assert!(COMMAND.groups[RUN_GROUPS..].iter().any(|group| group.title == "Results"));
    }

    #[test]
    fn every_option_is_described_in_one_line_without_full_stop() {
        for option in COMMAND.options() {
            assert!(
                !option.help.is_empty() && option.help.len() <= 90,
                "--{}: {:?}",
                option.long,
                option.help
            );
            assert!(!option.help.ends_with('.'), "--{}", option.long);
            for paragraph in option.details {
                assert!(paragraph.ends_with('.'), "--{}: {paragraph:?}", option.long);
            }
        }
    }
}
