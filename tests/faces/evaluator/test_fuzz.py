"""The evaluator answers any bytes with a decision, and allows only calls that a rule allows."""

import io
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nacre.core.logs import Log
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import PolicyInForce

POLICY = load_policy(
    '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/srv/**"\nserver = "files"\n',
    source="p.toml",
)
STATUSES = {200, 400}


class Policies:
    def of(self, being_id: str | None) -> PolicyInForce:
        return PolicyInForce(POLICY, "global", 1)


def answered(raw: bytes) -> tuple[int, Any]:
    evaluator = Evaluator(Policies(), Log("error", io.StringIO()))
    status, body = evaluator.answer(raw, "being", "tok")
    return status, json.loads(body)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "path", "Name", "uri", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
methods = st.sampled_from(
    ["tools/call", "tools/Call", "tools/call ", "resources/read", "ping", "tools/list", "", "\0"]
)
calls = st.fixed_dictionaries(
    {},
    optional={
        "method": methods | json_values,
        "params": json_values,
        "server": st.sampled_from(["files", "disk"]) | json_values,
        "expected": st.sampled_from(["allow", "deny"]) | json_values,
        "where": json_values,
        "calls": st.lists(json_values, max_size=2),
    },
)


@given(st.binary(max_size=200))
def test_bytes_are_answered_with_a_denial(raw: bytes) -> None:
    status, answer = answered(raw)

    assert (status, answer["decision"]) == (400, "deny")


@given(calls)
def test_an_allow_is_what_the_rule_says_or_a_method_that_is_not_decided(call: Any) -> None:
    status, answer = answered(json.dumps(call).encode())

    assert status in STATUSES
    for verdict in answer.get("calls", [answer]):
        assert verdict["decision"] in ("allow", "deny")
        if status == 200 and verdict["decision"] == "allow" and verdict["rule"] is None:
            assert call["method"] not in ("tools/call", "resources/read")
        elif status == 200 and verdict["decision"] == "allow":
            paths = call["params"]["arguments"]["path"]
            assert (call["server"], call["params"]["name"]) == ("files", "read")
            assert all(path.startswith("/srv") for path in as_list(paths))


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@given(st.text(max_size=40), st.sampled_from(["", "/", "/srv/", "/srv/../", "//srv//"]))
def test_a_path_is_allowed_below_its_folder_alone(end: str, begin: str) -> None:
    params = {"name": "read", "arguments": {"path": begin + end}}
    call = {"method": "tools/call", "params": params, "server": "files"}
    status, answer = answered(json.dumps(call).encode())

    if answer["decision"] == "allow":
        assert status == 200
        assert (begin + end).replace("//", "/").startswith("/srv")
