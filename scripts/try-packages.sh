#!/usr/bin/env bash
# Installs, runs and removes each package of a release from nothing, as a user would.
#
#   scripts/try-packages.sh [FOLDER]     the folder of `cargo xtask release`; target/dist unless given
#
# Debian's packages are tried in trees of Debian 12 and 13 that mmdebstrap makes once, below target/tools/trees; the static
# program in a folder with nothing else in it; wheels in new Python environments. Programs for other processors are run by qemu,
# if it is there. What cannot be tried here is skipped by name: without root, what runs by chroot. Ends with a table of results,
# seconds and sizes; exit status 1 if something failed.
# Some expressions are for a shell in a tree, or for dpkg.
# shellcheck disable=SC2016
set -uo pipefail
shopt -s extglob
cd "$(dirname "$0")/.."

MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
RELEASES=(bookworm trixie)
# What is in the trees before a package is tried: the classic program, which ours replaces, and what looks at the files of ours.
TREE_PACKAGES=httperf,man-db,bash-completion,zsh,fish
PORT=18462
MAX_IMAGE_BYTES=40000000

main() {
    target=${CARGO_TARGET_DIR:-target}
    mkdir -p "$target/tools/trees"
    target=$(cd "$target" && pwd)
    folder=${1:-$target/dist}
    [ -f "$folder/SHA256SUMS" ] || fail "$folder has no SHA256SUMS; make packages makes it"
    folder=$(cd "$folder" && pwd)
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)
    arch=$(uname -m)
    repository=$PWD
    work=$(mktemp -d "$target/try-packages.XXXXXX")
    trap clean_up EXIT
    rows=()
    failed=0

    try checksums checksums
    try names names
    try deb-lint deb_lint
    local release
    for release in "${RELEASES[@]}"; do try "deb-$release" deb_in "$release"; done
    try rpm-lint rpm_lint
    try rpm rpm_in_tree
    try static static_program
    try static-aarch64 static_program_for_arm
    try image image
    try wheel wheel
    try wheel-pipx wheel_by_pipx
    try sbom sbom
    try recipes recipes
    print_results
    [ "$failed" -eq 0 ]
}

