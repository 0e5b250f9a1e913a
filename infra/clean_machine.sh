#!/usr/bin/env bash
# Do what a newcomer does on a fresh Debian: clone, `make serve`, a first call, Ctrl-C, `make check`.
#
#   infra/clean_machine.sh [chroot|empty]     default: chroot for root with debootstrap, else empty
#
# chroot  a minimal Debian with git, make and python3 (with venv) only, as an ordinary user
# empty   this machine's programs with an empty home, no caches and an empty environment
#
# CLEAN_SUITE names the Debian (bookworm); CLEAN_BASE a folder that keeps the bare system for next time.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
suite=${CLEAN_SUITE:-bookworm}
packages=git,make,python3,python3-venv,ca-certificates

if [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null; then mode=chroot; else mode=empty; fi
mode=${1:-$mode}
work=$(mktemp -d)
bare=${CLEAN_BASE:-$work/bare}
root=$work/root
server=

finish() {
    if [ -n "$server" ]; then kill -TERM -- "-$server" 2>/dev/null || true; fi
    if [ "$mode" = chroot ]; then
        umount "$root/dev/shm" "$root/dev/pts" "$root/dev" "$root/proc" 2>/dev/null || true
        # What is still mounted must not be emptied along with the folder.
        if grep -q " $root/" /proc/mounts; then echo "still mounted: $root" >&2; return; fi
    fi
    rm -rf "$work"
}
trap finish EXIT

# A network that looks into TLS has a certificate authority of its own; elsewhere this is empty.
certificates=()
if [ -n "${SSL_CERT_FILE:-}" ]; then
    for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE; do
        certificates+=("$name=/etc/ssl/certs/ca-certificates.crt")
    done
fi

# Run a command line as the newcomer, in the clone, with nothing of this shell's environment.
clean=(env -i "${certificates[@]}" LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin)
if [ "$mode" = chroot ]; then
    home=$root/home/newcomer
    as_newcomer=("${clean[@]}" HOME=/home/newcomer "$(command -v chroot)" --userspec=newcomer:newcomer "$root" bash -c)
else
    home=$work/home
    as_newcomer=("${clean[@]}" HOME="$home" bash -c)
fi
newcomer() { "${as_newcomer[@]}" "cd ~/nacre 2>/dev/null || cd; $1"; }

# A token is shown once, to its owner; this output is for others.
hide_tokens() { sed -uE 's/\b(br[t]_[A-Za-z0-9]{3})[A-Za-z0-9]+/\1…/g'; }

if [ "$mode" = chroot ]; then
    if [ ! -x "$bare/usr/bin/python3" ]; then
        debootstrap --variant=minbase --include="$packages" "$suite" "$bare" http://deb.debian.org/debian \
            >"$work/debootstrap.log" || { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
    fi
    cp -a "$bare" "$root"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    if [ -n "${SSL_CERT_FILE:-}" ]; then cp "$SSL_CERT_FILE" "$root/etc/ssl/certs/ca-certificates.crt"; fi
    mount -t proc proc "$root/proc"
    mount --bind /dev "$root/dev"
    mount --bind /dev/pts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    chroot "$root" useradd --create-home newcomer
else
    mkdir "$home"
fi

printf '== %s: %s, %s, %s\n' "$mode" "$(newcomer '. /etc/os-release; echo "$PRETTY_NAME"')" \
    "$(newcomer 'python3 --version')" "$(newcomer 'make --version | head -n 1')"
git clone --quiet --no-hardlinks "$here" "$home/nacre"
if [ "$mode" = chroot ]; then chroot "$root" chown -R newcomer:newcomer /home/newcomer; fi
printf '== commit %s\n' "$(newcomer 'git log -1 --format="%h %s"')"

start_server() { # port, log: wait until the server takes calls
    : >"$2"
    setsid "${as_newcomer[@]}" "cd ~/nacre; exec make serve ARGS='--log --port $1'" >"$2" 2>&1 </dev/null &
    server=$!
    local until=$((SECONDS + 300))
    until grep -q '"event": "serving"' "$2"; do
        if ! kill -0 "$server" 2>/dev/null || [ "$SECONDS" -ge "$until" ]; then cat "$2" >&2; exit 1; fi
        sleep 0.2
    done
}

stop_server() { # as Ctrl-C does: the whole foreground group gets the signal
    kill -INT -- "-$server"
    wait "$server" || true
    server=
}

port=$(newcomer "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); print(s.getsockname()[1])'")
began=$SECONDS
printf '\n== make serve\n'
start_server "$port" "$work/first.log"
hide_tokens <"$work/first.log"
printf '== it serves after %d s\n' $((SECONDS - began))

url=$(sed -n 's/^URL: *//p' "$work/first.log")
token=$(sed -n 's/^Token: *//p' "$work/first.log")
printf '\n== a first call, a call with a wrong token\n'
newcomer "python3 - '$url' '$token'" <<'PYTHON'
import json, sys, urllib.error, urllib.request

url, token = sys.argv[1:]
call = {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()

def post(token):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read())

status, answer = post(token)
print(status, answer["result"]["content"][0]["text"])
assert status == 200 and answer["result"]["structuredContent"]["timezone"] == "Asia/Tokyo"
status, answer = post(token[:-1] + ("a" if token[-1] != "a" else "b"))
print(status, answer["error"]["message"])
assert status == 401
PYTHON

printf '\n== Ctrl-C, and make serve again\n'
stop_server
began=$SECONDS
start_server "$port" "$work/second.log"
hide_tokens <"$work/second.log"
printf '== it serves after %d s\n' $((SECONDS - began))
stop_server

printf '\n== make check\n'
began=$SECONDS
newcomer 'make check' </dev/null 2>&1 | hide_tokens
printf '== passed after %d s\n' $((SECONDS - began))
began=$SECONDS
newcomer 'make setup' </dev/null
printf '== make setup again: %d s\n' $((SECONDS - began))
printf '\n== a clean machine serves and checks\n'
