from typing import Any

import pytest

from infra.policy_packs import compiled
from nacre.firewall.policies.packs import PACKS, Pack, pack
from nacre.firewall.rules.rule import Action
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
    found = [pack(name).decide(call(tool, arguments, server="nacre")).action for name in PACKS]
    assert found == [default, careful]


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_opens_own_resources_and_asks_about_other_servers(name: Pack) -> None:
    policy = pack(name)
    assert policy.decide(call("read", server="elsewhere")).action == "prompt"
    own = [("resources/read", {"uri": "nacre://x"}), ("prompts/get", {"name": "use-memory"})]
    for each, params in own:
        assert policy.engine().may_pass("method", each, "nacre")
        assert policy.decide(method(each, params)).action == "deny"
