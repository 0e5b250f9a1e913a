import pytest

from nacre.core.errors import PolicyError
from tests.firewall.deciding import decide, policy

RULES = '[[rule]]\naction = "deny"\ntool = "*"\nargs.path = "/etc/**"\n'


@pytest.mark.requirement("002.allowed-tools")
def test_allowed_tools_let_the_named_tools_through() -> None:
    text = 'allowed_tools = ["mcp__math__add", "mcp__git__read_*", "mcp__notes"]\n'
    assert decide(text, "add", server="math") == "allow"
    assert decide(text, "subtract", server="math") == "deny"
    assert decide(text, "read_log", server="git") == "allow"
    assert decide(text, "anything", server="notes") == "allow"
    assert decide(text, "add", server="other") == "deny"


@pytest.mark.requirement("002.disallowed-tools")
def test_disallowed_tools_stand_before_every_rule() -> None:
    text = (
        'disallowed_tools = ["mcp__risky__delete", "mcp__worse"]\nallowed_tools = ["mcp__risky"]\n'
        '[[rule]]\naction = "allow"\ntool = "*"\n'
    )
    assert decide(text, "delete", server="risky") == "deny"
    assert decide(text, "list", server="risky") == "allow"
    assert decide(text, "anything", server="worse") == "deny"
    assert decide('disallowed_tools = ["mcp__*"]\n' + RULES, "x", server="any") == "deny"


def test_a_rule_that_denies_holds_for_allowed_tools_too() -> None:
    text = 'allowed_tools = ["mcp__fs__read"]\n' + RULES
    assert decide(text, "read", {"path": "/etc/passwd"}) == "deny"
    assert decide(text, "read", {"path": "/srv/a"}) == "allow"


def test_entries_are_numbered_after_the_rules_of_the_file() -> None:
    text = 'disallowed_tools = ["mcp__a__b"]\nallowed_tools = ["mcp__c__d"]\n' + RULES
    rules = policy(text).rules
    assert [(rule.number, rule.origin) for rule in rules] == [
        (2, "disallowed_tools 1"),
        (1, "rule 1"),
        (3, "allowed_tools 1"),
    ]


@pytest.mark.parametrize("entry", ["mcp__*", "mcp__*__read", "*", "**", "?x"])
def test_an_allowed_tool_names_its_server(entry: str) -> None:
    with pytest.raises(PolicyError, match="name the server"):
        policy(f'allowed_tools = ["{entry}"]\n')
