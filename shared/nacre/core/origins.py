"""Origins: where the content of a memory comes from, and how far that is trusted.

An origin is written `owner`, `heard`, `agent`, `mirror`, `import:<source>` or
`external:<server>`. Content that was made from several sources has the origins of all of them.
"""

import unicodedata
from collections.abc import Iterable
from typing import Literal, Self

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_ORIGIN_SOURCE

OriginKind = Literal["external", "import", "mirror", "agent", "heard", "owner"]

TRUST_OF: dict[OriginKind, int] = {
    "external": 0,
    "import": 1,
    "mirror": 2,  # agents write files too
    "agent": 2,
    "heard": 3,  # below the owner: people paste mail into conversations
    "owner": 4,
}
"""The trust of each kind, from the least. Kinds of equal trust differ in where they come from."""

UNKNOWN = "unknown"
"""The source of an import or a server that was not recorded."""

_WITH_SOURCE: dict[OriginKind, str] = {
    "external": "the name of a server, such as external:github",
    "import": "the name of a source, such as import:mem0",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """One origin; `source` is the server or the imported source, and None for the others."""

    kind: OriginKind
    source: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the origin in a text; raises InvalidInputError that says what to write."""
        kind, colon, source = text.partition(":")
        if kind not in TRUST_OF:
            raise InvalidInputError(
                f"unknown origin '{_shown(text)}': write owner, heard, agent, mirror,"
                " import:<source> or external:<server>"
            )
        needed = _WITH_SOURCE.get(kind)
        if needed is None:
            if colon:
                raise InvalidInputError(f"the origin '{kind}' has no source; write {kind} alone")
            return cls(kind)
        if not _is_source(source):
            raise InvalidInputError(
                f"the origin '{kind}' needs {needed}: one line of 1 to {MAX_ORIGIN_SOURCE}"
                " printable characters, none of <>[]{};, and no blanks around it"
            )
        return cls(kind, source)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return self.kind if self.source is None else f"{self.kind}:{self.source}"

    @property
    def trust(self) -> int:
        """Return how far content of this origin is trusted; 0 is the least."""
        return TRUST_OF[self.kind]


Origins = frozenset[Origin]

OWNER: Origin = Origin("owner")
HEARD: Origin = Origin("heard")
AGENT: Origin = Origin("agent")
MIRROR: Origin = Origin("mirror")
PASTED: Origin = Origin("import", "pasted")
"""Words of somebody else that a person pasted into a conversation."""


def external(server: str) -> Origin:
    """Return the origin of results of a server, whatever characters its name has."""
    return Origin("external", _source(server))


def imported(source: str) -> Origin:
    """Return the origin of what was imported from a source."""
    return Origin("import", _source(source))


def origins_in(texts: Iterable[str]) -> Origins:
    """Return the origins in texts; raises InvalidInputError as `Origin.parse` does."""
    return frozenset(map(Origin.parse, texts))


def texts_of(origins: Iterable[Origin]) -> tuple[str, ...]:
    """Return origins as texts, each once and in a fixed order."""
    return tuple(sorted({str(origin) for origin in origins}))


def union(several: Iterable[Iterable[Origin]]) -> Origins:
    """Return all origins of content that was made from several sources."""
    return frozenset(origin for origins in several for origin in origins)


def trust_of(origins: Iterable[Origin]) -> int:
    """Return the trust of the least trusted origin; raises ValueError if there is none."""
    return min(origin.trust for origin in origins)


def external_servers(origins: Iterable[Origin]) -> tuple[str, ...]:
    """Return the servers whose results the content derives from, in order."""
    servers = {origin.source or UNKNOWN for origin in origins if origin.kind == "external"}
    return tuple(sorted(servers))


def _source(name: str) -> str:
    """Return a name as a source: one line, composed, plain and not too long."""
    composed = unicodedata.normalize("NFC", name[: MAX_ORIGIN_SOURCE * 4])
    visible = "".join(letter if _is_plain(letter) else " " for letter in composed)
    return " ".join(visible.split())[:MAX_ORIGIN_SOURCE].strip() or UNKNOWN


def _is_plain(letter: str) -> bool:
    # Names stand beside the text of memories, where none may end a block or begin a list.
    return letter.isprintable() and letter not in "<>[]{};,"


def _is_source(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return text != "" and text == _source(text)


def _shown(text: str) -> str:
    return "".join(letter for letter in text[:40] if letter.isprintable())
