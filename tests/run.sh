#!/usr/bin/env bash
# Runs every check and counts: format, lints, cargo's tests, then the PyPI clients against the simulated library.
# The counts go to target/test-counts; the last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tests/setup.sh || exit 2
passed=0
failed=0

check() { # name, command...
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); echo "ok      $name"
    else failed=$((failed + 1)); echo "FAILED  $name"
    fi
}

check "format" cargo fmt --all --check
check "lints" cargo clippy --quiet --workspace --all-targets -- -D warnings

log=target/cargo-test.log
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
cargo_status=${PIPESTATUS[0]}
read -r p f < <(awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$log")
passed=$((passed + p)) failed=$((failed + f))
# A test binary that didn't build or died counts too.
if [ "$cargo_status" -ne 0 ] && [ "$f" -eq 0 ]; then failed=$((failed + 1)); fi

for client in tests/fake-nvml/python/test_*.py; do
    check "$client" "${XDG_CACHE_HOME:-$HOME/.cache}/slicemeter/venv/bin/python" "$client" target/debug/libnvidia_ml.so
done

echo "$passed $failed" > target/test-counts
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
