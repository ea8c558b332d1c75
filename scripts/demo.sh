#!/usr/bin/env bash
# A first load test. Builds the program and checks how exactly this machine can measure (httperf self-check). Then starts the
# built-in server on a free port of the loopback interface, limited to 500 replies per second, and offers it 400 and 600
# connections per second. Prints the answers of both runs, writes the second one as a page, and names what to type next.
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
    # The result of the self-check is for the runs after it, and not for the user's own folder.
    export XDG_STATE_HOME=$work_dir/state
    check_machine

    start_server
    echo
    echo "1. A load that the server can handle: 400 of its 500 replies per second."
    answer --rate 400

    page=$target/demo.html
    echo
    echo "2. A load that is too much: 600 per second."
    answer --rate 600 --output "$target/demo.json" --html "$page"
    stop_server

    cat <<END

The server is as fast as before. It has more users than it can serve, so each one waits longer than the one before.
The page with charts of the second run: $page

What to type next, in two terminals:
    $httperf serve --listen 127.0.0.1:8080 --delay 20ms --capacity 500
    $httperf capacity http://127.0.0.1:8080/ --slo 'p99<50ms' --timeout 5
The second command finds the highest rate with 99 % of the replies within 50 ms. Put your own server's URL in its place.
docs/start/five-minutes.md goes on from here.
END
}

# Prints a line if the machine measures exactly. One that is busy with other things does not; that is worth knowing, and no
# reason to stop.
check_machine() {
    echo
    echo "Checking how exactly this machine measures, for 20 seconds …"
    local log=$work_dir/self-check.log status=0
    timeout 120 "$httperf" self-check --quick >"$log" 2>&1 || status=$?
    case $status in
        0) sed -n 's/^Within bounds: /self-check: passed, /p' "$log" ;;
        2)
            sed -n '/^NOT within bounds/,$p' "$log"
            echo "self-check: this machine is busy or slow, so the figures below are less exact. \`$httperf self-check\` has all rows."
            ;;
        *)
            cat "$log" >&2
            echo "self-check failed with exit status $status; the load test follows" >&2
            ;;
    esac
}

# Offers a load for five seconds, and prints the answer. The limit of time only guards against a run that never ends.
answer() {
    run timeout 60 "$httperf" "http://127.0.0.1:$port/" "$@" --duration 5 --timeout 5 --report=answer
}

start_server() {
    echo
    echo "\$ $httperf serve --listen 127.0.0.1:0 --delay 20ms --capacity 500 &"
    : >"$work_dir/server.log"
    "$httperf" serve --listen 127.0.0.1:0 --delay 20ms --capacity 500 >>"$work_dir/server.log" 2>&1 &
    server=$!
    # The server chooses its port and names it in its first line.
    port=
    for _ in $(seq 100); do
        port=$(sed -n 's/.*127\.0\.0\.1:\([1-9][0-9]*\).*/\1/p' "$work_dir/server.log" | head -n 1)
        if [ -n "$port" ]; then
            cat "$work_dir/server.log"
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
}

clean_up() {
    if [ -n "${server-}" ]; then kill -KILL "$server" 2>/dev/null || true; fi
    rm -rf "$work_dir"
}

run() {
    echo "\$ ${*:3}"
    echo
    "$@"
}

main
