"""Servers that answer at once, so that what is measured is the way to them.

http_null.py http PORT    streamable HTTP, both generations
http_null.py stdio        lines in, lines out
"""

import asyncio
import json
import re
import sys

_ID = re.compile(rb'"id": ?("[^"]*"|\d+)')
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_CALLED = b'{"resultType":"complete","content":[{"type":"text","text":"the sum is 3"}]}'
_LISTED = b'{"tools":[{"name":"add","description":"Add.","inputSchema":{"type":"object"}}]}'
_OPENED = json.dumps(
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "null", "version": "1"},
    }
).encode()


def answer(message: bytes) -> bytes:
    """Return the answer to a message, nothing for a notification."""
    found = _ID.search(message)
    if found is None:
        return b""
    result = _CALLED
    if b'"initialize"' in message:
        result = _OPENED
    elif b'"tools/list"' in message:
        result = _LISTED
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (found[1], result)


class Http(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.kept = b""

    def data_received(self, data: bytes) -> None:
        self.kept += data
        while (end := self.kept.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(self.kept[:end])
            whole = end + 4 + (int(found[1]) if found else 0)
            if len(self.kept) < whole:
                return
            said = answer(self.kept[end + 4 : whole]) if found else b""
            self.kept = self.kept[whole:]
            head = b"200 OK\r\ncontent-type: application/json" if said else b"202 Accepted"
            length = b"content-length: %d" % len(said)
            self.transport.write(b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (head, length, said))


async def serve(port: int) -> None:
    """Serve until killed."""
    server = await asyncio.get_running_loop().create_server(Http, "127.0.0.1", port)
    await server.serve_forever()


def main() -> None:
    """Run the kind that is named."""
    if sys.argv[1] == "http":
        asyncio.run(serve(int(sys.argv[2])))
        return
    for line in sys.stdin.buffer:
        said = answer(line)
        if said:
            sys.stdout.buffer.write(said + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
