//! The program from outside: its options, its output, its files, and its behaviour with servers of other makes.

mod ab;
mod abbreviations;
mod alt_svc;
mod bad_input;
mod books;
mod command_line;
mod compare;
mod doctor;
mod documents;
mod early_replies;
mod endings;
mod first_commands;
mod fleet;
mod fleet_trials;
mod generated;
mod http2_options;
mod http2_servers;
mod http3;
mod http3_links;
mod import;
mod launching;
mod like;
mod material;
mod metrics;
mod monitor;
mod objectives;
mod old_scripts;
mod plot;
mod printed;
mod prompts;
mod real_servers;
mod replays;
mod results;
mod scenarios;
mod serve;
mod sources;
mod strangers;
mod streams;
mod tls_both_ends;
mod tls_lab;
mod tls_servers;
mod transcripts;
mod workload_files;

#[path = "../support/mod.rs"]
mod support;
