"""Subscriptions of a client of the stateless generation, at a server that wants a session."""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import InvalidParamsError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import FOLLOWED_RESOURCES, MAX_IN_FLIGHT
from nacre.firewall.enforce.json_edits import with_members
from nacre.firewall.enforce.message import Key, Wire
from nacre.firewall.proxy.generations.steps import encoded, encoded_key, params_of, plain
from nacre.protocol.changes import Wanted
from nacre.protocol.versions import META_SUBSCRIPTION

_LISTS: Mapping[str, tuple[str, str]] = {
    "notifications/tools/list_changed": ("toolsListChanged", "tools"),
    "notifications/prompts/list_changed": ("promptsListChanged", "prompts"),
    "notifications/resources/list_changed": ("resourcesListChanged", "resources"),
}
_UPDATED = "notifications/resources/updated"


@dataclass(frozen=True, slots=True)
class _Subscription:
    """The notifications that a client wants on one subscription."""

    methods: frozenset[str]
    uris: tuple[str, ...]


class Subscriptions:
    """The open subscriptions of one client, by the ids of their requests."""

    def __init__(self) -> None:
        self._open: dict[Key, _Subscription] = {}

    def __contains__(self, id_: Key) -> bool:
        return id_ in self._open

    def open(
        self, id_: Key, params: dict[str, Any], offers: Mapping[str, Any]
    ) -> tuple[bytes, list[str]]:
        """Open one; return its acknowledgement, and the resources to follow from now on.

        Raises InvalidParamsError. `offers` are the capabilities of the server.
        """
        if len(self._open) >= MAX_IN_FLIGHT:
            raise InvalidParamsError(f"{MAX_IN_FLIGHT} subscriptions are open already")
        named = plain(params)
        uris = Wanted.of(named).uris
        if len(uris) > FOLLOWED_RESOURCES:
            raise InvalidParamsError(f"a subscription follows {FOLLOWED_RESOURCES} resources")
        notifications = named["notifications"]
        kinds = {
            method: name
            for method, (name, capability) in _LISTS.items()
            if notifications.get(name) is True
            and offers.get(capability, {}).get("listChanged") is True
        }
        uris = uris if offers.get("resources", {}).get("subscribe") is True else ()
        followed = self._followed()
        methods = frozenset((*kinds, _UPDATED) if uris else kinds)
        self._open[id_] = _Subscription(methods, uris)
        honoured: dict[str, Any] = dict.fromkeys(kinds.values(), True)
        if uris:
            honoured["resourceSubscriptions"] = list(uris)
        acknowledgement = {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": honoured, "_meta": {META_SUBSCRIPTION: id_}},
        }
        return encoded(acknowledgement), [uri for uri in uris if uri not in followed]

    def close(self, id_: Key) -> list[str]:
        """Close one; return the resources that no other one follows."""
        closed = self._open.pop(id_)
        followed = self._followed()
        return [uri for uri in closed.uris if uri not in followed]

    def clear(self) -> None:
        """Close all."""
        self._open.clear()

    def addressed(self, wire: Wire) -> list[bytes] | None:
        """Return a notification for each subscription that wants it; None if it is another one."""
        method = str(wire.method)
        if method not in _LISTS and method != _UPDATED:
            return None
        uri = params_of(wire).get("uri")
        return [
            with_members(wire.raw, ("params", "_meta"), {META_SUBSCRIPTION: encoded_key(id_)})
            for id_, subscription in self._open.items()
            if method in subscription.methods and (method in _LISTS or uri in subscription.uris)
        ]

    def _followed(self) -> set[str]:
        return {uri for subscription in self._open.values() for uri in subscription.uris}
