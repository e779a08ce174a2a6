#!/usr/bin/env bash
# Installs what the tests need beyond Rust, Python and Node.js. Safe to run again; prints only what it does.
#   Debian: promtool (checks expositions and rules), zstd headers come with the crates
#   PyPI:   nvidia-ml-py, nvitop-exporter (real NVML clients, run unchanged against the simulated library)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/slicemeter

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else echo "tests/setup.sh: '$*' needs root or sudo" >&2; exit 2
    fi
}

missing=()
command -v promtool >/dev/null || missing+=(prometheus)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
if [ ${#missing[@]} -gt 0 ]; then
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get -qq update
    # Prometheus is started by the tests that need it, never as a service of the machine.
    as_root apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# A real Slurm for the test of its jobs.
tests/slurm/setup.sh

venv=$cache/venv
wanted='nvidia-ml-py nvitop-exporter==1.7.2'
if [ "$(cat "$venv/.installed" 2>/dev/null)" != "$wanted" ]; then
    echo "installing $wanted"
    mkdir -p "$cache"
    python3 -m venv "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
    echo "$wanted" > "$venv/.installed"
fi
