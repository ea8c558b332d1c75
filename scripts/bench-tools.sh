#!/usr/bin/env bash
# Gets the load generators that benches compare with and that no Debian package has: hey, from the Go module proxy, and
# oha with HTTP/3, from crates.io. Into target/tools, where they stay; says nothing if they are there. No test needs them; those of
# `httperf like` use them if they are there.
#
# `scripts/bench-tools.sh aiperf` gets aiperf instead, from PyPI, for the benches of streams: 1.2 GB of Python packages. It needs
# Python 3.11 to 3.13 with venv.
set -euo pipefail
cd "$(dirname "$0")/.."

HEY_VERSION=v0.1.4
OHA_VERSION=1.16.0
AIPERF_VERSION=0.13.0

main() {
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    case ${1-} in
        '')
            [ -x "$tools/hey" ] || build_hey
            [ -x "$tools/oha" ] || build_oha
            ;;
        aiperf) [ -x "$tools/aiperf" ] || install_aiperf ;;
        *) fail "expected nothing or \`aiperf\`, got \`$1\`" ;;
    esac
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

# aiperf has its versions of other packages in ranges: those that fit today are installed.
install_aiperf() {
    local venv=$tools/aiperf-$AIPERF_VERSION
    say "installing aiperf $AIPERF_VERSION (takes minutes, once)"
    "${PYTHON:-python3}" -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "aiperf==$AIPERF_VERSION"
    ln -sfn "aiperf-$AIPERF_VERSION/bin/aiperf" "$tools/aiperf"
}

say() {
    echo "bench tools: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
