"""Print what a handler has loaded at its start, and after each event from standard input.

python loaded.py FOLDER; modules of the standard library are left out.
"""

import importlib
import json
import sys
from types import SimpleNamespace


def third_party() -> list[str]:
    """Return the top-level modules from elsewhere, but for our own."""
    top = {name.partition(".")[0] for name in sys.modules}
    ours = {"handler", "nacre", "__main__", "_virtualenv", "sitecustomize"}
    return sorted(
        name
        for name in top - ours - sys.stdlib_module_names
        # What site loads for editable installs is no part of the function.
        if not name.startswith(("__editable__", "_distutils", "_sysconfigdata"))
    )


def main() -> None:
    events = json.load(sys.stdin)
    sys.path.insert(0, sys.argv[1])
    before = set(third_party())
    handle = importlib.import_module("handler").handle
    steps = [{"loaded": sorted(set(third_party()) - before), "answer": None}]
    own = {name for name in sys.modules if name.startswith("nacre.")}
    for event in events:
        answer = handle(event, SimpleNamespace(aws_request_id="1"))
        steps.append({"loaded": sorted(set(third_party()) - before), "answer": answer})
    own_after = {name for name in sys.modules if name.startswith("nacre.")}
    json.dump({"steps": steps, "own": sorted(own), "own_after": sorted(own_after)}, sys.stdout)


main()
