"""Large tool calls: parsed, decided and summarised in another process, so that others go on.

`read_call` is the helper's part. The serving process calls `read_elsewhere` for a message that a
client has sent, and `judged_elsewhere` where the rules are known only later. What it needs as
values comes in short pieces.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol

from nacre.core.errors import MalformedJsonError, MalformedMessageError
from nacre.core.lazy_dataclasses import asdict
from nacre.core.limits import LARGE_RESULT_BYTES, MAX_BODY_BYTES
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Decision, Subject, Surroundings
from nacre.protocol import strict_json
from nacre.protocol.large_calls import ArgumentsSummary, LargeArguments, LargeCall
from nacre.protocol.value_pieces import joined

# Members of a call's parameters. A call with others, such as answers, is read as a whole.
_MEMBERS = frozenset({"name", "arguments", "_meta"})
_CALL = "tools/call"
_MOST_MEMBERS = 16  # of a message; JSON-RPC knows six
_EMPTY: Mapping[type, bytes] = {dict: b"{}", list: b"[]", str: b'""'}

Facts = dict[str, Any]
Reply = tuple[Facts, bytes]


class CallReading(Protocol):
    """Reads large calls outside this process; ScreeningProcesses does."""

    def call(self, head: Facts, raw: bytes) -> Reply | None:
        """Return the answer of `read_call`, or None if no helper is free; blocks."""
        ...


class Deciding(NamedTuple):
    """The policy and the facts for a decision about a call.

    `paths` are the arguments of each tool that are paths. `tool` is the tool's name where the
    message has another one. `received` are the origins of what the caller has received.
    """

    policy: Policy
    where: Surroundings
    server: str
    paths: Mapping[str, frozenset[str]]
    tool: str | None = None
    received: frozenset[str] | None = None

    def encoded(self) -> Facts:
        """Return it as JSON values."""
        from nacre.firewall.policies.compiled import to_json  # noqa: PLC0415 - large calls are rare

        return {
            "policy": to_json(self.policy),
            "where": self.where._replace(follow=None)._asdict(),
            "server": self.server,
            "paths": {tool: sorted(names) for tool, names in self.paths.items()},
            "tool": self.tool,
            "received": None if self.received is None else sorted(self.received),
        }


# In the helper.


def read_call(
    raw: bytes, head: Facts, encoded: Callable[[Any], tuple[bytes, bytes]]
) -> Reply | None:
    """Read a tool call; None for a guard's other messages, which it must read itself.

    The answer's bytes are the message without its arguments. Where `head` says so, the arguments
    follow, as `encoded` returns them, or they are the pieces of the arguments alone. For any other
    message to this server, they are the pieces of its value.
    """
    from nacre.firewall.enforce.message import read  # noqa: PLC0415 - the receiver has loaded it

    try:
        value = strict_json.parse(raw) if head["lines"] is None else read(raw, lines=head["lines"])
    except (MalformedJsonError, MalformedMessageError) as error:
        facts = {
            "error": str(error),
            "is_json": type(error) is not MalformedJsonError,
            "id": strict_json.readable_id(raw),
        }
        return facts, b""
    params = value.get("params") if type(value) is dict else None
    if type(params) is not dict or value.get("method") != _CALL:
        return _other(value, raw, head)
    arguments = params.get("arguments")
    if head["values"]:
        return {"error": None}, _pieces(arguments)
    if not _MEMBERS.issuperset(params) or type(arguments) not in _EMPTY:
        return _other(value, raw, head)
    short = _without_arguments(raw, _EMPTY[type(arguments)])
    if len(short) >= LARGE_RESULT_BYTES:
        return _other(value, raw, head)
    facts = {"error": None, "is_whole": False, "tool": str(params.get("name"))}
    if type(arguments) is not dict:  # which is an error, as in the short message
        return {**facts, "summary": None, "sizes": [len(short)]}, short
    summary = _summary(arguments, str(params.get("name")), head["deciding"])
    bodies = [short, *(encoded(arguments) if head["encodes"] else ())]
    return {**facts, "summary": summary, "sizes": [*map(len, bodies)]}, b"".join(bodies)


def _other(value: Any, raw: bytes, head: Facts) -> Reply | None:
    """Return a message that is no plain tool call, in pieces."""
    if head["lines"] is not None or type(value) not in (dict, list):
        return None
    if len(raw) > MAX_BODY_BYTES and not (type(value) is dict and value.get("method") == _CALL):
        value = _outline(value)  # it will be refused
    return {"error": None, "is_whole": True}, _pieces(value)


def _outline(value: Any) -> Any:
    """Return a message whose large lists and objects are empty."""
    from nacre.firewall.enforce.large_results import is_large  # noqa: PLC0415 - as above

    if type(value) is list or len(value) > _MOST_MEMBERS:
        return type(value)()
    return {
        name: type(inner)() if type(inner) in (dict, list) and is_large(inner) else inner
        for name, inner in value.items()
    }


def _pieces(value: Any) -> bytes:
    from nacre.firewall.enforce.large_results import is_large  # noqa: PLC0415 - as above
    from nacre.protocol.value_pieces import value_pieces  # noqa: PLC0415 - as above

    return b"\n".join(value_pieces(value, is_large))


def _without_arguments(raw: bytes, empty: bytes) -> bytes:
    from nacre.firewall.enforce.json_edits import span_of  # noqa: PLC0415 - as above

    text = raw.decode()
    start, end = span_of(text, ("params", "arguments"))
    return text[:start].encode() + empty + text[end:].encode()


def _summary(arguments: dict[str, Any], tool: str, deciding: Facts | None) -> Facts:
    from nacre.firewall.content.digests import arguments_sha256, shape  # noqa: PLC0415 - as above

    summary = {"sha256": arguments_sha256(arguments), "shape": shape(arguments)}
    if deciding is None:
        return summary
    tool = deciding["tool"] or tool
    paths = frozenset(deciding["paths"].get(tool, ()))
    received = deciding["received"]
    origins = None if received is None else frozenset(received)
    subject = Subject("tool", tool, deciding["server"], arguments, paths, origins)
    try:
        where = {**deciding["where"], "bases": tuple(deciding["where"]["bases"])}
        decision = _policy(deciding["policy"]).decide(subject, Surroundings(**where))
    except Exception:  # noqa: BLE001 - the receiver decides itself then, and reports the failure
        return summary
    if decision.action == "prompt":
        from nacre.firewall.approvals.form import shown_arguments  # noqa: PLC0415 - seldom needed

        summary["shown"] = shown_arguments(arguments)
    return {**summary, "decision": asdict(decision)}


@lru_cache(maxsize=4)
def _policy(encoded: str) -> Policy:
    from nacre.firewall.policies.compiled import from_json  # noqa: PLC0415 - as above

    return from_json(encoded)


# In the serving process.


def read_elsewhere(
    raw: bytes, reading: CallReading, *, lines: bool | None, deciding: Deciding | None = None
) -> bytes:
    """Return a message that a helper has read as a LargeCall; blocks.

    `lines` is None for a message to this server, as opposed to one that a guard reads. A guard's
    other messages are returned as they are, and so is every message if no helper is free.
    """
    head = _head(lines=lines, deciding=deciding)
    reply = reading.call(head, raw)
    if reply is None:
        return raw
    facts, short = reply
    if facts["error"] is not None:
        kind = MalformedMessageError if facts["is_json"] else MalformedJsonError
        error = kind(facts["error"])
        error.request_id = facts["id"]
        return LargeCall.of(b"", raw, error=error)
    if facts["is_whole"]:
        return LargeCall.of(b"", raw, parsed=joined(short))
    summary = facts["summary"]
    call = LargeCall.of(
        short,
        raw,
        summary=None if summary is None else _received(summary, deciding),
        tool=facts["tool"],
    )
    if call.arguments is not None and lines is None:
        call.arguments.elsewhere = partial(_arguments_read_elsewhere, reading)
    return call


def _arguments_read_elsewhere(reading: CallReading, raw: bytes) -> dict[str, Any] | None:
    reply = reading.call(_head(values=True), raw)
    if reply is None:
        return None
    arguments: dict[str, Any] = joined(reply[1])
    return arguments


def _head(
    *,
    lines: bool | None = None,
    deciding: Deciding | None = None,
    encodes: bool = False,
    values: bool = False,
) -> Facts:
    return {
        "lines": lines,
        "deciding": deciding and deciding.encoded(),
        "encodes": encodes,
        "values": values,
    }


def as_large(tool: str, arguments: dict[str, Any], reading: CallReading) -> LargeArguments | None:
    """Return large arguments that this server has as values as those of a large call; blocks.

    Return None if no helper is free.
    """
    from nacre.firewall.enforce.large_results import pieces  # noqa: PLC0415 - it imports this one

    start = b'{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":%b,"arguments":'
    try:
        whole = b"".join((start % strict_json.encode(tool), *pieces(arguments), b"}}"))
    except (TypeError, ValueError, RecursionError):  # its receiver refuses them
        return None
    call = read_elsewhere(whole, reading, lines=None)
    large = call.arguments if isinstance(call, LargeCall) else None
    if large is not None:
        large.parsed = arguments
    return large


def judged_elsewhere(
    arguments: LargeArguments, reading: CallReading, deciding: Deciding, *, encodes: bool
) -> None:
    """Decide about a call to this server, and encode its arguments for another one; blocks."""
    reply = reading.call(_head(deciding=deciding, encodes=encodes), arguments.whole)
    if reply is None:
        return
    facts, body = reply
    arguments.summary = _received(facts["summary"], deciding)
    if encodes:
        _, line, _ = sizes = facts["sizes"]
        start = sizes[0]
        arguments.summary.encoded = (body[start : start + line], body[start + line :])


def _received(summary: Facts, deciding: Deciding | None) -> ArgumentsSummary:
    decision = summary.get("decision")
    return ArgumentsSummary(
        summary["sha256"],
        summary["shape"],
        None if decision is None else Decision(**decision),
        deciding,
        summary.get("shown"),
    )


def known_decision(subject: Subject, policy: Policy, where: Surroundings) -> Decision | None:
    """Return the decision that was made elsewhere, if it was about this and by these rules."""
    arguments = subject.arguments
    if type(arguments) is not LargeArguments:
        return None
    summary = arguments.summary
    decided: Deciding | None = summary.decided
    if decided is None or decided.policy.digest != policy.digest or decided.where != where:
        return None
    is_same = (
        decided.server == subject.server
        and decided.tool in (None, subject.name)
        and decided.paths.get(subject.name, frozenset()) == subject.paths
        # If no rule depends on what was received, the subject does not say it.
        and subject.received in (None, decided.received)
    )
    decision: Decision | None = summary.decision
    return decision if is_same else None
