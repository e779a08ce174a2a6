#!/bin/sh
# Runs NVML's Python clients against the simulated library.
#   check.sh DIRECTORY_OF_libnvidia_ml.so [PYTHON_WITH_REQUIREMENTS]
# Without a Python of its own it makes a virtual environment beside the library.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
libraries=$(cd "$1" && pwd)
test -f "$libraries/libnvidia_ml.so" || { echo "$libraries/libnvidia_ml.so is missing: cargo build -p fake-nvml" >&2; exit 2; }
python=${2:-$libraries/fake-nvml-python/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv "$libraries/fake-nvml-python"
    "$python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt"
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$libraries/libnvidia_ml.so" "$scratch/libnvidia-ml.so.1"
LD_LIBRARY_PATH="$scratch" "$python" -m unittest discover -s "$here" -p 'check_*.py'
