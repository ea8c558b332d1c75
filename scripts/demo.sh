#!/usr/bin/env bash
# A first load test. Builds the program; looks how exactly this machine can measure (httperf self-check); starts the
# built-in server on a free port of the loopback interface, runs 3,000 connections at 1,000 per second with two calls each
# against it; prints the report, writes it as a page, and prints what the server counted.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    scripts/bootstrap.sh build
    cargo build --release --locked -p httperf
    target=${CARGO_TARGET_DIR:-target}
    httperf=$target/release/httperf

    work_dir=$(mktemp -d)
    trap clean_up EXIT
    trap 'exit 1' HUP INT TERM
    # What the self-check finds is for the run after it, and not for the user's own folder.
    export XDG_STATE_HOME=$work_dir/state
    # A machine that is busy with other things is not exact. That is worth knowing, and no reason to stop.
    run timeout 120 "$httperf" self-check --quick || echo "(exit status $?: see the last lines)"

    start_server

    # A load test of three seconds; the limit only guards against one that never ends.
    page=$target/demo.html
    run timeout 60 "$httperf" "http://127.0.0.1:$port/" \
        --num-conns 3000 --rate 1000 --num-calls 2 --timeout 5 --report=full --exemplars 3 \
        --output "$target/demo.json" --html "$page"

    stop_server
    echo
    echo "The same as a page with charts: $page"
}

start_server() {
    echo
    echo "\$ $httperf serve --listen 127.0.0.1:0 &"
    : >"$work_dir/server.log"
    "$httperf" serve --listen 127.0.0.1:0 >>"$work_dir/server.log" 2>&1 &
    server=$!
    # The server chooses its port and names it in its first line.
    port=
    for _ in $(seq 100); do
        port=$(sed -n 's/.*127\.0\.0\.1:\([1-9][0-9]*\).*/\1/p' "$work_dir/server.log" | head -n 1)
        if [ -n "$port" ]; then
            cat "$work_dir/server.log"
            said=$(wc -l <"$work_dir/server.log")
            return
        fi
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    cat "$work_dir/server.log" >&2
    echo "demo: the server did not say where it listens" >&2
    exit 1
}

stop_server() {
    kill -TERM "$server"
    wait "$server"
    server=
    echo
    echo "The server's own counts:"
    tail -n "+$((said + 1))" "$work_dir/server.log"
}

clean_up() {
    if [ -n "${server-}" ]; then kill -KILL "$server" 2>/dev/null || true; fi
    rm -rf "$work_dir"
}

run() {
    echo
    echo "\$ ${*:3}"
    "$@"
}

main
