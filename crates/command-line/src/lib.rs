//! From words to a plan: the grammar of command lines, the table of options, what was typed, and what it means.
//!
//! * [`grammar`] is how any command line of the program is described, read and explained.
//! * [`table`] has the options of a run, [`args`] what was typed of them, and [`planning`] makes a plan of that.
//! * [`grpc`] finds out what is sent to a method of gRPC.
//! * [`examples`] and [`hints`] help whoever types: what is usual, and what others call it.
//! * [`terminal`] is how the program speaks: messages, colours, the lines of a terminal.

pub mod args;
pub mod echo;
pub mod examples;
pub mod grammar;
pub mod grpc;
pub mod hints;
pub mod names;
pub mod outputs;
pub mod planning;
pub mod printf;
pub mod table;
pub mod terminal;
pub mod values;
pub mod workload_file;
