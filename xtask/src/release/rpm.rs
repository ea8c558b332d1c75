//! The package for Fedora, RHEL, openSUSE and their kin.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::build::Binary;
use super::process::{names, run, say, tool};
use super::source::Source;
use super::tree::{self, Layout, Material};

const LAYOUT: Layout = Layout { prefix: "usr", zsh: "zsh/site-functions", compressed: true };

pub(super) fn build(
    source: &Source,
    binary: &Binary,
    material: &Material,
    work: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let arch = binary.target.arch.name();
    let name = format!("httperf-{}-{}.{arch}.rpm", source.version, source.revision);
    say(&format!("packing {name}"));
    let folder = work.join(format!("rpm-{arch}"));
    let staged = folder.join("staged");
    tree::lay(source, binary, material, LAYOUT, &staged)?;
    tree::place_licences(source, &staged.join("usr/share/licenses/httperf"))?;
    let recipe =
        fs::read_to_string(source.root.join("packaging/rpm/httperf.spec")).context("reading httperf.spec")?;
    let recipe = recipe
        .replace("@VERSION@", &source.version)
        .replace("@RELEASE@", &source.revision)
        .replace("@HOMEPAGE@", &source.homepage)
        .replace("@MAINTAINER@", &source.maintainer())
        .replace("@DATE@", &source.date("+%a %b %d %Y")?);
    tree::put(&recipe, &folder.join("httperf.spec"))?;

    let define = |name: &str, value: &str| format!("--define={name} {value}");
    let mut rpmbuild = tool("rpmbuild", source);
    rpmbuild.arg("-bb").arg(format!("--target={arch}-linux")).args([
        define("_topdir", &folder.to_string_lossy()),
        define("staged", &staged.to_string_lossy()),
        // The name of the machine, the time and the folder of the build are not part of it.
        define("_buildhost", "localhost"),
        define("use_source_date_epoch_as_buildtime", "1"),
        define("clamp_mtime_to_source_date_epoch", "1"),
        define("source_date_epoch_from_changelog", "0"),
        // What old versions of rpm can unpack.
        define("_binary_payload", "w9.xzdio"),
        // The program is stripped already, maybe for another machine than this.
        define("__os_install_post", "%{nil}"),
        define("debug_package", "%{nil}"),
        define("_build_id_links", "none"),
    ]);
    run(rpmbuild.arg(folder.join("httperf.spec")))?;
    let made = folder.join("RPMS").join(arch);
    let built = names(&made)?.pop().context("rpmbuild made no package")?;
    fs::copy(made.join(&built), out.join(name)).with_context(|| format!("copying {built}"))?;
    Ok(())
}
