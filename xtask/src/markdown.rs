//! Code in Markdown documents: blocks with commands and what they print, and spans within the text.

/// The word that commands of this program begin with.
const PROGRAM: &str = "httperf ";

/// The prompt before a command whose output follows in the same block.
const PROMPT: &str = "$ ";

/// An indented or fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Lines without the indentation that makes them a block; the first is not empty.
    pub lines: Vec<String>,
}

impl Block {
    /// First line.
    #[must_use]
    pub fn first_line(&self) -> &str {
        &self.lines[0]
    }

    /// Returns whether the block holds something other than commands of this program and of those beside it: output, or
    /// commands of other programs alone.
    #[must_use]
    pub fn is_sample(&self) -> bool {
        !self.first_line().starts_with(PROGRAM)
    }

    /// Commands of this program, also those that another one printed: each on one line, without a prompt.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let mut commands = Vec::new();
        let mut lines = self.lines.iter();
        while let Some(line) = lines.next() {
            let line = line.strip_prefix(PROMPT).unwrap_or(line);
            if !line.starts_with(PROGRAM) {
                continue;
            }
            let mut command = line.to_owned();
            while let Some(begun) = command.strip_suffix('\\') {
                let rest = lines.next().map_or("", |line| line.trim_start());
                command = format!("{} {rest}", begun.trim_end());
            }
            commands.push(command);
        }
        commands
    }
}

/// The blocks of a document, in order.
#[must_use]
pub fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = document.lines().peekable();
    let mut is_after_text = false;
    while let Some(line) = lines.next() {
        let block: Vec<String> = if line.starts_with("```") {
            lines.by_ref().take_while(|line| !line.starts_with("```")).map(str::to_owned).collect()
        } else if let Some(first) = line.strip_prefix("    ").filter(|_| !is_after_text) {
            let mut block = vec![first.to_owned()];
            // Empty lines belong to it if it goes on behind them.
            while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with("    ")) {
                block.push(line.strip_prefix("    ").unwrap_or(line).to_owned());
            }
            while block.last().is_some_and(String::is_empty) {
                block.pop();
            }
            block
        } else {
            is_after_text = !line.is_empty();
            continue;
        };
        is_after_text = false;
        if block.first().is_some_and(|line| !line.is_empty()) {
            found.push(Block { lines: block });
        }
    }
    found
}

/// The files that a document shows, with their names: fenced blocks behind a paragraph that ends in `` `NAME`: ``.
#[must_use]
pub fn files_shown(document: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut name = None;
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            let contents: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            found.extend(name.take().map(|name| (name, contents.join("\n") + "\n")));
        } else if !line.is_empty() {
            let span = line.strip_suffix("`:").and_then(|line| line.rsplit_once('`'));
            name = span.map(|(_, name)| name.to_owned());
        }
    }
    found
}

/// The commands of this program in code spans: those within the text, and those in cells of tables.
#[must_use]
pub fn commands_in_spans(document: &str) -> Vec<String> {
    let is_text = |line: &&str| !line.starts_with("    ");
    let text: Vec<&str> = document.lines().filter(is_text).collect();
    // Fences have three marks on a line of their own, so spans keep their turns.
    let text = text.join(" ").replace("```", "");
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter(|span| span.starts_with(PROGRAM)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &[&str]) -> Block {
        Block { lines: lines.iter().map(|&line| line.to_owned()).collect() }
    }

    #[test]
    fn blocks_are_indented_or_fenced() {
        let document = "text\n    goes on\n\n    a\n      b\n\n    c\n\ntext\n\n```sh\n  d\n\n```\ntext\n";
        assert_eq!(blocks(document), [block(&["a", "  b", "", "c"]), block(&["  d", ""])]);
    }

    #[test]
    fn files_have_the_names_before_them() {
        let document = "Two files. `a.txt`:\n\n```\nx\n\ny\n```\n\n```\nno file\n```\n`b`: no\n\n    c\n";
        assert_eq!(files_shown(document), [("a.txt".to_owned(), "x\n\ny\n".to_owned())]);
    }

    #[test]
    fn commands_are_joined_and_lose_their_prompts() {
        let typed = block(&["httperf a \\", "    --b", "curl c", "httperf d > e"]);
        assert!(!typed.is_sample());
        assert_eq!(typed.commands(), ["httperf a --b", "httperf d > e"]);
        let shown = block(&["$ httperf like x", "httperf y"]);
        assert!(shown.is_sample());
        assert_eq!(shown.commands(), ["httperf like x", "httperf y"]);
    }

    #[test]
    fn spans_may_go_on_in_the_next_line() {
        let document =
            "`httperf a\nb` and `c`, `httperf d`\n\n    httperf `e`\n\n```\nx\n```\n| `httperf f` |\n";
        assert_eq!(commands_in_spans(document), ["httperf a b", "httperf d", "httperf f"]);
    }
}
