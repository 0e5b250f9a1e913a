"""A stack under load: deployed by SAM to a cloud on loopback, its functions run by MiniStack.

It shows that the deployed functions take the traffic and lose nothing, and what they ask AWS for.
How fast an emulator on this machine is says nothing about AWS.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from infra.local_cloud import local_cloud
from infra.tools import MissingPythonError
from tests.benchmarks.table import show
from tests.end_to_end.load import traffic
from tests.end_to_end.load.driving import MODES, Run, Target, drive, lost, timed
from tests.end_to_end.load.measuring import HEADER, resident
from tests.infra.declared import FUNCTIONS
from tests.infra.deployed_stack import Deployed, deployed_stack, settled
from tests.infra.recorder import recording
from tests.scaffolding.model_server import model_server

_MCP, _POLICY = "McpHttpFunction", "PolicyEvaluatorFunction"
_EACH = 5  # calls of each kind over which requests are counted
_BEFORE = 20  # memories that are there by then
_EVERY_SECONDS = 0.5


@dataclass
class Found:
    """What a run against a stack found."""

    run: Run = field(default_factory=Run)
    requests: dict[str, Counter[str]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Return what is not as it should be."""
        found = []
        if not self.run.acknowledged:
            found.append("nothing was written to the stack")
        if self.run.timings.errors:
            found.append(f"calls to the stack failed: {self.run.timings.first_errors}")
        if self.not_found:
            found.append(f"{len(self.not_found)} acknowledged writes are not in the stack")
        return found


def on_stack(scratch: Path, seconds: float, clients: int) -> list[str]:
    """Deploy a stack, show what it does, and return what is wrong."""
    scratch.mkdir()
    try:
        with (
            local_cloud() as cloud,
            model_server() as model,
            recording(cloud, sorted(FUNCTIONS)) as recorder,
        ):
            deployed = deployed_stack(cloud, traffic.ready(model), recorder, scratch)
            found = asyncio.run(loaded(deployed, seconds, clients))
    except MissingPythonError:
        return ["NOT RUN: a stack, for want of a Python 3.13 (uv python install 3.13)"]
    show_stack(found)
    return found.problems


def target_of(deployed: Deployed) -> Target:
    """Return where calls to a deployed stack go."""
    return Target(
        mcp_url=f"{deployed.cloud}/mcp/{deployed.being}",
        policy_url=f"{deployed.cloud}/policy/evaluate",
        token=deployed.token,
        headers={"host": deployed.host},
    )


async def loaded(deployed: Deployed, seconds: float, clients: int) -> Found:
    """Count what calls of each kind ask for, send the mix, and look for what was written."""
    found = Found()
    target = target_of(deployed)
    await _counted(deployed, target, found)
    found.run.timings.seconds.clear()
    watching = asyncio.create_task(_watch(found.sizes))
    await drive(target, found.run, seconds=seconds, clients=clients)
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    found.not_found = await lost(target, found.run.acknowledged, clients=clients)
    return found


async def _counted(deployed: Deployed, target: Target, found: Found) -> None:
    rng, numbers = Random(3), iter(range(1, 10**6))

    def asked(kind: str) -> Counter[str]:
        return deployed.recorder.requests(_POLICY if kind == traffic.POLICY else _MCP)

    async with target.client(MODES[0]) as caller:
        for _ in range(_BEFORE):
            await timed(caller, traffic.call("update_notes", rng, next(numbers)), found.run)
        # The patrols that follow leave nodes, which recalls count.
        await asyncio.to_thread(settled, deployed.client("sqs"), deployed.outputs["QueueUrl"])
        for kind in traffic.KINDS:
            before = asked(kind)
            for _ in range(_EACH):
                await timed(caller, traffic.call(kind, rng, next(numbers)), found.run)
            found.requests[kind] = asked(kind) - before


async def _watch(sizes: list[int]) -> None:
    while True:
        sizes.append(sum(map(_resident, emulated())))
        await asyncio.sleep(_EVERY_SECONDS)


def emulated() -> list[int]:
    """Return the processes of sessions that this process has begun: the cloud and its workers."""
    sessions, found = set(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        pid, parent, session = int(folder.name), int(fields[1]), int(fields[3])
        found.append((pid, session))
        if parent == os.getpid() and session == pid:
            sessions.add(session)
    return [pid for pid, session in found if session in sessions]


def _resident(pid: int) -> int:
    try:
        return resident(pid)
    except OSError:
        return 0


def _listed(asked: Counter[str]) -> str:
    parts = [f"{name.rpartition('.')[2]} {count / _EACH:g}" for name, count in asked.items()]
    return ", ".join(sorted(parts)) or "none"


def show_stack(found: Found) -> None:
    """Print what a stack did."""
    rows: list[Sequence[object]] = [
        (
            kind,
            f"{sum(asked.values()) / _EACH:.1f}",
            ", ".join(
                f"{name.rpartition('.')[2]} {count / _EACH:g}"
                for name, count in sorted(asked.items())
            )
            or "none",
        )
        for kind, asked in found.requests.items()
    ]
    show("Stack: requests to AWS per call, seen at the cloud", ("Call", "requests", "which"), rows)
    run = found.run
    show(f"Stack: {run.lasted:.0f} s", HEADER, run.timings.rows(run.lasted))
    sizes = [each / 2**20 for each in found.sizes]
    show(
        "Stack: the emulator with its functions",
        ("What", "found"),
        [
            ("RSS at the start, MB", f"{sizes[0]:.0f}"),
            ("RSS at its peak, MB", f"{max(sizes):.0f}"),
            ("RSS at the end, MB", f"{sizes[-1]:.0f}"),
            ("memories acknowledged", len(run.acknowledged)),
            ("of these not found", len(found.not_found)),
        ],
    )
