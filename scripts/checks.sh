#!/usr/bin/env bash
# Runs checks one after another, all of them even if some fail, and ends with a table of what came of each.
#
#   scripts/checks.sh CHECK...     each is a target of the Makefile
#
# Of checks joined by `+`, the first runs in front. Once it has made the file that CHECKS_READY names, those behind it run
# meanwhile, one after another and at the lowest priority: what computes takes the time in which tests wait.
#
# A check may leave something out because this machine lacks what it needs; it then adds a line with the reason to the
# file that CHECKS_SKIPPED names. Exit status: 0 if every check passed, 1 if one failed, 130 after an interrupt.
set -uo pipefail
cd "$(dirname "$0")/.."

main() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    interrupted=
    behind=
    trap interrupt INT TERM
    if [ -t 1 ]; then export CARGO_TERM_COLOR=${CARGO_TERM_COLOR-always}; fi
    rows=()
    all_passed=0 all_failed=0 all_skipped=0 failures=() all_began=$SECONDS
    for group in "$@"; do
        run_group ${group//+/ }
        [ -z "$interrupted" ] || break
    done
    print_table
    if [ -n "$interrupted" ]; then exit 130; fi
    [ ${#failures[@]} -eq 0 ]
}

interrupt() {
    interrupted=yes
    # It has a process group of its own.
    if [ -n "$behind" ]; then kill -TERM -- "-$behind" 2>/dev/null; fi
}

# Runs the first check, and the others meanwhile; what those print is shown at the end.
run_group() {
    local first=$1 check
    shift
    if [ $# -gt 0 ]; then
        export CHECKS_READY=$folder/$first.ready
        set -m
        nice -n 19 scripts/checks.sh --behind "$folder" "$first" "$@" &
        behind=$!
        set +m
    fi
    printf '\n==> %s\n' "$first"
    run "$first" 2>&1 | tee "$folder/$first.log"
    if [ -n "$behind" ]; then
        wait "$behind"
        behind=
    fi
    count "$first"
    for check in "$@"; do
        printf '\n==> %s\n' "$check"
        [ ! -e "$folder/$check.log" ] || cat "$folder/$check.log"
        count "$check"
    done
}

# Runs checks behind another one, for `run_group`.
run_behind() {
    folder=$1
    local first=$2
    shift 2
    until [ -e "$CHECKS_READY" ] || [ -e "$folder/$first.ended" ]; do sleep 1; done
    for check in "$@"; do run "$check" >"$folder/$check.log" 2>&1; done
}

# Runs a check, and leaves its exit status and its time in files.
run() {
    local check=$1 began=$SECONDS
    export CHECKS_SKIPPED=$folder/$check.skipped
    : >"$CHECKS_SKIPPED"
    "${MAKE:-make}" --no-print-directory "$check"
    echo "$? $((SECONDS - began))" >"$folder/$check.ended"
}

# Adds what came of a check to the table.
count() {
    local check=$1 log=$folder/$1.log result=passed status seconds passed failed skipped
    read -r status seconds 2>/dev/null <"$folder/$check.ended" || { status=1 seconds=0; }
    # Of every test program: `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    passed=$(sum passed "$log")
    failed=$(sum failed "$log")
    skipped=$(($(sum ignored "$log") + $(cat "$folder/$check.skipped" 2>/dev/null | wc -l)))
    if [ "$status" -ne 0 ]; then
        result=failed
        failures+=("$check")
    elif [ "$passed" -eq 0 ] && [ "$skipped" -gt 0 ]; then
        result=skipped
    fi
    if [ -n "$interrupted" ]; then result=interrupted; fi
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
    all_skipped=$((all_skipped + skipped))
    rows+=("$(row "$check" "$result" "$passed" "$failed" "$skipped" "$seconds")")
}

# The sum of the numbers before a word in the lines that end test programs.
sum() {
    sed -n "s/.*test result: .* \([0-9]*\) $1;.*/\1/p" "$2" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'
}

# Prints what the failed tests of a check said, the end of each; of a check without such tests, the end of its log.
print_failure() {
    local check=$1 log=$folder/$1.log
    printf '\n==> %s failed\n' "$check"
    # libtest and libtest-mimic put `---- NAME …----` above what a test said, all between two lines `failures:`.
    awk -v most=40 '
        function flush(    i) {
            if (count > most) print "[" count - most " lines before these]"
            for (i = count > most ? count - most + 1 : 1; i <= count; i++) print lines[i]
            count = 0
        }
        /^failures:$/ || /^test result: / { flush(); inside = /^failures:$/ && !inside; next }
        inside && /^---- .* ----$/ { flush(); print; next }
        inside { lines[++count] = $0 }
        END { flush() }
    ' "$log" >"$log.failures"
    if [ -s "$log.failures" ]; then cat "$log.failures"; else tail -n 40 "$log"; fi
    # As libtest says it, and as libtest-mimic does.
    sed -n 's/^test \(.*\) \.\.\. .*FAILED.*$/failed: \1/p' "$log"
}

row() {
    printf '%-14s %-12s %7s %7s %8s %8s' "$@"
}

# What failed stands just above the table, where it is seen, and where it is left if only the end of a log is kept.
print_table() {
    local reasons check
    echo
    for reasons in "$folder"/*.skipped; do
        sort "$reasons" | uniq -c | sed 's/^ *1 /skipped: /; s/^ *\([0-9][0-9]*\) /skipped \1 times: /'
    done
    for check in "${failures[@]}"; do print_failure "$check"; done
    echo
    row check result "passed" "failed" "skipped" "seconds"
    echo
    printf '%s\n' "${rows[@]}"
    local result=passed
    if [ -n "$interrupted" ]; then result=interrupted; elif [ ${#failures[@]} -gt 0 ]; then result=failed; fi
    row all "$result" "$all_passed" "$all_failed" "$all_skipped" "$((SECONDS - all_began))"
    echo
}

if [ "${1-}" = --behind ]; then
    shift
    run_behind "$@"
else
    main "$@"
fi
