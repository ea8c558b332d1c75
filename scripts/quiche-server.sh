#!/usr/bin/env bash
# Builds quiche's example of an HTTP/3 server, as its crate has it. Into target/tools, where it stays; says nothing if it is
# there. It takes minutes, with a BoringSSL of its own, so it is not among what every test needs: `make test-long` runs it.
#
# Three things in it are made to fit: it listens where the environment variable LISTEN says; its words about requests,
# connections and Retry packets, which nothing would print, go to stdout; and it goes on when its wait is interrupted, as by a
# SIGCONT.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=0.30.0

main() {
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    [ "$(cat "$tools/quiche-server.version" 2>/dev/null)" = "$VERSION" ] && return
    say "building quiche $VERSION (takes minutes, once)"
    work=$(mktemp -d "$tools/quiche-work.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    local source
    source=$(fetch_crate)
    cp -r "$source" "$work/quiche"
    cd "$work/quiche"
    # A package of its own, outside of our workspace.
    printf '\n[workspace]\n' >>Cargo.toml
    sed -i \
        -e 's/"127\.0\.0\.1:4433"\.parse()/std::env::var("LISTEN").unwrap().parse()/' \
        -e 's/\b\(info\|warn\)!(/println!(/' \
        -e 's/poll\.poll(&mut events, timeout)\.unwrap();/if poll.poll(\&mut events, timeout).is_err() { continue; }/' \
        -e 's/debug!("New connection:/println!("New connection:/' \
        examples/http3-server.rs
    grep -q 'var("LISTEN")' examples/http3-server.rs || fail "the example does not name its port as expected"
    CARGO_TARGET_DIR=$work/built "${CARGO:-cargo}" build --release --example http3-server
    cp "$work/built/release/examples/http3-server" "$tools/quiche-server"
    echo "$VERSION" >"$tools/quiche-server.version"
}

# The folder with the crate's source, which cargo has fetched for a package that needs it.
fetch_crate() {
    mkdir -p "$work/needs/src"
    touch "$work/needs/src/lib.rs"
    cat >"$work/needs/Cargo.toml" <<NEEDS
[package]
name = "needs"
version = "0.0.0"
edition = "2021"
[dependencies]
quiche = "=$VERSION"
[workspace]
NEEDS
    "${CARGO:-cargo}" metadata --manifest-path "$work/needs/Cargo.toml" --format-version 1 |
        python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(next(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "quiche"))'
}

say() {
    echo "quiche-server: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main
