"""Receipts as people read them: what a run did, and why it did no more."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# In the order of the steps; a count without words of its own is shown by its name.
_WORDS = {
    "messages_read": ("message read", "messages read"),
    "scenes_created": ("scene found in messages", "scenes found in messages"),
    "scenes_taken": ("scene taken", "scenes taken"),
    "nodes_created": ("new memory", "new memories"),
    "evidence_added": ("scene added to a known memory", "scenes added to known memories"),
    "invalid": ("scene refused", "scenes refused"),
    "refreshed": ("memory strengthened", "memories strengthened"),
    "dying": ("memory fading", "memories fading"),
    "dead": ("memory forgotten", "memories forgotten"),
    "merged": ("memory merged", "memories merged"),
    "superseded": ("memory superseded", "memories superseded"),
    "revived": ("memory brought back", "memories brought back"),
    "split": ("cluster split", "clusters split"),
    "moved": ("memory moved", "memories moved"),
    "retired": ("cluster given up", "clusters given up"),
    "renewed": ("cluster described anew", "clusters described anew"),
    "digests_llm": ("description by the model", "descriptions by the model"),
}


def counted(counts: Mapping[str, int]) -> list[str]:
    """Return what a run counted, in words."""
    names = [*_WORDS, *sorted(set(counts) - set(_WORDS))]
    return [_words(name, counts[name]) for name in names if counts.get(name)]


def receipt_lines(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Give a receipt, in the form of JSON, line by line."""
    state = "not finished" if receipt["state"] == "open" else receipt["state"]
    if receipt["state"] == "dry":  # which is no run, and has neither number nor id
        yield f"Dry run, {receipt['started']}: nothing was written"
    else:
        yield f"Run {receipt['seq']} ({receipt['trigger']}), {receipt['started']}: {state}"
        yield f"Run id: {receipt['run_id']}"
    done: Sequence[str] = counted(receipt["counts"]) or ["nothing changed"]
    yield from (f"  {line}" for line in done)
    if receipt["reasons"]:
        yield "Why not more:"
        yield from (f"  {reason}" for reason in receipt["reasons"])
    if receipt["model"]:
        tokens = receipt["tokens"]
        yield f"Model: {receipt['model']}, {tokens['input']} tokens in, {tokens['output']} out"
    if receipt["backlog"]:
        yield f"Left for the next run: {receipt['backlog']}"


def _words(name: str, count: int) -> str:
    one, many = _WORDS.get(name, (name.replace("_", " "),) * 2)
    return f"{count} {one if count == 1 else many}"
