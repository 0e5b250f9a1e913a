"""Whether searches find what they found when their weights were chosen."""

import os
from pathlib import Path

import pytest

from tests.benchmarks.recall_quality.datasets import JSQUAD, LOCOMO, jsquad, locomo
from tests.benchmarks.recall_quality.measure import measure, report

pytestmark = pytest.mark.benchmark

CONVERSATIONS = Path(os.environ.get("NACRE_BENCH_LOCOMO", LOCOMO))
PASSAGES = Path(os.environ.get("NACRE_BENCH_JSQUAD", JSQUAD))
ONNX = os.environ.get("NACRE_BENCH_ONNX", "")
# Evidence within the first ten, by the kind of search; the encoder is arctic-embed-s, int8.
ENGLISH = {"none": 0.72, "builtin": 0.74, "builtin-multilingual": 0.72}
ENCODER = 0.79
JAPANESE = {"none": 0.94, "builtin": 0.94, "builtin-multilingual": 0.95}


@pytest.mark.skipif(not CONVERSATIONS.exists(), reason="NACRE_BENCH_LOCOMO names no file")
def test_the_evidence_for_a_question_is_found() -> None:
    goals = ENGLISH | ({f"onnx:{ONNX}": ENCODER} if ONNX else {})
    measured = {name: measure(locomo(CONVERSATIONS), name) for name in goals}

    report("LoCoMo", measured)
    missed = {
        name: found.recall[10] for name, found in measured.items() if found.recall[10] < goals[name]
    }
    assert missed == {}


@pytest.mark.skipif(not PASSAGES.exists(), reason="NACRE_BENCH_JSQUAD names no file")
def test_japanese_passages_are_found() -> None:
    measured = {name: measure(jsquad(PASSAGES), name) for name in JAPANESE}

    report("JSQuAD", measured)
    missed = {
        name: found.recall[10]
        for name, found in measured.items()
        if found.recall[10] < JAPANESE[name]
    }
    assert missed == {}
