import json
from typing import Any

import pytest

from nacre import __version__
from nacre.faces.policy import policy_handler


def event(authorizer: dict[str, Any] | None) -> dict[str, Any]:
    context: dict[str, Any] = {} if authorizer is None else {"authorizer": authorizer}
    return {"version": "2.0", "requestContext": context, "body": "{}"}


def test_a_caller_that_the_authorizer_vouched_for_learns_that_it_is_there() -> None:
    answer = policy_handler()(event({"lambda": {"auth": "ok"}}), None)

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {
        "status": "ok",
        "function": "policy_evaluator",
        "version": __version__,
    }


@pytest.mark.parametrize(
    "authorizer", [None, {}, {"lambda": None}, {"lambda": {}}, {"lambda": {"auth": "invalid"}}]
)
def test_everybody_else_is_refused(authorizer: dict[str, Any] | None) -> None:
    assert policy_handler()(event(authorizer), None)["statusCode"] == 401
