#!/usr/bin/env bash
# Tries what would be published, from nothing: packs all crates, builds each from its pack alone (`cargo publish --dry-run`),
# then installs the program from those packs and makes a program that uses the library, without the program's feature.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    local target=${CARGO_TARGET_DIR:-target} folder version
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
    folder=$(mktemp -d)
    trap "rm -rf '$folder'" EXIT
    rm -rf "$target/package"
    cargo publish --workspace --dry-run --locked --allow-dirty
    mkdir "$folder/packs" "$folder/crates"
    # Versions of cargo differ in the folder, and some leave each pack in two.
    find "$target/package" -name "*-$version.crate" -exec cp {} "$folder/packs" \;
    patches=()
    for pack in "$folder"/packs/*.crate; do
        tar -xf "$pack" -C "$folder/crates"
        local path
        path=$folder/crates/$(basename "$pack" .crate)
        if ! [ -s "$path/LICENSE-APACHE" ] || ! [ -s "$path/LICENSE-MIT" ]; then
            echo "try-crates: $(basename "$path") lacks its licences" >&2
            exit 1
        fi
        patches+=(--config "patch.crates-io.$(basename "$path" "-$version").path=\"$path\"")
    done

    cargo install --path "$folder/crates/httperf-$version" --root "$folder/installed" "${patches[@]}"
    "$folder/installed/bin/httperf" --version

    mkdir -p "$folder/user/src"
    cp Cargo.lock "$folder/user/"
    cat >"$folder/user/Cargo.toml" <<END
[package]
name = "user"
version = "0.0.0"
edition = "2024"
[dependencies]
httperf = { version = "$version", default-features = false }
END
    cp crates/httperf/examples/in_process.rs "$folder/user/src/main.rs"
    cargo run --release --manifest-path "$folder/user/Cargo.toml" "${patches[@]}"
    if cargo tree --manifest-path "$folder/user/Cargo.toml" "${patches[@]}" | grep -qE "httperf-(program|command-line)"; then
        echo "try-crates: the library brings the program with it" >&2
        exit 1
    fi
    echo "try-crates: $(ls "$folder/crates" | wc -l) packages, installed and used from nothing"
}

main
