"""What clients answer to questions, before a handler sees it."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import InvalidParamsError
from nacre.protocol.context import Context, Silence
from nacre.protocol.versions import MODERN

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 20},
        "age": {"type": "integer", "minimum": 0},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    },
    "required": ["name"],
}


def question(method: str = "elicitation/create", **params: Any) -> dict[str, Any]:
    return {"method": method, "params": params}


class Client(Silence):
    """An older client that answers every question in one way."""

    can_ask = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.answer  # type: ignore[no-any-return]


def ask(asked: dict[str, Any], answer: Any, *, modern: bool) -> Any:
    capabilities: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
    context = Context(capabilities=capabilities)
    if modern:
        context.version, context.answers = MODERN, {"key": answer}
    else:
        context.channel = Client(answer)
    return asyncio.run(context.ask({"key": asked}))["key"]


both = pytest.mark.parametrize("modern", [True, False])


COLOURS = {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 2}


@both
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (["red", "green"], "'content/colours/1' does not match"),
        (["red"] * 1000, "'content' does not match"),
    ],
)
def test_the_place_of_what_does_not_fit_is_named_where_that_is_quick(
    chosen: Any, said: str, modern: bool
) -> None:
    asked = question(requestedSchema={"type": "object", "properties": {"colours": COLOURS}})

    with pytest.raises(InvalidParamsError, match=said):
        ask(asked, {"action": "accept", "content": {"colours": chosen}}, modern=modern)


@both
@pytest.mark.parametrize(
    "answer",
    [
        {"action": "accept", "content": {"name": "Ann"}},
        {"action": "accept", "content": {"name": "Ann", "age": 3, "colour": "red", "more": 1}},
        {"action": "decline"},
        {"action": "cancel", "content": {"name": 5}},
    ],
)
def test_an_answer_that_fits_its_form_reaches_the_tool(answer: Any, modern: bool) -> None:
    assert ask(question(requestedSchema=FORM), answer, modern=modern) == answer


@both
@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"action": "yes"},
        {"action": ["accept"]},
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": ["Ann"]},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"name": ""}},
        {"action": "accept", "content": {"name": {"$ne": 1}}},
        {"action": "accept", "content": {"name": "Ann", "age": "3"}},
        {"action": "accept", "content": {"name": "Ann", "age": -1}},
        {"action": "accept", "content": {"name": "Ann", "colour": "green"}},
    ],
)
def test_an_answer_that_does_not_fit_never_reaches_the_tool(answer: Any, modern: bool) -> None:
    with pytest.raises(InvalidParamsError, match="the answer to 'key' does not fit") as raised:
        ask(question(requestedSchema=FORM), answer, modern=modern)

    assert "green" not in str(raised.value)


@both
@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("sampling/createMessage", {"role": "assistant"}),
        ("sampling/createMessage", {"content": {"type": "text", "text": "x"}}),
        ("roots/list", {}),
        ("roots/list", {"roots": {"uri": "file:///"}}),
        ("roots/list", {"roots": [{"name": "x"}]}),
    ],
)
def test_other_answers_have_their_shape(method: str, answer: Any, modern: bool) -> None:
    with pytest.raises(InvalidParamsError, match="does not fit the question"):
        ask(question(method), answer, modern=modern)


@both
def test_nothing_is_taken_from_a_form_that_is_no_schema(modern: bool) -> None:
    accepted = {"action": "accept", "content": {"name": "Ann"}}
    with pytest.raises(InvalidParamsError, match="no valid JSON Schema"):
        ask(question(requestedSchema={"type": "nonsense"}), accepted, modern=modern)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["action", "content", "name", "age"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    )
)
def test_whatever_is_accepted_has_a_name(answer: Any) -> None:
    if not isinstance(answer, dict):
        return
    try:
        passed = ask(question(requestedSchema=FORM), answer, modern=False)
    except InvalidParamsError:
        return
    assert passed["action"] != "accept" or isinstance(passed["content"]["name"], str)
