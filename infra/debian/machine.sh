#!/usr/bin/env bash
# Install Nacre's wheels on a bare Debian in each way, then run it as a service under a live systemd.
#
#   infra/debian/machine.sh
#
# Needs root, debootstrap, and a mounted cgroup2. The machine is a folder: its first process is Debian's
# own systemd, in namespaces of its own and without the rights to change this machine. It has a network
# only while it installs. It is killed, restarted, logged out and rebooted; each step fails loudly.
#
# CLEAN_SUITE names the Debian (bookworm); CLEAN_SYSTEMD_BASE a folder that keeps the bare system for next time.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
suite=${CLEAN_SUITE:-bookworm}
packages=ca-certificates,dbus,dbus-user-session,libpam-systemd,pipx,polkitd,python3,python3-venv,systemd,systemd-sysv
groups=$(findmnt --noheadings --types cgroup2 --output TARGET | head -n 1 || true)
if [ "$(id -u)" -ne 0 ] || [ -z "$groups" ] || ! command -v debootstrap >/dev/null; then
    echo 'NOT RUN: needs root, debootstrap and a mounted cgroup2' >&2
    exit 1
fi
group=$groups/nacre-$$
work=$(mktemp -d)
bare=${CLEAN_SYSTEMD_BASE:-$work/bare}
root=$work/root
first= # the process that is number 1 in the machine

finish() {
    if [ -n "$first" ]; then kill -KILL "$first" 2>/dev/null || true; wait 2>/dev/null || true; fi
    if [ -d "$group" ]; then find "$group" -depth -type d -exec rmdir {} \; ; fi
    rm -rf "$work"
}
trap finish EXIT
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
patiently() { # SECONDS COMMAND...: repeat the command until it succeeds
    local until=$((SECONDS + $1)); shift
    until "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$until" ]; then fail "not within the time: $*"; fi
        sleep 0.2
    done
}

# Run a command line as the newcomer before the machine is started, with this machine's network.
installing() {
    unshare --mount --propagation private bash -c '
        mount -t proc proc "$1/proc"; mount --rbind /dev "$1/dev"
        exec env -i LANG=C.UTF-8 HOME=/home/newcomer PATH=/home/newcomer/.local/bin:/usr/local/bin:/usr/bin:/bin \
            SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
            UV_NO_PYTHON_DOWNLOADS=1 UV_FIND_LINKS=/opt/wheels PIP_FIND_LINKS=/opt/wheels UV_CACHE_DIR=/home/newcomer/uv \
            "$(command -v chroot)" --userspec=newcomer:newcomer "$1" bash -c "cd; $2"
    ' installing "$root" "$1"
}

boot() {
    mkdir -p "$group"
    "$here/boot.sh" "$root" "$group" </dev/null >"$work/console" 2>&1 &
    patiently 30 test -s "$work/root/.first"
    patiently 30 grep -q . "$group/init.scope/cgroup.procs"
    first=$(sort -n "$group/init.scope/cgroup.procs" | head -n 1 || true)
    patiently 60 inside systemctl is-active --quiet multi-user.target
}
shut_down() {
    kill -s RTMIN+3 "$first" # as its console would
    patiently 120 bash -c "! kill -0 $first"
    wait || true
    first=
    find "$group" -depth -type d -exec rmdir {} \;
}
inside() { nsenter --target "$first" --all -- "$@"; } # as root, without a login
newcomer() { # STEP: run a step of the walk in a login session of its own
    inside systemd-run --quiet --wait --pipe --collect --uid=newcomer -p PAMName=login \
        -p WorkingDirectory=/home/newcomer -E PATH=/home/newcomer/.local/bin:/usr/bin:/bin \
        python3 /opt/walk.py "$@" </dev/null
}

if [ ! -x "$bare/usr/bin/pipx" ]; then
    debootstrap --variant=minbase --include="$packages" "$suite" "$bare" http://deb.debian.org/debian \
        >"$work/debootstrap.log" || { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
fi
cp -a "$bare" "$root"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
if [ -n "${SSL_CERT_FILE:-}" ]; then cp "$SSL_CERT_FILE" "$root/etc/ssl/certs/ca-certificates.crt"; fi
cp "$here/walk.py" "$root/opt/"
uv=$(cd "$repository" && .venv/bin/python -c 'from infra.layers.build import find_uv; print(find_uv())')
install -m 755 "$uv" "$root/usr/local/bin/uv"
"$uv" build --quiet --wheel --all-packages --out-dir "$root/opt/wheels" "$repository"
chmod -R a+rX "$root/opt"
chroot "$root" useradd --create-home --shell /bin/bash newcomer
say "$(. "$root/etc/os-release"; echo "$PRETTY_NAME"), $(chroot "$root" python3 --version), $("$uv" --version)"

say 'the download, which is not counted'
installing 'uv tool install --quiet /opt/wheels/nacre_mcp-*.whl && uv tool uninstall --quiet nacre-mcp'
installing 'pipx install /opt/wheels/nacre_mcp-*.whl && pipx uninstall nacre-mcp' >/dev/null 2>&1
installing 'python3 -m venv pip && pip/bin/pip download --quiet --dest wheels /opt/wheels/nacre_mcp-*.whl'
say 'from the command to the URL and the token: at most 20 s; on disk: at most 260 MB'
installing 'python3 /opt/walk.py first-start uvx uv tool run --quiet --from /opt/wheels/nacre_mcp-*.whl nacre'
installing 'PIP_NO_INDEX=1 PIP_FIND_LINKS="/opt/wheels $HOME/wheels" \
    python3 /opt/walk.py first-start "pipx install" pipx install /opt/wheels/nacre_mcp-*.whl --then nacre'
installing 'pipx uninstall nacre-mcp' >/dev/null
installing 'python3 /opt/walk.py first-start "uv tool install" uv tool install --quiet /opt/wheels/nacre_mcp-*.whl --then nacre'

say 'a live systemd without polkit: nobody may let services run after the logout'
polkit=usr/share/dbus-1/system-services/org.freedesktop.PolicyKit1.service
mv "$root/$polkit" "$work/polkit"
boot
inside systemctl --version | head -n 1
newcomer install-without-linger
newcomer survive
newcomer upgrade
newcomer port-in-use
say 'after the logout'
patiently 60 bash -c "! nsenter --target $first --all python3 /opt/walk.py answers"
echo 'the service is stopped'
inside loginctl enable-linger newcomer
patiently 30 inside python3 /opt/walk.py answers
echo 'with enable-linger by root it runs without a login'

say 'reboot'
shut_down
boot
patiently 30 inside python3 /opt/walk.py answers
echo 'the service answers before anybody logs in'
newcomer remembers
newcomer uninstall
inside loginctl disable-linger newcomer
shut_down

say 'with polkit, as on a desktop: install lets the service run without a login'
mv "$work/polkit" "$root/$polkit"
boot
newcomer install-with-linger
shut_down
boot
patiently 30 inside python3 /opt/walk.py answers
echo 'after a reboot the service answers before anybody logs in'
newcomer uninstall
shut_down
say 'each install serves, and the service survives'
