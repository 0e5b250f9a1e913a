"""What systemd hears of a server that starts."""

import os
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre.cli.serve.readiness import tell_manager
from tests.cli.processes import serving

_SECONDS = 60


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(_SECONDS)
        yield listening


def test_a_server_tells_the_manager_once_it_answers(
    manager: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.bind("manager")
    monkeypatch.setenv("NOTIFY_SOCKET", "manager")

    with serving() as server:
        assert manager.recv(64) == b"READY=1"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.url, timeout=_SECONDS)

    assert refused.value.code == 401
    refused.value.close()


@pytest.mark.skipif(sys.platform != "linux", reason="names without a file are of Linux")
def test_a_name_without_a_file_is_heard_and_no_child_gets_it(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"nacre-{os.getpid()}"
    manager.bind(f"\0{name}")
    monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")

    tell_manager()

    assert manager.recv(64) == b"READY=1"
    assert "NOTIFY_SOCKET" not in os.environ


def test_a_manager_that_is_gone_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/manager")

    tell_manager()

    assert "NOTIFY_SOCKET" not in os.environ
