#!/usr/bin/env bash
# Installs what is missing, and says nothing if nothing is.
#
#   scripts/bootstrap.sh build   what building and the demo need: compilers for C and C++, cmake and libclang for
#                                BoringSSL, git for its patches
#   scripts/bootstrap.sh test    that, and what the tests and benches run against: the classic httperf, nginx,
#                                apache, nghttpd, nghttpx, h2o, Node, tinyproxy, squid, proxychains, ab, wrk, h2load,
#                                openssl, Go, Python with venv, Perl, tcpdump, valgrind, chromium; rustfmt and clippy
#   scripts/bootstrap.sh release what building needs, and what packages are built with: dpkg, rpm, buildah, Python environments
#   scripts/bootstrap.sh long    what the tests need, and what `make test-long` runs besides: Slurm, Open MPI, MPICH,
#                                Prometheus, InfluxDB, etcd, shellcheck, mmdebstrap; what
#                                packages are built with and looked at: lintian, rpmlint, pipx, qemu, ruby, nix
#
# Debian and Ubuntu packages are installed with apt-get, by root or through a sudo that asks for no password.
# Elsewhere the script names what is missing and goes on if the program can be built.
set -euo pipefail

# Servers live in sbin, which an ordinary user's PATH lacks.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

main() {
    local mode=${1-}
    case $mode in
        build | release | test | long) ;;
        *) fail "expected \`build\`, \`release\`, \`test\` or \`long\`, got \`$mode\`" ;;
    esac
    # The Makefile's CARGO may have arguments.
    local cargo=${CARGO:-cargo}
    have "${cargo%% *}" || fail "cargo is not installed; get Rust from https://rustup.rs and run this again"

    missing=()
    look_for_build_tools
    if [ "$mode" = release ]; then
        look_for_packagers
    elif [ "$mode" != build ]; then
        look_for_test_tools
        add_rust_components
    fi
    if [ "$mode" = long ]; then
        look_for_launchers
    fi
    [ ${#missing[@]} -gt 0 ] || return 0

    if have apt-get; then
        install_packages "${missing[@]}"
    else
        say "this system has no apt-get; please install what these Debian packages hold: ${missing[*]}"
        can_link || fail "no working C compiler \`cc\`, which Rust needs as its linker"
    fi
}

look_for_build_tools() {
    can_link || missing+=(gcc libc6-dev)
    can_compile_cxx || missing+=(g++)
    have cmake || missing+=(cmake)
    have make || missing+=(make)
    have git || missing+=(git)
    # The bindings to BoringSSL are made from its headers.
    have_libclang || missing+=(libclang-dev)
    [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || [ -e /etc/ssl/cert.pem ] ||
        missing+=(ca-certificates)
}

look_for_test_tools() {
    # By its full path: an `httperf` found first on PATH may be ours.
    [ -x /usr/bin/httperf ] || missing+=(httperf)
    have nginx || missing+=(nginx-light)
    have tinyproxy || missing+=(tinyproxy-bin)
    have squid || missing+=(squid)
    have proxychains4 || missing+=(proxychains4)
    have ip || missing+=(iproute2)
    have apache2 || have httpd || missing+=(apache2-bin)
    have ab || missing+=(apache2-utils)
    have openssl || missing+=(openssl)
    have curl || missing+=(curl)
    have wrk || missing+=(wrk)
    have h2load || missing+=(nghttp2-client)
    have gtlsclient || missing+=(ngtcp2-client)
    have gtlsserver || missing+=(ngtcp2-server)
    have nghttpd || missing+=(nghttp2-server)
    have nghttpx || missing+=(nghttp2-proxy)
    have h2o || missing+=(h2o)
    have node || missing+=(nodejs)
    have python3 || missing+=(python3)
    have perl || missing+=(perl)
    python3 -c "import ensurepip" 2>/dev/null || missing+=(python3-venv)
    have tcpdump || missing+=(tcpdump)
    have valgrind || missing+=(valgrind)
    have chromium || have chromium-browser || have google-chrome || missing+=(chromium)
}

look_for_packagers() {
    python3 -c "import ensurepip" 2>/dev/null || missing+=(python3-venv)
    have readelf || missing+=(binutils)
    have dpkg-deb || missing+=(dpkg)
    have rpmbuild || missing+=(rpm)
    have buildah || missing+=(buildah)
}

look_for_launchers() {
    have prometheus || missing+=(prometheus)
    have influxd || missing+=(influxdb)
    have slurmctld || missing+=(slurmctld)
    have slurmd || missing+=(slurmd)
    have srun || missing+=(slurm-client)
    have munged || missing+=(munge)
    have mpirun.openmpi || missing+=(openmpi-bin)
    have mpiexec.hydra || missing+=(mpich)
    have etcd || missing+=(etcd-server)
    have setpriv || missing+=(util-linux)
    have shellcheck || missing+=(shellcheck)
    have mmdebstrap || missing+=(mmdebstrap)
    look_for_packagers
    have lintian || missing+=(lintian)
    have rpmlint || missing+=(rpmlint)
    have rpm2cpio || missing+=(rpm2cpio)
    have cpio || missing+=(cpio)
    have man || missing+=(man-db)
    have pipx || missing+=(pipx)
    have qemu-aarch64-static || missing+=(qemu-user-static)
    have ruby || missing+=(ruby)
    have nix-instantiate || missing+=(nix-bin)
}

add_rust_components() {
    local component components=()
    cargo fmt --version >/dev/null 2>&1 || components+=(rustfmt)
    cargo clippy --version >/dev/null 2>&1 || components+=(clippy)
    [ ${#components[@]} -gt 0 ] || return 0
    if have rustup; then
        rustup component add "${components[@]}"
    else
        for component in "${components[@]}"; do say "please install cargo's \`$component\`"; done
        exit 1
    fi
}

install_packages() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if have sudo && sudo -n true 2>/dev/null; then
            as_root=(sudo -n)
        else
            fail "some packages are missing; as root, run: apt-get update && apt-get install --no-install-recommends $*"
        fi
    fi
    say "installing: $*"
    # One shell as root does it all, so that what it changes for the time being is put back whatever happens.
    "${as_root[@]}" bash -euo pipefail -s -- "$@" <<'AS_ROOT'
policy=/usr/sbin/policy-rc.d
kept=
put_back() {
    rm -f "$policy"
    if [ -n "$kept" ]; then mv "$kept" "$policy"; fi
}

# The tests start servers of their own on ports of their own: a package must not start its service, which
# would also fail where no init runs. The policy file is Debian's way to say so.
if [ -e "$policy" ] || [ -L "$policy" ]; then
    kept=$(mktemp /usr/sbin/policy-rc.d.kept.XXXXXX)
    mv "$policy" "$kept"
fi
trap put_back EXIT
trap 'exit 1' HUP INT TERM
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
apt-get -q update </dev/null
apt-get -q -y --no-install-recommends install "$@" </dev/null

# Nor at the next boot.
for service in nginx-light:nginx squid:squid h2o:h2o nghttp2-proxy:nghttpx munge:munge slurmctld:slurmctld slurmd:slurmd; do
    case " $* " in
        *" ${service%:*} "*) update-rc.d "${service#*:}" disable >/dev/null 2>&1 || true ;;
    esac
done
AS_ROOT
}

can_link() {
    have cc && echo 'int main(void) { return 0; }' | cc -x c -o /dev/null - 2>/dev/null
}

can_compile_cxx() {
    have c++ && echo '#include <memory>
int main() { return 0; }' | c++ -x c++ -std=c++17 -o /dev/null - 2>/dev/null
}

# Where bindgen looks: LIBCLANG_PATH, the linker's cache, and the folders of LLVM's packages.
have_libclang() {
    [ -n "${LIBCLANG_PATH-}" ] && return 0
    ldconfig -p 2>/dev/null | grep -q 'libclang[-.].*so' && clang_headers && return 0
    compgen -G '/usr/lib/llvm-*/lib/libclang.so*' >/dev/null && clang_headers
}

# Its own headers (stddef.h and such) are in a package of their own.
clang_headers() {
    compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stddef.h' >/dev/null ||
        compgen -G '/usr/lib*/clang/*/include/stddef.h' >/dev/null
}

have() {
    command -v "$1" >/dev/null 2>&1
}

say() {
    echo "bootstrap: $*" >&2
}

fail() {
    say "$*"
    exit 1
}

main "$@"
