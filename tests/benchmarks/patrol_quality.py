"""What the patrol takes for the same, and what it puts together.

    python -m tests.benchmarks.patrol_quality [--locomo FILE] [--clinc FILE]

Sentences are noted by `update_notes`, patrols run on the laptop's wiring, without a key. Files
are LoCoMo's (its observations) and samples of CLINC150; nothing of them is kept.
"""

import argparse
import json
import math
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from nacre.being.patrol.planning.plans import Planner
from tests.being.patrol.stand_in import StandIn
from tests.benchmarks.patrolled import Patrolled
from tests.benchmarks.recall_quality.datasets import DATA, LOCOMO
from tests.benchmarks.table import show
from tests.benchmarks.variants import OTHER, SAME, Variant

CLINC = DATA / "clinc_sample.json"
SENTENCES = 400


def observations(file: Path) -> list[str]:
    """Return what a LoCoMo file says was learned in its conversations, each once."""
    found: dict[str, None] = {}
    for sample in json.loads(file.read_text(encoding="utf-8")):
        for session in sample["observation"].values():
            for told in session.values():
                found |= dict.fromkeys(text for text, _ in told)
    return list(found)


def merged_share(folder: Path, sentences: Sequence[str], change: Variant) -> tuple[float, int]:
    """Return which share of changed sentences joined the memory of the original; of how many."""
    rng = Random(1)
    changed = {text: said for text in sentences if (said := change(text, rng)) is not None}
    being = Patrolled(folder)
    try:
        being.note([{"action": text} for text in changed])
        being.patrol()
        before = {scene: node.node_id for node in being.nodes() for scene in node.evidence}
        told = being.note([{"action": said} for said in changed.values()])
        being.patrol()
        after = {scene: node.node_id for node in being.nodes() for scene in node.evidence}
    finally:
        being.close()
    old = set(before.values())
    return sum(after[scene] in old for scene in told) / len(told), len(told)


def duplicates(file: Path, count: int = SENTENCES) -> dict[str, tuple[float, int]]:
    """Return the share that was merged by the kind of change."""
    sentences = Random(7).sample(observations(file), count)
    found = {}
    for name, change in {**SAME, **OTHER}.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = merged_share(Path(folder), sentences, change)
    return found


def dividing() -> StandIn:
    """Return a model that lets every cluster fall apart that may, and does nothing else."""
    return StandIn(silent=frozenset({"extract", "consolidate", "digest", "diary", "think"}))


@dataclass(frozen=True, slots=True)
class Grouping:
    """How well clusters and labels agree."""

    clusters: int
    purity: float
    nmi: float


def grouping(pairs: Sequence[tuple[str, str]]) -> Grouping:
    """Return how pairs of cluster and label agree; each stands for one text."""
    together = Counter(pairs)
    clusters = Counter(cluster for cluster, _ in pairs)
    labels = Counter(label for _, label in pairs)
    largest: dict[str, int] = defaultdict(int)
    for (cluster, _), count in together.items():
        largest[cluster] = max(largest[cluster], count)
    total = len(pairs)
    shared = sum(
        count / total * math.log(count * total / (clusters[cluster] * labels[label]))
        for (cluster, label), count in together.items()
    )
    mean = (_entropy(clusters, total) + _entropy(labels, total)) / 2
    return Grouping(len(clusters), sum(largest.values()) / total, shared / mean)


def _entropy(counts: Mapping[str, int], total: int) -> float:
    return -math.fsum(count / total * math.log(count / total) for count in counts.values())


def labelled(file: Path) -> Iterator[tuple[str, str]]:
    """Give the texts of a CLINC150 sample with their labels, each text once."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    yield from {row["text"]: row["label"] for row in rows}.items()


def clustered(file: Path, embeddings: str, planner: Planner | None = None) -> Grouping:
    """Return how well patrols put texts of one label together."""
    texts = list(labelled(file))
    Random(1).shuffle(texts)
    with tempfile.TemporaryDirectory() as folder:
        being = Patrolled(Path(folder), embeddings=embeddings, planner=planner)
        try:
            noted = being.note([{"action": text, "actors": []} for text, _ in texts])
            being.patrol()
            label_of = dict(zip(noted, (label for _, label in texts), strict=True))
            pairs = [
                (node.cluster_id or "none", label_of[scene])
                for node in being.nodes()
                for scene in node.evidence
            ]
        finally:
            being.close()
    assert len(pairs) == len(texts)
    return grouping(pairs)


def groupings(file: Path) -> dict[str, Grouping]:
    """Return how well it goes with and without vectors, and with a model that divides."""
    return {
        "builtin": clustered(file, "builtin"),
        "none": clustered(file, "none"),
        "builtin, with splits": clustered(file, "builtin", dividing()),
    }


def report_duplicates(found: Mapping[str, tuple[float, int]]) -> None:
    """Print which changes were taken for the same."""
    rows = [
        (name, "the same" if name in SAME else "something else", count, f"{share:.3f}")
        for name, (share, count) in found.items()
    ]
    show("Sentences merged with what they were made from", ("change", "says", "of", "merged"), rows)


def report_clusters(found: Mapping[str, Grouping]) -> None:
    """Print how clusters and labels agree."""
    rows = [
        (name, each.clusters, f"{each.purity:.3f}", f"{each.nmi:.3f}")
        for name, each in found.items()
    ]
    show("Clusters of labelled texts", ("embeddings", "clusters", "purity", "NMI"), rows)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=LOCOMO)
    parser.add_argument("--clinc", type=Path, default=CLINC)
    given = parser.parse_args()
    report_duplicates(duplicates(given.locomo))
    report_clusters(groupings(given.clinc))


if __name__ == "__main__":
    main()
