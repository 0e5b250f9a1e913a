"""A mind over real stores: items, an index, the built-in embeddings; and tools to talk to it."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from random import Random
from typing import Any

from nacre.access.beings import Beings
from nacre.adapters.embeddings.builtin_models import ENGLISH
from nacre.being.language_model.api_keys import LlmKeys
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.types import Node
from nacre.being.memory.services import MemoryServices, open_services
from nacre.being.patrol.jobs import PatrolJobs
from nacre.being.patrol.patrol import Patrol
from nacre.being.patrol.run.runs import Run, Runs
from nacre.being.patrol.trigger import PatrolRequests
from nacre.being.tools.registered_tools import own_server
from nacre.core.clock import Clock
from nacre.core.errors import NacreError, UnavailableError
from nacre.jobs.lease import Leases
from nacre.jobs.loop import Outcome, WorkerLoop
from nacre.jobs.worker import Worker
from nacre.ports.items.table import Change, Condition, Index, Item, Key, Page, Range, Table, Write
from nacre.ports.queue import Queue
from nacre.ports.vectors.embedder import Embedder, TokenSimilarity
from nacre.ports.vectors.vector_index import (
    Candidates,
    Filter,
    Listing,
    Point,
    Question,
    VectorIndex,
)
from nacre.protocol.context import Context
from nacre.protocol.http.error_map import tool_error
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.sdk.tool_server import ToolServer
from nacre.wiring.features.models import model_access_over
from nacre.wiring.settings import Settings
from tests.being.memory.lambda_face import LambdaFace
from tests.scaffolding.ledgers import Ledger
from tests.scaffolding.vaults import file_vault


@dataclass
class CountingTable:
    """A Table that counts the writes it passes on."""

    table: Table
    writes: int = 0

    def get(self, key: Key) -> Item | None:
        return self.table.get(key)

    def get_many(self, keys: Iterable[Key], *, may_lag: bool = False) -> dict[Key, Item]:
        return self.table.get_many(keys, may_lag=may_lag)

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        self.writes += 1
        self.table.put(item, when=when)

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        self.writes += 1
        return self.table.update(key, change, when=when)

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        self.writes += 1
        return self.table.delete(key, when=when)

    def query(
        self,
        partition: str,
        *,
        index: Index | None = None,
        keys: Range | None = None,
        descending: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> Page:
        return self.table.query(
            partition, index=index, keys=keys, descending=descending, limit=limit, start=start
        )

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        self.writes += len(writes)
        self.table.transact(writes, token=token)


class RefusedError(NacreError):
    """A call that was answered with an error; the text is what the client reads."""


@dataclass
class Reachable:
    """Patrols whose caller's side a test may change."""

    jobs: PatrolJobs
    calls: PatrolRequests


