"""A planner over a scripted server and an empty store, and memories to ask about."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from nacre.access.beings import Beings
from nacre.adapters.openai.model import OpenAIModel
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.being.memory.model.message_chain import START, ChatMessage, links
from nacre.being.memory.model.types import Message, Node
from nacre.being.patrol.planning.planner import ModelPlanner
from nacre.core.clock import Clock
from nacre.ports.items.table import Table
from tests.scaffolding.model_server import ModelServer, model_server

KEY = "sk-very-secret-key"
AMPLE = Budget(tokens=10_000_000)


@dataclass(frozen=True)
class PlannerWorld:
    """A Being that thinks, what it thinks with, and what it has spent."""

    being_id: str
    table: Table
    server: ModelServer
    spending: Spending
    planner: ModelPlanner


@contextmanager
def planner_world(clock: Clock, budget: Budget = AMPLE) -> Iterator[PlannerWorld]:
    database = SqliteDatabase(":memory:")
    table = SqliteTable(database, now=clock)
    being_id = being_in(table, clock)
    spending = Spending(table, budget, clock=clock)
    with model_server() as server:
        model = OpenAIModel("some-model", key=KEY, base_url=server.url, sleep=lambda _: None)
        yield PlannerWorld(being_id, table, server, spending, ModelPlanner(model, spending))
    database.close()


def being_in(table: Table, clock: Clock) -> str:
    return Beings(table, clock=clock, rng=Random(1)).create("Ann", owner="me").being_id


def conversation(*turns: tuple[str, str], day: str = "2026-03-02") -> list[Message]:
    """Return messages as a patrol has them: `conversation(("user", "hello"))`."""
    batch = [ChatMessage(role, content) for role, content in turns]
    return [
        Message(
            message_id=f"M{number}",
            role=message.role,
            content=message.content,
            ts=f"{day}T10:00:{number:02}.000Z",
            chain=hash_,
        )
        for number, (message, hash_) in enumerate(zip(batch, links(START, batch), strict=True))
    ]


def nodes(actions: Sequence[str], **others: Any) -> list[Node]:
    """Return memories with ids n1, n2, …"""
    return [
        Node(
            node_id=f"n{number}",
            action=action,
            actors=("Mia",),
            when=("2026-03-02",),
            created_at="2026-03-02T10:00:00.000Z",
            stability=16.0,
            **others,
        )
        for number, action in enumerate(actions, 1)
    ]
