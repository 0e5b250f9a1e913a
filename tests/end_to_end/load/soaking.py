"""A run against a laptop server: what it took, whether its memory stayed flat, what was lost."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.end_to_end.load import traffic
from tests.end_to_end.load.driving import MODES, Run, drive, lost, timed
from tests.end_to_end.load.laptop import COUNTED, PLAIN, Home, Serving
from tests.end_to_end.load.measuring import Growth, Sample, growth, processor_seconds, watch
from tests.scaffolding.model_server import model_server

Say = Callable[[str], None]
_EACH = 20  # calls of each kind over which operations are counted
_AT_ONCE = 300  # of the last writes, which are looked for before anything is restarted
_WARM = 400
_WARM_NUMBERS = 2_000_000  # far from those that follow
_BEFORE = 40  # memories that are there by then
_SETTLED_SECONDS = 3.0  # longer than an idle worker waits before it looks


@dataclass
class Soak:
    """What a run against a laptop server found."""

    run: Run = field(default_factory=Run)
    samples: list[Sample] = field(default_factory=list)
    processor_seconds: float = 0.0
    operations: dict[str, dict[str, float]] = field(default_factory=dict)
    job_operations: float = 0.0  # of jobs, for each call of the mix
    lost_at_once: list[str] = field(default_factory=list)
    lost_after_restart: list[str] = field(default_factory=list)
    not_exported: list[str] = field(default_factory=list)

    @property
    def growth(self) -> Growth:
        """Return how the server's memory grew."""
        return growth(self.samples)

    @property
    def problems(self) -> list[str]:
        """Return what is not as it should be."""
        found = []
        if not self.run.acknowledged:
            found.append("nothing was written")
        if self.run.timings.errors:
            found.append(f"calls failed: {self.run.timings.first_errors}")
        if not self.growth.is_flat:
            found.append(f"memory is not flat: {self.growth}")
        for what, marks in (
            ("at once", self.lost_at_once),
            ("after a restart", self.lost_after_restart),
            ("in an export", self.not_exported),
        ):
            if marks:
                found.append(f"{len(marks)} acknowledged writes are not found {what}: {marks[:3]}")
        return found


def soak(
    folder: Path,
    *,
    seconds: float,
    clients: int = 4,
    most: int = 10**8,
    warm: int = _WARM,
    program: Sequence[str] = PLAIN,
    variables: Mapping[str, str] | None = None,
    say: Say = lambda _: None,
) -> Soak:
    """Send mixed traffic to a server of its own, and look for all that it acknowledged.

    It ends after so many seconds, or when so many calls were made. Other calls warm the server up
    before: the first order alone loads a client for language models.
    """
    found = Soak()
    with model_server() as model:
        traffic.ready(model)
        home = Home.make(folder, model)
        home.environment.update(variables or {})
        with home.serving(program) as server:
            say(f"{warm} calls to warm up")
            warming = Run(numbers=_WARM_NUMBERS)
            asyncio.run(drive(server.target, warming, seconds=seconds, clients=clients, most=warm))
            say(f"{seconds:.0f} seconds of mixed traffic from {clients} clients")
            asyncio.run(_driven(server, found, seconds, clients, most))
            model.questions.clear()
            say(f"{len(found.run.acknowledged)} writes were acknowledged; looking for the last")
            last = found.run.acknowledged[-_AT_ONCE:]
            found.lost_at_once = asyncio.run(lost(server.target, last, clients=clients))
        with home.serving(program) as server:
            say("looking for all of them, after a restart")
            every = found.run.acknowledged
            found.lost_after_restart = asyncio.run(lost(server.target, every, clients=clients))
        exported = home.exported()
        found.not_exported = [mark for mark in found.run.acknowledged if mark not in exported]
    return found


async def _driven(server: Serving, found: Soak, seconds: float, clients: int, most: int) -> None:
    pid = server.process.pid
    watching = asyncio.create_task(watch(pid, found.run.acknowledged, found.samples))
    began = processor_seconds(pid)
    await drive(server.target, found.run, seconds=seconds, clients=clients, most=most)
    found.processor_seconds = processor_seconds(pid) - began
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching


def count_operations(folder: Path, *, each: int = _EACH) -> Soak:
    """Count what calls of each kind ask of the item store, on a server that counts at its port."""
    found = Soak()
    with model_server() as model:
        traffic.ready(model)
        with Home.make(folder, model).serving(COUNTED) as server:
            asyncio.run(_counted(server, found, each))
    return found


async def _counted(server: Serving, found: Soak, each: int) -> None:
    rng, numbers = Random(3), iter(range(1, 10**6))
    async with server.target.client(MODES[0]) as caller:
        for _ in range(_BEFORE):  # so that there is something to find, and patrols were there
            await timed(caller, traffic.call("update_notes", rng, next(numbers)), found.run)
        await _settled(server)
        found.run.timings.seconds.clear()
        started = await server.counts()
        for kind in traffic.KINDS:
            await timed(caller, traffic.call(kind, rng, next(numbers)), found.run)  # opens things
            before = await server.counts()
            for _ in range(each):
                await timed(caller, traffic.call(kind, rng, next(numbers)), found.run)
            after = await server.counts()
            found.operations[kind] = {
                name: (count - before["calls"].get(name, 0)) / each
                for name, count in sorted(after["calls"].items())
                if count > before["calls"].get(name, 0)
            }
        ended = await _settled(server)
    jobs = sum(ended["jobs"].values()) - sum(started["jobs"].values())
    found.job_operations = jobs / found.run.timings.calls


async def _settled(server: Serving) -> dict[str, dict[str, int]]:
    """Return the counts once jobs have nothing left to do but to look for more."""
    while True:
        before = await server.counts()
        await asyncio.sleep(_SETTLED_SECONDS)
        after = await server.counts()
        if after["jobs"] == before["jobs"]:
            return after
