#!/usr/bin/env bash
# Checks that the crates which open no socket compile for macOS, where the worker is missing (docs/guide/install.md).
# Needs rustup, which gets the standard library for macOS. Exit status 0 if that is out of reach, with a word about it.
set -euo pipefail
cd "$(dirname "$0")/.."

TARGET=aarch64-apple-darwin
CRATES=(hurl import load plan report stats)

main() {
    if ! rustup target add "$TARGET" >/dev/null 2>&1; then
        echo "macos: skipped, as rustup cannot get the standard library for $TARGET"
        return
    fi
    local packages=() name
    for name in "${CRATES[@]}"; do packages+=(--package "httperf-$name"); done
    cargo check --quiet --locked --target "$TARGET" "${packages[@]}"
    echo "macos: ${CRATES[*]} compile for $TARGET"
}

main
