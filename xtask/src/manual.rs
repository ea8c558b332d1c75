//! The manual pages: httperf(1) here, idleconn(1) in a module of its own.

pub(crate) mod idleconn;
pub(crate) mod prose;

use httperf_command_line::examples::Example;
use httperf_command_line::grammar::help::{self, capitalised};
use httperf_command_line::grammar::{Description, OptDescription, ValueForm};
use roff::{Inline, Roff, bold, italic, roman};

use prose::Entry;

/// Generates httperf(1) in roff.
pub(crate) fn page(commands: &[Description]) -> String {
    let mut page = Roff::new();
    title(&mut page, "HTTPERF");

    section(&mut page, "NAME");
    page.text([roman(
        "httperf - offers HTTP load to a server on a fixed schedule and reports what came back",
    )]);

    section(&mut page, "SYNOPSIS");
    for command in commands {
        synopsis(&mut page, command);
    }

    section(&mut page, "EXAMPLES");
    for Example { purpose, line } in commands.iter().flat_map(|command| command.examples) {
        paragraphs(&mut page, &[&format!("{purpose}:")]);
        verbatim(&mut page, line);
    }
    for (text, command) in prose::EXAMPLES {
        paragraphs(&mut page, &[text]);
        verbatim(&mut page, command);
    }

    section(&mut page, "DESCRIPTION");
    paragraphs(&mut page, prose::DESCRIPTION);

    section(&mut page, "OPTIONS");
    paragraphs(&mut page, prose::OPTIONS);
    for command in commands {
        options(&mut page, command);
    }

    section(&mut page, "CHOOSING TIME-OUTS");
    paragraphs(&mut page, prose::TIMEOUTS);
    verbatim(&mut page, prose::TIMEOUTS_WITHOUT);
    paragraphs(&mut page, prose::TIMEOUTS_BETWEEN);
    verbatim(&mut page, prose::TIMEOUTS_WITH);
    paragraphs(&mut page, prose::TIMEOUTS_VALUES);

    section(&mut page, "REPORT");
    paragraphs(&mut page, prose::REPORT);
    entries(&mut page, prose::REPORT_LINES);
    paragraphs(&mut page, prose::REPORT_SESSIONS);
    entries(&mut page, prose::REPORT_SESSION_LINES);
    paragraphs(&mut page, prose::REPORT_VERBOSE);
    subsection(&mut page, "Verdict");
    paragraphs(&mut page, prose::VERDICT);
    entries(&mut page, prose::VERDICT_REASONS);
    subsection(&mut page, "Results");
    paragraphs(&mut page, prose::RESULTS);

    section(&mut page, "SEVERAL RUNS");
    paragraphs(&mut page, prose::SEVERAL_RUNS);
    section(&mut page, "TLS LAB");
    paragraphs(&mut page, prose::TLS_LAB);
    entries(&mut page, prose::TLS_LAB_COLUMNS);
    paragraphs(&mut page, prose::TLS_LAB_VERDICT);

    section(&mut page, "SELF-CHECK");
    paragraphs(&mut page, prose::SELF_CHECK);
    entries(&mut page, prose::SELF_CHECK_ROWS);
    paragraphs(&mut page, prose::SELF_CHECK_VERDICT);

    section(&mut page, "EXIT STATUS");
    entries(&mut page, prose::EXIT_STATUS);

    section(&mut page, "SIGNALS");
    paragraphs(&mut page, prose::SIGNALS);

    section(&mut page, "FILES");
    subsection(&mut page, "Lists of URIs (--wlog)");
    paragraphs(&mut page, prose::WLOG);
    subsection(&mut page, "Sessions (--wsesslog)");
    paragraphs(&mut page, prose::WSESSLOG);
    verbatim(&mut page, prose::WSESSLOG_EXAMPLE);
    paragraphs(&mut page, prose::WSESSLOG_MEANING);
    entries(&mut page, prose::WSESSLOG_ARGUMENTS);
    paragraphs(&mut page, prose::WSESSLOG_QUOTING);
    subsection(&mut page, "Results of self-checks");
    paragraphs(&mut page, prose::STATE);

    section(&mut page, "ENVIRONMENT");
    entries(&mut page, prose::ENVIRONMENT);

    section(&mut page, "SEE ALSO");
    page.text([
        bold("ab"),
        roman("(1), "),
        bold("curl"),
        roman("(1), "),
        bold("idleconn"),
        roman("(1), "),
        bold("tcp"),
        roman("(7), "),
        bold("unix"),
        roman("(7)"),
    ]);
    page.render()
}

