"""What a proxy over stdio adds to a call, with rules and a log, beside other people's proxies.

mcpwall is measured where it is on PATH: npm no longer has it. What the interpreter costs shows
beside a second one: the system's, which is built with profiles, where there is such a one.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest

from infra.tools import programs
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

# Ratios of one run, on a machine that others may use meanwhile. The goals for a quiet one are
# 40 µs added, a quarter of mcpwall's, 15,000 calls a second and 150 ms to the first reply.
TO_MCPWALL = 0.3  # 0.20 to 0.25 was measured
TO_FIREWALL = 0.5
ADDED_TO_FIREWALL = 0.4  # 0.13 to 0.34: on a machine at rest it is more
ROUNDS = 5
IN_FLIGHT = 32

SERVER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("null_server.py"))]
PROJECT = Path(__file__).parents[2]
PATH = str(PROJECT / "README.md")
RULES = 52
OURS = "nacre proxy, 52 rules, audit"
SYSTEM = "/usr/bin/python3"
PASSING = "a relay in Python that decides nothing"
FIREWALL = "mcp-firewall 0.1.0, 51 rules, audit"
MCPWALL = "mcpwall, 51 rules, log"


def our_policy() -> str:
    """Return 52 rules, of which those about other tools come first."""
    denied = "".join(
        f'[[rule]]\naction = "deny"\ntool = "tool_{n}"\nargs.path = "/srv/{n}/**"\n'
        for n in range(RULES - 2)
    )
    return (
        f'{denied}[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "{PROJECT}/**"\n'
        '[[rule]]\naction = "deny"\ntool = "*"\n'
    )


def mcpwall_policy(folder: Path) -> str:
    """Return the same rules for mcpwall, and where its log is."""
    match = "{{method: tools/call, tool: {t}, arguments: {{path: {{pattern: '{p}'}}}}}}"
    rule = f"  - {{{{name: r{{n}}, match: {match}, action: {{a}}}}}}\n"
    denied = "".join(
        rule.format(n=n, t=f"tool_{n}", p=f"/srv/{n}/**", a="deny") for n in range(RULES - 2)
    )
    allowed = rule.format(n="ok", t="read", p=f"{PROJECT}/**", a="allow")
    settings = f"settings: {{log_dir: {folder}, log_level: info, default_action: allow}}\n"
    return f"version: 1\n{settings}rules:\n{denied}{allowed}"


def firewall_policy() -> str:
    """Return the same rules for mcp-firewall, whose rate limit would end the measurement."""
    rule = "  - {{name: r{n}, tool: {t}, match: {{arguments: {{path: '{p}'}}}}, action: {a}}}\n"
    denied = "".join(
        rule.format(n=n, t=f"tool_{n}", p=f"/srv/{n}/**", a="deny") for n in range(RULES - 2)
    )
    allowed = rule.format(n="ok", t="read", p=f"{PROJECT}/**", a="allow")
    limit = "globalRateLimit: {maxCalls: 1000000, windowSeconds: 60}\n"
    return f"version: 1\ndefaultAction: deny\n{limit}rules:\n{denied}{allowed}"


@dataclass
class Way:
    """One way to the server, and what was measured of it."""

    command: Sequence[str]
    environment: Mapping[str, str]
    calls: int = 3000
    start: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)
    on_one_core: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)


def message(id_: int, method: str, params: Mapping[str, object]) -> bytes:
    body = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


def call(id_: int) -> bytes:
    return message(id_, "tools/call", {"name": "read", "arguments": {"path": PATH, "limit": 3}})


HELLO = message(
    1,
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
)
READY = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


@contextmanager
def opened(way: Way, folder: Path) -> Iterator[tuple[int, int]]:
    """Start it, and give where to write and where to read once it has answered."""
    with subprocess.Popen(
        way.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=way.environment,
        cwd=folder,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        up, down = process.stdin.fileno(), process.stdout.fileno()
        os.write(up, HELLO)
        assert b"protocolVersion" in line(down)
        yield up, down
        process.stdin.close()
        while os.read(down, 65_536):
            pass


@contextmanager
def one_core() -> Iterator[None]:
    """Let what is started share a core; else the system places it anew at each start."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def measure(way: Way, folder: Path) -> None:
    """Start it, call it one by one and many at once, and end it; and once more on one core."""
    began = time.perf_counter()
    with opened(way, folder) as (up, down):
        way.start.append((time.perf_counter() - began) * 1000)
        os.write(up, READY)
        way.call.append(one_by_one(up, down, way.calls))
        way.rate.append(throughput(up, down, way.calls * 3))
    with one_core(), opened(way, folder) as (up, down):
        os.write(up, READY)
        way.on_one_core.append(one_by_one(up, down, way.calls))


