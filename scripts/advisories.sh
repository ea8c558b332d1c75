#!/usr/bin/env bash
# Checks the dependencies against the advisories of RustSec. Skipped, by name, without cargo-deny or where the database cannot be
# had: it comes from the network, and changes without a change here.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
    echo "advisories: skipped: $1"
    if [ -n "${CHECKS_SKIPPED-}" ]; then echo "advisories: $1" >> "$CHECKS_SKIPPED"; fi
    exit 0
}

cargo deny --version >/dev/null 2>&1 || skip "cargo-deny is not installed"
timeout 60 cargo deny fetch db >/dev/null 2>&1 || skip "the database of advisories cannot be had"
exec cargo deny --all-features check --disable-fetch --hide-inclusion-graph advisories
