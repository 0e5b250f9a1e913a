"""Checks of the answers that clients give to questions, before a handler sees them.

It is imported with the first answer, because nothing else needs the schema library.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs

from nacre.core.errors import InvalidParamsError

_ACTIONS = ("accept", "decline", "cancel")
_BACKTRACKS = 100_000  # of a pattern with look-around; others run in linear time
_LARGE = 256  # entries; people choose fewer


def check_answer(key: str, request: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    """Raise InvalidParamsError for an answer that does not fit this request.

    The error never repeats what a person typed.
    """
    match request["method"]:
        case "elicitation/create":
            problem = _unfit_form(request.get("params") or {}, answer)
        case "sampling/createMessage":
            content = answer.get("content")
            is_message = isinstance(content, dict | list) and isinstance(answer.get("role"), str)
            problem = None if is_message else "it needs 'role' and 'content'"
        case "roots/list":
            problem = None if _are_roots(answer.get("roots")) else "'roots' must list objects"
        case _:
            problem = None
    if problem is not None:
        raise InvalidParamsError(f"the answer to '{key[:60]}' does not fit the question: {problem}")


def _unfit_form(question: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    action, content = answer.get("action"), answer.get("content")
    if action not in _ACTIONS:
        return "'action' must be accept, decline or cancel"
    schema = question.get("requestedSchema")
    if action != "accept" or not isinstance(schema, Mapping):
        return None
    if not isinstance(content, dict):
        return "'content' must be an object"
    return _unfit(schema, content)


def _unfit(schema: Mapping[str, Any], content: dict[str, Any]) -> str | None:
    try:
        form = jsonschema_rs.validator_for(
            dict(schema),
            offline=True,
            mask="...",
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
        )
    except ValueError:
        return "its form is no valid JSON Schema, so nothing can be taken from it"
    try:
        if form.is_valid(content):
            return None
        if any(
            isinstance(inner, list | dict) and len(inner) > _LARGE for inner in content.values()
        ):
            return "'content' does not match the form"  # finding the place could take long
        form.validate(content)
    except jsonschema_rs.ValidationError as error:
        place = "/".join(str(step) for step in error.instance_path)
        return f"'content{'/' + place[:60] if place else ''}' does not match the form"
    except (UnicodeEncodeError, ValueError):
        return "'content' holds text or nesting that is not valid JSON"
    return None


def _are_roots(roots: object) -> bool:
    return isinstance(roots, list) and all(
        isinstance(root, dict) and isinstance(root.get("uri"), str) for root in roots
    )
