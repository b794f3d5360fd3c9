#!/bin/sh
# Everything that must be green before a change goes in, in one command: the entry behind `npm test`.
# Gets the tools (etcd, Redis, kubectl, a browser), meanwhile builds and lints, then runs unit, contract and end-to-end tests
# with node's own runner, whose closing lines are the last that are printed.
#
#   e2e/run-tests.sh                    all
#   e2e/run-tests.sh --unit             the tests beside the code on one release of etcd, without lint: `npm run test:unit`
#   e2e/run-tests.sh storage/ kubectl   only test files whose path contains one of these words
#
# KEELSON_TEST_CONCURRENCY (default 3, and 4 with --unit): test files at a time; each may start servers and an etcd. With
# two, a fifth of two cores stands idle, as tests wait for deadlines and for disks.
# CI: where it is set, a test that is skipped fails the run.
# KEELSON_TEST_LONG (`npm run test:long`): the long variants, which need the machine for themselves.
set -eu
cd "$(dirname "$0")/.."

# All of them before the first test: a browser that is unpacked beside servers keeps their disk busy for half a minute.
if [ "${1:-}" = --unit ]; then shift && export KEELSON_TEST_FAST=1 && folders="server storage" browser=; else folders="server storage e2e" browser=chromium; fi
(sh e2e/install-tools.sh && { [ -z "$browser" ] || sh e2e/install-tools.sh "$browser"; } && sync) >/dev/null &
tools=$!
npm run --silent build
[ -z "$browser" ] || npm run --silent lint
wait "$tools"

# From the sources, not from dist: what was deleted or renamed must not run. Node sorts the files by
# path, whatever order they are given in: e2e/ with its long ones comes first, so no long one ends last.
select_tests() {
  # shellcheck disable=SC2086 # one word per folder
  find $folders -name '*.test.ts' | while read -r source; do
    [ $# -gt 0 ] || { echo "dist/${source%.ts}.js"; continue; }
    for word in "$@"; do
      case $source in *"$word"*) echo "dist/${source%.ts}.js" && break ;; esac
    done
  done
}
tests=$(select_tests "$@" | sh e2e/group-units.sh)
[ -n "$tests" ] || { echo "run-tests: no test file matches: $*" >&2; exit 1; }

# A test that hangs fails by name instead of holding up everything. The runner counts a file as a test, and half a core
# takes ten minutes for the longest.
if [ -n "${KEELSON_TEST_LONG:-}" ]; then concurrency=1 timeout_ms=3600000; else concurrency=3 timeout_ms=1800000; fi
[ -z "${KEELSON_TEST_FAST:-}" ] || concurrency=4
results=$(mktemp)
trap 'rm -f "$results"' EXIT
# shellcheck disable=SC2086 # one word per file
node --import ./dist/storage/base/testing/random.js --test --test-concurrency="${KEELSON_TEST_CONCURRENCY:-$concurrency}" --test-timeout="$timeout_ms" \
  --test-reporter=tap --test-reporter-destination="$results" \
  --test-reporter=spec --test-reporter-destination=stdout $tests
[ -n "${CI:-}" ] || exit 0
if grep -E '^ *ok .* # SKIP' "$results"; then
  echo "run-tests: these were skipped, and CI leaves nothing out" >&2
  exit 1
fi
