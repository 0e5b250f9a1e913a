"""What the tests of moving and forgetting share: a Being that keeps one of everything."""

import io
from datetime import UTC, datetime
from random import Random
from typing import Any, BinaryIO

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.conversations.captured_store import CapturedConversations
from nacre.being.memory.model import keys
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Cluster
from nacre.being.memory.repositories import Repositories
from nacre.being.memory.store.targets import TARGETS
from nacre.being.memory.transfer.deferred_index import DeferredIndex
from nacre.being.memory.transfer.export_file import ExportFile, Summary, save
from nacre.being.memory.transfer.exporter import Exporter
from nacre.being.memory.transfer.importer import Importer, ImportResult, Origin
from nacre.being.memory.transfer.portable_records import StateHash
from nacre.core.clock import Clock
from nacre.ports.items.table import Change, Table
from tests.being.memory.keeping import Keeper, a_node, scene_draft

SERVERS: dict[str, Any] = {
    "trust": "external",
    "origins": ("agent", "external:mail", "external:web"),
    "tellings": ("agent\nexternal:web", "agent\nexternal:mail"),
}
"""The lineage of a memory that two servers have reported."""


def fill(kept: Keeper, partner: str = "Opal") -> None:
    """Let the Being keep one of everything, long and short, old and new."""
    memory, being_id = kept.memory, kept.id
    fill_profile(memory, being_id)
    kept.another(partner)
    memory.letters.send(being_id, partner, "How is the sea?")
    other = kept.beings.named(partner, owner="me")
    assert other is not None
    for text in ("Calm.", "Still calm."):
        memory.letters.send(other.being_id, kept.being.name, text)
    memory.letters.mark_read(being_id, memory.letters.received(being_id)[0].letter_id)
    reported = ("agent", "external:web")
    memory.history.add(
        being_id, [ChatMessage("user", "hello"), ChatMessage("assistant", "hi 🌊", reported)]
    )
    said_at = datetime(2026, 7, 1, 9, 30, tzinfo=UTC)
    captured = CapturedMessage(
        client="codex", session="s1", role="user", text="I moved to Kiel", at=said_at
    )
    CapturedConversations(kept.table, clock=lambda: said_at).keep(
        being_id, [captured], for_patrol=False
    )
    memory.scenes.record(
        being_id,
        [
            scene_draft(f"Ann said {n}", themes=["talk"], origins=reported if n == 2 else ())
            for n in range(3)
        ],
    )
    [consumed, *_] = memory.scenes.page(being_id).scenes
    table = kept.table
    table.put(
        type(consumed)
        .from_item(
            {**consumed.to_item(being_id), "status": "consumed", "node_id": a_node(1).node_id}
        )
        .to_item(being_id)
    )
    table.update(keys.meta(being_id), Change(add={"pending_scenes": -1}, set={"clock": 41}))
    for number in (1, 2):
        table.put(
            Cluster(
                cluster_id=f"cluster-{number}", created_at="2026-07-01T00:00:00.000Z", n_active=2
            ).to_item(being_id)
        )
    nodes = [
        a_node(
            number,
            cluster_id=f"cluster-{number % 2 + 1}",
            stability=16.5 + number,
            clock0=number,
            importance=number / 7,
            **(SERVERS if number == 3 else {}),
            pinned=number == 4,
            # One was told so often that its scenes take further items.
            evidence=tuple(f"SCENE{number}.{told}" for told in range(600 if number == 5 else 1)),
            last_activated="2026-07-02T00:00:00.000Z",
        )
        for number in range(1, 7)
    ]
    nodes.append(a_node(8, status="dead", count_at_death=1, reactivation_count=3, due=None))
    memory.nodes.add(being_id, nodes)
    memory.recalls.add(being_id, {nodes[0].node_id: 2})
    memory.edits.merge(being_id, [each.node_id for each in nodes[1:3]], action="Both cats ate")
    memory.corrections.correct(being_id, nodes[5].node_id, "Ann fed the heron", by="agent")
    memory.corrections.hide(being_id, nodes[5].node_id, by="agent")
    undone = memory.edits.merge(being_id, [each.node_id for each in nodes[3:5]], action="No")
    memory.edits.undo_merge(being_id, undone.node.node_id)
    table.put(
        {
            "pk": f"{keys.home(being_id)}#R",
            "sk": "00000001",
            "schema": 1,
            "gsi1pk": "RUN#done",
            "gsi1sk": "2026-07-01",
            "counts": {"created": 2},
            "share": 0.5,
        }
    )


def fill_profile(memory: Repositories, being_id: str) -> None:
    """Let the Being keep entries of every target, some of them changed or long."""
    entries = memory.entries
    for target in TARGETS.values():
        match target.keyed_by:
            case "field":
                for text in ("Pearl", "Pearl the wise", "Pearl the old"):
                    entries.update(being_id, target, "name", text)
            case "day":
                entries.append(being_id, target, "A day.\n" + "long " * 900, key="2026-07-01")
            case "id":
                made = entries.append(being_id, target, "[manner] Tone: be kind")
                entries.update(being_id, target, made.key, "be kinder")
                if target.name == "notes":
                    entries.append(being_id, target, "line\n" * 600)
            case _:
                entries.append(being_id, target, f"says {target.name}", key="Key 'one' \"€\"")
    entries.append(being_id, TARGETS["knowledge"], "x" * 60_000, key="Long")
    entries.append(being_id, TARGETS["partner_map"], "a bench", key="Park", location="north")
    memory.relations.upsert(being_id, "Ann", relation_type="friend", content="since school")
    memory.relations.upsert(being_id, "Ann", relation_type="friend", content="since birth")


def exported(
    table: Table, beings: Any, being_id: str, clock: Clock, **options: Any
) -> tuple[bytes, Summary]:
    """Return the export of a Being, and what it says of itself."""
    file, spool = io.BytesIO(), io.BytesIO()
    records = Exporter(table).records(being_id, **options)
    summary = save(records, beings.get(being_id), file, spool, now=clock())
    return file.getvalue(), summary


def imported(
    table: Table, being_id: str, content: bytes | BinaryIO, clock: Clock, **options: Any
) -> ImportResult:
    """Take an export into a Being."""
    file = ExportFile(io.BytesIO(content) if isinstance(content, bytes) else content)
    summary = file.check()
    imports = Importer(table, DeferredIndex(table, clock=clock, rng=Random(5)))
    return imports.run(
        being_id, file.records(), origin=Origin(summary.being_id, summary.clock), **options
    )


def state_of(table: Table, being_id: str) -> str:
    """Return the hash of all that a Being keeps."""
    return Exporter(table).state_hash(being_id)


def state_in(file: ExportFile, being_id: str) -> str:
    """Return the hash over an export's records."""
    state = StateHash(being_id)
    for record in file.records():
        state.add(record)
    return state.hexdigest()
