"""An MCP server that reads and writes files below a folder of its own, wherever it runs.

`rooted_server.py ROOT`: relative paths begin at ROOT, `~` is the home folder. It confines
nothing, as many servers do.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1])
TOOLS = ("read_text_file", "write_file")


def place(path: str) -> Path:
    return ROOT / Path(path).expanduser()


def answer(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params", {})
    if message["method"] == "initialize":
        version = params["protocolVersion"]
        info = {"name": "rooted", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if message["method"] != "tools/call":
        return {}
    arguments = params["arguments"]
    try:
        if params["name"] == "write_file":
            place(arguments["path"]).write_text(arguments["content"])
            text = "written"
        else:
            text = place(arguments["path"]).read_text()
    except OSError as error:
        text = f"error: {error.strerror}"
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    told = json.loads(line)
    if "id" in told and "method" in told:
        reply = {"jsonrpc": "2.0", "id": told["id"], "result": answer(told)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
