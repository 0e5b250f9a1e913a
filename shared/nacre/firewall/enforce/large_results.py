"""Large results: checked in another process, so that other calls do not wait.

Checking megabytes holds the interpreter lock, which stops every other call of this process. So a
large result is sent to a helper as JSON. The helper returns its findings, and the changed result
if something was removed.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import asdict
from nacre.core.limits import LARGE_RESULT_BYTES, LARGE_RESULT_VALUES
from nacre.firewall.enforce.content_check import Screen, Screened
from nacre.firewall.enforce.json_edits import rewritten
from nacre.firewall.enforce.large_calls import CallReading
from nacre.firewall.enforce.message import Id, message, read
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.sections import InjectionSection, NamedPattern, SecretsSection
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import Spelled, apart, spelled

_PIECE = 64 * 1024


class LargeFindings(NamedTuple):
    """The findings in a large result; `changed` is its JSON where something was removed.

    For a result, `changed` is the JSON of its members in a row, and `members` has their names and
    sizes. For a message, it is the whole message.
    """

    objection: str | None
    doubt: str | None
    note: str | None
    changed: bytes | None
    id: Id | None = None  # of the checked message
    members: Sequence[tuple[str, int]] = ()


class Screening(CallReading, Protocol):
    """Checks results and reads calls outside this process; ScreeningProcesses does."""

    def look(
        self, body: bytes, method: str, sections: dict[str, Any], *, lines: bool | None = None
    ) -> LargeFindings | None:
        """Return the findings in a result, or None if no helper is free; blocks.

        Unless `lines` is None, the body is a whole message; `lines` says if it is one line.
        """
        ...

    def close(self) -> None:
        """End the helpers."""
        ...


def is_large(value: Any) -> bool:
    """Tell whether a result is too large to be checked in this process."""
    if isinstance(value, Spelled):
        return True
    size = count = 0
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        count += 1
        kind = type(inner)
        if kind is str:
            size += len(inner)
        elif kind is dict:
            waiting += inner.values()
        elif kind is list:
            waiting += inner
        if size >= LARGE_RESULT_BYTES or count + len(waiting) >= LARGE_RESULT_VALUES:
            return True
    return False


def pieces(value: Any) -> Iterator[bytes]:
    """Yield a value as JSON in short pieces, so that other threads run in between."""
    kind = type(value)
    if kind is dict and value and is_large(value):
        separator = b"{"
        for name, inner in value.items():
            yield separator + strict_json.encode(name) + b":"
            yield from pieces(inner)
            separator = b","
        yield b"}"
    elif kind is list and value and is_large(value):
        separator = b"["
        for start in range(0, len(value), _AT_ONCE):
            batch = value[start : start + _AT_ONCE]
            yield separator
            if is_large(batch):
                for place, inner in enumerate(batch):
                    yield b"," if place else b""
                    yield from pieces(inner)
            else:
                yield strict_json.encode(batch)[1:-1]
            separator = b","
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
    """Return the sections of a policy that check texts, as JSON values."""
    return {"injection": asdict(policy.injection), "secrets": asdict(policy.secrets)}


def policy_of(sections: dict[str, Any]) -> Policy:
    """Return a policy with these sections, and without rules."""

    def tuples(section: dict[str, Any]) -> dict[str, Any]:
        patterns = tuple(NamedPattern(**pattern) for pattern in section["patterns"])
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in section.items()
        }
        return {**values, "patterns": patterns}

    return Policy(
        "",
        "",
        (),
        injection=InjectionSection(**tuples(sections["injection"])),
        secrets=SecretsSection(**tuples(sections["secrets"])),
    )


def look(result: bytes, method: str, sections: dict[str, Any]) -> LargeFindings:
    """Screen a result, as the helper does."""
    value = strict_json.parse(result)
    screened = Screen().result(value, policy_of(sections), method)
    findings = LargeFindings(screened.objection, screened.doubt, screened.note, None)
    if screened.value is value:
        return findings
    members = spelled(screened.value).members
    sizes = tuple((name, len(encoded)) for name, encoded in members.items())
    return findings._replace(changed=b"".join(members.values()), members=sizes)


def look_at_message(
    raw: bytes, method: str, sections: dict[str, Any], *, lines: bool
) -> LargeFindings | None:
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
    return LargeFindings(screened.objection, screened.doubt, screened.note, changed, wire.id)


class LargeMessage(NamedTuple):
    """A large answer of a server that only needs a check of its texts."""

    id: Id
    method: str
    sections: dict[str, Any]
    policy: str
    lines: bool


def screened_elsewhere(
    value: Any, method: str, policy: Policy, screening: Screening
) -> Screened | None:
    """Return a screened result for the caller, or None if no helper is free; blocks."""
    body = value.encode() if isinstance(value, Spelled) else b"".join(pieces(value))
    findings = screening.look(body, method, sections_of(policy))
    if findings is None:
        return None
    changed = value
    if findings.changed is not None:
        changed = Spelled(apart(findings.changed, findings.members))
    return Screened(changed, findings.objection, findings.doubt, findings.note)
