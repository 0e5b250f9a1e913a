"""With the default model, a recall speaks when a memory helps, and is silent otherwise."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.wiring.compose import Home
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings

NOTES = {
    "cat": "The cat Miso hides in the linen cupboard when visitors come",
    "nuts": "Priya is allergic to peanuts and carries an injection",
    "boiler": "The landlord agreed to replace the boiler before November",
    "deploy": "The deploy of release 4.2 failed because the migration locked the orders table",
    "wine": "Red wine gives me a headache",
    "milk": "Jonas verträgt keine Laktose und trinkt nur Hafermilch",
    "move": "Wir ziehen im April in die Wohnung in der Sonnenallee",
    "seafood": "Lucía es alérgica a los mariscos desde pequeña",
    "brother": "Mi hermano Diego se mudó a Montevideo por trabajo",
    "knee": "母は来月、膝の手術を受ける予定だ",
    "key": "家の合鍵は隣の佐藤さんに預けてある",
    "thanks": "Sam said thanks for the timer that we gave him",
}

RELATED = [
    ("Where is Miso?", "cat"),
    ("I'm cooking for Priya on Saturday, what should I avoid?", "nuts"),
    ("Has anything happened about the heating in our flat?", "boiler"),
    ("the orders table is locked again during a migration", "deploy"),
    ("Welche Milch soll ich für Jonas kaufen?", "milk"),
    ("In welche Straße ziehen wir?", "move"),
    ("¿Qué no puede comer Lucía?", "seafood"),
    ("¿Dónde vive mi hermano?", "brother"),
    ("母の手術はいつですか", "knee"),
    ("合鍵は誰が持っていますか", "key"),
]

UNRELATED = [
    "thanks",
    "thanks a lot, that's all for today",
    "good morning",
    "what is 17 times 23?",
    "set a timer for ten minutes",
    "turn off the lights",
    "who painted the Mona Lisa?",
    "write a function that reverses a list",
    "def add(a, b):\n    return a + b",
    "vielen Dank für deine Hilfe",
    "stell einen Wecker auf sieben Uhr",
    "schreibe ein Gedicht über den Herbst",
    "muchas gracias por tu ayuda",
    "apaga las luces",
    "¿cuánto es 15 por 37?",
    "ありがとうございます、助かりました",
    "電気を消して",
    "リストを逆順にする関数を書いて",
    "👍",
    "🎉🎉🎉",
    "ok",
    "",
]


@dataclass
class Asker:
    """A Being with notes on the laptop's own wiring."""

    home: Home
    being_id: str
    names: dict[str, str]

    def recall(self, message: str, *, read_only: bool = False) -> dict[str, Any]:
        """Call the tool, and return its result."""
        scopes = READ_ONLY if read_only else FULL
        context = Context(principal=Principal("test", self.being_id, scopes))
        tool = self.home.application.surface.get_tool("recall")
        assert tool is not None
        return dict(asyncio.run(tool.call({"user_message": message}, context)).to_dict())

    def recalled(self, message: str) -> Sequence[str]:
        """Return the names of the memories that a message recalls."""
        found = self.recall(message)["_meta"]["nacre/search"]["memories"]
        return [self.names[memory["id"]] for memory in found]


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = str(tmp_path_factory.mktemp("silence"))
    home = open_laptop(folder, Settings(data_folder=folder))
    being_id = home.beings.create("Pearl", owner="me").being_id
    note = home.application.surface.get_tool("update_notes")
    assert note is not None
    scenes = [
        {"action": action, "actors": ["user"], "when": ["2026-07-01"]} for action in NOTES.values()
    ]
    context = Context(principal=Principal("test", being_id, FULL))
    result = asyncio.run(note.call({"scenes": scenes}, context)).to_dict()
    scene_ids = json.loads(result["content"][0]["text"])["scene_ids"]
    yield Asker(home, being_id, dict(zip(scene_ids, NOTES, strict=True)))
    home.close()


@pytest.mark.parametrize(("message", "name"), RELATED)
def test_a_message_that_a_memory_answers_recalls_it(asker: Asker, message: str, name: str) -> None:
    assert name in asker.recalled(message)


@pytest.mark.parametrize("message", UNRELATED)
def test_a_message_that_needs_no_memory_recalls_nothing(asker: Asker, message: str) -> None:
    result = asker.recall(message)

    assert result["_meta"]["nacre/search"]["memories"] == []
    assert "<memory-recall>" not in str(result["content"])


def test_every_line_says_when_and_how_well_it_matches(asker: Asker) -> None:
    [block] = asker.recall("Where is Miso?")["content"]
    lines = block["text"].splitlines()[1:-1]

    matches = {"(close match)": 0, "(loose match)": 0}
    for line in lines:
        assert line.startswith("- [2026-07-01] user: ")
        matches[" ".join(line.partition(" [scene ")[0].split()[-2:])] += 1
    assert matches["(close match)"] == 1


def test_the_trace_tells_programs_why_nothing_came(asker: Asker) -> None:
    silent = asker.recall("set a timer for ten minutes")["_meta"]["nacre/search"]["gate"]
    speaks = asker.recall("Where is Miso?")["_meta"]["nacre/search"]["gate"]

    assert (silent["open"], speaks["open"]) == (False, True)
    assert silent["score"] < silent["threshold"]
    assert speaks["score"] >= speaks["threshold"]


def test_a_very_long_message_is_judged_by_its_beginning(asker: Asker) -> None:
    assert "cat" in asker.recalled("Where is the cat Miso?" + "\n" * 100_000)
    assert asker.recalled("lorem ipsum dolor sit amet " * 4000) == []