fn title(page: &mut Roff, name: &str) {
    page.control("TH", [name, "1", " ", concat!("httperf ", env!("CARGO_PKG_VERSION")), "User Commands"]);
}

fn section(page: &mut Roff, title: &str) {
    page.control("SH", [title]);
}

fn subsection(page: &mut Roff, title: &str) {
    page.control("SS", [title]);
}

fn synopsis(page: &mut Roff, command: &Description) {
    page.control("PP", []);
    let mut line = vec![bold("httperf")];
    if !command.name.is_empty() {
        line.extend([roman(" "), bold(command.name)]);
    }
    line.push(roman(format!(" {}", help::synopsis(command))));
    page.text(line);
}

fn options(page: &mut Roff, command: &Description) {
    for group in &command.groups {
        match command.name {
            "" => subsection(page, group.title),
            name => subsection(page, &format!("httperf {name}: {}", group.title)),
        }
        for option in &group.options {
            option_entry(page, option);
        }
    }
    if let Some(titles) = command.also_titles() {
        page.control("PP", []);
        let name = command.name;
        page.text(marked_up(&format!(
            "`httperf {name}` also takes the options of `httperf` under {titles}."
        )));
    }
}

fn option_entry(page: &mut Roff, option: &OptDescription) {
    page.control("TP", []);
    page.text(option_name(option));
    page.text(marked_up(&format!("{}.", capitalised(option.help))));
    for paragraph in option.paragraphs() {
        page.control("IP", []);
        page.text(marked_up(&paragraph));
    }
}

/// Formats an option with its names in bold and its value in italics.
fn option_name(option: &OptDescription) -> Vec<Inline> {
    let mut name = Vec::new();
    if let Some(letter) = option.short {
        name.extend([bold(format!("-{letter}")), roman(", ")]);
    }
    name.push(bold(format!("--{}", option.long)));
    match option.value {
        ValueForm::None => {}
        ValueForm::Required(value) => name.extend([roman(" "), italic(value)]),
        ValueForm::Optional(value) => name.extend([roman("[="), italic(value), roman("]")]),
    }
    name
}

fn paragraphs(page: &mut Roff, texts: &[&str]) {
    for text in texts {
        page.control("PP", []);
        page.text(marked_up(text));
    }
}

fn entries(page: &mut Roff, entries: &[Entry]) {
    for Entry { term, text } in entries {
        page.control("TP", []);
        page.text([bold(*term)]);
        page.text(marked_up(text));
    }
}

fn verbatim(page: &mut Roff, text: &str) {
    page.control("PP", []);
    page.control("RS", ["4"]);
    page.control("nf", []);
    for line in text.lines() {
        page.text([roman(line)]);
    }
    page.control("fi", []);
    page.control("RE", []);
}

/// Sets text between backticks in bold.
fn marked_up(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    parts.map(|(index, part)| if index % 2 == 1 { bold(part) } else { roman(part) }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn backticks_in_texts_come_in_pairs() {
        for command in httperf_program::commands::descriptions() {
            for option in command.options() {
                for text in option.paragraphs().chain([option.help.into()]) {
                    assert_eq!(text.matches('`').count() % 2, 0, "--{}: {text}", option.long);
                }
            }
        }
    }
}