clean_up() {
    local mounted
    for mounted in "$work"/*/proc; do
        if mountpoint -q "$mounted"; then umount "$mounted"; fi
    done
    rm -rf --one-file-system "$work"
}

# A step runs in a shell of its own, which ends at the first command that fails. Status 77 says that it was skipped.
try() {
    local name=$1 began=$SECONDS result=passed status
    shift
    export REASON=$work/$name.reason
    # Not as a condition, in which a failing command would not end it.
    (set -e && "$@") >"$work/$name.log" 2>&1
    status=$?
    if [ "$status" -eq 77 ]; then
        result="skipped: $(cat "$REASON")"
    elif [ "$status" -ne 0 ]; then
        result=failed
        failed=$((failed + 1))
        sed "s/^/$name: /" "$work/$name.log" | tail -n 40 >&2
    fi
    rows+=("$(printf '%-16s %8s  %s' "$name" "$((SECONDS - began))" "$result")")
}

skip() {
    echo "$*" >"$REASON"
    exit 77
}

need() {
    local tool
    for tool in "$@"; do command -v "$tool" >/dev/null || skip "no $tool"; done
}

need_root() {
    [ "$(id -u)" -eq 0 ] || skip "no root, for chroot"
}

print_results() {
    printf '%-16s %8s  %s\n' tried seconds result
    printf '%s\n' "${rows[@]}"
    echo
    (cd "$folder" && du --apparent-size --bytes -- *)
}

checksums() {
    cd "$folder"
    sha256sum --check SHA256SUMS
    # Each file has one.
    [ "$(find . -maxdepth 1 -type f ! -name SHA256SUMS | wc -l)" -eq "$(wc -l <SHA256SUMS)" ]
}

# The files that the guide names, some of them by a pattern, are those of the release.
names() {
    local name ending count=0 missing=() not_built=()
    cd "$folder"
    for name in $(named_files); do
        count=$((count + 1))
        if compgen -G "$name" >/dev/null; then continue; fi
        # What follows the name of the processor tells one kind of package from another.
        ending=${name##*@(x86_64|amd64|aarch64|arm64)}
        if [ "$ending" != "$name" ] && ! compgen -G "*$ending" >/dev/null; then
            not_built+=("$name")
        else
            missing+=("$name")
        fi
    done
    [ "$count" -ge 8 ] || fail "the guide names $count files only"
    [ ${#missing[@]} -eq 0 ] || fail "the guide names what is no file of the release: ${missing[*]}"
    [ ${#not_built[@]} -eq 0 ] || skip "not built: ${not_built[*]}"
}

# With the name of this machine's processor. One that is named in several places is listed once.
named_files() {
    grep --only-matching --no-filename --extended-regexp \
        '\bhttperf[-_][-_.*a-z0-9]*\.(deb|rpm|whl|tar|tar\.gz)\b|\bhttperf\.rb\b|\bPKGBUILD\b|\bflake\.nix\b|\bSHA256SUMS\b' \
        "$repository/docs/guide/install.md" "$repository/docs/guide/fleet-kubernetes.md" |
        sed "s/x86_64/$arch/; s/amd64/$(debian_arch)/" | sort -u
}

debian_arch() {
    case $arch in
        x86_64) echo amd64 ;;
        aarch64) echo arm64 ;;
        *) echo "$arch" ;;
    esac
}

# --- Debian

the_deb() {
    local found=("$folder"/httperf_"$version"-*_"$(dpkg --print-architecture)".deb)
    [ -f "${found[0]}" ] || skip "no package for $(dpkg --print-architecture)"
    echo "${found[0]}"
}

deb_lint() {
    need lintian
    local debs=("$folder"/*.deb)
    [ -f "${debs[0]}" ] || skip "no packages for Debian"
    # As root it warns of being root. A first revision would close the bug that asks for the package in Debian's archive, where
    # this one does not go.
    lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning,info --display-info \
        --tag-display-limit 0 "${debs[@]}"
}

# A tree of a release of Debian, unpacked from what was made once.
tree_of() {
    local release=$1 archive=$target/tools/trees/$1.tar
    need_root
    need mmdebstrap
    if [ ! -f "$archive" ]; then
        # A mirror may be a frozen copy, whose Release file has expired.
        mmdebstrap --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' \
            --include="$TREE_PACKAGES" "$release" "$archive.part.tar" "deb $MIRROR $release main" >&2 ||
            skip "no tree of Debian's $release"
        mv "$archive.part.tar" "$archive"
    fi
    tree=$work/$release-$RANDOM
    mkdir "$tree"
    tar -C "$tree" -xf "$archive"
    mount -t proc proc "$tree/proc"
}

in_tree() {
    chroot "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

deb_in() {
    local deb
    deb=$(the_deb)
    tree_of "$1"
    make_wrapper
    cp "$deb" "$tree/tmp/httperf.deb"
    in_tree dpkg --install /tmp/wrapper.deb
    in_tree dpkg-query --show --showformat '${Version}\n' httperf | grep '^0\.9\.0-'

    # The classic program is upgraded to ours, which satisfies what depends on it.
    in_tree apt-get -q -y --no-install-recommends install /tmp/httperf.deb
    in_tree dpkg-query --show --showformat '${Version}\n' httperf | grep -F "$version-"
    in_tree dpkg-query --show --showformat '${db:Status-Status}\n' httperf-wrapper | grep -x installed
    in_tree apt-get -q check
    [ -z "$(in_tree dpkg --verify httperf)" ]
    use_in_tree
    in_tree apt-get -q -y purge httperf-wrapper httperf
    files_of_tree >"$work/before"

    # Installed anew and removed, it leaves nothing.
    in_tree apt-get -q -y --no-install-recommends install /tmp/httperf.deb
    files_of_tree >"$work/with"
    grep -qx ./usr/bin/httperf "$work/with"
    use_in_tree
    in_tree apt-get -q -y purge httperf
    files_of_tree | diff "$work/before" -
    umount "$tree/proc"
}

# A package that needs httperf, as those of others do that run it.
make_wrapper() {
    local root=$work/wrapper-$RANDOM
    mkdir -p "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<'CONTROL'
Package: httperf-wrapper
Version: 1
Architecture: all
Maintainer: Nobody <nobody@example.org>
Depends: httperf (>= 0.9.0)
Description: package that depends on httperf
CONTROL
    dpkg-deb --root-owner-group --build "$root" "$tree/tmp/wrapper.deb"
}

# Without what package managers and tools of the tree keep for themselves.
files_of_tree() {
    (cd "$tree" && find . -xdev \( -path ./proc -o -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg \
        -o -path ./var/lib/apt -o -path ./var/lib/rpm -o -path ./root \) -prune -o -print | sort)
}

# Program, pages, completions and a run, in a tree in which they are installed.
use_in_tree() {
    in_tree httperf --version | grep -F "$version"
    [ -f "$tree/usr/share/doc/httperf/docs/guide/install.md" ]
    in_tree idleconn --help | grep -F idleconn >/dev/null
    if [ -x "$tree/usr/bin/man" ]; then
        in_tree man httperf | grep -e --num-conns >/dev/null
        in_tree man idleconn | grep -e --duration >/dev/null
    fi
    in_tree bash -c '. /usr/share/bash-completion/completions/httperf && complete -p httperf'
    if [ -x "$tree/usr/bin/zsh" ]; then
        # Debian's zsh does not look where those of other distributions do.
        in_tree zsh -c 'fpath+=(/usr/share/zsh/site-functions); autoload -Uz compinit && compinit -u -D && [[ ${_comps[httperf]} == _httperf ]]'
    fi
    if [ -x "$tree/usr/bin/fish" ]; then
        in_tree fish -c 'complete --do-complete "httperf --num-con"' | grep -e --num-conns >/dev/null
    fi
    load in_tree httperf
}

# A small run of a program against its own server: over TCP, TLS and QUIC.
load() {
    "$@" serve --listen "127.0.0.1:$PORT" --http3 &
    local server=$! status=0
    for _ in $(seq 300); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; then break; fi
        sleep 0.1
    done
    run_load "$@" || status=$?
    stop "$server"
    wait "$server" || true
    return "$status"
}

# Ends a process with all that it started: a server may run below shells, chroot and containers.
stop() {
    local child
    for child in $(pgrep --parent "$1"); do stop "$child"; done
    kill "$1" 2>/dev/null || true
}

run_load() {
    local protocol
    for protocol in 1.1 2 3; do
        "$@" "https://127.0.0.1:$PORT/" --http-version "$protocol" --num-conns 20 --rate 50 --timeout 20 |
            grep -F 'replies 20' || return 1
    done
}

# --- RPM

the_rpm() {
    local found=("$folder"/httperf-"$version"-*."$arch".rpm)
    [ -f "${found[0]}" ] || skip "no package for $arch"
    echo "${found[0]}"
}

rpm_lint() {
    local rpms=("$folder"/*.rpm)
    [ -f "${rpms[0]}" ] || skip "no packages for RPM"
    need rpmlint
    rpmlint --strict --config packaging/rpm/rpmlint.toml "${rpms[@]}"
}

# RPM's database knows nothing of the tree's C library, which Debian's dpkg installed.
rpm_in_tree() {
    need rpm rpm2cpio cpio
    local rpm
    rpm=$(the_rpm)
    tree_of bookworm
    in_tree apt-get -q -y purge httperf
    # A system of RPM has them from its package `filesystem`.
    mkdir -p "$tree/usr/share/licenses" "$tree/usr/share/zsh/site-functions"
    rpm --root "$tree" --initdb
    files_of_tree >"$work/before-rpm"
    rpm --root "$tree" --install --nodeps "$rpm"
    rpm --root "$tree" --verify --nodeps httperf
    # What it needs is the C library alone, of the age that was promised.
    rpm --query --requires --package "$rpm" | grep -Ev '^(libc|libm|libpthread|libdl|librt|ld-linux-x86-64|ld-linux-aarch64)\.so|^rpmlib|^rtld' &&
        return 1
    use_in_tree
    rpm --root "$tree" --erase httperf
    files_of_tree | diff "$work/before-rpm" -
    umount "$tree/proc"
    (cd "$work" && mkdir unpacked && cd unpacked && rpm2cpio "$rpm" | cpio --extract --make-directories --quiet)
    [ -x "$work/unpacked/usr/bin/httperf" ]
}

# --- Static programs and images

unpacked() {
    local archive=$folder/httperf-$version-$1-linux.tar.gz
    [ -f "$archive" ] || skip "no static program for $1"
    empty=$work/empty-$1
    mkdir "$empty"
    tar -C "$work" -xzf "$archive"
    cp "$work/httperf-$version-$1-linux/bin/httperf" "$empty/httperf"
    [ "$(ls "$empty")" = httperf ]
}

static_program() {
    need_root
    unpacked "$arch"
    chroot "$empty" /httperf --version | grep -F "$version"
    load chroot "$empty" /httperf
    # The archive has the rest, in the folders of any prefix.
    local root=$work/httperf-$version-$arch-linux
    [ "$(readlink "$root/bin/idleconn")" = httperf ]
    [ -f "$root/share/doc/httperf/docs/guide/install.md" ]
    man -l "$root/share/man/man1/httperf.1" | grep -e --num-conns >/dev/null
    man -l "$root/share/man/man1/idleconn.1" | grep -e --duration >/dev/null
}

# Slow, so that it only shows that it works.
static_program_for_arm() {
    [ "$arch" != aarch64 ] || skip "this machine is one"
    need_root
    need qemu-aarch64-static
    unpacked aarch64
    cp "$(command -v qemu-aarch64-static)" "$empty/qemu"
    chroot "$empty" /qemu /httperf --version | grep -F "$version"
    load chroot "$empty" /qemu /httperf
}

image() {
    need_root
    need buildah
    local archive=$folder/httperf-$version-$arch-image.tar size container user
    [ -f "$archive" ] || skip "no image for $arch"
    size=$(stat --format=%s "$archive")
    [ "$size" -lt "$MAX_IMAGE_BYTES" ]
    buildah() { command buildah --storage-driver=vfs --root "$work/images" --runroot "$work/images-run" "$@"; }
    container=$(buildah from "docker-archive:$archive")
    user=$(buildah inspect --format '{{.OCIv1.Config.User}}' "$container")
    [ "$user" = 65532:65532 ]
    buildah inspect --format '{{.OCIv1.Config.Entrypoint}}' "$container" | grep -F '[httperf]'
    buildah run --isolation=chroot "$container" -- httperf --version | grep -F "$version"
    # It is an ordinary user there, as it says itself.
    buildah run --isolation=chroot "$container" -- httperf doctor || [ $? -le 2 ]
    load buildah run --isolation=chroot "$container" -- httperf
}

# --- Python

# A Python environment that stays, with one package.
python_environment() {
    environment=$target/tools/$1
    if [ "$(cat "$environment/packages" 2>/dev/null)" != "$2" ]; then
        rm -rf "$environment"
        python3 -m venv "$environment"
        "$environment/bin/pip" --quiet --disable-pip-version-check install "$2" || skip "no $2"
        echo "$2" >"$environment/packages"
    fi
}

the_wheel() {
    local found=("$folder"/*manylinux*_"$arch".whl)
    [ -f "${found[0]}" ] || skip "no wheel for $arch"
    echo "${found[0]}"
}

wheel() {
    local wheel
    wheel=$(the_wheel)
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" --disable-pip-version-check install --no-index "$wheel"
    "$work/venv/bin/httperf" --version | grep -F "$version"
    "$work/venv/bin/python" -c 'import httperf'
    load "$work/venv/bin/httperf"
    "$work/venv/bin/pip" --disable-pip-version-check uninstall --yes httperf-load
    [ ! -e "$work/venv/bin/httperf" ]
}

wheel_by_pipx() {
    local wheel
    wheel=$(the_wheel)
    need pipx
    export PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/pipx/bin
    pipx run --spec "$wheel" httperf --version | grep -F "$version"
}

# --- The rest

sbom() {
    local document=$folder/httperf-$version.cdx.json
    python_environment cyclonedx 'cyclonedx-python-lib[json-validation]==11.12.0'
    "$environment/bin/python" - "$document" <<'PYTHON'
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

fault = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(str(fault) if fault else 0)
PYTHON
    grep -q '"name": "BoringSSL"' "$document"
    grep -q '^boring-sys ' "$folder/THIRD-PARTY.txt"
}

recipes() {
    need shellcheck ruby nix-instantiate
    # Its variables are for makepkg, which also gives it some, and stops when a function fails.
    shellcheck --shell=bash --exclude=SC2034,SC2154 "$folder/PKGBUILD"
    ruby -c "$folder/httperf.rb"
    nix-instantiate --parse "$folder/flake.nix" >/dev/null
    local sum
    sum=$(sha256sum "$folder/httperf-$version.tar.gz" | cut -d' ' -f1)
    grep -F "$sum" "$folder/PKGBUILD"
    grep -F "$sum" "$folder/httperf.rb"
}

fail() {
    echo "try-packages: $*" >&2
    exit 1
}

main "$@"
