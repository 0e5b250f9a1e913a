#!/bin/sh
# Put Node 22 and the npm packages that suites run into .tools/node. npm must be there.
set -eu
cd "$(dirname "$0")/.."

if ! command -v npm >/dev/null 2>&1; then
    echo "setup: npm is not installed" >&2
    echo "hint: on Debian: apt-get install npm; it then fetches Node 22 by itself" >&2
    exit 1
fi
mkdir -p .tools/node
cp infra/node/package.json infra/node/package-lock.json .tools/node/
npm ci --prefix .tools/node --no-audit --no-fund --loglevel error >&2
.tools/node/node_modules/.bin/node --version >/dev/null
