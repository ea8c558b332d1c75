#!/usr/bin/env bash
# Checks the dependencies against deny.toml: with cargo-deny where it is installed, otherwise its two rules that
# matter most (allowed licences, crates.io as the only source) with a few lines of Python.
#
# `scripts/advisories.sh` looks for advisories.
set -euo pipefail
cd "$(dirname "$0")/.."

if cargo deny --version >/dev/null 2>&1; then
    exec cargo deny --all-features check --hide-inclusion-graph licenses bans sources
fi
cargo metadata --format-version 1 --locked | python3 scripts/licences.py deny.toml
