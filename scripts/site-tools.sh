#!/usr/bin/env bash
# Gets mdBook, which makes the site (`make site`), from crates.io. Into target/tools, where it stays; says nothing if it is
# there.
set -euo pipefail
cd "$(dirname "$0")/.."

MDBOOK_VERSION=0.5.4

main() {
    local tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    if is_there "$tools/bin/mdbook"; then return; fi
    say "building mdBook $MDBOOK_VERSION (takes minutes, once)"
    # A target folder of its own, or its dependencies would lie among ours.
    "${CARGO:-cargo}" install --quiet --locked --root "$tools" --target-dir "$tools/mdbook-build" \
        --no-default-features --features search "mdbook@$MDBOOK_VERSION"
    rm -rf "$tools/mdbook-build"
    is_there "$tools/bin/mdbook" || fail "mdBook $MDBOOK_VERSION was built and does not run"
}

is_there() {
    [ "$("$1" --version 2>/dev/null)" = "mdbook v$MDBOOK_VERSION" ]
}

say() {
    echo "site-tools: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main
