"""Callers that never pause: requests to every function of a stack, while something happens."""

import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from tests.infra.deployed_stack import PATIENCE_SECONDS, PING

CALLERS = 2
_TRUTH = {"method": "tools/call", "params": {"name": "get_current_time"}, "server": "nacre"}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a stack is reached, and as whom."""

    cloud: str
    api: str
    being: str
    token: str

    def send(self, path: str, message: Mapping[str, Any] | None) -> tuple[int, str]:
        """Send one request over a connection of its own; return the status and the body."""
        place = self.cloud.removeprefix("http://")
        connection = HTTPConnection(place, timeout=PATIENCE_SECONDS)
        try:
            connection.request(
                "GET" if message is None else "POST",
                path,
                None if message is None else json.dumps(message),
                {
                    "host": f"{self.api}.execute-api.localhost:{place.rpartition(':')[2]}",
                    "content-type": "application/json",
                    "accept": "application/json, text/event-stream",
                    "authorization": f"Bearer {self.token}",
                },
            )
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


@dataclass(slots=True)
class Tally:
    """What came of the calls."""

    answered: int = 0
    failures: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    """The notes that were acknowledged."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str, status: int, body: str, note: str) -> None:
        with self.lock:
            self.answered += 1
            if status != 200 or '"isError":true' in body.replace(" ", ""):
                self.failures.append(f"{kind}: {status} {body[:300]}")
            elif kind == "update_notes":
                self.noted.append(note)


@contextmanager
def steady_calls(address: Address) -> Iterator[Tally]:
    """Call every function that is reached over HTTP, from some callers, until the block ends."""
    tally, ended, numbers = Tally(), threading.Event(), itertools.count()

    def call_on() -> None:
        while not ended.is_set():
            note = f"Ann rowed race number {next(numbers)}"
            for kind, path, message in requests(address, note):
                try:
                    status, body = address.send(path, message)
                except (OSError, HTTPException) as error:
                    status, body = 0, repr(error)
                tally.count(kind, status, body, note)

    callers = [threading.Thread(target=call_on) for _ in range(CALLERS)]
    for each in callers:
        each.start()
    try:
        yield tally
    finally:
        ended.set()
        for each in callers:
            each.join()


def requests(address: Address, note: str) -> list[tuple[str, str, Mapping[str, Any] | None]]:
    """Return one round of requests: kind, path and message (None: a page)."""
    scene = {"action": note, "actors": ["Ann"], "when": ["2026-11-18"]}
    mcp = f"/mcp/{address.being}"
    return [
        ("ping", mcp, PING),
        ("update_notes", mcp, _call("update_notes", scenes=[scene])),
        ("search_memory", mcp, _call("search_memory", query="race")),
        ("policy", "/policy/evaluate", _TRUTH),
        ("page", "/healthz", None),
    ]


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
