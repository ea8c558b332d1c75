//! Offers HTTP load to a server and reports what came back.

use std::process::ExitCode;

fn main() -> ExitCode {
    httperf_program::main()
}
