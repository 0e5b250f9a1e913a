"""The profiles of a policy file: read strictly, and compiled with it."""

import pytest

from nacre.core.errors import PolicyError, UnknownProfileError
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Subject

GOOD = """
disallowed_tools = ["mcp__issues__drop"]
allowed_tools = ["mcp__issues__count"]

[profile.work]
servers = ["issues", "nacre"]
tools = ["search*", "count", "drop", "mcp__nacre__recall"]

[[profile.work.rule]]
action = "allow"
tool = "*"

[profile.home-2]
servers = ["garden"]

[[rule]]
action = "deny"
tool = "search*"
"""


def load(text: str) -> Policy:
    return load_policy(text, source="policy.toml")


def action(policy: Policy, tool: str, server: str = "issues") -> str:
    return policy.decide(Subject("tool", tool, server, {})).action


def test_rules_of_a_profile_follow_the_disallowed_tools_and_precede_all_others() -> None:
    policy = load(GOOD)
    work = policy.profile("work")

    assert [rule.origin for rule in work.policy.rules] == [
        "disallowed_tools 1",
        "profile work rule 1",
        "rule 1",
        "allowed_tools 1",
    ]
    assert (action(policy, "search"), action(work.policy, "search")) == ("deny", "allow")
    assert action(work.policy, "drop") == "deny"
    assert policy.profile("home-2").policy.rules == policy.rules


def test_a_profile_has_the_named_tools_of_its_servers() -> None:
    work, home = (load(GOOD).profile(name) for name in ("work", "home-2"))

    assert work.has_tool("issues", "search_all")
    assert work.has_tool("nacre", "recall")
    assert not work.has_tool("issues", "recall")  # named for another server
    assert not work.has_tool("garden", "search_all")
    assert not work.has_tool("Issues", "search_all")
    assert not work.has_tool("issues__x", "search")
    assert home.has_tool("garden", "anything")
    assert home.has_server("garden")
    assert not home.has_server("nacre")


def test_profiles_survive_compiling_and_change_the_digest_only_if_there_are_any() -> None:
    policy = load(GOOD)
    without = load('[[rule]]\naction = "deny"\ntool = "a"\n')

    assert from_json(to_json(policy)) == policy
    assert '"profiles"' not in to_json(without)
    other = load(GOOD.replace('"garden"', '"yard"'))
    assert other.digest != policy.digest
    inside = policy.profile("work").policy
    assert from_json(to_json(inside)) == inside


def test_rules_of_each_profile_are_numbered_alike() -> None:
    """A number in a refusal must not tell how many rules another profile has."""
    rule = '[[profile.{}.rule]]\naction = "deny"\ntool = "a"\n'
    both = '[profile.a]\nservers = ["x"]\n' + rule.format("a") * 3
    policy = load(both + '[profile.b]\nservers = ["y"]\n' + rule.format("b"))

    assert [rule.number for rule in policy.profile("a").rules] == [1, 2, 3]
    assert [rule.number for rule in policy.profile("b").rules] == [1]


def test_a_profile_that_is_not_there_is_unknown() -> None:
    with pytest.raises(UnknownProfileError, match="no such profile"):
        load(GOOD).profile("Work")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[profile.Work]\nservers = ["a"]', "[profile.Work] cannot be a name"),
        ('[profile."a/b"]\nservers = ["a"]', "[profile.a/b] cannot be a name"),
        ("[profile.w]", "names no servers (write servers = "),
        ("[profile.w]\nservers = []", "names no servers"),
        ('[profile.w]\nservers = "a"', "servers must be a list of texts"),
        ('[profile.w]\nservers = ["a", "a"]', "servers has 'a' twice"),
        ('[profile.w]\nservers = ["a*"]', "'a*' is no server's name (write exact names"),
        ('[profile.w]\nservers = ["a__b"]', "'a__b' is no server's name"),
        ('[profile.w]\nservers = ["Nacre"]', "write 'nacre' for the Being"),
        ('[profile.w]\nserver = ["a"]', "unknown key 'server' in a profile (did you mean"),
        ('[profile.w]\nservers = ["a"]\ntools = []', "tools is an empty list"),
        ('[profile.w]\nservers = ["a"]\ntools = ["x", "x"]', "tools has 'x' twice"),
        ('[profile.w]\nservers = ["a"]\ntools = ["mcp__b__x"]', "is not in the profile"),
        ('[profile.w]\nservers = ["a"]\ntools = ["mcp__a"]', "no tool is called 'mcp__a'"),
        ('[profile.w]\nservers = ["a"]\n[profile.w.rule]\ntool = "x"', "in double brackets"),
        ('[profile.w]\nservers = ["a"]\n[[profile.w.rule]]\ntool = "x"', "rule 1: has no action"),
        ("[[profile]]", "profile must be tables with names"),
        ("profile = 5", "profile must be tables with names"),
        ("[profile]\nw = 5", "[profile.w]: is a number"),
        ("[profiles.w]", "unknown key 'profiles' in the policy (did you mean 'profile'?"),
        ("[Profile.w]", "unknown key 'Profile' in the policy (did you mean 'profile'?"),
    ],
)
def test_a_slip_is_an_error_that_says_what_to_write(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load(text)

    assert said in str(caught.value)
    assert str(caught.value).startswith("policy.toml")
