"""Large results: screened in another process, so that nobody else waits for it.

Rules that run over megabytes hold the interpreter, which stops every other call of this
process. A result that is large enough is therefore sent to a helper as JSON; what comes back is
what was found, and the result without it where something was taken out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

from nacre.core.errors import NacreError
from nacre.core.limits import LARGE_RESULT_BYTES, LARGE_RESULT_VALUES
from nacre.firewall.enforce.content_check import Screen, Screened
from nacre.firewall.enforce.message import Id, message, read
from nacre.firewall.enforce.rewrite import rewritten
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.sections import InjectionSection, NamedPattern, SecretsSection
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import Spelled, apart, spelled

_PIECE = 64 * 1024


class Looked(NamedTuple):
    """What was found in a result; `changed` is its JSON where something was taken out.

    Of a result, it is the JSON of its members in a row, and `members` are their names and sizes;
    of a message it is the message.
    """

    objection: str | None
    doubt: str | None
    note: str | None
    changed: bytes | None
    id: Id | None = None  # of the message that was looked at
    members: Sequence[tuple[str, int]] = ()


class Screening(Protocol):
    """Looks at results somewhere else; ScreeningProcesses does."""

    def look(
        self, body: bytes, method: str, sections: dict[str, Any], *, lines: bool | None = None
    ) -> Looked | None:
        """Return what is found in a result, None where nobody could look; blocks.

        With `lines` the body is a whole message of a server, on one line or not.
        """
        ...

    def close(self) -> None:
        """End the helpers."""
        ...


def is_large(value: Any) -> bool:
    """Tell whether a result is too large to be screened beside other calls."""
    if isinstance(value, Spelled):
        return True
    size = count = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        count += 1
        kind = type(each)
        if kind is str:
            size += len(each)
        elif kind is dict:
            waiting += each.values()
        elif kind is list:
            waiting += each
        if size >= LARGE_RESULT_BYTES or count + len(waiting) >= LARGE_RESULT_VALUES:
            return True
    return False


def pieces(value: Any) -> Iterator[bytes]:
    """Yield a value as JSON in pieces, each of which takes a moment: other threads run between."""
    kind = type(value)
    if kind is dict and value and is_large(value):
        mark = b"{"
        for name, inner in value.items():
            yield mark + strict_json.encode(name) + b":"
            yield from pieces(inner)
            mark = b","
        yield b"}"
    elif kind is list and value and is_large(value):
        mark = b"["
        for start in range(0, len(value), _AT_ONCE):
            some = value[start : start + _AT_ONCE]
            yield mark
            if is_large(some):
                for place, inner in enumerate(some):
                    yield b"," if place else b""
                    yield from pieces(inner)
            else:
                yield strict_json.encode(some)[1:-1]
            mark = b","
        yield b"]"
    elif kind is str and len(value) > _PIECE:
        yield b'"'
        for start in range(0, len(value), _PIECE):
            yield strict_json.encode(value[start : start + _PIECE])[1:-1]
        yield b'"'
    else:
        yield strict_json.encode(value)


_AT_ONCE = 256


def sections_of(policy: Policy) -> dict[str, Any]:
    """Return what of a policy is about texts, as JSON holds it."""
    return {"injection": asdict(policy.injection), "secrets": asdict(policy.secrets)}


def policy_of(sections: dict[str, Any]) -> Policy:
    """Return a policy with these sections, and without rules."""

    def tuples(section: dict[str, Any]) -> dict[str, Any]:
        patterns = tuple(NamedPattern(**each) for each in section["patterns"])
        kept = {
            name: tuple(each) if isinstance(each, list) else each for name, each in section.items()
        }
        return {**kept, "patterns": patterns}

    return Policy(
        "",
        "",
        (),
        injection=InjectionSection(**tuples(sections["injection"])),
        secrets=SecretsSection(**tuples(sections["secrets"])),
    )


def look(result: bytes, method: str, sections: dict[str, Any]) -> Looked:
    """Screen a result, as the helper does."""
    value = strict_json.parse(result)
    screened = Screen().result(value, policy_of(sections), method)
    found = Looked(screened.objection, screened.doubt, screened.note, None)
    if screened.value is value:
        return found
    members = spelled(screened.value).members
    sizes = tuple((name, len(each)) for name, each in members.items())
    return found._replace(changed=b"".join(members.values()), members=sizes)


def look_at_message(
    raw: bytes, method: str, sections: dict[str, Any], *, lines: bool
) -> Looked | None:
    """Screen the result in a server's message, as the helper does; None for any other message."""
    try:
        wire = message(raw, read(raw, lines=lines))
        if wire.method is not None or wire.result is None or "inputRequests" in wire.result:
            return None
        if wire.result.get("resultType") == "input_required":
            return None
        screened = Screen().result(wire.result, policy_of(sections), method)
        is_changed = screened.value is not wire.result
        changed = rewritten(raw, ("result",), screened.value) if is_changed else None
    except NacreError:
        return None
    return Looked(screened.objection, screened.doubt, screened.note, changed, wire.id)


class LargeMessage(NamedTuple):
    """A large answer of a server that only has to be screened."""

    id: Id
    method: str
    sections: dict[str, Any]
    policy: str
    lines: bool


def screened_elsewhere(
    value: Any, method: str, policy: Policy, screening: Screening
) -> Screened | None:
    """Return a result as its caller may have it, None where nobody could look; blocks."""
    body = value.encode() if isinstance(value, Spelled) else b"".join(pieces(value))
    looked = screening.look(body, method, sections_of(policy))
    if looked is None:
        return None
    changed = value
    if looked.changed is not None:
        changed = Spelled(apart(looked.changed, looked.members))
    return Screened(changed, looked.objection, looked.doubt, looked.note)
