"""The registry of running servers, as commands and hooks read it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nacre.cli.hooks.server_call import running_url
from nacre.wiring.server_registry import (
    RunningServer,
    registered_server,
    running_servers,
    running_urls,
)

URL = "http://127.0.0.1:8642/mcp"


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_a_running_server_has_one_url_for_commands_and_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    with registered_server(tmp_path, URL, "a program"):
        assert running_servers(tmp_path) == [RunningServer(os.getpid(), URL, "a program")]
        assert running_urls(tmp_path) == [URL]
        with monkeypatch.context() as patched:
            patched.setattr("os.name", system)
            heard = running_url(str(tmp_path))

    assert heard == URL
    assert running_servers(tmp_path) == []
    assert list((tmp_path / "serving").iterdir()) == []


def test_what_a_killed_server_noted_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    registry = tmp_path / "serving"
    registry.mkdir()
    (registry / str(ended.pid)).write_text(URL)
    (registry / f"{ended.pid}.program").write_text("a program")

    assert running_servers(tmp_path) == []
    assert list(registry.iterdir()) == []


def test_a_server_of_an_older_nacre_notes_no_program(tmp_path: Path) -> None:
    (tmp_path / "serving").mkdir()
    (tmp_path / "serving" / str(os.getpid())).write_text(URL)

    assert running_servers(tmp_path) == [RunningServer(os.getpid(), URL, "")]
