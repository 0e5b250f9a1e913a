"""The decisions of the patrol about labelled pairs of sentences.

    python -m tests.being.patrol.same_meaning.judge_pairs FILE

A line of the file is `kind<TAB>same|different<TAB>text a<TAB>text b`. Each pair is noted in a
Being of its own on the laptop's wiring, without a model or key, and patrols run: what ends in
one memory was united. Prints every wrong merge and the share of the same that was united; exits
with 1 if there is a wrong merge.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.being.memory.minds import builtin
from tests.being.patrol.worlds import new_world

FORM = ("function", "voice", "clause")
"""Kinds that change the form alone, by what their names contain."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether they say the same."""

    kind: str
    same: bool
    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decisions about each pair."""

    united: Sequence[Pair]
    apart: Sequence[Pair]

    @property
    def wrong(self) -> list[Pair]:
        """Return the pairs that became one memory and say different things."""
        return [pair for pair in self.united if not pair.same]

    def share(self, kinds: Iterable[str] | None = None) -> tuple[int, int]:
        """Return how many pairs that say the same were united, and how many there are."""
        chosen = None if kinds is None else tuple(kinds)
        counts = [
            sum(
                pair.same and (chosen is None or any(kind in pair.kind for kind in chosen))
                for pair in pairs
            )
            for pairs in (self.united, self.apart)
        ]
        return counts[0], sum(counts)


def pairs_in(file: Path) -> list[Pair]:
    """Return the pairs in a file."""
    pairs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 4 or fields[1] not in ("same", "different"):
            raise SystemExit(f"{file.name}: line {number} is not kind, same|different, and 2 texts")
        kind, label, one, other = fields
        pairs.append(Pair(kind.strip().casefold(), label == "same", one, other))
    return pairs


def by_patrol(one: str, other: str) -> bool:
    """Return whether a patrol makes one memory of two notes that it takes one after the other."""
    world = new_world(builtin()[0])
    try:
        world.note(one)
        world.run()
        world.note(other)
        world.run()
        return len(world.memory.nodes.page(world.being_id).nodes) == 1
    finally:
        world.database.close()


def judged(pairs: Sequence[Pair], unites: Callable[[str, str], bool] = by_patrol) -> Judgement:
    """Return the decisions about the pairs, in either order of their texts."""
    united: list[Pair] = []
    apart: list[Pair] = []
    for pair in pairs:
        decisions = {unites(pair.one, pair.other), unites(pair.other, pair.one)}
        # A wrong merge in one order is wrong; the same must be united in both.
        is_one = any(decisions) if not pair.same else all(decisions)
        (united if is_one else apart).append(pair)
    return Judgement(united, apart)


def main(arguments: Sequence[str]) -> int:
    """Print the figures for a file of pairs."""
    parser = argparse.ArgumentParser(description="Judge labelled pairs as the patrol does.")
    parser.add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    judgement = judged(pairs_in(options.file))
    _print(judgement)
    return 1 if judgement.wrong else 0


def _print(judgement: Judgement) -> None:
    decided = [*((judged, True) for judged in judgement.united)]
    decided += [(judged, False) for judged in judgement.apart]
    right = Counter(
        (judged.kind, judged.same) for judged, is_one in decided if judged.same == is_one
    )
    totals = Counter((judged.kind, judged.same) for judged, _ in decided)
    print(f"{'kind':<32} {'says':<10} right  of")
    for kind, same in sorted(totals):
        label = "the same" if same else "other"
        print(f"{kind:<32} {label:<10} {right[kind, same]:>5} {totals[kind, same]:>3}")
    for pair in judgement.wrong:
        print(f"WRONG MERGE ({pair.kind}): {pair.one!r} and {pair.other!r}")
    different = sum(not judged.same for judged, _ in decided)
    print(f"wrong merges: {len(judgement.wrong)} of {different} pairs")
    for label, kinds in (("function words, voice, clause order", FORM), ("all the same", None)):
        united, total = judgement.share(kinds)
        rate = f"{united / total:.3f}" if total else "none"
        print(f"united, {label}: {united} of {total} ({rate})")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
