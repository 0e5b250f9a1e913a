"""A call described in JSON, and the decision that the policy makes about it.

A fixture file and the evaluator read the same description:
`{"method": "tools/call", "params": {...}, "server": "files", "expected": "deny"}`.
"""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import Origin
from nacre.firewall.enforce import message
from nacre.firewall.rules.arguments.base_folders import declared
from nacre.firewall.rules.policy import Policy, is_well_formed
from nacre.firewall.rules.profile import Profile
from nacre.firewall.rules.received_origins import read_aged
from nacre.firewall.rules.rule import ACTIONS, NOWHERE, Action, Decision, Subject, Surroundings

_KEYS = frozenset(("method", "params", "server", "expected", "where", "description", "received"))
_MESSAGE = frozenset(("jsonrpc", "id"))
_WHERE = frozenset(("is_local", "home", "base", "folds_case"))
PASSES = Decision("allow", None, None, "Passes: the rules do not decide about this method")

# The same for what another profile has and for what does not exist.
OUTSIDE = Decision("deny", None, None, "Blocked by policy (it is not in the profile)")


@dataclass(frozen=True, slots=True)
class DescribedCall:
    """A call, the facts about its server, and the expected decision if one is given.

    `received` are the origins of what its caller has received before, None if that is not known.
    """

    method: str
    params: Any
    server: str
    where: Surroundings = NOWHERE
    expected: Action | None = None
    received: frozenset[str] | None = None

    @property
    def name(self) -> str:
        """The tool of the call, or its method if it is not a call of a tool."""
        name = self.params.get("name") if isinstance(self.params, Mapping) else None
        return name if self.method == "tools/call" and type(name) is str else self.method


def read_call(
    value: Any,
    *,
    trusts_place: bool,
    facts: Surroundings = NOWHERE,
    received: frozenset[str] | None = None,
) -> DescribedCall:
    """Return the call that a JSON value describes, or raise InvalidInputError.

    Only a caller on the server's own machine may say that the server is local, because links
    are followed there. `facts` are the defaults for `where`, and `received` is what its caller has
    received before unless the call says so.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError("a call is a JSON object with 'method' and 'params'")
    for key in value:
        if key not in _KEYS | _MESSAGE:
            names = ", ".join(sorted(_KEYS))
            raise InvalidInputError(f"unknown key '{str(key)[:60]}'; known are {names}")
    method, server = value.get("method"), value.get("server", "")
    # A JsonNumber is a str too.
    if type(method) is not str or not method:
        raise InvalidInputError("'method' must be a string; for a tool it is \"tools/call\"")
    if type(server) is not str:
        raise InvalidInputError("'server' must be the name of a server")
    expected = value.get("expected")
    if expected is not None and expected not in ACTIONS:
        raise InvalidInputError("'expected' must be allow, deny or prompt")
    where = _where(value.get("where", {}), facts, trusts_place=trusts_place)
    received = read_received(value["received"]) if "received" in value else received
    return DescribedCall(method, value.get("params", {}), server, where, expected, received)


def read_received(value: Any) -> frozenset[str]:
    """Return the origins in a list of texts; raises InvalidInputError."""
    if not isinstance(value, (list, tuple)) or not all(type(origin) is str for origin in value):
        raise InvalidInputError(
            "'received' must be a list of origins, such as [\"external:web\"]; [] is none"
        )
    for text in value:
        Origin.parse(read_aged(text)[0])
    return frozenset(value)


def decide(call: DescribedCall, policy: Policy, profile: Profile | None = None) -> Decision:
    """Return the decision about a call, as every enforcement point would make it.

    With a `profile`, `policy` is the one that decides in it.
    """
    envelope = {"jsonrpc": "2.0", "id": "1", "method": call.method, "params": call.params}
    try:
        message.message(b"", envelope)
    except NacreError as error:
        return Decision("deny", None, None, f"Refused: {error}")
    subject = subject_of(call)
    if profile is not None and not _is_in(profile, call.server, subject):
        return OUTSIDE
    if subject is None:
        return PASSES
    try:
        return policy.decide(subject, call.where)
    except Exception:  # noqa: BLE001 - no failure may let a call pass
        return Decision("deny", None, None, "Blocked by policy (the call could not be decided)")


def _is_in(profile: Profile, server: str, subject: Subject | None) -> bool:
    if subject is not None and subject.kind == "tool":
        return is_well_formed(subject) and profile.has_tool(server, subject.name)
    return profile.has_server(server)


def subject_of(call: DescribedCall) -> Subject | None:
    """Return the subject that rules decide about, or None for a method that is only recorded."""
    if call.method == "tools/call":
        params = call.params if isinstance(call.params, Mapping) else {}
        arguments = params.get("arguments")  # servers treat null as no arguments
        return Subject(
            "tool",
            params.get("name", ""),
            call.server,
            {} if arguments is None else arguments,
            received=call.received,
        )
    if call.method in message.DECIDED_UP | message.DECIDED_DOWN:
        return Subject("method", call.method, call.server, call.params, received=call.received)
    return None


def _where(value: Any, defaults: Surroundings, *, trusts_place: bool) -> Surroundings:
    if not isinstance(value, Mapping):
        raise InvalidInputError('\'where\' must be an object, such as {"home": "/home/ann"}')
    facts = dict(value)
    folders = _folders(facts.pop("base")) if "base" in facts else defaults.bases
    for key, fact in facts.items():
        expected: type = str if key == "home" else bool
        if key not in _WHERE or type(fact) is not expected:
            raise InvalidInputError(
                f"'where.{str(key)[:60]}' is unknown or of the wrong kind; home is a folder, "
                "base is a folder or a list of folders, is_local and folds_case are true or false"
            )
    if facts.get("is_local") and not trusts_place:
        raise InvalidInputError(
            "'where.is_local' cannot be set from another machine: links are followed only on the "
            "server's own machine; leave it out"
        )
    return declared(defaults._replace(bases=(), **facts), folders, "'where.base'")


def _folders(value: Any) -> tuple[str, ...]:
    folders = [value] if type(value) is str else value
    if not isinstance(folders, (list, tuple)) or not all(type(folder) is str for folder in folders):
        raise InvalidInputError("'where.base' must be a folder or a list of folders")
    return tuple(folders)
