#!/usr/bin/env bash
# Fuzzes one target of fuzz/ with cargo-fuzz.
#
#   scripts/fuzz.sh [--if-possible] [--seconds N] [TARGET]
#
# Without --seconds it runs until stopped or until it finds something. With --if-possible, a missing tool is a
# line on stdout and not a failure. The default target is http1_reply. It begins with what is in fuzz/seeds, if
# there is something for the target.
set -euo pipefail
cd "$(dirname "$0")/.."

if_possible=
limits=()
target=http1_reply
while [ $# -gt 0 ]; do
    case $1 in
        --if-possible) if_possible=yes ;;
        --seconds)
            limits=("-max_total_time=${2:?--seconds needs a number}" -verbosity=0)
            shift
            ;;
        *) target=$1 ;;
    esac
    shift
done

lacking() {
    if [ -n "$if_possible" ]; then
        echo "skipped: $target: $1"
        if [ -n "${CHECKS_SKIPPED-}" ]; then echo "$target: $1" >>"$CHECKS_SKIPPED"; fi
        exit 0
    fi
    echo "fuzz: $1" >&2
    exit 1
}

cargo +nightly --version >/dev/null 2>&1 || lacking "no nightly toolchain (rustup toolchain install nightly)"
cargo +nightly fuzz --version >/dev/null 2>&1 || lacking "cargo-fuzz is not installed (cargo install cargo-fuzz)"
# What is found goes to the first folder; the others are only read.
corpora=("fuzz/corpus/$target")
mkdir -p "${corpora[0]}"
if [ -d "fuzz/seeds/$target" ]; then
    corpora+=("fuzz/seeds/$target")
fi
exec cargo +nightly fuzz run "$target" "${corpora[@]}" -- "${limits[@]}"
