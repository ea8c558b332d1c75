#!/usr/bin/env bash
# Gets the servers that tests run against and that no Debian package has: a Go new enough for post-quantum TLS, and
# Caddy, built from the Go module proxy. Into target/tools, where they stay; says nothing if they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

GO_VERSION=1.24.9
CADDY_VERSION=v2.10.2

main() {
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    find_go
    # What tests are to run is written down, because they do not search.
    ln -sfn "$go" "$tools/go"
    [ -x "$tools/caddy" ] || build_caddy
}

# The machine's own if it will do, else the toolchain that the module proxy has.
find_go() {
    go=$(command -v go || true)
    if [ -n "$go" ] && is_new_enough "$go"; then return; fi
    go=$tools/go-$GO_VERSION/bin/go
    if [ -x "$go" ]; then return; fi
    local machine
    case $(uname -m) in
        x86_64) machine=amd64 ;;
        aarch64) machine=arm64 ;;
        *) fail "no Go toolchain is known for $(uname -m); please install Go 1.24 or later" ;;
    esac
    local name=v0.0.1-go$GO_VERSION.linux-$machine
    say "getting Go $GO_VERSION"
    curl -sSfL --retry 3 -o "$tools/go.zip" "https://proxy.golang.org/golang.org/toolchain/@v/$name.zip"
    rm -rf "$tools/unpacked" "$tools/go-$GO_VERSION"
    python3 -m zipfile -e "$tools/go.zip" "$tools/unpacked"
    mv "$tools/unpacked/golang.org/toolchain@$name" "$tools/go-$GO_VERSION"
    rm -rf "$tools/unpacked" "$tools/go.zip"
    # A module's zip has no permissions.
    chmod -R u+x "$tools/go-$GO_VERSION/bin" "$tools/go-$GO_VERSION/pkg/tool"
}

is_new_enough() {
    local version
    version=$("$1" env GOVERSION 2>/dev/null) || return 1
    [[ $version =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 24 ]
}

build_caddy() {
    say "building Caddy $CADDY_VERSION (takes minutes, once)"
    GOBIN=$tools GOTOOLCHAIN=local GOFLAGS=-trimpath \
        "$go" install "github.com/caddyserver/caddy/v2/cmd/caddy@$CADDY_VERSION"
}

say() {
    echo "tools: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main
