#!/usr/bin/env bash
# Checks the Python package with ruff, mypy and its tests, which run the debug binary.
#
#   scripts/python.sh          what `make test` does
#   scripts/python.sh long     besides, runs the notebook as Jupyter does
#
# Tools come from PyPI, into a Python environment below target/tools that stays. Where there is no Python that is new
# enough, no venv or no PyPI, that is a line on stdout and not a failure. PYTHON names another Python.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest versions that Python 3.10 can have. Types of later numpys are written in the words of Python 3.12.
TOOLS=(pytest==9.0.3 hypothesis==6.168.5 mypy==1.20.2 ruff==0.17.6
    pandas==2.3.3 pandas-stubs==2.3.3.260113 matplotlib==3.10.9 "numpy<2.5")
LONG=(nbclient==0.10.4 ipykernel==7.1.0)

main() {
    local target=${CARGO_TARGET_DIR:-target}
    mkdir -p "$target/tools"
    target=$(cd "$target" && pwd)
    export HTTPERF=${HTTPERF:-$target/debug/httperf}
    [ -x "$HTTPERF" ] || fail "no program $HTTPERF; \`cargo build --locked\` makes it"

    local tools=("${TOOLS[@]}") name=python
    if [ "${1-}" = long ]; then
        tools+=("${LONG[@]}")
        name="python-long"
    fi
    find_environment "$target/tools/$name" "${tools[@]}"

    # Nothing is written beside the sources.
    export MYPY_CACHE_DIR=$venv/cache/mypy RUFF_CACHE_DIR=$venv/cache/ruff PYTHONPYCACHEPREFIX=$venv/cache/bytecode
    export HYPOTHESIS_STORAGE_DIRECTORY=$venv/cache/hypothesis MPLCONFIGDIR=$venv/cache/matplotlib
    cd python
    "$venv/bin/ruff" check --quiet .
    "$venv/bin/ruff" format --quiet --check . || fail "not formatted: \`$venv/bin/ruff format python\` does it"
    # Tests wait more than they compute, so types are checked meanwhile.
    "$venv/bin/mypy" >"$venv/types" 2>&1 &
    local types=$! failed=
    "$venv/bin/python" -m pytest --quiet || failed=yes
    wait "$types" || failed=yes
    cat "$venv/types"
    [ -z "$failed" ]
}

# The environment in `venv` with these tools, which is made anew if others are wanted.
find_environment() {
    venv=$1
    shift
    local python=${PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || lacking "no Python 3.10 or later"
    if [ "$(cat "$venv/has" 2>/dev/null)" = "$("$python" --version) $*" ]; then return; fi
    "$python" -m venv --clear "$venv" >/dev/null 2>&1 || lacking "venv of Python (Debian: python3-venv)"
    local log=$venv/log
    if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries=0 --timeout=10 \
        --only-binary :all: --no-compile "$@" >"$log" 2>&1; then
        # Without an index, pip knows no version at all.
        if grep -q 'from versions: none\|Could not fetch\|onnection\|timed out' "$log"; then
            lacking "PyPI is not within reach"
        fi
        cat "$log" >&2
        fail "the tools cannot be installed"
    fi
    echo "$("$python" --version) $*" >"$venv/has"
}

lacking() {
    echo "skipped: Python package: $1"
    if [ -n "${CHECKS_SKIPPED-}" ]; then echo "Python package: $1" >>"$CHECKS_SKIPPED"; fi
    exit 0
}

fail() {
    echo "python: $*" >&2
    exit 1
}

main "$@"
