#!/usr/bin/env bash
# Counts the files in which an idea lives: the fewer, the easier it is changed.
#
#   scripts/homes.sh             some figures, options and workloads
#   scripts/homes.sh REGEX...    each of these, as git grep -P reads it
#
# A line for each: files that are written by hand and are no tests, files with tests, and generated ones.
set -euo pipefail
cd "$(dirname "$0")/.."

SOME=(
    'receive_lag|receive lag'
    'kernel_sends|kernel_ms|KernelFigures'
    'grpc_status|GrpcSummary|GrpcFigures'
    'ttft|first_token'
    'drain'
    'Policy::|Workload::(Connections|Sessions|Calls|Replay|Scenarios)'
)

# Counts the files of the list that match.
count() {
    grep -cE "$@" <<<"$files" || true
}

printf '%-60s %8s %8s %10s\n' idea 'by hand' tests generated
for idea in "${@:-${SOME[@]}}"; do
    files=$(git grep -lP -e "$idea" -- '*.rs' '*.py' '*.html' '*.js' '*.md' '*.1' '*.toml' || true)
    generated='^docs/(man/|reference/(options|csv|schema-|environment|exit-statuses|workload-file))|^python/src/httperf/documents/'
    tests='/tests?/|/tests?\.rs$|^fuzz/|^python/tests/'
    made=$(count "$generated")
    files=$(grep -vE "$generated" <<<"$files" || true)
    tested=$(count "$tests")
    files=$(grep -vE "$tests" <<<"$files" || true)
    printf '%-60s %8s %8s %10s\n' "$idea" "$(count .)" "$tested" "$made"
done
