"""One shell for the commands of a page."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.blocks import matches

# Control characters that no program prints by accident, around the exit status.
_END = "\x1e"
_SERVER_SECONDS = 60
# Shown on a machine that is too busy to be done in a second.
_PROGRESS = re.compile(r"[0-9]+( of [0-9]+)? (items|memories|records)( checked| indexed)?\n")


class Shell:
    """A bash that keeps its folder and variables from one command to the next."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder = folder
        self._servers = 0
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env={**os.environ, **environment, "PATH": path, "NO_COLOR": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # A group of its own, so that leaving it ends whatever it started.
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.communicate()

    def run(self, command: str) -> tuple[int, str]:
        """Run a command and return its exit status and all that it printed."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f"{{ {command}\n}} </dev/null; printf '{_END}%d\\n' $?\n")
        self._bash.stdin.flush()
        printed = ""
        for line in self._bash.stdout:
            before, ended, status = line.partition(_END)
            if not _PROGRESS.fullmatch(before):
                printed += before
            if ended:
                return int(status), printed
        raise AssertionError(f"the shell ended in: {command}\n{printed}")

    def serve(self, command: str, expected: str) -> str:
        """Start a command, wait until it has printed what is expected, and leave it running."""
        self._servers += 1
        log = self._folder / f".server-{self._servers}"
        log.touch()
        self.run(f"{{ {command}\n}} >{log} 2>&1 &")
        deadline = time.monotonic() + _SERVER_SECONDS
        while not matches(expected, printed := log.read_text()):
            assert time.monotonic() < deadline, f"{command} printed:\n{printed}"
            time.sleep(0.05)
        return printed
