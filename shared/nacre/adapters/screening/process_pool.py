"""Helper processes for large calls and results, so that this process stays responsive."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from nacre.adapters.screening.process import receive, send
from nacre.core.limits import SCREENING_PROCESSES
from nacre.firewall.enforce.large_results import LargeFindings
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol.encoded_results import LargeAnswer, Spelled, apart

_COMMAND = (sys.executable, "-m", "nacre.adapters.screening.process")


class ScreeningProcesses:
    """Starts a helper when one is needed and none is idle, and keeps it for the next result."""

    def __init__(self, most: int = SCREENING_PROCESSES) -> None:
        self._slots = threading.Semaphore(most)
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._is_closed = False

    def look(
        self, body: bytes, method: str, sections: dict[str, Any], *, lines: bool | None = None
    ) -> LargeFindings | None:
        """Return the findings in a result, or None if no helper could screen it; blocks."""
        answer = self._answer({"method": method, "sections": sections, "lines": lines}, body)
        if answer is None:
            return None
        facts, changed = answer
        return LargeFindings(
            facts["objection"],
            facts["doubt"],
            facts["note"],
            changed if facts["is_changed"] else None,
            JsonNumber(facts["id"]) if facts["is_number"] else facts["id"],
            tuple((name, size) for name, size in facts["members"]),
        )

    def read(self, raw: bytes, sent: Mapping[str | int, str], version: str) -> LargeAnswer | None:
        """Return a server's answer to one of the requests that were sent; blocks.

        Return None if no helper could read it, or for any other message.
        """
        answer = self._answer({"sent": list(sent.items()), "version": version}, raw)
        if answer is None:
            return None
        facts, body = answer
        result = Spelled(apart(body, facts["members"]), facts["uris"])
        return LargeAnswer(facts["id"], facts["shown"], result)

    def call(self, head: dict[str, Any], raw: bytes) -> tuple[dict[str, Any], bytes] | None:
        """Return the facts about a tool call and its short message; blocks.

        Return None if no helper could read it, or for any other message.
        """
        return self._answer(head, raw)

    def close(self) -> None:
        """End the helpers."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for helper in idle:
            _end(helper)

    def _answer(self, head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes] | None:
        """Return the answer of a helper, or None if it has none or no helper could be started."""
        with self._slots:
            helper = self._take()
            if helper is None:
                return None
            try:
                assert helper.stdin is not None
                assert helper.stdout is not None
                send(cast("BinaryIO", helper.stdin), head, body)
                answer = receive(cast("BinaryIO", helper.stdout))
            except (OSError, ValueError):
                answer = None
            if answer is None:  # the helper died: the caller screens the result itself
                _end(helper)
                return None
            self._keep(helper)
        return None if answer[0]["is_other"] else answer

    def _take(self) -> "subprocess.Popen[bytes] | None":
        with self._lock:
            if self._idle:
                return self._idle.pop()
        try:
            return subprocess.Popen(  # noqa: S603 - our own interpreter and module
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=_environment(),
            )
        except OSError:
            return None

    def _keep(self, helper: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(helper)
                return
        _end(helper)


def _environment() -> dict[str, str]:
    """Return the environment of a helper: where the packages are, and none of our secrets."""
    return {"PYTHONPATH": ":".join(path for path in sys.path if path)}


def _end(helper: "subprocess.Popen[bytes]") -> None:
    for pipe in (helper.stdin, helper.stdout):
        with contextlib.suppress(OSError):  # closing flushes bytes that the helper no longer reads
            if pipe is not None:
                pipe.close()
    helper.kill()
    helper.wait()
