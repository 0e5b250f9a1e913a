"""Large tool calls: parsed, decided and summarised in another process, so that others go on.

`read_call` is the helper's part. The serving process calls `read_elsewhere` for a message that a
client has sent, and `judged_elsewhere` where the rules are known only later.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from nacre.core.errors import MalformedJsonError, MalformedMessageError
from nacre.core.lazy_dataclasses import asdict
from nacre.core.limits import LARGE_RESULT_BYTES
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Decision, Subject, Surroundings
from nacre.protocol import strict_json
from nacre.protocol.large_calls import ArgumentsSummary, LargeArguments, LargeCall

# Members of a call's parameters. A call with others, such as answers, is read as a whole.
_MEMBERS = frozenset({"name", "arguments", "_meta"})
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
    """Read a tool call; None for any other message, which its receiver must read.

    The answer's bytes are the message without its arguments. Where `head` says so, the arguments
    follow, as `encoded` returns them.
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
    if type(params) is not dict or value.get("method") != "tools/call":
        return None
    arguments = params.get("arguments")
    if not _MEMBERS.issuperset(params) or type(arguments) not in _EMPTY:
        return None
    short = _without_arguments(raw, _EMPTY[type(arguments)])
    if len(short) >= LARGE_RESULT_BYTES:
        return None
    if type(arguments) is not dict:  # which is an error, as in the short message
        return {"error": None, "summary": None, "sizes": [len(short)]}, short
    summary = _summary(arguments, str(params.get("name")), head["deciding"])
    bodies = [short, *(encoded(arguments) if head["encodes"] else ())]
    return {"error": None, "summary": summary, "sizes": [*map(len, bodies)]}, b"".join(bodies)


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
    """Return a large call as a LargeCall, any other message as it is; blocks.

    `lines` is None for a message to this server, as opposed to one that a guard reads.
    """
    head = {"lines": lines, "deciding": deciding and deciding.encoded(), "encodes": False}
    reply = reading.call(head, raw)
    if reply is None:
        return raw
    facts, short = reply
    if facts["error"] is not None:
        kind = MalformedMessageError if facts["is_json"] else MalformedJsonError
        error = kind(facts["error"])
        error.request_id = facts["id"]
        return LargeCall.of(b"", raw, error=error)
    summary = facts["summary"]
    return LargeCall.of(
        short, raw, summary=None if summary is None else _received(summary, deciding)
    )


def judged_elsewhere(
    arguments: LargeArguments, reading: CallReading, deciding: Deciding, *, encodes: bool
) -> None:
    """Decide about a call to this server, and encode its arguments for another one; blocks."""
    head = {"lines": None, "deciding": deciding.encoded(), "encodes": encodes}
    reply = reading.call(head, arguments.whole)
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
