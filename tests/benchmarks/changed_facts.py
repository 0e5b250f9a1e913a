"""How often the newer of two facts comes first, and whether facts that add up stay unlabelled.

    python -m tests.benchmarks.changed_facts [EMBEDDINGS ...]

The facts of tests/being/memory/search are recorded by `update_notes` and asked for by
`search_memory`, on the laptop's wiring, without a key. EMBEDDINGS are values of NACRE_EMBEDDINGS.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping
from typing import Any

from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.being.memory.search.fact_lines import facts_of, lines_of
from tests.benchmarks.table import show

_PARTS = {"unseen_": "Written from the promise alone", "": "Made with the rules"}
_COLUMNS = (
    "`NACRE_EMBEDDINGS`",
    "newer first",
    "older first, asked about the past",
    "facts that add up, labelled as earlier",
    "not both among ten",
)


def measure(laptop: Home, part: str) -> list[str]:
    """Return the numbers of the columns for one part of the facts."""
    being_id = laptop.beings.create(f"Being {part}", owner="me").being_id
    changes, additions = lines_of(f"{part}changed_facts"), lines_of(f"{part}added_facts")
    ids: list[str] = []
    for fields in facts_of([*changes, *additions]):
        scene = {name: list(value) if name != "action" else value for name, value in fields.items()}
        answer = _call(laptop, being_id, "update_notes", scenes=[scene])
        ids += json.loads(answer["content"][0]["text"])["scene_ids"]
    pairs = list(zip(ids[::2], ids[1::2], strict=True))
    right = turned = labelled = gone = 0
    for line, (old, new) in zip(changes, pairs, strict=False):
        right += _is_before(new, old, _search(laptop, being_id, line[4]))
        turned += _is_before(old, new, _search(laptop, being_id, line[5]))
    for line, (first, second) in zip(additions, pairs[len(changes) :], strict=True):
        hits = _search(laptop, being_id, line[4])
        labelled += hits.get(first) == second or hits.get(second) == first
        gone += not {first, second} <= set(hits)
    return [
        f"{right} of {len(changes)}",
        f"{turned} of {len(changes)}",
        f"{labelled} of {len(additions)}",
        f"{gone} of {len(additions)}",
    ]


def _call(laptop: Home, being_id: str, name: str, **arguments: Any) -> Mapping[str, Any]:
    scopes = FULL if name == "update_notes" else READ_ONLY
    tool = laptop.application.surface.get_tool(name)
    assert tool is not None
    context = Context(principal=Principal("bench", being_id, scopes))
    return asyncio.run(tool.call(arguments, context)).to_dict()


def _search(laptop: Home, being_id: str, question: str) -> dict[str, str | None]:
    """Return the ids of the hits in their order, each with the id of what is newer."""
    found = _call(laptop, being_id, "search_memory", query=question)["_meta"]["nacre/search"]
    return {memory["id"]: memory.get("newer") for memory in found["memories"]}


def _is_before(first: str, second: str, hits: dict[str, str | None]) -> bool:
    order = list(hits)
    return first in order and (second not in order or order.index(first) < order.index(second))


def main() -> None:
    """Print a table for each part of the facts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("embeddings", nargs="*", default=["none", "builtin"])
    names = parser.parse_args().embeddings
    for part, title in _PARTS.items():
        rows = []
        for embeddings in names:
            with tempfile.TemporaryDirectory() as folder:
                settings = Settings(data_folder=folder, embeddings=embeddings)
                laptop = open_laptop(folder, settings)
                try:
                    rows.append([f"`{embeddings}`", *measure(laptop, part)])
                finally:
                    laptop.close()
        show(title, _COLUMNS, rows)


if __name__ == "__main__":
    main()
