"""What it costs a call to know what its caller has received: the promise is at most 10 %.

Two laptops run with a server behind each, under the pack `guarded`. One of them notes each result
and asks for what came in before each call. The other has the same rules without the words
`tainted`, `origin` and `window`, and trusts its server, so that it does neither. Both are called by
turns over HTTP, and the time that their processes spend on a processor is compared.
"""

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.benchmarks.processes import null_server, served_by

pytestmark = pytest.mark.benchmark

BLOCKS, CALLS, WARM = 60, 20, 100
MOST = 0.10
SERVE = """
import sys
from pathlib import Path

from nacre.firewall.policies.packs import text_of
from tests.scaffolding.gateway_world import world

folder, web, mail, kind = Path(sys.argv[1]), *sys.argv[2:]
rules = text_of("guarded").split("[[rule]]")
if kind == "plain":
    rules = [rule for rule in rules if "origin =" not in rule]
    rules[-1] = rules[-1].replace("tainted = false", "").replace('window = "30 days"', "")
servers = {
    "web": {"url": f"http://127.0.0.1:{web}/mcp", "trusted": kind == "plain"},
    "mail": {"url": f"http://127.0.0.1:{mail}/mcp", "trusted": True},
}
with world(folder, servers, policy="[[rule]]".join(rules)) as gateway:
    assert sorted(gateway.tools()) == ["mcp__mail__send", "mcp__web__search_web"]
    with gateway.over_http() as url:
        print(url, flush=True)
        sys.stdin.read()
"""
TOOLS = {
    "sending, before content came in": ("mcp__mail__send", {"to": "ann", "body": "tea"}),
    "reading from another server": ("mcp__web__search_web", {"query": "tea"}),
    "recall": ("recall", {"user_message": "tea"}),
}


class Gateway:
    """A laptop in a process of its own."""

    def __init__(self, pid: int, url: str) -> None:
        self._pid = pid
        self._path = urlsplit(url).path
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)

    def spent(self) -> float:
        """Return the processor time of the process until now, in seconds."""
        return time.clock_gettime((~self._pid << 3) | 2)  # Linux: the clock of a process

    def close(self) -> None:
        self._connection.close()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        params = {"name": tool, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "mcp-protocol-version": "2025-11-25",
        }
        self._connection.request("POST", self._path, json.dumps(body), headers)
        result = json.loads(self._connection.getresponse().read())["result"]
        assert not result.get("isError"), result


@contextmanager
def gateway(folder: Path, *options: str) -> Iterator[Gateway]:
    with served_by(SERVE, str(folder), *options) as (process, url):
        opened = Gateway(process, url)
        yield opened
        opened.close()


def block(gateway: Gateway, tool: str, arguments: Mapping[str, Any]) -> float:
    """Return the processor time of a call, in microseconds."""
    begun = gateway.spent()
    for _ in range(CALLS):
        gateway.call(tool, arguments)
    return (gateway.spent() - begun) / CALLS * 1e6


def test_knowing_what_came_in_costs_at_most_a_tenth_of_a_call(tmp_path: Path) -> None:
    ratios = {}
    with ExitStack() as opened:
        ports = [str(opened.enter_context(null_server(tool))) for tool in ("search_web", "send")]
        guarded, plain = (
            opened.enter_context(gateway(tmp_path / kind, *ports, kind))
            for kind in ("guarded", "plain")
        )
        for name, (tool, arguments) in TOOLS.items():
            for each in (guarded, plain) * WARM:
                each.call(tool, arguments)
            pairs = []
            for number in range(BLOCKS):
                order = (guarded, plain) if number % 2 else (plain, guarded)
                times = {id(each): block(each, tool, arguments) for each in order}
                pairs.append((times[id(guarded)], times[id(plain)]))
            knowing, without = (median(column) for column in zip(*pairs, strict=True))
            ratios[name] = median(one / other for one, other in pairs) - 1
            print(f"{name}: {without:.0f} µs, and {knowing:.0f} µs with it: {ratios[name]:+.1%}")

    assert max(ratios.values()) <= MOST
