from typing import Any

import pytest

from infra.policy_packs import compiled
from nacre.core.lazy_dataclasses import replace
from nacre.firewall.analysis.prove import Shape, prove
from nacre.firewall.policies.packs import PACKS, Pack, pack
from nacre.firewall.rules.rule import Action, ArgumentTest, Surroundings
from tests.firewall.deciding import call, method


def test_the_compiled_packs_are_those_of_the_texts() -> None:
    for path, text in compiled().items():
        assert path.read_text() == text, "run: python infra/policy_packs.py"


@pytest.mark.parametrize(
    ("tool", "arguments", "default", "careful"),
    [
        ("recall", {"query": "tea"}, "allow", "allow"),
        ("update_memory", {"target": "souls", "action": "get"}, "allow", "allow"),
        ("update_memory", {"target": "souls", "action": "update"}, "allow", "prompt"),
        ("update_memory", {"target": "partner_rules", "action": "append"}, "allow", "prompt"),
        ("update_memory", {"target": "diary", "action": "append"}, "allow", "allow"),
        ("update_memory", {"target": "diary", "action": "delete"}, "allow", "prompt"),
        ("update_memory", {"target": "memories", "action": "get"}, "allow", "allow"),
        ("update_memory", {"target": "memories", "action": "update"}, "allow", "allow"),
        ("update_memory", {"target": "memories", "action": "delete"}, "allow", "prompt"),
        ("update_notes", {"action": "delete"}, "allow", "prompt"),
        ("order_ann", {"message": "hello"}, "allow", "allow"),
    ],
)
def test_a_pack_decides_about_own_tools(
    tool: str, arguments: dict[str, Any], default: Action, careful: Action
) -> None:
    found = [
        pack(name).decide(call(tool, arguments, server="nacre")).action
        for name in ("default", "careful")
    ]
    assert found == [default, careful]


WEB = ["external:web"]
GUARDED: list[tuple[str, str, dict[str, Any], Action, Action]] = [
    ("nacre", "recall", {"user_message": "tea"}, "allow", "allow"),
    ("nacre", "update_memory", {"target": "souls", "action": "get"}, "allow", "allow"),
    ("nacre", "update_memory", {"target": "souls", "action": "update"}, "allow", "deny"),
    ("nacre", "update_memory", {"target": "partner_rules", "action": "append"}, "allow", "deny"),
    ("nacre", "update_memory", {"target": ["souls"], "action": "append"}, "allow", "deny"),
    ("nacre", "update_memory", {"target": "diary", "action": "append"}, "allow", "allow"),
    ("nacre", "update_memory", {"target": "party_message", "action": "append"}, "allow", "prompt"),
    ("nacre", "update_notes", {"content": "tea@3 https://a.example"}, "allow", "allow"),
    ("mail", "send_email", {"to": "ann@acme.example"}, "allow", "prompt"),
    ("web", "fetch", {"url": "https://a.example/"}, "allow", "prompt"),
    ("web", "get_page", {"url": "https://a.example/?secret"}, "allow", "prompt"),
    ("github", "get_issue", {"number": 5}, "allow", "allow"),
    ("github", "create_issue", {"title": "x"}, "allow", "prompt"),
    ("files", "read_file", {"path": "/home/ann/.ssh/id_rsa"}, "deny", "deny"),
    ("files", "delete_file", {"path": "/home/ann/a"}, "prompt", "prompt"),
]


@pytest.mark.parametrize(("server", "tool", "arguments", "before", "after"), GUARDED)
def test_the_guarded_pack_asks_after_content_of_other_servers(
    server: str, tool: str, arguments: dict[str, Any], before: Action, after: Action
) -> None:
    where = Surroundings(bases=("/",))

    def action(received: list[str] | None) -> Action:
        subject = call(tool, arguments, server=server, received=received)
        return pack("guarded").decide(subject, where).action

    assert (action([]), action(WEB)) == (before, after)
    assert action(None) == after


@pytest.mark.parametrize(("server", "tool", "arguments", "before", "after"), GUARDED)
def test_the_guarded_pack_asks_after_an_imported_memory_too(
    server: str, tool: str, arguments: dict[str, Any], before: Action, after: Action
) -> None:
    where = Surroundings(bases=("/",))
    subject = call(tool, arguments, server=server, received=["import:mem0"])
    expected = "prompt" if (before, after) == ("allow", "deny") else after

    assert pack("guarded").decide(subject, where).action == expected


@pytest.mark.parametrize("tool", ["send_email", "fetch", "post_message"])
def test_the_guarded_pack_lets_nothing_out_unasked_after_external_content(tool: str) -> None:
    shape = Shape(tool, server="mail", kind="tool", tainted=True)

    assert prove(pack("guarded"), shape).holds
    assert not prove(pack("guarded"), replace(shape, tainted=False)).holds


def test_the_guarded_pack_leaves_the_persona_alone_after_external_content() -> None:
    target = ArgumentTest(("target",), ("souls", "partner_rules"))
    change = ArgumentTest(("action",), ("append", "update", "delete"))
    shape = Shape("update_memory", server="nacre", tests=(target, change), tainted=True)

    assert prove(pack("guarded"), shape).holds


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_opens_own_resources_and_asks_about_other_servers(name: Pack) -> None:
    policy = pack(name)
    assert policy.decide(call("open", server="elsewhere")).action == "prompt"
    own = [("resources/read", {"uri": "nacre://x"}), ("prompts/get", {"name": "use-memory"})]
    for each, params in own:
        assert policy.engine().may_pass("method", each, "nacre")
        assert policy.decide(method(each, params)).action == "deny"
