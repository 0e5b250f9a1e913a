"""The keys of a Being's memory in the item store.

Every function takes the Being's id first and refuses any text of another form, so that no
text in its place can reach into the partitions of another Being.
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
    """Return the key of the Being's item, which has its name and its counters."""
    return Key(home(being_id), META)


def bodies(being_id: str) -> str:
    """Return the partition of long texts, whose entries are in the home partition."""
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


def evidence(being_id: str) -> str:
    """Return the partition of the scenes that nodes were told by and have no room for."""
    return f"{home(being_id)}#E"


def known_events(being_id: str) -> str:
    """Return the partition of notes about nodes whose id is not made from their event."""
    return f"{home(being_id)}#F"


def activity(being_id: str) -> str:
    """Return the gsi1 partition of living nodes by their last activation."""
    return f"{home(being_id)}#ACT"


def members(being_id: str, cluster_id: str | None) -> str:
    """Return the gsi2 partition of a cluster's nodes; None: of nodes without a cluster."""
    return f"{home(being_id)}#C#{cluster_id or 'none'}"


def due(being_id: str) -> str:
    """Return the gsi3 partition of nodes by the clock of their next change of status."""
    return f"{home(being_id)}#DUE"


def touched(being_id: str) -> str:
    """Return the gsi3 partition of living nodes with recalls that no patrol has counted yet."""
    return f"{home(being_id)}#TOUCH"


def revivable(being_id: str) -> str:
    """Return the gsi3 partition of dead nodes that the next patrol revives."""
    return f"{home(being_id)}#REVIVE"


def hidden(being_id: str) -> str:
    """Return the gsi3 partition of hidden nodes by the time when they were hidden."""
    return f"{home(being_id)}#HIDDEN"


def recalls(being_id: str) -> str:
    """Return the partition of recalls that no patrol has counted yet."""
    return f"{home(being_id)}#L"


def questions(being_id: str) -> str:
    """Return the partition of the questions that are kept for evaluations."""
    return f"{home(being_id)}#A"


def asked_questions(being_id: str) -> str:
    """Return the gsi1 partition of kept questions without a mark, by the time of the last one."""
    return f"{home(being_id)}#ASKED"


def uncounted(being_id: str) -> Key:
    """Return where it is announced that there are such recalls."""
    return Key(home(being_id), "RECALLS")


def uncounted_partition(work_partition: str) -> str:
    """Return the gsi1 partition of these announcements, by time, for a part of the sweep."""
    return f"RECALLS{work_partition.removeprefix('WORK')}"


def clusters(being_id: str) -> str:
    """Return the partition of clusters."""
    return f"{home(being_id)}#C"


def subjects(being_id: str) -> str:
    """Return the gsi1 partition of active clusters by their weight."""
    return f"{home(being_id)}#SUBJECTS"


def dirty(being_id: str) -> str:
    """Return the gsi3 partition of clusters whose derived data is out of date."""
    return f"{home(being_id)}#DIRTY"


def vectors(being_id: str) -> str:
    """Return the partition of vectors: of points, and of clusters."""
    return f"{home(being_id)}#V"


def point(being_id: str, id_: str) -> Key:
    """Return where the vector of a scene or a node is."""
    return Key(f"{home(being_id)}#V", f"P#{id_}")


def index_state(being_id: str) -> Key:
    """Return where the state of the search index is."""
    return Key(home(being_id), "INDEX")


def index_file(being_id: str) -> Key:
    """Return where it is stored which file has the points, and what has changed since."""
    return Key(home(being_id), "INDEX#FILE")


def marks(being_id: str) -> str:
    """Return the partition of marks, which name points that an index may not know of."""
    return f"{home(being_id)}#X"


def months(being_id: str) -> str:
    """Return the partition that lists the months with messages."""
    return f"{home(being_id)}#H"


def history(being_id: str, month: str) -> str:
    """Return the partition of a month's messages (`yyyy-mm`)."""
    return f"{home(being_id)}#H#{month}"


def unread(being_id: str) -> str:
    """Return the gsi1 partition of messages that no patrol has read yet."""
    return f"{home(being_id)}#UNREAD"


def markers(being_id: str) -> str:
    """Return the partition of markers, the former ends of the chain of messages."""
    return f"{home(being_id)}#M"


def captured(being_id: str) -> str:
    """Return the partition of the identities of captured messages."""
    return f"{home(being_id)}#I"


def heard(being_id: str, month: str) -> Key:
    """Return where the numbers of facts are that were heard in a month's captured messages."""
    return Key(home(being_id), f"HEARD#{month}")


def conversations(being_id: str) -> str:
    """Return the partition of captured conversations."""
    return f"{home(being_id)}#I#C"


def latest_conversations(being_id: str) -> str:
    """Return the gsi1 partition of captured conversations by their last message."""
    return f"{home(being_id)}#CONVERSATIONS"


def conversation(being_id: str, conversation_id: str) -> str:
    """Return the gsi2 partition of a captured conversation's messages."""
    return f"{home(being_id)}#I#C#{conversation_id}"


def sessions(being_id: str) -> str:
    """Return the partition of the sessions of orders."""
    return f"{home(being_id)}#Q"


def session_turns(being_id: str) -> str:
    """Return the partition of the turns of these sessions."""
    return f"{home(being_id)}#Q#T"


def work(being_id: str) -> str:
    """Return the gsi1 partition that lists this Being while it has work for a patrol."""
    return f"WORK#{int(home(being_id)[2:4], 16) % _SHARDS:02}"


def work_partitions() -> tuple[str, ...]:
    """Return all gsi1 partitions that `work` can return, for the sweep."""
    return tuple(f"WORK#{shard:02}" for shard in range(_SHARDS))
