//! From words to a plan: the grammar of command lines, the table of options, what was typed, and what it means.

pub mod args;
pub mod echo;
pub mod examples;
pub mod grammar;
pub mod hints;
pub mod outputs;
pub mod planning;
pub mod printf;
pub mod table;
pub mod values;
pub mod workload_file;
