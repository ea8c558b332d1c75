//! `THIRD-PARTY.txt`: the licences of all that is linked into the program, each text once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::packages::{Graph, Package};
use super::process::{names, our_tools, output};

/// How deep below its folder the licences of a crate lie at most: those of libraries in C are in folders of their own.
const MAX_DEPTH: usize = 3;

/// Folders that are not linked in.
const NOT_LINKED: &[&str] =
    &["tests", "test", "third_party", "fuzz", "benches", "examples", "contrib", "programs", "doc"];

/// Endings of files that are no licences, whatever their names begin with.
const NOT_TEXT: &[&str] =
    &[".rs", ".html", ".json", ".toml", ".py", ".sh", ".go", ".c", ".h", ".hbs", ".xml"];

/// What compilers link in besides crates: a name, and where its licence is.
struct Runtime {
    name: &'static str,
    path: PathBuf,
}

pub(super) fn text(graph: &Graph) -> anyhow::Result<String> {
    let others: Vec<_> = graph.packages.iter().filter(|package| !package.is_ours).collect();
    let mut text = "Software that is linked into httperf, with its licences.\n\n".to_owned();
    for package in &others {
        writeln!(text, "{} {}: {}", package.name, package.version, package.licence)?;
    }
    for (licence, users) in texts(&others)? {
        write!(text, "\n{}\n\n{}:\n\n{}\n", "=".repeat(78), users.join(", "), licence)?;
    }
    Ok(text)
}

/// Each licence once, with the names of what is under it.
fn texts(packages: &[&Package]) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |path: &Path, user: String| -> anyhow::Result<()> {
        let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        let is_html = path.extension().is_some_and(|extension| extension == "html");
        let text = if is_html { without_tags(&text) } else { text.trim().to_owned() };
        let users = texts.entry(text).or_default();
        if !users.contains(&user) {
            users.push(user);
        }
        Ok(())
    };
    for package in packages {
        let mut paths = Vec::new();
        find(&package.folder, MAX_DEPTH, &mut paths)?;
        for path in paths {
            add(&path, format!("{} {}", package.name, package.version))?;
        }
    }
    for Runtime { name, path } in runtimes()? {
        ensure!(path.is_file(), "the licence of {name} is not at {}", path.display());
        add(&path, name.to_owned())?;
    }
    Ok(texts)
}

fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let names = names(folder)?;
    // Where there is a licence, a file of that name is another one, to be chosen instead.
    let has_licence =
        names.iter().any(|name| is_licence(name) && name.to_ascii_lowercase().starts_with("licen"));
    for name in names {
        let path = folder.join(&name);
        if has_licence && name.starts_with("COPYING") {
            continue;
        }
        if path.is_dir() {
            if depth > 0 && !NOT_LINKED.contains(&&name[..]) && !name.starts_with('.') {
                find(&path, depth - 1, found)?;
            }
        } else if is_licence(&name) {
            found.push(path);
        }
    }
    Ok(())
}

fn is_licence(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_code = NOT_TEXT.iter().any(|ending| name.ends_with(ending));
    !is_code
        && ["license", "licence", "copying", "copyright", "notice", "unlicense"]
            .iter()
            .any(|word| name.starts_with(word))
}

/// The text of a page, without blank lines.
fn without_tags(page: &str) -> String {
    let body = page.split_once("<body").map_or(page, |(_, body)| body);
    let pieces = body.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    let text = pieces.collect::<String>();
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// The standard library of Rust, and what zig links in: musl, libc++ and libunwind.
fn runtimes() -> anyhow::Result<Vec<Runtime>> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let rust = PathBuf::from(sysroot.trim()).join("share/doc/rust");
    let python = our_tools().join("python3");
    let zig = output(Command::new(python).args(["-c", "import ziglang; print(ziglang.__path__[0])"]))?;
    let zig = PathBuf::from(zig.trim()).join("lib");
    Ok(vec![
        Runtime { name: "the standard library of Rust", path: rust.join("COPYRIGHT-library.html") },
        Runtime { name: "musl (static programs)", path: zig.join("libc/musl/COPYRIGHT") },
        Runtime { name: "libc++", path: zig.join("libcxx/LICENSE.TXT") },
        Runtime { name: "libunwind", path: zig.join("libunwind/LICENSE.TXT") },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_text() {
        let page = "<html><head><title>x</title></head><body class='a'>\n<h1>A &lt;a@b&gt;</h1>\n\n<p>B</p></body></html>";
        assert_eq!(without_tags(page), "A <a@b>\nB");
    }

    #[test]
    fn licences_are_found_by_their_names() {
        for name in
            ["LICENSE", "LICENSE-MIT", "LICENCE.txt", "COPYING", "NOTICE", "license-apache-2.0", "UNLICENSE"]
        {
            assert!(is_licence(name), "{name}");
        }
        for name in ["license.rs", "README.md", "licenses.html", "src"] {
            assert!(!is_licence(name), "{name}");
        }
    }
}
