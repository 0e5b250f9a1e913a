"""The lineage of a memory: the origins of its text, and of those who told it again.

A scene stores its origins, and a node the origins of everything that it was made of. Neither
stores those that follow from its trust class, which is how version 0.1.0 reads as well: `user` is
`heard`, `agent` and `tool` are `agent`, `import` is `import:unknown` and `external` is
`external:unknown`; a scene of a mirror is `mirror`.

One text has one lineage: all origins that it was made of, of which the least trusted counts. When
a patrol finds that another scene says the same, the node keeps its text and stores the lineage of
the scene as another telling. So a node has a trust class, the lowest of all its origins, and a
standing: how far its text is trusted. The two differ only where there are several tellings:

- An echo from a less trusted source does not lower the standing of a text.
- A text from another server has the standing of an agent if another telling is independent of it:
  the two name no common source. What agents or imports tell corroborates nothing, because nobody
  knows what they have read.
- A text that the owner vouches for has the owner as the lineage of its text.
"""

import unicodedata
from collections.abc import Iterable, Sequence

from nacre.being.memory.model.types import Node, Scene, Source, Trust, least_trusted
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import KEPT_TELLINGS
from nacre.core.origins import (
    AGENT,
    HEARD,
    MIRROR,
    OWNER,
    UNKNOWN,
    Origin,
    OriginKind,
    Origins,
    external,
    imported,
    origins_in,
    texts_of,
    union,
)

_BETWEEN = "\n"  # which no origin contains
_BY_TRUST: dict[Trust, Origins] = {
    "external": frozenset({external(UNKNOWN)}),
    "import": frozenset({imported(UNKNOWN)}),
    "tool": frozenset({AGENT}),
    "agent": frozenset({AGENT}),
    "user": frozenset({HEARD}),
}
_MIRRORED = frozenset({MIRROR})
_CLASSES: dict[OriginKind, Trust] = {
    "external": "external",
    "import": "import",
    "mirror": "agent",
    "agent": "agent",
    "heard": "user",
    "owner": "user",
}


def class_of(origins: Iterable[Origin]) -> Trust:
    """Return the trust class of a text with these origins; there must be one at least."""
    return least_trusted([_CLASSES[origin.kind] for origin in origins])


def default_origins(trust: Trust, source: Source | None = None) -> Origins:
    """Return the origins of a record that stores none."""
    return _MIRRORED if source == "mirror" and trust == "agent" else _BY_TRUST[trust]


def origins_of(memory: Node | Scene) -> Origins:
    """Return all origins of a memory."""
    if memory.origins:
        return origins_in(memory.origins)
    return default_origins(memory.trust, memory.source if isinstance(memory, Scene) else None)


def stored_origins(
    origins: Iterable[Origin], trust: Trust, source: Source | None = None
) -> tuple[str, ...]:
    """Return origins as a record of this trust stores them: none if they follow from it."""
    origins = frozenset(origins)
    return () if origins == default_origins(trust, source) else texts_of(origins)


def untrusted_origins(memories: Iterable[Node | Scene]) -> tuple[str, ...]:
    """Return the origins of these texts that are trusted less than an agent, as a summary has."""
    every = union(lineage_of_text(memory) for memory in memories)
    return texts_of(origin for origin in every if origin.trust < AGENT.trust)


def tellings_of(memory: Node | Scene) -> tuple[Origins, ...]:
    """Return the lineages of a memory: that of its text first, then each other one once."""
    if isinstance(memory, Node) and memory.tellings:
        return tuple(origins_in(telling.split(_BETWEEN)) for telling in memory.tellings)
    return (origins_of(memory),)


def lineage_of_text(memory: Node | Scene) -> Origins:
    """Return the origins of a memory's text alone."""
    return tellings_of(memory)[0]


def with_lineage(
    node: Node,
    tellings: Sequence[Origins],
    origins: Iterable[Origin],
    trusts: Iterable[Trust],
) -> Node:
    """Return the node with these tellings and origins, trusted no more than any class given."""
    every = union([*tellings, origins])
    distinct = list(dict.fromkeys(tellings))[:KEPT_TELLINGS]
    trust = least_trusted([class_of(every), *trusts])
    return replace(
        node,
        trust=trust,
        origins=stored_origins(every, trust),
        tellings=(
            () if distinct == [every] else tuple(_BETWEEN.join(texts_of(one)) for one in distinct)
        ),
    )