@dataclass
class Minded:
    """A Being with a mind, and its tools."""

    table: CountingTable
    queue: Queue
    being_id: str
    indexing: IndexSync
    mind: MemoryServices
    server: ToolServer
    beings: Beings
    patrolling: Reachable
    loop: WorkerLoop
    outcomes: list[Outcome]
    ledger: Ledger = field(default_factory=Ledger)
    face: LambdaFace | None = None  # calls go through it; without one, to the server itself

    def work(self) -> list[str]:
        """Do the jobs that wait, as a worker does, and return how each ended."""
        before = len(self.outcomes)
        while self.loop.run_next():
            assert len(self.outcomes) < before + 50, "jobs send jobs without an end"
        return [outcome.result for outcome in self.outcomes[before:]]

    def runs(self) -> list[Run]:
        """Return the Being's runs, the newest first."""
        return list(Runs(self.table).page(self.being_id).runs)

    def context(self, *, read_only: bool = False, being_id: str | None = None) -> Context:
        scopes = READ_ONLY if read_only else FULL
        return Context(principal=Principal("test", being_id or self.being_id, scopes))

    def call(self, name: str, *, read_only: bool = False, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a client would, and return its result; raises RefusedError."""
        if self.face is not None:
            return self._through(self.face, name, arguments, read_only=read_only)
        context = self.context(read_only=read_only)
        try:
            return asyncio.run(self.server.call_tool(name, arguments, context))
        except NacreError as error:
            raise RefusedError(tool_error(name, error)) from error

    def _through(
        self, face: LambdaFace, name: str, arguments: dict[str, Any], *, read_only: bool
    ) -> dict[str, Any]:
        status, answer = face.call(name, arguments, being_id=self.being_id, read_only=read_only)
        if status != 200:
            raise RefusedError(answer["error"]["message"])
        result: dict[str, Any] = answer["result"]
        if result.get("isError"):
            raise RefusedError(result["content"][0]["text"])
        return result

    def text(self, name: str, *, read_only: bool = False, **arguments: Any) -> str:
        result = self.call(name, read_only=read_only, **arguments)
        return "\n".join(block["text"] for block in result["content"])

    def note(self, *actions: str, **fields: Any) -> list[str]:
        """Record scenes, and return their ids."""
        scene = {"actors": ["Ann"], "when": ["2026-07-01"], **fields}
        answer = self.call("update_notes", scenes=[{"action": each, **scene} for each in actions])
        return list(json.loads(answer["content"][0]["text"])["scene_ids"])

    def remember(self, *nodes: Node) -> None:
        self.mind.memory.nodes.add(self.being_id, nodes)


def minded(
    table: Table,
    queue: Queue,
    open_index: Callable[[str], VectorIndex],
    clock: Clock,
    *,
    embedder: Embedder | None = None,
    tokens: TokenSimilarity | None = None,
    llm_base_url: str = "",
    being_id: str | None = None,
) -> Minded:
    """Return a mind over these stores, with a new Being unless there is one."""
    rng = Random(1)
    counted = CountingTable(table)
    beings = Beings(counted, clock=clock, rng=rng)
    being_id = being_id or beings.create("Pearl", owner="me").being_id
    indexing = IndexSync(counted, open_index, embedder, clock=clock, rng=rng)
    ledger = Ledger()
    mind = open_services(
        counted, queue, indexing, tokens, clock=clock, rng=rng, results=lambda: ledger
    )
    leases = Leases(counted, now=clock)
    vault = file_vault()
    settings = Settings(data_folder="/nowhere", llm_base_url=llm_base_url)
    llm_keys = LlmKeys(counted, lambda: vault, clock=clock, rng=rng)
    model_access = model_access_over(settings, counted, llm_keys, clock=clock)
    memory = mind.memory
    patrol = Patrol(counted, queue, memory, indexing, clock=clock)
    jobs = PatrolJobs(patrol, counted, queue, model_access, memory.trigger, clock)
    worker, outcomes = Worker(leases), list[Outcome]()
    jobs.register(worker)
    loop = WorkerLoop(queue, worker, outcomes.append)
    # A caller that waits for a patrol does its work meanwhile.
    calls = PatrolRequests(
        counted,
        memory.history,
        memory.trigger,
        leases,
        model_access,
        mind.writers,
        sleep=lambda _seconds: _work(loop),
        monotonic=ticking(),
    )
    patrolling = Reachable(jobs, calls)
    return Minded(
        table=counted,
        queue=queue,
        being_id=being_id,
        indexing=indexing,
        mind=mind,
        server=own_server(
            lambda: mind,
            clock,
            patrols=lambda: patrolling.calls,
            capabilities=lambda _context: [],
        ),
        beings=beings,
        patrolling=patrolling,
        loop=loop,
        outcomes=outcomes,
        ledger=ledger,
    )


def _work(loop: WorkerLoop) -> None:
    loop.run_next()


def ticking() -> Callable[[], float]:
    """Return a clock that moves on by a second whenever it is read."""
    ticks = count()
    return lambda: float(next(ticks))


@cache
def builtin() -> tuple[Embedder, TokenSimilarity]:
    """Return the embeddings that ship with Nacre, loaded once."""
    from nacre.adapters.embeddings.static_embedder import (
        StaticEmbedder,
        StaticTable,
        StaticTokenSimilarity,
    )

    table = StaticTable(ENGLISH)
    return StaticEmbedder(table), StaticTokenSimilarity(table)


class DownIndex:
    """A VectorIndex that cannot answer."""

    def __init__(self, emb_id: str) -> None:
        self.emb_id = emb_id
        self.is_derived = True
        self.is_told_in_transaction = False

    def changes(self, being_id: str, ids: Sequence[str]) -> list[Write]:
        return []

    def settle(self, being_id: str, *, more_follow: bool = False) -> None:
        raise UnavailableError("no index now")

    def upsert(self, being_id: str, points: Sequence[Point]) -> None:
        raise UnavailableError("no index now")

    def delete(self, being_id: str, ids: Sequence[str]) -> None:
        raise UnavailableError("no index now")

    def search(self, being_id: str, question: Question) -> Candidates:
        raise UnavailableError("no index now")

    def list_days(self, being_id: str, where: Filter, *, limit: int) -> Listing:
        raise UnavailableError("no index now")

    def scan(self, being_id: str, *, after: str | None, limit: int) -> list[tuple[str, str]]:
        raise UnavailableError("no index now")

    def erase(self, being_id: str) -> None:
        raise UnavailableError("no index now")
