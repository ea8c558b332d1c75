#!/usr/bin/env bash
# Builds a control plane of Kubernetes for tests, from the Go module proxy: kube-apiserver, kube-controller-manager,
# kube-scheduler and kubectl. Into target/tools/kubernetes, where they stay; says nothing if they are there. Takes half an
# hour of a busy machine and 2 GB in Go's caches, so it is not among what every test needs: `make test-long` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."

VERSION=1.36.3
PROGRAMS=(kube-apiserver kube-controller-manager kube-scheduler kubectl)

main() {
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools/kubernetes"
    tools=$(cd "$tools" && pwd)
    is_built && return
    scripts/tools.sh
    go=$(readlink -f "$tools/go")
    module=$(mktemp -d)
    trap 'rm -rf "$module"' EXIT
    say "building Kubernetes $VERSION (takes many minutes, once)"
    write_module
    cd "$module"
    "$go" mod tidy
    local program
    for program in "${PROGRAMS[@]}"; do
        say "building $program"
        "$go" build -trimpath -ldflags='-s -w' -o "$tools/kubernetes/$program" "k8s.io/kubernetes/cmd/$program"
    done
    echo "$VERSION" >"$tools/kubernetes/version"
}

is_built() {
    [ "$(cat "$tools/kubernetes/version" 2>/dev/null)" = "$VERSION" ]
}

# The module of Kubernetes takes its own parts from folders next to it; the proxy has them as modules of their own.
write_module() {
    local origin part
    origin=$("$go" mod download -json "k8s.io/kubernetes@v$VERSION" | sed -n 's/.*"GoMod": "\(.*\)",\?/\1/p')
    {
        echo "module control-plane"
        sed -n '/^go /p' "$origin"
        echo "require k8s.io/kubernetes v$VERSION"
        sed -n "s,^.* => \./staging/src/\(.*\),replace \1 => \1 v0.${VERSION#1.},p" "$origin"
    } >"$module/go.mod"
    {
        echo "package tools"
        for part in "${PROGRAMS[@]}"; do
            echo "import _ \"k8s.io/kubernetes/cmd/$part\""
        done
    } >"$module/tools.go"
    # Programs cannot be imported but by what is never built itself.
    sed -i '1i //go:build tools\n' "$module/tools.go"
}

say() {
    echo "control-plane: $*" >&2
}

main
