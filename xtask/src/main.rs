//! Chores of this workspace: `cargo xtask generate [--check]`, `cargo xtask pictures`, `cargo xtask site` and `cargo xtask release`.

use std::process::ExitCode;

use anyhow::bail;

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["generate"] => xtask::write_generated().map(|()| ExitCode::SUCCESS),
        ["generate", "--check"] => check(),
        ["pictures"] => xtask::pictures::write_pictures().map(|()| ExitCode::SUCCESS),
        ["release", ref options @ ..] => xtask::release::run(options).map(|()| ExitCode::SUCCESS),
        ["site"] => {
            let site = xtask::book::site::write_site()?;
            println!("{}", site.join("index.html").display());
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!(
            "expected `generate`, `generate --check`, `pictures`, `site` or `release`, got `{}`",
            words.join(" ")
        ),
    }
}

fn check() -> anyhow::Result<ExitCode> {
    let stale = xtask::stale_files();
    for path in &stale {
        eprintln!("{path} is out of date");
    }
    if stale.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("hint: run `cargo xtask generate`");
    Ok(ExitCode::FAILURE)
}
