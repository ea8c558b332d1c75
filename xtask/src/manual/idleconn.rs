//! The manual page idleconn(1).
//!
//! Text between backticks is set in bold.

use httperf_command_line::examples::Example;
use httperf_command_line::grammar::{Description, help};
use roff::{Roff, bold, roman};

use super::prose::{Entry, entry};
use super::{entries, option_entry, paragraphs, section, title, verbatim};

/// Name of the program, and of the command of httperf that it is.
const NAME: &str = "idleconn";

/// Generates the page in roff.
pub(crate) fn page(commands: &[Description]) -> String {
    let command = commands.iter().find(|command| command.name == NAME).expect("it is one of the commands");
    let mut page = Roff::new();
    title(&mut page, "IDLECONN");

    section(&mut page, "NAME");
    page.text([roman("idleconn - holds idle connections to a server")]);

    section(&mut page, "SYNOPSIS");
    page.control("PP", []);
    page.text([bold(NAME), roman(format!(" {}", help::synopsis(command)))]);

    section(&mut page, "EXAMPLES");
    for Example { purpose, line } in command.examples {
        paragraphs(&mut page, &[&format!("{purpose}:")]);
        verbatim(&mut page, line.trim_start_matches("httperf "));
    }

    section(&mut page, "DESCRIPTION");
    paragraphs(&mut page, DESCRIPTION);

    section(&mut page, "OPTIONS");
    for option in command.options() {
        option_entry(&mut page, option);
    }

    section(&mut page, "OUTPUT");
    paragraphs(&mut page, OUTPUT);
    verbatim(&mut page, OUTPUT_EXAMPLE);
    paragraphs(&mut page, OUTPUT_MEANING);

    section(&mut page, "EXIT STATUS");
    entries(&mut page, EXIT_STATUS);

    section(&mut page, "SEE ALSO");
    page.text([bold("httperf"), roman("(1)")]);
    page.render()
}

const DESCRIPTION: &[&str] = &[
    "`idleconn` opens a number of TCP connections to a server, holds them, and sends nothing on them. It shows how a \
     server copes with many idle clients, usually beside a load of `httperf`. It is the same program as `httperf \
     idleconn`; words, output and exit statuses are those of the program of this name that came with httperf 0.9.",
    "SERVER is a name or an address, PORT a number from 1 to 65535, and NUMBER the number of connections. Of a name \
     with several addresses, the first one is used. At most 64 connections are being established at a time.",
    "If the server closes a connection or sends anything on it, the connection is closed, and a new one takes its \
     place. If one cannot be established, the reason is printed, and no further ones are opened for a second.",
    "Each connection takes a file descriptor. `idleconn` raises its limit of open files as far as the system lets it. \
     If that is not far enough, it warns, and holds as many connections as the limit has room for.",
    "It goes on until the time of `--duration` is over, or until SIGINT, SIGTERM or SIGHUP ends it.",
];

const OUTPUT: &[&str] = &[
    "The first line says how many connections are held, and the last one what became of them. Lines between them say \
     why connections could not be established:",
];

const OUTPUT_EXAMPLE: &str = "\
idleconn: creating and maintaining 1000 idle connections
connect: Connection refused
idleconn: total # conn. created = 1000, close() rate = 0 conn/sec
";

const OUTPUT_MEANING: &[&str] = &[
    "Created are all connections that were established, also those that took the place of others. The close() rate \
     is the number of connections per second that the server closed or on which it sent something.",
];

const EXIT_STATUS: &[Entry] = &[
    entry("0", "The time was over, or SIGINT ended it; or help was printed."),
    entry("1", "An option could not be used, output could not be written, or the system refused something."),
    entry("129, 143", "SIGHUP or SIGTERM ended it. The last line has been printed."),
    entry(
        "255",
        "The words were not a server, a port and a number, the port or the number could not be used, or the server's \
         name could not be resolved.",
    ),
];
