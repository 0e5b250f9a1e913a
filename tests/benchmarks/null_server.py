"""A server that answers every request at once, for what stands in front of it to be measured."""

import re
import sys

ID = re.compile(rb'"id": ?(\d+)')
ANSWER = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"hello"}]}}\n'
HELLO = (
    b'{"jsonrpc":"2.0","id":%b,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
    b'"serverInfo":{"name":"null","version":"1"}}}\n'
)

for line in sys.stdin.buffer:
    found = ID.search(line)
    if found:
        answer = HELLO if b'"initialize"' in line else ANSWER
        sys.stdout.buffer.write(answer % found[1])
        sys.stdout.buffer.flush()
