#!/usr/bin/env bash
# Installs the real Slurm that tests/slurm/jobs.rs runs: slurmctld, slurmd, their clients and munge, from Debian.
# Safe to run again. None of it stays as a service of the machine: the test starts its own.
set -euo pipefail

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else echo "tests/slurm/setup.sh: '$*' needs root or sudo" >&2; exit 2
    fi
}

missing=()
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null || missing+=(slurm-wlm)
command -v munged >/dev/null || missing+=(munge)
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
as_root apt-get -qq update
# Debian starts packages' services at once; a policy of 101 says no while these are installed.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    trap 'as_root rm -f "$policy"' EXIT
fi
as_root apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
