import json

import pytest
from hypothesis import given

from nacre.core.errors import PolicyError
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from tests.firewall.deciding import PROJECTS, call, policy
from tests.firewall.rules.test_evaluate import rule_texts

FULL = (
    'disallowed_tools = ["mcp__a__b"]\n'
    + PROJECTS
    + 'args.n = [1, 1.5, true, "x"]\nserver = "fs"\ndescription = "Größe"\n'
    '[injection]\naction = "redact"\nsources = ["result"]\nwithout = []\n'
    '[injection.patterns]\nmine = "secret project"\n'
    '[secrets]\naction = "deny"\nbuiltin = false\n'
    '[settings]\nmode = "monitor"\napproval_seconds = 30\n'
)


def test_a_policy_comes_back_from_its_compiled_form() -> None:
    made = policy(FULL)
    assert from_json(to_json(made)) == made


@given(rule_texts())
def test_any_rule_comes_back(text: str) -> None:
    assert from_json(to_json(policy(text))) == policy(text)


def test_the_digest_is_over_the_meaning() -> None:
    commented = load_policy("# a comment\n\n" + FULL, source="elsewhere.toml")
    assert commented.digest == policy(FULL).digest
    assert policy(FULL.replace("/home/user", "/home/users")).digest != policy(FULL).digest
    assert policy(FULL.replace('"monitor"', '"enforce"')).digest != policy(FULL).digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"format": "nacre-policy-1"}',
        '{"format": "nacre-policy-9"}',
        "[" * 9999,
    ],
)
def test_what_is_no_compiled_policy_is_refused(text: str) -> None:
    with pytest.raises(PolicyError, match="compile it again"):
        from_json(text)


def test_a_changed_rule_is_refused() -> None:
    with pytest.raises(PolicyError, match="was changed"):
        from_json(to_json(policy(FULL)).replace('"allow"', '"deny"'))
    document = json.loads(to_json(policy(FULL)))
    document["extra"] = 1
    with pytest.raises(PolicyError, match="was changed"):
        from_json(json.dumps(document))


def test_a_compiled_policy_decides_the_same() -> None:
    subject = call("read", {"path": "/home/user/projects/a", "n": 1})
    assert from_json(to_json(policy(FULL))).decide(subject).rule == 1
