"""Taking what a recall gave back out of a conversation, so that no memory is learned twice."""

import re

# Clients pass the block on as it was, as escaped HTML, or inside JSON. A tag never ends a line
# in between, and its name may have been typed again.
_TAG = re.compile(
    r"""(?:<|&lt;|\\u003c|\uff1c|\[) \s{0,4} (?P<end>\\?/)? \s{0,4}
        memory [-_\s\u2010-\u2015]? recall (?![\w-]) [^<>\[\]\n]{0,200}?
        (?:/?>|&gt;|\\u003e|\uff1e|\])""",
    re.IGNORECASE | re.VERBOSE,
)
# A line that names its memory was recalled even where the tags around it are lost.
_TRACED = re.compile(
    r"^[^\n]* \[ (?:node|scene) [ ] [0-9A-Za-z-]{26,36} \] [^\S\n]* $ \n?",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


def without_recalls(text: str) -> str:
    """Return the text without the blocks of recalls.

    What follows a tag that nothing ends, and what stands before an end that nothing began, is
    taken for part of a block: a conversation that was cut loses a line rather than teach a
    memory to itself.
    """
    kept: list[str] = []
    place = 0
    is_inside = False
    for tag in _TAG.finditer(text):
        if tag["end"] is not None:
            is_inside = False
        elif not is_inside:
            kept.append(text[place : tag.start()])
            is_inside = True
        place = tag.end()
    if not is_inside:
        kept.append(text[place:])
    return _TRACED.sub("", "".join(kept)).strip()
