"""The steps that `machine.sh` runs inside the machine; only Python's own library is there."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

HOME = Path("/home/newcomer")
CONNECTION = HOME / "connection.json"  # the path and the token, for the steps that follow
UNIT = HOME / ".config" / "systemd" / "user" / "nacre.service"
SECONDS, MEGABYTES = 20, 260  # promised from the download to the URL and the token, and on disk
HOST, PORT = "127.0.0.1", 8642
NOTE = "I keep bees in Thun"
PATIENCE_SECONDS = 60


def main() -> None:
    """Run the step that the command line names."""
    step, *words = sys.argv[1:]
    if step == "first-start":
        first_start(*words)
    else:
        STEPS[step]()


def first_start(name: str, *command: str) -> None:
    """Measure from the command to the URL and the token, and the space that it takes."""
    before = megabytes(HOME / ".local")  # pipx has libraries of its own there
    began = time.monotonic()
    if "--then" in command:
        at = command.index("--then")
        subprocess.run(command[:at], check=True, capture_output=True)
        command = command[at + 1 :]
    installed = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    data = HOME / "first" / name.replace(" ", "-")
    server = subprocess.Popen(
        [*command, "serve", "--port", "0", "--data-dir", data],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert server.stdout is not None
    shown = {}
    for line in server.stdout:
        label, _, value = line.partition(":")
        shown[label] = value.strip()
        if label == "Token":
            break
    seconds = time.monotonic() - began
    os.killpg(server.pid, signal.SIGTERM)
    server.wait(timeout=PATIENCE_SECONDS)
    space = megabytes(HOME / ".local") - before + megabytes(data)
    busy = max(1, os.getloadavg()[0] / (os.cpu_count() or 1))  # others on this machine take time
    print(
        f"{name}: {installed:.1f} s to install ({used.ru_utime + used.ru_stime:.1f} s of a "
        f"processor), {seconds:.1f} s in all, {space:.0f} MB on disk; "
        f"{busy:.1f} processes for each core"
    )
    assert shown["URL"].startswith("http://127.0.0.1:"), shown
    assert shown["Token"].startswith("brt_")
    assert seconds / busy <= SECONDS
    assert space <= MEGABYTES


def install_without_linger() -> None:
    """Install where nobody may let services run after the logout."""
    done = nacre("service", "install")
    assert f"Nacre runs at http://{HOST}:{PORT}/mcp.\n" in done.stdout, done
    assert "sudo loginctl enable-linger $USER" in done.stderr, done
    assert status() == 401  # at once: systemd waits until the server answers
    token = nacre("token", "create", "--scope", "full").stdout.strip()
    [being] = json.loads(nacre("being", "list", "--json").stdout)
    CONNECTION.write_text(json.dumps([f"/mcp/{being['being_id']}", token]))
    call("update_notes", {"notes": [NOTE]})
    remembers()
    print("installed, and it answers; the advice is to let a user linger")


def install_with_linger() -> None:
    """Install where the system lets users keep their services running."""
    done = nacre("service", "install")
    assert (
        f"Nacre runs at http://{HOST}:{PORT}/mcp and starts with this machine.\n" in done.stdout
    ), done
    assert shown_by("loginctl", "show-user", "newcomer", "--property=Linger") == "Linger=yes"
    remembers()
    print("installed, and it starts with the machine")


def survive() -> None:
    """Kill the server, restart it, stop it: it comes back with its data, or is said to be off."""
    until(lambda: status() == 401)
    first, kills = process(), restarts()
    began = time.monotonic()
    os.kill(first, signal.SIGKILL)
    until(lambda: process() not in (0, first) and status() == 401)
    print(f"kill -9: it answers again after {time.monotonic() - began:.1f} s")
    assert restarts() == kills + 1
    remembers()
    systemctl("restart")
    assert status() == 401  # at once
    remembers()
    assert "State: running" in nacre("service", "status").stdout
    without = ("env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS")  # as after su
    assert "State: running" in shown_by(*without, "nacre", "service", "status")
    assert found("service")["state"] == "ok"
    systemctl("stop")
    assert status() is None
    assert "State: stopped" in nacre("service", "status", code=1).stdout
    assert found("service")["state"] == "fail"
    systemctl("start")
    remembers()
    journal = shown_by("journalctl", "--user", "--unit", "nacre.service", "--no-pager")
    assert '"event": "serving"' in journal
    assert '"event": "stopped"' in journal
    assert "code=killed, status=9/KILL" in journal
    assert not re.search("brt_|bos_|bees", journal)
    print("it survives a kill and a restart; status, doctor and the journal tell what happened")


def upgrade() -> None:
    """Replace the program while the service runs: it is noticed, and the advice mends it."""
    until(lambda: status() == 401)
    assert nacre("service", "status").stderr == ""
    [file] = HOME.glob(".local/share/uv/tools/nacre-mcp/lib/*/site-packages/nacre/__init__.py")
    text = file.read_text()
    file.unlink()  # it shares its content with uv's cache
    file.write_text(re.sub(r'__version__ = "[^"]+"', '__version__ = "99.0.0"', text))
    told = nacre("service", "status").stderr
    assert "and this program is 99.0.0" in told, told
    problem = found("running version")
    assert problem["state"] == "warn", problem
    command = problem["advice"].removeprefix("run: ")
    assert f"hint: run: {command}\n" in told
    subprocess.run(command.split(), check=True)
    assert nacre("service", "status").stderr == ""
    assert found("running version")["state"] == "ok"
    print(f"after an upgrade: {told.strip()}")


def port_in_use() -> None:
    """Install while another program has the port: that is said, and mends itself."""
    until(lambda: status() == 401)
    systemctl("stop")
    other = subprocess.Popen(
        ["nacre", "serve", "--quiet", "--data-dir", HOME / "other"], stdin=subprocess.DEVNULL
    )
    until(lambda: status() == 401)
    told = nacre("service", "install", code=4)
    assert "port 8642 of 127.0.0.1 is in use" in told.stderr, told
    assert "Nacre runs" not in told.stdout
    assert "State: running" not in nacre("service", "status", code=1).stdout
    other.send_signal(signal.SIGTERM)
    other.wait(timeout=PATIENCE_SECONDS)
    until(lambda: status() == 401)
    remembers()
    print(f"a port in use: {told.stderr.splitlines()[-2]}")


def remembers() -> None:
    """Read the note that the first step has written."""
    text = call("get_context", {})
    assert NOTE in text, text


def uninstall() -> None:
    """Take the service away; the data stays."""
    until(lambda: status() == 401)
    nacre("service", "uninstall")
    assert status() is None
    assert not UNIT.exists()
    assert not any(UNIT.parent.rglob("nacre.service"))
    assert nacre("service", "status", code=1).stdout == "The service is not installed.\n"
    assert (HOME / ".local" / "share" / "nacre" / "nacre.db").is_file()
    print("uninstalled; the data is there")


def answers() -> None:
    """End with 0 if the server asks for a token."""
    sys.exit(0 if status() == 401 else 1)


def nacre(*words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
    """Run the installed program."""
    done = subprocess.run(
        ["nacre", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done
    return done


def found(check: str) -> dict[str, str]:
    """Return what doctor says of one check; it ends with 1 if another one has a problem."""
    done = subprocess.run(["nacre", "doctor", "--json"], capture_output=True, check=False)
    [finding] = [finding for finding in json.loads(done.stdout) if finding["check"] == check]
    return {name: str(value) for name, value in finding.items()}


def systemctl(verb: str) -> None:
    """Give the service's manager a command."""
    subprocess.run(["systemctl", "--user", verb, "nacre.service"], check=True)


