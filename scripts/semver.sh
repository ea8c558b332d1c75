#!/usr/bin/env bash
# Checks that the library keeps its interface, as its version number promises, since the newest release: a tag such as v1.2.3
# (BASELINE names another revision). Needs cargo-semver-checks, which it installs below target/tools, in minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.51.0

main() {
    local baseline=${BASELINE-} tools=${CARGO_TARGET_DIR:-target}/tools
    [ -n "$baseline" ] || baseline=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null) || {
        echo "semver: there is no release to compare with"
        exit 0
    }
    if ! "$tools/bin/cargo-semver-checks" --version 2>/dev/null | grep -q " $VERSION$"; then
        cargo install --quiet --locked --root "$tools" --version "$VERSION" cargo-semver-checks
    fi
    "$tools/bin/cargo-semver-checks" semver-checks --package httperf --only-explicit-features \
        --baseline-rev "$baseline"
}

main
