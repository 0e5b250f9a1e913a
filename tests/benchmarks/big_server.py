"""A server over stdio with two tools: `big` returns 9 MB in one of some shapes, `echo` a word."""

import json
import sys
from typing import Any

SIZE = 9_000_000
LINE = "A line of an ordinary log, with a number in it: 4711.\n"
ROWS = [
    {"id": number, "name": f"row {number}", "note": "an ordinary note"} for number in range(150_000)
]
SHAPES: dict[str, dict[str, Any]] = {
    "text": {"content": [{"type": "text", "text": LINE * (SIZE // len(LINE))}]},
    "items": {
        "content": [{"type": "text", "text": LINE * 20} for _ in range(SIZE // len(LINE) // 20)]
    },
    "rows": {"content": [], "structuredContent": {"rows": ROWS}},
}
SPELLED = {name: json.dumps(result) for name, result in SHAPES.items()}
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("big", "echo")]
OPENED = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "big", "version": "1"},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    match message["method"]:
        case "initialize":
            result = json.dumps(OPENED)
        case "tools/list":
            result = json.dumps({"tools": TOOLS})
        case "tools/call" if message["params"]["name"] == "big":
            result = SPELLED[message["params"]["arguments"]["shape"]]
        case "tools/call":
            result = json.dumps({"content": [{"type": "text", "text": "hi"}]})
        case _:
            result = "{}"
    spelled_id = json.dumps(message["id"])
    sys.stdout.write(f'{{"jsonrpc":"2.0","id":{spelled_id},"result":{result}}}\n')
    sys.stdout.flush()
