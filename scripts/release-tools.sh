#!/usr/bin/env bash
# Gets what `cargo xtask release` builds packages with: the compilers and linkers of zig (cargo-zigbuild) and maturin, into a
# Python environment below target/tools, where they stay; Rust's standard library for each platform, by rustup; and Debian's
# packages of dpkg, rpm and buildah. Says nothing if they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(ziglang==0.15.2 cargo-zigbuild==0.24.1 maturin==1.16.0)
PLATFORMS=(x86_64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-gnu aarch64-unknown-linux-musl)

main() {
    scripts/bootstrap.sh release
    tools=${CARGO_TARGET_DIR:-target}/tools/release
    are_installed || install_tools
    add_platforms
}

# The list of what is wanted is written last.
are_installed() {
    [ "$(cat "$tools/packages" 2>/dev/null)" = "${PACKAGES[*]}" ]
}

install_tools() {
    say "getting ${PACKAGES[*]}"
    rm -rf "$tools"
    mkdir -p "$(dirname "$tools")"
    python3 -m venv "$tools"
    "$tools/bin/pip" --quiet --disable-pip-version-check install "${PACKAGES[@]}"
    echo "${PACKAGES[*]}" >"$tools/packages"
}

add_platforms() {
    local platform missing=()
    for platform in "${PLATFORMS[@]}"; do
        [ -d "$(rustc --print target-libdir --target "$platform")" ] || missing+=("$platform")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if command -v rustup >/dev/null; then
        rustup target add "${missing[@]}"
    else
        fail "please install Rust's standard library for ${missing[*]}"
    fi
}

say() {
    echo "release-tools: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main
