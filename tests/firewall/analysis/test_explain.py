from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.analysis.explain import explain
from nacre.firewall.rules.rule import Surroundings
from tests.firewall.deciding import call, policy
from tests.firewall.rules.test_evaluate import SEED, rule_texts, values


def test_an_explanation_names_the_rule_and_the_reading() -> None:
    subject = call("filesystem_read", {"path": "/home/user/projects/..%2f.ssh/id"})
    assert explain(policy(SEED), subject).lines() == [
        "deny: Default deny",
        "  rule 2 (prompt) does not match",
        "    args.path: no reading of '/home/user/projects/..%2f.ssh/id' matches",
        "  rule 3 (allow) does not match",
        "    args.path: '/home/user/projects/..%2f.ssh/id' can be read as"
        " '/home/user/.ssh/id', which does not match",
        "  rule 4 (deny) matches",
        "    it is about every call of this name",
    ]


def test_an_explanation_shows_which_spelling_was_denied() -> None:
    subject = call("filesystem_write", {"path": "/home/../%65tc/hosts"})
    lines = explain(policy(SEED), subject).lines()
    assert lines == [
        "prompt: Ask before accessing system config",
        "  rule 2 (prompt) matches",
        "    args.path: '/home/../%65tc/hosts' can be read as '/etc/hosts',"
        " which matches '/etc/**'",
    ]


def test_an_explanation_says_what_is_missing_or_of_the_wrong_kind() -> None:
    said = explain(policy(SEED), call("filesystem_read", {"file": "/etc/x"})).lines()
    assert "    args.path: the call has no such argument" in said
    said = explain(policy(SEED), call("filesystem_read", {"path": {"x": "/srv"}})).lines()
    assert "    args.path: an allow takes one value, or a list of them, and nothing else" in said
    said = explain(policy(SEED), call("filesystem_read", {"path": "/home\0"})).lines()
    assert any("'/home\\u0000' contains a character that no name can have" in line for line in said)


def test_an_explanation_says_that_a_path_leads_through_a_process() -> None:
    rules = "[[rule]]\naction = 'allow'\ntool = 'read'\nargs.path = '/proc/**'\n"
    where = Surroundings(bases=("/home/user",))
    lines = explain(policy(rules), call("read", {"path": "/proc/self/root/etc"}), where).lines()
    assert lines[0].startswith("prompt: Approval needed by policy (rule 1: the base from which a")
    assert lines[1].startswith("  The path leads through a process:")


def test_a_malformed_call_has_no_steps() -> None:
    assert explain(policy(SEED), call("")).steps == ()


@given(st.lists(rule_texts(), max_size=8), st.dictionaries(st.sampled_from("pqr"), values))
def test_the_last_step_is_the_rule_that_decided(
    texts: list[str], arguments: dict[str, object]
) -> None:
    rules, subject = policy("".join(texts)), call("read", arguments)
    found = explain(rules, subject)
    assert found.decision == rules.decide(subject)
    deciding = [
        step.rule
        for step in found.steps
        if step.matched or (step.depends and step.action == "allow")  # which makes it ask
    ]
    assert deciding == ([] if found.decision.rule is None else [found.decision.rule])


def test_an_explanation_names_the_limits_that_count_an_allowed_call() -> None:
    text = SEED + (
        "[[limit]]\ntool = 'filesystem_*'\ncalls = 1000\nper = 'hour'\nby = ['caller']\n"
        "[[limit]]\ntool = '**'\nargs.path = '/srv/**'\ncalls = 1\nper = 'day'\n"
        "[[limit]]\ntool = '**'\nargs.path = '/home/**'\ncalls = 1\nper = 'day'\n"
        "action = 'prompt'\n"
        "[[limit]]\ntool = '**'\nresult_bytes = 5000\n"
        "[[limit]]\ntool = '**'\nconcurrency = 1\n"
        "[[limit]]\ntool = '**'\nbytes = 1000\nper = 'day'\n"
    )
    allowed = call("filesystem_read", {"path": "/home/user/projects/a"})

    assert explain(policy(text), allowed).lines()[-5:] == [
        "  limit 1 counts it: 1,000 calls an hour for each caller; further ones are denied",
        "  limit 3 counts it: 1 call a day; further ones are asked about",
        "  limit 4 is about its result: at most 5,000 bytes, then it is cut",
        "  limit 5 counts it: 1 call at a time; further ones are denied",
        "  limit 6 counts it: 1,000 bytes a day; further ones are denied",
    ]
    assert explain(policy(text), call("shell_execute")).limits == ()