def told_again(node: Node, scene: Scene) -> Node:
    """Return the node with the lineage of a scene that says the same.

    A scene may be known by the text of a memory before it was corrected or merged. Then it does
    not tell the text that the memory has now.
    """
    tellings = tellings_of(node)
    if not node.wordings and not node.parents:
        tellings = (*tellings, origins_of(scene))
    origins = union([origins_of(node), origins_of(scene)])
    return with_lineage(node, tellings, origins, [node.trust, scene.trust])


def made_of(node: Node, sources: Iterable[Node | Scene], also: Iterable[Origin] = ()) -> Node:
    """Return the node with a text that was made from these sources.

    The origins of whoever made it are in `also`. It is trusted no more than the text of any source.
    """
    sources = list(sources)
    text = union([*map(lineage_of_text, sources), also])
    trusts = [source.trust for source in sources]
    return with_lineage(node, [text], union(map(origins_of, sources)), trusts)


def rewritten(node: Node, origins: Iterable[Origin]) -> Node:
    """Return the node with a new wording of its text by somebody with these origins.

    Whoever told the earlier text again did not tell this one.
    """
    text = union([lineage_of_text(node), origins])
    return with_lineage(node, [text], origins_of(node), [node.trust])


def with_vouch(node: Node) -> Node:
    """Return the node with its text as the owner's word; all of its origins stay."""
    if is_vouched(node):
        return node
    tellings = [frozenset({OWNER}), *tellings_of(node)]
    return with_lineage(node, tellings, origins_of(node), [node.trust])


def without_vouch(node: Node) -> Node:
    """Return the node as it was before the owner vouched for its text."""
    if not is_vouched(node):
        return node
    origins = origins_of(node)
    others = tellings_of(node)[1:] or (origins,)  # the owner's own words
    if not any(OWNER in telling for telling in others):
        origins -= {OWNER}
    return with_lineage(node, others, origins, [node.trust])


def is_vouched(node: Node) -> bool:
    """Return whether the owner vouches for the text of a node."""
    return bool(node.tellings) and lineage_of_text(node) == {OWNER}


def standing_of(memory: Node | Scene) -> Trust:
    """Return how far the text of a memory is trusted now."""
    text = lineage_of_text(memory)
    if isinstance(memory, Node) and memory.tellings:
        own = class_of(text)
        if own not in ("external", "import"):
            return own
        return "agent" if is_corroborated(memory) else own
    return memory.trust


def is_corroborated(memory: Node | Scene) -> bool:
    """Return whether a telling that is independent of its text says the same."""
    text, *others = tellings_of(memory)
    return any(_are_independent(text, other) for other in others)


def _are_independent(first: Origins, second: Origins) -> bool:
    """Return whether both lineages can witness something, and have no source in common."""
    roots = [_roots(origins) for origins in (first, second)]
    if any(UNKNOWN in names for names in roots):
        return False
    # An import holds what somebody else has written, perhaps on the word of any server.
    return all(roots) and roots[0].isdisjoint(roots[1]) and _can_witness(second)


def _can_witness(origins: Origins) -> bool:
    """Return whether a telling rests on a server, or on people alone."""
    kinds = {origin.kind for origin in origins}
    if kinds & {"import", "mirror"}:
        return False
    return "external" in kinds or kinds <= {"owner", "heard"}


def _roots(origins: Origins) -> frozenset[str]:
    """Return the sources behind a lineage: those it names, or else the person.

    Names that look alike are one.
    """
    named = {_plain(origin.source) for origin in origins if origin.source is not None}
    people = {f"\n{origin.kind}" for origin in origins if origin.kind in ("owner", "heard")}
    return frozenset(named or people)


def _plain(name: str) -> str:
    """Return a name without what readers overlook: width, case, accents and marks between."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in folded if letter.isalnum()) or UNKNOWN
