"""A client's roots are bases too: some servers resolve relative paths from them."""

from typing import Any

import pytest

from nacre.firewall.enforce.verdicts import Answer, Forward
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import Surroundings
from tests.firewall.guarding import Scene, encoded

RULES = """
[[rule]]
action = "allow"
tool = "*"
args.path = "/home/user/projects/**"
[[rule]]
action = "allow"
method = "roots/list"
"""
PROJECTS = Surroundings(home="/home/user", bases=("/home/user/projects",))


def roots(*uris: str) -> dict[str, Any]:
    return {"roots": [{"uri": uri} for uri in uris]}


def call(path: str, id_: int) -> bytes:
    params = {"name": "read", "arguments": {"path": path}}
    return encoded({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})


def test_roots_join_the_declared_bases_before_the_server_has_them() -> None:
    scene = Scene(RULES, where=PROJECTS)
    scene.opened("2025-11-25", {"roots": {}})
    guard = scene.guard
    assert isinstance(guard.from_client(call("notes.md", 10)), Forward)
    question = {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}
    assert isinstance(guard.from_server(encoded(question)), Forward)

    answer = {"jsonrpc": "2.0", "id": "r", "result": roots("file:///home/user")}
    assert isinstance(guard.from_client(encoded(answer)), Forward)

    assert isinstance(guard.from_client(call("notes.md", 11)), Answer)
    assert isinstance(guard.from_client(call("/home/user/projects/notes.md", 12)), Forward)


def test_another_conversation_of_the_caller_knows_the_roots() -> None:
    scene = Scene(RULES, where=PROJECTS)
    scene.opened("2025-11-25", {"roots": {}})
    second = scene.guard.for_another_conversation()
    question = {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}
    assert isinstance(scene.guard.from_server(encoded(question)), Forward)
    answer = {"jsonrpc": "2.0", "id": "r", "result": roots("file:///home/user")}
    assert isinstance(scene.guard.from_client(encoded(answer)), Forward)

    assert isinstance(second.from_client(call("notes.md", 11)), Answer)


@pytest.mark.parametrize(
    ("answer", "folders"),
    [
        (roots("file:///a/b%20c", "file://localhost/d"), ["/a/b c", "/d"]),
        ({"one": roots("file:///a"), "two": {"action": "accept"}}, ["/a"]),
        (roots("/a", "~/b"), ["/a", "~/b"]),
        ({"roots": [5, {"uri": 5}, {}]}, []),
        ([], []),
    ],
)
def test_roots_are_read_from_an_answer(answer: Any, folders: list[str]) -> None:
    assert list(roots_in(answer)) == folders


def test_a_root_that_cannot_be_read_makes_the_bases_unknown() -> None:
    assert with_roots(PROJECTS, ["/a"]).bases == ("/home/user/projects", "/a")
    assert with_roots(PROJECTS, ["~/b"]).bases == ("/home/user/projects", "/home/user/b")
    assert with_roots(PROJECTS, ["https://x"]).bases == ()
    assert with_roots(PROJECTS, [f"/{number}" for number in range(40)]).bases == ()
    assert with_roots(Surroundings(), ["/a"]).bases == ()
