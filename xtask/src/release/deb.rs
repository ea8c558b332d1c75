//! The package for Debian and Ubuntu.
//!
//! It has the name of the package in Debian's archive, which holds the classic program in versions 0.9: that one is upgraded to
//! this, whatever depends on it stays satisfied, and no Provides, Conflicts or Replaces is needed.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::build::Binary;
use super::process::{output, run, say, tool};
use super::source::Source;
use super::target::GLIBC;
use super::tree::{self, Layout, Material};

const LAYOUT: Layout = Layout { prefix: "usr", zsh: "zsh/vendor-completions", compressed: true };

pub(super) fn build(
    source: &Source,
    binary: &Binary,
    material: &Material,
    work: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let arch = binary.target.arch.short_name();
    let name = format!("httperf_{}-{}_{arch}", source.version, source.revision);
    say(&format!("packing {name}.deb"));
    let folder = work.join(&name);
    tree::lay(source, binary, material, LAYOUT, &folder)?;
    write_documents(source, &folder.join("usr/share/doc/httperf"))?;
    tree::place(
        &source.root.join("packaging/deb/lintian-overrides"),
        &folder.join("usr/share/lintian/overrides/httperf"),
        0o644,
    )?;
    write_control(source, arch, &folder)?;
    // One thread, as the number of threads would show in what they compress.
    let mut dpkg = tool("dpkg-deb", source);
    dpkg.args(["--root-owner-group", "-Zxz", "-z9", "--threads-max=1", "--build"]);
    run(dpkg.arg(&folder).arg(out.join(format!("{name}.deb"))))
}

/// What Debian's policy wants there: copyright, and changelogs in compressed form.
fn write_documents(source: &Source, documents: &Path) -> anyhow::Result<()> {
    let mit = read(source, "LICENSE-MIT")?;
    let copyright = read(source, "packaging/deb/copyright")?;
    let copyright = copyright.replace("@HOMEPAGE@", &source.homepage).replace("@MIT@", &paragraphs(&mit));
    tree::put(&copyright, &documents.join("copyright"))?;
    tree::place(&source.root.join("CHANGELOG.md"), &documents.join("changelog"), 0o644)?;
    tree::compress(&documents.join("changelog"))?;
    let (version, revision) = (&source.version, &source.revision);
    let (maintainer, date) = (source.maintainer(), source.date("+%a, %d %b %Y %H:%M:%S %z")?);
    let changelog = format!(
        "httperf ({version}-{revision}) unstable; urgency=medium\n\n  * Version {version}; see changelog.gz.\n\n \
         -- {maintainer}  {date}\n"
    );
    tree::put(&changelog, &documents.join("changelog.Debian"))?;
    tree::compress(&documents.join("changelog.Debian"))?;
    tree::compress(&documents.join("THIRD-PARTY.txt"))
}

/// A text as the lines of a field.
fn paragraphs(text: &str) -> String {
    let lines = text
        .trim()
        .lines()
        .map(|line| if line.trim().is_empty() { " .".to_owned() } else { format!(" {line}") });
    lines.collect::<Vec<_>>().join("\n")
}

fn write_control(source: &Source, arch: &str, folder: &Path) -> anyhow::Result<()> {
    // Lines of `size folder`, in units of 1024 bytes.
    let size =
        output(Command::new("du").args(["-k", "--apparent-size", "--summarize"]).arg(folder.join("usr")))?;
    let size = size.split_whitespace().next().unwrap_or_default().to_owned();
    let control = read(source, "packaging/deb/control")?
        .replace("@VERSION@", &format!("{}-{}", source.version, source.revision))
        .replace("@ARCHITECTURE@", arch)
        .replace("@MAINTAINER@", &source.maintainer())
        .replace("@SIZE@", &size)
        .replace("@GLIBC@", GLIBC)
        .replace("@HOMEPAGE@", &source.homepage);
    tree::put(&control, &folder.join("DEBIAN/control"))?;
    let files = output(
        Command::new("sh")
            .current_dir(folder)
            .args(["-c", "find usr -type f | sort | xargs -d '\\n' md5sum"]),
    )?;
    tree::put(&files, &folder.join("DEBIAN/md5sums"))
}

fn read(source: &Source, name: &str) -> anyhow::Result<String> {
    fs::read_to_string(source.root.join(name)).with_context(|| format!("reading {name}"))
}

#[cfg(test)]
mod tests {
    use super::paragraphs;

    #[test]
    fn blank_lines_of_a_field_are_dots() {
        assert_eq!(paragraphs("a\n\nb c\n"), " a\n .\n b c");
    }
}