def one_by_one(up: int, down: int, calls: int) -> float:
    """Return what a call takes, in microseconds."""
    times = []
    for number in range(2, calls + 2):
        raw = call(number)
        began = time.perf_counter()
        os.write(up, raw)
        heard = line(down)
        times.append(time.perf_counter() - began)
        assert b'"hello"' in heard, heard
    return median(times[calls // 3 :]) * 1e6


def line(descriptor: int) -> bytes:
    heard = b""
    while not heard.endswith(b"\n"):
        piece = os.read(descriptor, 65_536)
        assert piece, heard
        heard += piece
    return heard


def throughput(up: int, down: int, calls: int) -> float:
    """Return calls a second with so many always under way."""
    following, done = 1_000_000, 0
    os.write(up, b"".join(call(following + n) for n in range(IN_FLIGHT)))
    following += IN_FLIGHT
    began = time.perf_counter()
    while done < calls:
        heard = os.read(down, 65_536).count(b"\n")
        done += heard
        os.write(up, b"".join(call(following + n) for n in range(heard)))
        following += heard
    return done / (time.perf_counter() - began)


def ways(folder: Path) -> dict[str, Way]:
    (folder / "policy.toml").write_text(our_policy())
    (folder / "mcp-firewall.yaml").write_text(firewall_policy())
    (folder / "mcpwall.yml").write_text(mcpwall_policy(folder / "log"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    nacre = [str(Path(sys.executable).with_name("nacre")), "proxy", "--data-dir", str(folder / "d")]
    piped = ["sh", "-c", f"cat | {' '.join(SERVER)} | cat"]
    passing = [sys.executable, "-I", "-S", str(Path(__file__).with_name("pass_through.py"))]
    firewall = [str(programs("mcp-firewall") / "mcp-firewall"), "wrap"]
    found = {
        "direct": Way(SERVER, environment),
        "cat on both sides": Way(piped, environment),
        PASSING: Way([*passing, *SERVER], environment),
        OURS: Way([*nacre, "--policy", "policy.toml", "--", *SERVER], environment),
        FIREWALL: Way(
            [*firewall, "--config", "mcp-firewall.yaml", "--", *SERVER], environment, calls=600
        ),
    }
    if is_recent(SYSTEM):
        started = [SYSTEM, "-c", "from nacre.cli.main import main; main()", *nacre[1:]]
        shared = {**environment, "PYTHONPATH": str(PROJECT / "shared")}
        found[f"{OURS}, {SYSTEM}"] = Way(
            [*started, "--policy", "policy.toml", "--", *SERVER], shared
        )
    mcpwall = shutil.which("mcpwall")
    if mcpwall is not None:
        command = [mcpwall, "--config", "mcpwall.yml", "--", *SERVER]
        found[MCPWALL] = Way(command, environment, calls=1500)
    return found


def is_recent(python: str) -> bool:
    """Tell whether this interpreter is there and runs Nacre."""
    asked = "import sys, sqlite3; sys.exit(sys.version_info < (3, 11))"
    if not Path(python).exists() or Path(python).samefile(sys.executable):
        return False
    return subprocess.run([python, "-c", asked], check=False).returncode == 0


def test_a_call_through_the_proxy(tmp_path: Path) -> None:
    measured = ways(tmp_path)
    for _ in range(ROUNDS):
        for way in measured.values():
            measure(way, tmp_path)
    direct = measured["direct"]
    added = {n: median(way.call) - median(direct.call) for n, way in measured.items()}
    on_one_core = {
        n: median(way.on_one_core) - median(direct.on_one_core) for n, way in measured.items()
    }

    show(
        "One call at a time, and 32 under way",
        ("way", "added µs", "on one core", "calls/s at 32", "start to first reply, ms"),
        [
            (
                name,
                f"{added[name]:.0f}",
                f"{on_one_core[name]:.0f}",
                f"{median(way.rate):,.0f}",
                f"{median(way.start):.0f}",
            )
            for name, way in measured.items()
        ],
    )
    ours, firewall = measured[OURS], measured[FIREWALL]
    assert added[OURS] <= ADDED_TO_FIREWALL * added[FIREWALL]
    assert median(ours.rate) * TO_FIREWALL >= median(firewall.rate)
    assert median(ours.start) <= TO_FIREWALL * median(firewall.start)
    if MCPWALL in added:
        assert on_one_core[OURS] <= TO_MCPWALL * on_one_core[MCPWALL]
