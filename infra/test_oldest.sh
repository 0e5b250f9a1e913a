#!/bin/sh
# Run the default tests on the oldest Python that is promised, and as an ordinary user:
#   infra/test_oldest.sh WORKERS [OPTIONS OF PYTEST]
# Root may write everywhere, so root hands a clone of this checkout to `nobody` first.
set -eu
cd "$(dirname "$0")/.."
workers=$1
shift

python=$(.venv/bin/python -m infra.oldest_python) || {
    printf '\n!!! NOT RUN on the oldest Python: there is no Python 3.11 with venv here\n\n' >&2
    exit 0
}

if [ "$(id -u)" -ne 0 ]; then
    environment=.tools/venv-oldest
    PYTHON=$python UV_PROJECT_ENVIRONMENT=$environment infra/setup.sh dev
    "$environment/bin/python" --version
    exec "$environment/bin/python" -m pytest --workers "$workers" -p no:cacheprovider "$@"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone --quiet --no-hardlinks . "$folder/nacre"
cd "$folder/nacre"
PYTHON=$python UV_PROJECT_ENVIRONMENT=.venv infra/setup.sh dev
.venv/bin/python --version
chown -R nobody:nogroup "$folder"
# Folders of root's on PATH would hide from `nobody` whether a program is there.
setpriv --reuid=nobody --regid=nogroup --clear-groups \
    env -u PYTHONDONTWRITEBYTECODE PATH=/usr/local/bin:/usr/bin:/bin HOME="$folder" TMPDIR="$folder" USER=nobody LOGNAME=nobody \
    .venv/bin/python -m pytest --workers "$workers" -p no:cacheprovider "$@"
