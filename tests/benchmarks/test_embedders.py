"""What each embedder costs: to load, for a query, for 256 texts, in memory; and what it finds.

A folder with snowflake-arctic-embed-s joins in where NACRE_BENCH_ONNX names it. A file of
LoCoMo conversations given as NACRE_BENCH_LOCOMO is searched by vector alone: a check that
the vectors are what they should be, not the product's recall.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from nacre.adapters.embeddings.builtin_models import BUILTIN
from nacre.wiring.features.embeddings import embedders
from nacre.wiring.settings import Settings
from tests.benchmarks.table import show

pytestmark = pytest.mark.benchmark

ONNX = os.environ.get("NACRE_BENCH_ONNX", "")
LOCOMO = os.environ.get("NACRE_BENCH_LOCOMO", "")
CHOICES = [*BUILTIN, *([f"onnx:{ONNX}"] if ONNX else [])]
ROUNDS = 5
LOAD_SECONDS = {"builtin-best": 0.25}  # without numpy's own import; 0.1 for all others
MEGABYTES = {"builtin": 150, "builtin-best": 200}  # of a process; 110 with a table

_PROGRAM = """
import json, resource, sys, time
from nacre.wiring.features.embeddings import embedders
from nacre.wiring.features.memory import calm_numpy
from nacre.wiring.settings import Settings

calm_numpy()
found = embedders(Settings(data_folder="", embeddings=sys.argv[1]))
started = time.process_time()
import numpy
numpy_seconds = time.process_time() - started

def timed(call, times=1):
    started = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - started) / times

texts = [f"Note {n}: on day {n * 7 % 365} Ann met Bo in room {n} to plan trip {n * 13}"
         for n in range(256)]
load = timed(lambda: found.primary.query("warm"))
batch = timed(lambda: found.primary.documents(texts))
query = timed(lambda: found.primary.query("Where did Ann meet Bo to plan the trip?"), 20)
first_maxsim = timed(lambda: found.tokens.score("Where did Ann meet Bo?", texts[:200]))
maxsim = timed(lambda: found.tokens.score("Where did Ann and Bo meet?", texts[:200]), 20)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin"
                                                             else 2**10)
print(json.dumps([numpy_seconds, load, query, batch, first_maxsim, maxsim, peak]))
"""


def measured(choice: str) -> list[float]:
    rows = []
    for _ in range(ROUNDS):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, choice], capture_output=True, text=True, check=True
        )
        rows.append(json.loads(done.stdout))
    return [median(column) for column in zip(*rows, strict=True)]


def test_a_built_in_model_costs_little_to_load_and_to_ask() -> None:
    found = {choice: measured(choice) for choice in CHOICES}

    show(
        "Embedders, each in a fresh process, processor time (median of five)",
        (
            "",
            "numpy s",
            "load s",
            "query ms",
            "256 texts ms",
            "MaxSim 200, first ms",
            "again ms",
            "MB",
        ),
        [
            (
                choice.partition(":")[0],
                f"{numpy_s:.3f}",
                f"{load:.3f}",
                f"{query * 1000:.2f}",
                f"{batch * 1000:.1f}",
                f"{first * 1000:.1f}",
                f"{again * 1000:.1f}",
                f"{peak:.0f}",
            )
            for choice, (numpy_s, load, query, batch, first, again, peak) in found.items()
        ],
    )
    for choice in BUILTIN:
        _, load, query, batch, _, _, peak = found[choice]
        assert load <= LOAD_SECONDS.get(choice, 0.1) * 1.5
        assert peak <= MEGABYTES.get(choice, 110)
        # A query costs what a text costs: nothing that grows hides in a call.
        assert query <= 20 * batch / 256


@pytest.mark.skipif(not LOCOMO, reason="NACRE_BENCH_LOCOMO names no file")
def test_vectors_alone_find_this_much() -> None:
    rows = []
    for choice in CHOICES:
        found = embedders(Settings(data_folder="", embeddings=choice))
        assert found.primary is not None
        recalls = []
        for conversation in json.loads(Path(LOCOMO).read_text()):
            places, texts = turns(conversation["conversation"])
            matrix = np.stack([np.frombuffer(v, "<f4") for v in found.primary.documents(texts)])
            for question in conversation["qa"]:
                evidence = [places[e] for e in question.get("evidence", []) if e in places]
                if question["category"] == 5 or not evidence:
                    continue
                query = np.frombuffer(found.primary.query(question["question"]), "<f4")
                best = set(np.argsort(-(matrix @ query), kind="stable")[:10].tolist())
                recalls.append(sum(place in best for place in evidence) / len(evidence))
        rows.append((choice.partition(":")[0], len(recalls), f"{np.mean(recalls):.3f}"))

    show("Vectors alone on LoCoMo turns", ("", "questions", "R@10"), rows)
    assert len(rows) == len(CHOICES)


def turns(conversation: dict[str, object]) -> tuple[dict[str, int], list[str]]:
    """Return the turns as texts, and the place of each by its id."""
    places: dict[str, int] = {}
    texts: list[str] = []
    for name, session in conversation.items():
        if not re.fullmatch(r"session_\d+", name):
            continue
        assert isinstance(session, list)
        for turn in session:
            places[turn["dia_id"]] = len(texts)
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            date = conversation[f"{name}_date_time"]
            texts.append(f"[{date}] {turn['speaker']}: {turn['text']}{shared}")
    return places, texts
