"""Servers in processes of their own, which share no interpreter with the one that measures."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.infra.declared import ROOT

NULL_SERVER = """
import asyncio, json, sys

TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
DISCOVER = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private"}
RESULTS = {"server/discover": DISCOVER,
           "tools/list": {"tools": [TOOL], "ttlMs": 0, "cacheScope": "private"}}

async def talk(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            size = int(head.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
            asked = json.loads(await reader.readexactly(size))
            said = {"content": [{"type": "text", "text": "hi"}]}
            found = {"resultType": "complete", **RESULTS.get(asked["method"], said)}
            out = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": found}).encode()
            writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n"
                         b"content-length: %d\\r\\n\\r\\n" % len(out) + out)
    except asyncio.IncompleteReadError:
        writer.close()

async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def served_by(program: str, *arguments: str) -> Iterator[tuple[int, str]]:
    """Run a program until its standard input ends; yield its id and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}/shared:{ROOT}", "PATH": os.defpath},
    )
    with process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.pid, process.stdout.readline().strip()
        process.stdin.close()


@contextmanager
def null_server(tool: str = "echo") -> Iterator[int]:
    """Run a server that does nothing, and yield its port."""
    program = NULL_SERVER.replace('"echo"', f'"{tool}"')
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
