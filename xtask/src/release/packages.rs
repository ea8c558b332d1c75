//! The crates that are linked into the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::process::output;
use super::source::Source;
use super::target::TARGETS;

/// All that the program is linked from, on any platform.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// Sorted by name and version; the program is one of them.
    pub(super) packages: Vec<Package>,
}

/// A crate.
#[derive(Clone, Debug)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: String,
    /// The folder with its sources.
    pub(super) folder: PathBuf,
    /// Whether it belongs to this workspace.
    pub(super) is_ours: bool,
    /// The SHA-256 of its archive on crates.io, in hexadecimal.
    pub(super) checksum: Option<String>,
    /// The [`Package::url`] of each dependency, sorted.
    pub(super) dependencies: Vec<String>,
}

impl Package {
    /// The package URL, by which a list of components names it.
    pub(super) fn url(&self) -> String {
        url(&self.name, &self.version)
    }
}

impl Graph {
    pub(super) fn read(source: &Source) -> anyhow::Result<Self> {
        let mut cargo = Command::new("cargo");
        cargo.args(["metadata", "--format-version=1", "--locked"]).current_dir(&source.root);
        for target in TARGETS {
            cargo.args(["--filter-platform", target.triple]);
        }
        let document = serde_json::from_str(&output(&mut cargo)?).context("reading cargo metadata")?;
        let lock = fs::read_to_string(source.root.join("Cargo.lock")).context("reading Cargo.lock")?;
        graph(&document, &built(source)?, &lock)
    }
}

/// Names and versions of what is built for the program alone. Metadata have the features that other crates of the workspace
/// turn on, too, and what these bring.
fn built(source: &Source) -> anyhow::Result<BTreeSet<(String, String)>> {
    let mut cargo = Command::new("cargo");
    cargo.args(["tree", "--locked", "--package=httperf", "--edges=normal,no-proc-macro", "--prefix=none"]);
    for target in TARGETS {
        cargo.args(["--target", target.triple]);
    }
    let tree = output(cargo.current_dir(&source.root))?;
    let package = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_owned(), rest.split(' ').next()?.to_owned()))
    };
    Ok(tree.lines().filter_map(package).collect())
}

fn graph(document: &Value, built: &BTreeSet<(String, String)>, lock: &str) -> anyhow::Result<Graph> {
    let is_built =
        |package: &Value| built.contains(&(word(package, "name").into(), word(package, "version").into()));
    let packages: BTreeMap<_, _> =
        by_id(&document["packages"]).into_iter().filter(|(_, package)| is_built(package)).collect();
    let nodes = by_id(&document["resolve"]["nodes"]);
    let checksums = checksums(lock);
    let roots =
        packages.iter().filter(|(_, package)| package["name"] == "httperf" && package["source"].is_null());
    let mut todo: Vec<&str> = roots.map(|(id, _)| *id).collect();
    ensure!(todo.len() == 1, "cargo metadata has {} packages `httperf` of this workspace", todo.len());

    let mut seen: BTreeSet<&str> = todo.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(id) = todo.pop() {
        let node = nodes.get(id).with_context(|| format!("cargo metadata has no node {id}"))?;
        let linked = linked(node, &packages);
        let urls = linked.iter().map(|id| url(word(packages[id], "name"), word(packages[id], "version")));
        let dependencies: BTreeSet<String> = urls.collect();
        found.push(package(packages[id], dependencies.into_iter().collect(), &checksums)?);
        todo.extend(linked.into_iter().filter(|id| seen.insert(id)));
    }
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(Graph { packages: found })
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    list.iter().map(|item| (word(item, "id"), item)).collect()
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The ids of dependencies whose code ends up in the program: not those of build scripts and tests.
fn linked<'a>(node: &'a Value, packages: &BTreeMap<&'a str, &'a Value>) -> Vec<&'a str> {
    let dependencies = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_normal = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array().map(Vec::as_slice).unwrap_or_default();
        kinds.iter().any(|kind| kind["kind"].is_null())
    };
    let ids = dependencies.iter().filter(is_normal).map(|dependency| word(dependency, "pkg"));
    ids.filter(|id| packages.contains_key(id)).collect()
}

fn package(
    package: &Value,
    dependencies: Vec<String>,
    checksums: &BTreeMap<(String, String), String>,
) -> anyhow::Result<Package> {
    let (name, version) = (word(package, "name").to_owned(), word(package, "version").to_owned());
    let licence =
        package["license"].as_str().with_context(|| format!("{name} {version} names no licence"))?;
    let manifest = PathBuf::from(word(package, "manifest_path"));
    Ok(Package {
        checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
        // Some old crates write a choice with a slash.
        licence: licence.replace('/', " OR "),
        folder: manifest.parent().context("a manifest lies in a folder")?.to_owned(),
        is_ours: package["source"].is_null(),
        dependencies,
        name,
        version,
    })
}

/// Checksums in a lock file, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |entry: &str, name: &str| {
        let line =
            entry.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'));
        line.map(str::to_owned)
    };
    let entries = lock.split("[[package]]").skip(1);
    let entry = |entry| Some(((field(entry, "name")?, field(entry, "version")?), field(entry, "checksum")?));
    entries.filter_map(entry).collect()
}

fn url(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n\n\
                        [[package]]\nname = \"httperf\"\nversion = \"1.0.0\"\n";

    fn document() -> Value {
        let package = |name: &str, source: Value| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source,
                "manifest_path": format!("/crates/{name}/Cargo.toml"),
            })
        };
        let dependency =
            |name: &str, kind: Value| serde_json::json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        serde_json::json!({
            "packages": [
                package("httperf", Value::Null), package("a", "registry".into()), package("feature", "registry".into()),
                package("b", "registry".into()),
            ],
            "resolve": { "nodes": [
                { "id": "httperf", "deps": [
                    dependency("a", Value::Null), dependency("feature", Value::Null), dependency("b", "build".into()),
                ] },
                { "id": "a", "deps": [] }, { "id": "feature", "deps": [] }, { "id": "b", "deps": [] },
            ] },
        })
    }

    #[test]
    fn only_what_is_linked_counts() {
        let built = ["httperf", "a", "b"].map(|name| (name.to_owned(), "1.0.0".to_owned())).into();
        let graph = graph(&document(), &built, LOCK).expect("the document is complete");
        let names: Vec<_> = graph.packages.iter().map(|package| &package.name[..]).collect();
        assert_eq!(names, ["a", "httperf"]);
        assert_eq!(graph.packages[1].dependencies, ["pkg:cargo/a@1.0.0"]);
        assert!(graph.packages[1].is_ours);
        assert_eq!(graph.packages[0].checksum.as_deref(), Some("ab"));
        assert_eq!(graph.packages[0].licence, "MIT OR Apache-2.0");
    }

    #[test]
    fn the_plus_in_a_version_is_escaped_in_an_url() {
        assert_eq!(url("zstd-sys", "2.0.16+zstd.1.5.7"), "pkg:cargo/zstd-sys@2.0.16%2Bzstd.1.5.7");
    }
}
