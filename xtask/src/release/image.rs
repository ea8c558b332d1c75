//! The container image: the static program, the authorities that browsers trust, and nothing else.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::build::Binary;
use super::process::{run, say, tool};
use super::source::Source;
use super::tree::{self, Material};

/// Where distributions have the certificates of authorities.
const AUTHORITIES: &[&str] =
    &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

pub(super) fn build(
    source: &Source,
    binary: &Binary,
    material: &Material,
    work: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let arch = binary.target.arch;
    let name = format!("httperf-{}-{}-image.tar", source.version, arch.name());
    say(&format!("packing {name}"));
    let folder = work.join(format!("image-{}", arch.name()));
    tree::place(&binary.path, &folder.join("root/usr/local/bin/httperf"), 0o755)?;
    let authorities = AUTHORITIES.iter().map(Path::new).find(|path| path.is_file());
    let authorities =
        authorities.context("no certificates of authorities found; apt install ca-certificates")?;
    tree::place(authorities, &folder.join("root/etc/ssl/cert.pem"), 0o644)?;
    let documents = folder.join("root/usr/local/share/doc/httperf");
    tree::place_licences(source, &documents)?;
    tree::put(&material.third_party, &documents.join("THIRD-PARTY.txt"))?;
    tree::create_folder(&folder.join("root/work"))?;

    let tag = format!("localhost/httperf:{}-{}", source.version, arch.short_name());
    let storage = work.join("images");
    let buildah = || {
        let mut buildah = tool("buildah", source);
        buildah.arg("--storage-driver=vfs").arg("--root").arg(storage.join("root"));
        buildah.arg("--runroot").arg(storage.join("run"));
        buildah
    };
    let (time, platform) = (source.seconds.to_string(), format!("linux/{}", arch.short_name()));
    let mut build = buildah();
    build.args([
        "build",
        "--isolation=chroot",
        "--layers=false",
        "--timestamp",
        &time,
        "--platform",
        &platform,
    ]);
    build.args(["--label", &format!("org.opencontainers.image.version={}", source.version)]);
    build.args(["--label", &format!("org.opencontainers.image.source={}", source.homepage)]);
    build.arg("--file").arg(source.root.join("packaging/image/Containerfile"));
    run(build.args(["--tag", &tag]).arg(&folder))?;
    let path = out.join(&name);
    // The form that docker and podman have always loaded.
    let archive = format!("docker-archive:{}:httperf:{}", path.display(), source.version);
    run(buildah().args(["push", "--quiet", &tag, &archive]))?;
    fs::metadata(&path).with_context(|| format!("buildah made no {}", path.display()))?;
    Ok(())
}
