"""The command line over a data folder of its own."""

import io
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nacre.cli.commands import run_commands

if TYPE_CHECKING:
    from tests.cli.worlds import World


@dataclass(frozen=True)
class Outcome:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Nacre = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let nothing of the machine into a test: neither its settings nor its home."""
    for name in list(os.environ):
        if name.startswith(("NACRE_", "AWS_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def nacre(capfd: pytest.CaptureFixture[str]) -> Nacre:
    def run(*arguments: str) -> Outcome:
        capfd.readouterr()
        code = run_commands(list(arguments))
        written = capfd.readouterr()
        return Outcome(code, written.out, written.err)

    return run


@pytest.fixture(params=["laptop", "stack"])
def world(
    request: pytest.FixtureRequest, folder: Path, nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> "Iterator[World]":
    """A store with its server's memory, in a folder and on AWS; most commands need neither."""
    from tests.cli.worlds import laptop_world, stack_world

    opened = laptop_world(folder, nacre) if request.param == "laptop" else stack_world(monkeypatch)
    with opened as world:
        yield world


class Terminal(io.StringIO):
    """What somebody types."""

    def isatty(self) -> bool:
        return True


Typed = Callable[[str], None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Type lines at a terminal, for the next command."""
    return lambda text: monkeypatch.setattr("sys.stdin", Terminal(text))
