"""Which request a message is, or gives up, before anybody has decided about it."""

from nacre.core.errors import NacreError
from nacre.firewall.enforce.conversation import Key, key_of
from nacre.firewall.enforce.message import parse


def id_of(raw: bytes) -> Key | None:
    """Return the id of a message; 1 is not "1"."""
    return _key(_members(raw).get("id"))


def cancelled_id(raw: bytes) -> Key | None:
    """Return the id of the request that a message gives up."""
    members = _members(raw)
    params = members.get("params")
    if members.get("method") != "notifications/cancelled" or not isinstance(params, dict):
        return None
    return _key(params.get("requestId"))


def _members(raw: bytes) -> dict[str, object]:
    try:
        value = parse(raw)
    except NacreError:
        return {}
    return value if isinstance(value, dict) else {}


def _key(id_: object) -> Key | None:
    try:
        return key_of(id_) if isinstance(id_, str) else None
    except ValueError:  # a number that is no id
        return None
