"""Where the memory of a Being lives in the item store.

Every function takes the Being's id first and refuses what does not have its form, so that
no text in the place of an id can reach into another Being's partitions.
"""

import re

from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Key

_BEING_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SHARDS = 16  # the sweep asks for each; a second index partition takes over long before it is hot

META = "META"
SOUL = "SOUL#"
SOUL_VERSION = "SOULV#"
RULE = "RULE#"
RULE_VERSION = "RULEV#"
PREFERENCE = "PREF#"
KNOWLEDGE = "KNOW#"
PERSON = "PERS#"
TOOL = "TOOL#"
MAP = "MAP#"
DIARY = "DIARY#"
NOTE = "NOTE#"
RELATION = "ENT#"
RECEIVED = "IN#"
SENT = "OUT#"
MARKER = "MK#"


def home(being_id: str) -> str:
    """Return the partition of the Being's own facts, profile, notes, relations and letters."""
    if _BEING_ID.fullmatch(being_id) is None:
        raise InvalidInputError("a Being's id is a UUID in lower case")
    return f"B#{being_id}"


def meta(being_id: str) -> Key:
    """Return where the Being's counters are, beside its name."""
    return Key(home(being_id), META)


def bodies(being_id: str) -> str:
    """Return the partition of long texts, whose heads are in the home partition."""
    return f"{home(being_id)}#T"


def scenes(being_id: str) -> str:
    """Return the partition of scenes."""
    return f"{home(being_id)}#S"


def pending(being_id: str) -> str:
    """Return the gsi1 partition of scenes that no patrol has taken yet."""
    return f"{home(being_id)}#PENDING"


def nodes(being_id: str) -> str:
    """Return the partition of nodes."""
    return f"{home(being_id)}#N"


def known_events(being_id: str) -> str:
    """Return the partition that says which node an event became, where its id does not."""
    return f"{home(being_id)}#F"


def activity(being_id: str) -> str:
    """Return the gsi1 partition of living nodes by their last activation."""
    return f"{home(being_id)}#ACT"


def members(being_id: str, cluster_id: str | None) -> str:
    """Return the gsi2 partition of a cluster's nodes; None: of nodes without a cluster."""
    return f"{home(being_id)}#C#{cluster_id or 'none'}"


def due(being_id: str) -> str:
    """Return the gsi3 partition of nodes by the clock at which something happens to them."""
    return f"{home(being_id)}#DUE"


def touched(being_id: str) -> str:
    """Return the gsi3 partition of living nodes with reactivations that are not folded in."""
    return f"{home(being_id)}#TOUCH"


def revivable(being_id: str) -> str:
    """Return the gsi3 partition of dead nodes that are to come back."""
    return f"{home(being_id)}#REVIVE"


def clusters(being_id: str) -> str:
    """Return the partition of clusters."""
    return f"{home(being_id)}#C"


def dirty(being_id: str) -> str:
    """Return the gsi3 partition of clusters whose derived data is out of date."""
    return f"{home(being_id)}#DIRTY"


def months(being_id: str) -> str:
    """Return the partition that says in which months there are messages."""
    return f"{home(being_id)}#H"


def history(being_id: str, month: str) -> str:
    """Return the partition of a month's messages (`yyyy-mm`)."""
    return f"{home(being_id)}#H#{month}"


def unread(being_id: str) -> str:
    """Return the gsi1 partition of messages that wait to be read by a patrol."""
    return f"{home(being_id)}#UNREAD"


def markers(being_id: str) -> str:
    """Return the partition of markers, each an end that the chain of messages once had."""
    return f"{home(being_id)}#M"


def sessions(being_id: str) -> str:
    """Return the partition of the sessions of orders: who has them, since when."""
    return f"{home(being_id)}#Q"


def session_turns(being_id: str) -> str:
    """Return the partition of what was said in them."""
    return f"{home(being_id)}#Q#T"


def work(being_id: str) -> str:
    """Return the gsi1 partition in which this Being stands while anything waits to be done."""
    return f"WORK#{int(home(being_id)[2:4], 16) % _SHARDS:02}"


def work_partitions() -> tuple[str, ...]:
    """Return every gsi1 partition that `work` may name, for the sweep."""
    return tuple(f"WORK#{shard:02}" for shard in range(_SHARDS))