def shown_by(*command: str) -> str:
    """Return the output of a program."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def process() -> int:
    """Return the process of the service, 0 if none runs."""
    shown = ("--property=MainPID", "--value", "nacre.service")
    return int(shown_by("systemctl", "--user", "show", *shown))


def restarts() -> int:
    """Return how often systemd has started the service again by itself."""
    shown = ("--property=NRestarts", "--value", "nacre.service")
    return int(shown_by("systemctl", "--user", "show", *shown))


def status() -> int | None:
    """Return the status of a call without a token, None if nobody answers."""
    try:
        return send("/mcp", {}, b"{}")[0]
    except OSError:
        return None


def call(tool: str, arguments: dict[str, object]) -> str:
    """Call a tool, and return its text."""
    path, token = json.loads(CONNECTION.read_text())
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    code, body = send(path, headers, json.dumps(message).encode())
    assert code == 200, body
    return str(json.loads(body)["result"]["content"][0]["text"])


def send(path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """Send a request to the service, and return the status and the body of the answer."""
    connection = HTTPConnection(HOST, PORT, timeout=PATIENCE_SECONDS)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end, "not within the time"
        time.sleep(0.05)


def megabytes(folder: Path) -> float:
    """Return the space that a folder takes."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 1e6


STEPS = {
    "install-without-linger": install_without_linger,
    "install-with-linger": install_with_linger,
    "survive": survive,
    "upgrade": upgrade,
    "port-in-use": port_in_use,
    "remembers": remembers,
    "uninstall": uninstall,
    "answers": answers,
}

if __name__ == "__main__":
    main()
