"""Real processes of the command line."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_PACKAGE = Path(__file__).parents[2] / "shared"
_SECONDS = 60


def start(*arguments: str, **streams: int) -> "subprocess.Popen[str]":
    """Start `nacre` with the environment of the test."""
    return subprocess.Popen(
        [sys.executable, "-m", "nacre.cli", *arguments],
        env={**os.environ, "PYTHONPATH": str(_PACKAGE)},
        text=True,
        encoding="utf-8",
        stdin=streams.get("stdin", subprocess.DEVNULL),
        stdout=streams.get("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
    )


def finish(process: "subprocess.Popen[str]", text: str | None = None) -> tuple[int, str, str]:
    """Wait for the end, and return the exit code and what was written."""
    out, err = process.communicate(text, timeout=_SECONDS)
    return process.returncode, out, err


class Server:
    """A running `nacre serve`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._told: list[str] = []
        self.url = self._wait()

    def post(self, path: str, token: str | None, message: dict[str, Any]) -> tuple[int, Any]:
        """Send one message, and return the status and the answer."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=_SECONDS)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request("POST", parts.path + path, json.dumps(message), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def stop(self, signal: int) -> tuple[int, str, str]:
        """Send a signal, and return the exit code and all that the process wrote."""
        self.process.send_signal(signal)
        code, out, err = finish(self.process)
        return code, out, "".join(self._told) + err

    def _wait(self) -> str:
        """Return the URL from the line that says that the server listens."""
        assert self.process.stderr is not None
        while line := self.process.stderr.readline():
            self._told.append(line)
            if line.startswith("{"):
                return str(json.loads(line)["url"])
        raise AssertionError("".join(self._told))


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """Run `nacre serve` on a free port until the block ends."""
    process = start("serve", "--port", "0", "--log", *arguments)
    try:
        yield Server(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
