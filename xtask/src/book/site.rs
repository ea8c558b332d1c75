//! The site that mdBook makes of the book: `cargo xtask site`.
//!
//! mdBook wants all pages below one folder. So they are copied below `TARGET/site-source`, with those from outside of docs
//! and every file that a page links to, and links between them lead to the copies: the site needs no forge, nor any other
//! server. Pictures are drawn there by the program, from the saved documents of the runs that they show.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::links::with_links;
use super::{Book, OWN, SUMMARY, place, relative, resolved};
use crate::pictures::{self, PICTURES};

/// Makes the site, and returns its folder. mdBook is the one that `scripts/site-tools.sh` got.
///
/// # Errors
///
/// A page has a problem, a picture cannot be drawn, or mdBook fails.
pub fn write_site() -> anyhow::Result<PathBuf> {
    let stale = crate::stale_files();
    ensure!(stale.is_empty(), "out of date: {}; run `cargo xtask generate`", stale.join(", "));
    let book = Book::read()?;
    let problems = book.problems()?;
    ensure!(problems.is_empty(), "{}", problems.join("\n"));

    let target = pictures::target_folder()?;
    let (source, site) = (target.join("site-source"), target.join("site"));
    for folder in [&source, &site] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
        }
    }
    let pages = source.join("src");
    assemble(&book, &pages)?;
    draw(&pages)?;
    for name in ["book.toml", "site.css"] {
        copy(&super::super::root().join(OWN).join(name), &source.join(name))?;
    }
    let mdbook = target.join("tools/bin/mdbook");
    ensure!(mdbook.is_file(), "mdBook is not there: run scripts/site-tools.sh");
    let mut build = Command::new(mdbook);
    build.arg("build").arg("--dest-dir").arg(&site).arg(&source);
    ensure!(build.status().context("starting mdBook")?.success(), "mdBook failed");
    Ok(site)
}

/// Copies all pages with what they link to.
fn assemble(book: &Book, into: &Path) -> anyhow::Result<()> {
    let mut also: BTreeSet<String> = BTreeSet::new();
    let mut moved = |path: &str, text: &str| {
        with_links(text, |link| {
            if link.is_external() || link.target.is_empty() {
                return None;
            }
            let to = resolved(path, &link.target)?;
            if book.page(&to).is_none() {
                also.insert(to.clone());
            }
            Some(relative(&place(path), &place(&to)))
        })
    };
    for page in &book.pages {
        write(&into.join(place(&page.path)), &moved(&page.path, &page.text))?;
    }
    write(&into.join(place(SUMMARY)), &moved(SUMMARY, &book.summary))?;
    for path in also {
        copy(&super::super::root().join(&path), &into.join(place(&path)))?;
    }
    Ok(())
}

/// Draws every picture where its copy lies.
fn draw(pages: &Path) -> anyhow::Result<()> {
    let program = pictures::program()?;
    for picture in PICTURES {
        let to = pages.join(place(picture.path));
        ensure!(to.is_file(), "no page shows {}", picture.path);
        picture.draw(&program, &to)?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    make_folder_of(path)?;
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    make_folder_of(to)?;
    fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

fn make_folder_of(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))
}
