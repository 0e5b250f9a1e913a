#!/bin/sh
# Make .venv from nothing but a Python with its venv module: infra/setup.sh serve|dev
# uv comes from PyPI into .tools/uv, at one version, so that everybody resolves alike.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.8

stop() {
    printf 'setup: %s\n' "$1" >&2
    printf 'hint: %s\n' "$2" >&2
    exit 1
}

is_recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_recent "$PYTHON" || stop "PYTHON=$PYTHON is not a Python of version 3.11 or newer" \
            "give the path of one, as in: make check PYTHON=/usr/bin/python3.13"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.14; do
        if is_recent "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    stop "Nacre needs Python 3.11 or newer; here is $(python3 --version 2>&1 || true)" \
        "install one, or name it: make check PYTHON=/path/to/python3.13"
}

# In full, for a name on PATH may be a version manager's shim that moves with the folder.
python=$(find_python)
python=$("$python" -c 'import sys; print(sys.executable)')

uv=.tools/uv/bin/uv
if [ "$("$uv" --version 2>/dev/null | cut -d ' ' -f 2)" != "$UV_VERSION" ]; then
    "$python" -c 'import ensurepip, venv' >/dev/null 2>&1 || stop "$python has no venv module" \
        "on Debian: apt-get install python3-venv"
    rm -rf .tools/uv
    "$python" -m venv .tools/uv
    .tools/uv/bin/pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
fi

case "$1" in
    # --inexact: `make serve` after `make check` leaves the developers' tools where they are.
    serve) set -- --inexact --extra openai ;;
    dev) set -- --extra dev ;;
    *) stop "unknown set '$1'" "serve or dev" ;;
esac
export UV_PROJECT_ENVIRONMENT="${UV_PROJECT_ENVIRONMENT:-.venv}"
exec "$uv" sync --quiet --locked --no-python-downloads --python "$python" "$@"
