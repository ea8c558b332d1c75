#!/usr/bin/env bash
# Gets the load generators that benches compare with and that no Debian package has: hey, from the Go module proxy, and
# oha with HTTP/3, from crates.io. Into target/tools, where they stay; says nothing if they are there. No test needs them; those of
# `httperf like` use them if they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

HEY_VERSION=v0.1.4
OHA_VERSION=1.16.0

main() {
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    [ -x "$tools/hey" ] || build_hey
    [ -x "$tools/oha" ] || build_oha
}

build_hey() {
    # scripts/tools.sh leaves one there.
    local go=$tools/go
    if [ ! -x "$go" ]; then go=$(command -v go) || fail "hey needs Go: scripts/tools.sh gets it"; fi
    say "building hey $HEY_VERSION"
    GOBIN=$tools GOTOOLCHAIN=local GOFLAGS=-trimpath "$go" install "github.com/rakyll/hey@$HEY_VERSION"
}

build_oha() {
    say "building oha $OHA_VERSION (takes minutes, once)"
    # In a folder of its own: cargo keeps notes beside what it installs.
    cargo install oha --version "$OHA_VERSION" --locked --features http3 --quiet --root "$tools/oha-$OHA_VERSION"
    ln -sfn "oha-$OHA_VERSION/bin/oha" "$tools/oha"
}

say() {
    echo "bench tools: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main
