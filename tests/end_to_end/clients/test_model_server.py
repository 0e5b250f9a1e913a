"""Orders with a model server that others have written, as they read OpenAI's protocol."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Nacre, nacre
from tests.end_to_end.conformance.suite import NODE

__all__ = ["nacre"]

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "model_server.cjs"
HI = " ".join(["Hi there!"] * 40)


@pytest.fixture
def serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return what starts the server with options, and leads orders to it."""
    for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with ExitStack() as started:

        def start(**options: Any) -> None:
            process = subprocess.Popen(
                [NODE / ".bin" / "node", SCRIPT, json.dumps(options)],
                env={**os.environ, "NODE_PATH": str(NODE)},
                stdout=subprocess.PIPE,
                text=True,
            )
            started.callback(process.communicate)
            started.callback(process.kill)
            assert process.stdout is not None
            monkeypatch.setenv("NACRE_LLM_BASE_URL", f"{process.stdout.readline().strip()}/v1")
            monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-test")
            monkeypatch.setenv("NACRE_LLM_MODEL", "gpt-4.1-mini")

        yield start


def test_words_calls_and_thoughts_are_understood(
    serving: Callable[..., None], nacre: Nacre
) -> None:
    serving(chunkSize=3)

    assert nacre("chat", "hello").out == f"{HI}\n"
    assert nacre("chat", "What time is it?").out == "Let me look.\n\nIt is noon.\n"
    assert nacre("chat", "reason").out == "Blue.\n"
    unknown = nacre("chat", "something that it has no answer to")
    assert (unknown.code, unknown.out) == (1, "")
    assert "NACRE_LLM_MODEL" in unknown.err


@pytest.mark.parametrize("fault", ["dropRate", "malformedRate", "disconnectRate"])
def test_what_it_breaks_is_told_and_nothing_of_it_believed(
    serving: Callable[..., None], nacre: Nacre, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr("nacre.adapters.openai.chat._FIRST_PAUSE", 0.001)
    serving(chaos={fault: 1.0})

    broken = nacre("chat", "hello")

    assert (broken.code, broken.out) == (1, "")
    assert broken.err.startswith("Error: the language model gave no answer: ")
