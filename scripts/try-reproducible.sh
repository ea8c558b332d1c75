#!/usr/bin/env bash
# Builds a release of the current commit in two folders, and compares all files byte for byte.
#
#   scripts/try-reproducible.sh [TARGET...]     the platforms, one of them that of this machine; unless given, that with musl,
#                                               such as x86_64-unknown-linux-musl
#
# The clones, target folders and caches of zig differ in name and depth. Exit status 1 if a file differs.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    local target options=() target_folder=${CARGO_TARGET_DIR:-target}
    for target in "${@:-$(uname -m)-unknown-linux-musl}"; do options+=(--target "$target"); done
    mkdir -p "$target_folder"
    work=$(mktemp -d "$(cd "$target_folder" && pwd)/try-reproducible.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    local clone
    for clone in "$work/one" "$work/another/folder"; do
        git clone --quiet --no-hardlinks . "$clone"
        cargo xtask release --snapshot --source "$clone" --out "$clone.dist" "${options[@]}"
        # The second may be larger than the room that is left beside the first.
        rm -rf "$clone"
    done
    diff --recursive --brief "$work/one.dist" "$work/another/folder.dist"
    echo "$(find "$work/one.dist" -type f | wc -l) files are the same, byte for byte"
}

main "$@"
