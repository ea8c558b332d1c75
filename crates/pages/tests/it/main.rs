//! Every form of a report, from hand-made and from simulated runs.

mod answer;
mod books;
mod browser;
mod compare;
mod compare_browser;
mod conclusion;
mod documents;
mod html;
mod html_browser;
mod mutations;
mod narrow;
mod objectives;
mod pictures;
mod reports;
mod result;
mod streams;
mod sweep;
mod sweeps;
mod tls_lab;
mod verdict;
mod whole_runs;
