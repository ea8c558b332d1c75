#!/usr/bin/env bash
# Makes trees of Debian's unstable release for servers and tools of HTTP/3 that the stable one lacks. Into target/tools,
# where they stay; says nothing if they are there. Needs mmdebstrap and root, and hundreds of megabytes.
#
#   scripts/sid-tree.sh          target/tools/sid: nginx, haproxy and curl with HTTP/3, which tests run by chroot
#   scripts/sid-tree.sh h2load   target/tools/h2load-h3: h2load with --h3, built from its source package, with its
#                                libraries, so that it runs on any distribution; no root needed to run it
#
# Where a tree cannot be made the script names what was missing and succeeds: tests skip what is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
SERVERS=nginx-light,haproxy,curl,ca-certificates
# What h2load is built with.
BUILD_PACKAGES=gcc,g++,make,pkgconf,libc6-dev,libev-dev,zlib1g-dev,libc-ares-dev,libssl-dev,libngtcp2-dev
BUILD_PACKAGES+=,libngtcp2-crypto-ossl-dev,libnghttp3-dev

main() {
    local what=${1-servers}
    case $what in
        servers | h2load) ;;
        *) fail "expected no argument or \`h2load\`, got \`$what\`" ;;
    esac
    tools=${CARGO_TARGET_DIR:-target}/tools
    mkdir -p "$tools"
    tools=$(cd "$tools" && pwd)
    "is_made_$what" && return
    local lacking
    lacking=$(what_is_lacking)
    if [ -n "$lacking" ]; then
        say "skipped: this needs $lacking"
        return
    fi
    work=$(mktemp -d "$tools/sid-work.XXXXXX")
    trap clean_up EXIT
    say "making $what of Debian's unstable release (takes minutes, once)"
    # Not as a condition, in which a failing command would not end it.
    set +e
    (set -e && "make_$what") >"$work/log" 2>&1
    local status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        mv "$work/log" "$tools/sid-$what.log"
        say "skipped: that release could not be had, or nothing be built in it; see $tools/sid-$what.log"
    fi
}

what_is_lacking() {
    [ "$(id -u)" -eq 0 ] || echo root
    command -v mmdebstrap >/dev/null || echo mmdebstrap
}

clean_up() {
    rm -rf --one-file-system "$work"
}

is_made_servers() {
    [ -x "$tools/sid/usr/sbin/nginx" ] && [ -x "$tools/sid/usr/sbin/haproxy" ]
}

make_servers() {
    make_tree "$work/tree" "$SERVERS"
    # It has none of the host's: what runs there writes below /tmp only.
    rm -rf "$tools/sid"
    mv "$work/tree" "$tools/sid"
}

is_made_h2load() {
    [ -x "$tools/h2load-h3/h2load" ]
}

make_h2load() {
    write_build >"$work/build"
    export BUILD=$work/build
    # It is mmdebstrap's shell that expands this.
    # shellcheck disable=SC2016
    make_tree "$work/tree" "$BUILD_PACKAGES" --customize-hook='chroot "$1" sh -eux <"$BUILD"'
    rm -rf "$tools/h2load-h3"
    mv "$work/tree/out" "$tools/h2load-h3"
    # With the loader and the libraries of its own distribution.
    cat >"$tools/h2load-h3/h2load" <<'WRAPPER'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/loader" --library-path "$here" "$here/h2load.bin" "$@"
WRAPPER
    chmod 755 "$tools/h2load-h3/h2load"
}

# What is run in the tree.
write_build() {
    cat <<'BUILD'
mkdir /build /out
cd /build
apt-get update
# Some mirrors have no more of a source package than this.
apt-get source --download-only --tar-only nghttp2
tar --strip-components=1 -xf nghttp2_*.orig.tar.gz
./configure --enable-app --enable-http3 --disable-shared --without-neverbleed --without-libbpf
make -j2 -C lib
make -j2 -C third-party
make -j2 -C src h2load
strip src/h2load
cp src/h2load /out/h2load.bin
ldd src/h2load | sed -n 's,.* => \(/[^ ]*\).*,\1,p' | xargs -I{} cp -L {} /out
cp -L "$(ldd src/h2load | sed -n 's,^\s*\(/[^ ]*ld-linux[^ ]*\) .*,\1,p')" /out/loader
BUILD
}

# A tree in a folder, with these packages.
make_tree() {
    local folder=$1 packages=$2
    shift 2
    # A mirror may be a frozen copy, whose Release file has expired.
    mmdebstrap --mode=root --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" "$@" \
        sid "$folder" "deb $MIRROR sid main" "deb-src $MIRROR sid main"
    # Later steps remove and move the tree with ordinary commands.
    chmod 755 "$folder"
}

say() {
    echo "sid-tree: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
