#!/usr/bin/env bash
# The peers of the benchmarks: nvitop-exporter (PyPI, installed by tests/setup.sh) on the same simulated library.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tests/setup.sh
