#!/usr/bin/env bash
# Runs checks one after another, all of them even if some fail, and ends with a table of what came of each.
#
#   scripts/checks.sh CHECK...     each is a target of the Makefile
#
# A check may leave something out because this machine lacks what it needs; it then adds a line with the reason to the
# file that CHECKS_SKIPPED names. Exit status: 0 if every check passed, 1 if one failed, 130 after an interrupt.
set -uo pipefail
cd "$(dirname "$0")/.."

main() {
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    interrupted=
    trap 'interrupted=yes' INT TERM
    if [ -t 1 ]; then export CARGO_TERM_COLOR=${CARGO_TERM_COLOR-always}; fi
    rows=()
    all_passed=0 all_failed=0 all_skipped=0 failed_checks=0 all_seconds=0
    for check in "$@"; do
        run "$check"
        [ -z "$interrupted" ] || break
    done
    print_table
    if [ -n "$interrupted" ]; then exit 130; fi
    [ "$failed_checks" -eq 0 ]
}

run() {
    local check=$1 log=$folder/$1.log began=$SECONDS result=passed status passed failed skipped seconds
    export CHECKS_SKIPPED=$folder/$check.skipped
    : >"$CHECKS_SKIPPED"
    printf '\n==> %s\n' "$check"
    "${MAKE:-make}" --no-print-directory "$check" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    seconds=$((SECONDS - began))
    # Of every test program: `test result: ok. 12 passed; 0 failed; 1 ignored; …`.
    passed=$(sum passed "$log")
    failed=$(sum failed "$log")
    skipped=$(($(sum ignored "$log") + $(wc -l <"$CHECKS_SKIPPED")))
    if [ "$status" -ne 0 ]; then
        result=failed
        failed_checks=$((failed_checks + 1))
    elif [ "$passed" -eq 0 ] && [ "$skipped" -gt 0 ]; then
        result=skipped
    fi
    if [ -n "$interrupted" ]; then result=interrupted; fi
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
    all_skipped=$((all_skipped + skipped))
    all_seconds=$((all_seconds + seconds))
    rows+=("$(row "$check" "$result" "$passed" "$failed" "$skipped" "$seconds")")
}

# The sum of the numbers before a word in the lines that end test programs.
sum() {
    sed -n "s/.*test result: .* \([0-9]*\) $1;.*/\1/p" "$2" | awk '{ sum += $1 } END { print sum + 0 }'
}

row() {
    printf '%-14s %-12s %7s %7s %8s %8s' "$@"
}

print_table() {
    local log reasons
    echo
    for log in "$folder"/*.log; do
        # As libtest says it, and as libtest-mimic does.
        sed -n 's/^test \(.*\) \.\.\. .*FAILED.*$/failed: \1/p' "$log"
    done
    for reasons in "$folder"/*.skipped; do
        sort "$reasons" | uniq -c | sed 's/^ *1 /skipped: /; s/^ *\([0-9][0-9]*\) /skipped \1 times: /'
    done
    echo
    row check result "passed" "failed" "skipped" "seconds"
    echo
    printf '%s\n' "${rows[@]}"
    local result=passed
    if [ -n "$interrupted" ]; then result=interrupted; elif [ "$failed_checks" -gt 0 ]; then result=failed; fi
    row all "$result" "$all_passed" "$all_failed" "$all_skipped" "$all_seconds"
    echo
}

main "$@"
