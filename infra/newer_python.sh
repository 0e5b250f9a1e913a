#!/bin/sh
# Print the path of a Python 3.13, the version that AWS runs, or end with 1: infra/newer_python.sh
set -eu
cd "$(dirname "$0")/.."

is_313() {
    "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1
}

for candidate in python3.13 python3 "$HOME"/.pyenv/versions/3.13*/bin/python3.13 .tools/python/*/bin/python3.13; do
    if is_313 "$candidate"; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit
    fi
done
# Not on this machine: uv fetches one, where the network allows it.
timeout 300 .tools/uv/bin/uv python install 3.13 --quiet --install-dir .tools/python >&2 || exit 1
for candidate in .tools/python/*/bin/python3.13; do
    if is_313 "$candidate"; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit
    fi
done
exit 1
