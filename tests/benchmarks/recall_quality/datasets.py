"""Published data sets as tasks. Nothing is stored; the files are named on the command line.

LoCoMo (CC BY-NC 4.0), JSQuAD (CC BY-SA 4.0), LongMemEval_S (MIT), BEAM (chats and probing
questions), and the project's own questions that share no word with their answer.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from nacre.core.limits import MAX_ACTION_BYTES
from tests.benchmarks.recall_quality.tasks import Memory, Question, Task

DATA = Path(__file__).parents[4] / "shared" / "data"
LOCOMO, JSQUAD = DATA / "locomo_1-5.json", DATA / "jsquad_sample.json"
ZERO_OVERLAP = DATA / "zero_overlap"

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
DISTRACTORS = 500
_ADVERSARIAL = 5  # questions without an answer, so without evidence
_LONG_ENOUGH = 30  # characters of a distractor: "Thanks!" distracts nobody
_SOMEBODY = ("me",)  # who notes without a name


def locomo(file: Path) -> Iterator[Task]:
    """Yield the conversations of a LoCoMo file: a memory is a turn, a session is a day."""
    for sample in json.loads(file.read_text(encoding="utf-8")):
        memories = list(_turns(sample["conversation"]))
        names = {memory.name for memory in memories}
        questions = [
            Question(asked["question"], evidence, CATEGORIES[asked["category"]])
            for asked in sample["qa"]
            if asked["category"] != _ADVERSARIAL
            and (evidence := frozenset(_named(asked.get("evidence", ()))) & names)
        ]
        yield Task(memories, questions)


def _turns(conversation: Mapping[str, Any]) -> Iterator[Memory]:
    for number in range(1, len(conversation)):
        said_on = conversation.get(f"session_{number}_date_time", "").partition(" on ")[2]
        for turn in conversation.get(f"session_{number}", ()):
            day = datetime.strptime(said_on, "%d %B, %Y").date().isoformat()  # noqa: DTZ007
            picture = turn.get("blip_caption")
            shared = f" [shares {picture}]" if picture else ""
            yield Memory(
                turn["dia_id"].replace(":", "/"), turn["text"] + shared, (turn["speaker"],), (day,)
            )


def _named(evidence: Sequence[str]) -> Iterator[str]:
    for text in evidence:  # some name several turns in one text
        yield from (name.replace(":", "/") for name in re.findall(r"D\d+:\d+", text))


def jsquad(file: Path) -> Iterator[Task]:
    """Yield the passages of a JSQuAD file as one Being's memories."""
    articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    passages = [passage for article in articles for passage in article["paragraphs"]]
    yield Task(
        [
            Memory(str(number), passage["context"].partition("[SEP]")[2], ("本",), ("2026-01-01",))
            for number, passage in enumerate(passages)
        ],
        [
            Question(asked["question"], frozenset({str(number)}))
            for number, passage in enumerate(passages)
            for asked in passage["qas"]
        ],
    )


def long_mem_eval(file: Path, every: int) -> Iterator[Task]:
    """Yield every n-th question of LongMemEval_S, each with a history of its own."""
    for asked in json.loads(file.read_text(encoding="utf-8"))[::every]:
        memories, evidence = [], set()
        sessions = zip(asked["haystack_dates"], asked["haystack_sessions"], strict=True)
        for number, (said_at, turns) in enumerate(sessions):
            for place, turn in enumerate(turns):
                name = f"{number}/{place}"
                memories.append(_message(name, turn, said_at[:10].replace("/", "-")))
                if turn.get("has_answer"):
                    evidence.add(name)
        if evidence and not asked["question_id"].endswith("_abs"):
            kind = asked["question_type"]
            yield Task(memories, [Question(asked["question"], frozenset(evidence), kind)])


def beam(folder: Path) -> Iterator[Task]:
    """Yield the chats in a folder of BEAM, with the probing questions that name messages."""
    for chat in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        day = date(2024, 1, 1)
        memories = []
        for batch in json.loads((chat / "chat.json").read_text(encoding="utf-8")):
            for message in (message for turn in batch["turns"] for message in turn):
                with suppress(ValueError):
                    anchor = message.get("time_anchor") or ""
                    day = datetime.strptime(anchor, "%B-%d-%Y").date()  # noqa: DTZ007
                text = message["content"].split("->->")[0].strip()
                memories.append(_message(str(message["id"]), message | {"content": text}, f"{day}"))
        names = {memory.name for memory in memories}
        probing = json.loads((chat / "probing_questions" / "probing_questions.json").read_text())
        yield Task(
            memories,
            [
                Question(asked["question"], evidence, kind)
                for kind, questions in probing.items()
                for asked in questions
                if (evidence := frozenset(_numbers(asked.get("source_chat_ids"))) & names)
            ],
        )


def _message(name: str, message: Mapping[str, Any], day: str) -> Memory:
    text = message["content"].encode()[:MAX_ACTION_BYTES].decode(errors="ignore").strip()
    return Memory(name, text or "(nothing)", (message["role"],), (day,))


def _numbers(ids: object) -> Iterator[str]:
    if isinstance(ids, int):
        yield str(ids)
    elif isinstance(ids, Mapping):
        yield from _numbers(list(ids.values()))
    elif isinstance(ids, list):
        for entry in ids:
            yield from _numbers(entry)


def zero_overlap(file: Path, distractors: Sequence[Memory]) -> Iterator[Task]:
    """Yield memories and questions that share no word, as one Being's, with other memories."""
    rng = Random(7)
    pairs = _pairs(file)
    notes = [Memory(f"m{number}", note, _SOMEBODY, ()) for number, (note, _) in enumerate(pairs)]
    others = rng.sample(list(distractors), min(DISTRACTORS, len(distractors)))
    every = [_on_some_day(memory, rng) for memory in (*notes, *others)]
    rng.shuffle(every)
    questions = [
        Question(question, frozenset({f"m{number}"})) for number, (_, question) in enumerate(pairs)
    ]
    yield Task(every, questions)


def young(file: Path, size: int) -> Iterator[Task]:
    """Yield Beings with a few of these memories, each asked what answers one of them."""
    rng = Random(11)
    pairs = _pairs(file)
    for start in range(0, len(pairs) - size + 1, size):
        some = pairs[start : start + size]
        notes = [Memory(f"m{number}", note, _SOMEBODY, ()) for number, (note, _) in enumerate(some)]
        yield Task(
            [_on_some_day(memory, rng) for memory in notes],
            [Question(some[0][1], frozenset({"m0"}))],
        )


def distractors_of(tasks: Iterator[Task]) -> list[Memory]:
    """Return the memories of other tasks that are long enough to distract."""
    return [
        Memory(f"{number}:{memory.name}", memory.action, memory.actors, memory.when)
        for number, task in enumerate(tasks)
        for memory in task.memories
        if len(memory.action) > _LONG_ENOUGH
    ]


def _pairs(file: Path) -> list[tuple[str, str]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if "\t" in line]
    return [(note, question) for note, question in rows]


def _on_some_day(memory: Memory, rng: Random) -> Memory:
    day = date(2026, 1, 1) + timedelta(days=rng.randrange(330))
    return Memory(memory.name, memory.action, memory.actors, (f"{day}",))
