"""The Being's server as its clients see it before any tool is loaded."""

import json
import subprocess
import sys
from typing import Any

from infra.own_lists import LISTS, lists
from nacre.being.application import being_server
from nacre.being.tools.order import order
from nacre.being.tools.order_definition import DEFAULT_ORDER_NAME, order_definition


def unused() -> Any:
    raise AssertionError("a list needs no memory")


def test_the_file_of_lists_is_that_of_the_loaded_server() -> None:
    written = f"{json.dumps(lists(), indent=1, ensure_ascii=False)}\n"

    assert LISTS.read_text(encoding="utf-8") == written, "run: python -m infra.own_lists"


def test_the_lists_are_those_of_the_file_and_the_same_objects_each_time() -> None:
    server = being_server(unused, patrols=unused)
    listed = {
        "tools": server.tools(),
        "resources": server.resources(),
        "resourceTemplates": server.resource_templates(),
        "prompts": server.prompts(),
    }

    assert listed == json.loads(LISTS.read_text(encoding="utf-8"))
    assert server.tools() is listed["tools"]


def test_the_order_tool_is_listed_as_it_describes_itself() -> None:
    for name in (DEFAULT_ORDER_NAME, "Clawdbot"):
        assert order(name, unused).definition == order_definition(name)


def test_listing_loads_no_tool() -> None:
    code = """
import sys
from nacre.being.application import being_server

server = being_server(None, patrols=None)
assert server.tools() and server.prompts() and server.resources() and server.resource_templates()
print([name for name in sys.modules if name.startswith(("nacre.sdk.", "nacre.being.tools."))])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "[]\n"
