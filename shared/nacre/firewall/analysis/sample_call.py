"""One call as a fixture, a proxy or a build describes it, and what the policy makes of it.

The same description means the same in a fixture file and for the evaluator:
`{"method": "tools/call", "params": {...}, "server": "files", "expected": "deny"}`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacre.core.errors import InvalidInputError, NacreError
from nacre.firewall.enforce import message
from nacre.firewall.rules.arguments.base_folders import declared
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import ACTIONS, NOWHERE, Action, Decision, Subject, Surroundings

_KEYS = frozenset(("method", "params", "server", "expected", "where", "description"))
_MESSAGE = frozenset(("jsonrpc", "id"))
_WHERE = frozenset(("is_local", "home", "base", "folds_case"))
PASSES = Decision("allow", None, None, "Passes: the rules do not decide about this method")


@dataclass(frozen=True, slots=True)
class DescribedCall:
    """One call, where its server runs, and what somebody expects to happen to it."""

    method: str
    params: Any
    server: str
    where: Surroundings = NOWHERE
    expected: Action | None = None

    @property
    def name(self) -> str:
        """The tool, or the method where it calls none."""
        name = self.params.get("name") if isinstance(self.params, Mapping) else None
        return name if self.method == "tools/call" and type(name) is str else self.method


def read_call(value: Any, *, trusts_place: bool, facts: Surroundings = NOWHERE) -> DescribedCall:
    """Return the call that a JSON value describes; InvalidInputError says what is wrong.

    Only who runs on the same machine as the server can say that it is local: links are
    followed there. `facts` hold where the value does not say otherwise.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError("a call is a JSON object with 'method' and 'params'")
    for key in value:
        if key not in _KEYS | _MESSAGE:
            known = ", ".join(sorted(_KEYS))
            raise InvalidInputError(f"unknown key '{str(key)[:60]}'; known are {known}")
    method, server = value.get("method"), value.get("server", "")
    # A number that keeps its digits is a str too, and no text.
    if type(method) is not str or not method:
        raise InvalidInputError("'method' must be a text; for a tool it is \"tools/call\"")
    if type(server) is not str:
        raise InvalidInputError("'server' must be the name of a server")
    expected = value.get("expected")
    if expected is not None and expected not in ACTIONS:
        raise InvalidInputError("'expected' must be allow, deny or prompt")
    where = _where(value.get("where", {}), facts, trusts_place=trusts_place)
    return DescribedCall(method, value.get("params", {}), server, where, expected)


def decide(call: DescribedCall, policy: Policy) -> Decision:
    """Return what happens to the call, as every place of enforcement decides it."""
    envelope = {"jsonrpc": "2.0", "id": "1", "method": call.method, "params": call.params}
    try:
        message.message(b"", envelope)
    except NacreError as error:
        return Decision("deny", None, None, f"Refused: {error}")
    subject = subject_of(call)
    if subject is None:
        return PASSES
    try:
        return policy.decide(subject, call.where)
    except Exception:  # noqa: BLE001 - whatever fails in here, nothing passes
        return Decision("deny", None, None, "Blocked by policy (the call could not be decided)")


def subject_of(call: DescribedCall) -> Subject | None:
    """Return what is decided about; None for a method that only the audit hears of."""
    if call.method == "tools/call":
        params = call.params if isinstance(call.params, Mapping) else {}
        arguments = params.get("arguments")  # null is none, as it is for servers
        return Subject(
            "tool", params.get("name", ""), call.server, {} if arguments is None else arguments
        )
    if call.method in message.DECIDED_UP | message.DECIDED_DOWN:
        return Subject("method", call.method, call.server, call.params)
    return None


def _where(value: Any, known: Surroundings, *, trusts_place: bool) -> Surroundings:
    if not isinstance(value, Mapping):
        raise InvalidInputError('\'where\' must be an object, such as {"home": "/home/ann"}')
    facts = dict(value)
    folders = _folders(facts.pop("base")) if "base" in facts else known.bases
    for key, each in facts.items():
        wanted: type = str if key == "home" else bool
        if key not in _WHERE or type(each) is not wanted:
            raise InvalidInputError(
                f"'where.{str(key)[:60]}' is unknown or of the wrong kind; home is a folder, "
                "base is a folder or a list of folders, is_local and folds_case are true or false"
            )
    if facts.get("is_local") and not trusts_place:
        raise InvalidInputError(
            "'where.is_local' cannot be said from elsewhere: links are followed only on the "
            "server's own machine; leave it out"
        )
    return declared(known._replace(bases=(), **facts), folders, "'where.base'")


def _folders(value: Any) -> tuple[str, ...]:
    folders = [value] if type(value) is str else value
    if not isinstance(folders, (list, tuple)) or not all(type(each) is str for each in folders):
        raise InvalidInputError("'where.base' must be a folder or a list of folders")
    return tuple(folders)
