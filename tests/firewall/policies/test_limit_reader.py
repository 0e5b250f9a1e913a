import pytest

from nacre.core.errors import PolicyError
from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.limit import Limit
from nacre.firewall.rules.rule import ArgumentTest, Rule
from tests.firewall.deciding import PROJECTS, policy

FULL = (
    '[[limit]]\ntool = "mcp__github__**"\nserver = "github"\nargs.repo = "acme/*"\ncalls = 20\n'
    'per = "minute"\nby = ["caller", "tool"]\naction = "prompt"\ndescription = "Slowly"\n'
)


def test_every_part_of_a_limit_is_read() -> None:
    matching = Rule(
        number=1,
        action="prompt",
        name="mcp__github__**",
        server="github",
        tests=(ArgumentTest(("repo",), ("acme/*",)),),
        description="Slowly",
        origin="limit 1",
    )
    assert policy(FULL).limits == (Limit(1, matching, 20, "minute", ("tool", "caller")),)


def test_the_least_limit_denies_and_counts_all_calls_together() -> None:
    [limit] = policy('[[limit]]\nresource = "**"\ncalls = 1\nper = "day"\n').limits

    assert (limit.matching.action, limit.matching.name, limit.by) == ("deny", "resources/read", ())


def test_limits_come_back_from_the_compiled_form() -> None:
    made = policy(PROJECTS + FULL + FULL.replace("20", "30"))

    assert from_json(to_json(made)) == made
    assert made.digest != policy(PROJECTS + FULL).digest != policy(PROJECTS).digest


SIZE = 'tool = "read"\nresult_bytes = 5000\n'


def test_a_limit_of_results_has_a_size_alone() -> None:
    made = policy(f"[[limit]]\n{SIZE}")

    [limit] = made.limits
    assert (limit.measure, limit.amount, limit.per, limit.by) == ("result_bytes", 5000, None, ())
    assert from_json(to_json(made)) == made


AT_ONCE = 'tool = "read"\nconcurrency = 3\n'


def test_a_limit_of_calls_at_a_time_has_no_period() -> None:
    made = policy(f'[[limit]]\n{AT_ONCE}by = "caller"\naction = "prompt"\n')

    [limit] = made.limits
    assert (limit.measure, limit.amount, limit.per, limit.by) == (
        "concurrency",
        3,
        None,
        ("caller",),
    )
    assert limit.rate == "3 calls at a time for each caller"
    assert from_json(to_json(made)) == made


def test_a_limit_of_bytes_has_a_period() -> None:
    made = policy('[[limit]]\ntool = "read"\nbytes = 5000\nper = "hour"\nby = "tool"\n')

    assert made.limits[0].rate == "5,000 bytes an hour for each tool"
    assert made.limits[0].measure == "bytes"
    assert from_json(to_json(made)) == made


OK = 'tool = "**"\ncalls = 1\nper = "day"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[limit]\ntool = "x"\n', "there is one [limit] (write [[limit]], in double brackets)"),
        ("limit = 3\n", "'limit' must be tables (write [[limit]] above each limit)"),
        ('[[limits]]\ntool = "x"\n', "unknown key 'limits' in the policy (did you mean 'limit'?"),
        ('[[limit]]\ncalls = 1\nper = "day"\n', "limit 1: has no tool"),
        (
            '[[limit]]\ntool = "x"\nper = "day"\n',
            "limit 1: has no 'calls', 'bytes', 'concurrency' or 'result_bytes' (write one",
        ),
        ('[[limit]]\ntool = "x"\ncalls = 1\n', 'limit 1: has no per (write per = "minute", "hour"'),
        (
            f"[[limit]]\n{OK}[[limit]]\n{OK}[[limit]]\n{OK}count = 2\n",
            "limit 3: unknown key 'count'",
        ),
        (
            f"[[limit]]\n{OK}".replace("1", "0"),
            "whole number from 1 to 1,000,000,000 (to allow",
        ),
        (f"[[limit]]\n{OK}".replace("1", "true"), "limit 1: calls must be a whole number"),
        (f"[[limit]]\n{OK}".replace("1", '"20"'), "limit 1: calls must be a whole number"),
        (
            f"[[limit]]\n{OK}".replace("day", "Minute"),
            "unknown period 'Minute' (did you mean",
        ),
        (f"[[limit]]\n{OK}".replace('"day"', "60"), "unknown period a number (known: minute, hour"),
        (f'[[limit]]\n{OK}by = ["user"]\n', "by: unknown name 'user' (did you mean 'caller'?"),
        (f'[[limit]]\n{OK}by = "Caller"\n', "by: unknown name 'Caller' (did you mean 'caller'?"),
        (f"[[limit]]\n{OK}by = 3\n", 'by must be a list of texts (by = ["one", "two"])'),
        (f'[[limit]]\n{OK}action = "allow"\n', "unknown action 'allow' for calls above a limit"),
        (f"[[limit]]\n{OK}args.x = []\n", "limit 1: args.x is an empty list"),
        (f'[[limit]]\n{OK}tools = "y"\n', "unknown key 'tools' in a limit (did you mean 'tool'?"),
        ("limit = [1]\n", "limit 1: is not a table"),
        ('[[limit]]\ntool = "x"\nbytes = 5\n', "limit 1: has no per"),
        (
            '[[limit]]\ntool = "x"\nbytes = 0\nper = "day"\n',
            "bytes must be a whole number from 1 to",
        ),
        (
            f'[[limit]]\n{AT_ONCE}per = "day"\n',
            "'per' does not apply to 'concurrency' (leave it out: it",
        ),
        (
            f"[[limit]]\n{AT_ONCE}".replace("3", "0"),
            "concurrency must be a whole number from 1 to 1,000 (to",
        ),
        (f"[[limit]]\n{AT_ONCE}".replace("3", "1001"), "concurrency must be a whole number"),
        (
            f"[[limit]]\n{SIZE}calls = 2\n",
            "has calls and result_bytes (write a [[limit]] for each)",
        ),
        (
            f'[[limit]]\n{SIZE}per = "day"\n',
            "'per' does not apply to 'result_bytes' (leave it out: each",
        ),
        (f'[[limit]]\n{SIZE}by = "tool"\n', "'by' does not apply to 'result_bytes'"),
        (f'[[limit]]\n{SIZE}action = "deny"\n', "'action' does not apply to 'result_bytes'"),
        (f"[[limit]]\n{SIZE}".replace("5000", "999"), "a whole number from 1,000 to 1,000,000,000"),
        (
            f"[[limit]]\n{SIZE}".replace("tool", "prompt"),
            "result_bytes is about tools and resources",
        ),
        (
            f"[[limit]]\n{SIZE}".replace("tool", "method"),
            "result_bytes is about tools and resources",
        ),
    ],
)
def test_what_is_wrong_with_a_limit_is_said(text: str, told: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(text, source="policy.toml")

    assert told in str(caught.value)
