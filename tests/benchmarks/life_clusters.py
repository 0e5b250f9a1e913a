"""How well patrols group the memories of five lives, and the texts of CLINC150, by subject.

    python -m tests.benchmarks.life_clusters [--embeddings builtin] [--clinc FILE]

The lives are in `lives/`: each scene with its day, its people and the subject that a reader would
give it. Scenes are noted day by day, and a patrol runs when ten wait, without a key. `nora` and
`jonas` were used to choose the rules; the others were not looked at before.
"""

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.patrol_quality import CLINC, Grouping, clustered, grouping
from tests.benchmarks.patrolled import Patrolled
from tests.benchmarks.table import show

LIVES = Path(__file__).parent / "lives"
KNOWN = ("nora", "jonas")
UNSEEN = ("priya", "yui", "carmen")
_AT_ONCE = 10  # waiting scenes that start a patrol
_LARGE, _ONE_SUBJECT = 40, 0.9  # members; share of the largest subject


@dataclass(frozen=True, slots=True)
class LifeScene:
    """A scene of a life, and the subject that a reader would give it."""

    day: str
    people: tuple[str, ...]
    action: str
    subject: str


@dataclass(frozen=True, slots=True)
class Groups:
    """How well the clusters of a life agree with its subjects."""

    scenes: int
    subjects: int
    agreement: Grouping
    in_threes: float  # share of memories in clusters of three and more
    median: float  # size of a cluster
    largest: int
    mixed: int  # clusters above 40 that are not about one subject
    labels: tuple[str, ...]


def life(name: str) -> list[LifeScene]:
    """Return the scenes of a life in the order of their days."""
    scenes = []
    subject = ""
    for line in (LIVES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            subject = line[3:]
        elif line.startswith("2026-"):
            day, people, action = line.split(" | ")
            scenes.append(LifeScene(day, tuple(people.split(", ")), action, subject))
    return sorted(scenes, key=lambda scene: scene.day)


def grouped(scenes: Sequence[LifeScene], embeddings: str) -> Groups:
    """Return how well patrols group the scenes of a life."""
    subject_of: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        being = Patrolled(Path(folder), embeddings=embeddings)
        try:
            for first in range(0, len(scenes), _AT_ONCE):
                some = scenes[first : first + _AT_ONCE]
                noted = being.note(
                    [
                        {"action": scene.action, "actors": [*scene.people], "when": [scene.day]}
                        for scene in some
                    ]
                )
                subject_of |= {id_: scene.subject for id_, scene in zip(noted, some, strict=True)}
                being.patrol()
                being.calendar.next_day()
            pairs = [
                (node.cluster_id or "none", subject_of[scene_id])
                for node in being.nodes()
                for scene_id in node.evidence
            ]
            labels = tuple(cluster.label for cluster in being.clusters())
        finally:
            being.close()
    return groups_of(pairs, labels)


def groups_of(pairs: Sequence[tuple[str, str]], labels: tuple[str, ...] = ()) -> Groups:
    """Return how pairs of cluster and subject agree."""
    sizes = Counter(cluster for cluster, _ in pairs)
    subjects: dict[str, Counter[str]] = defaultdict(Counter)
    for cluster, subject in pairs:
        subjects[cluster][subject] += 1
    return Groups(
        scenes=len(pairs),
        subjects=len({subject for _, subject in pairs}),
        agreement=grouping(pairs),
        in_threes=sum(size for size in sizes.values() if size >= 3) / len(pairs),
        median=median(sizes.values()),
        largest=max(sizes.values()),
        mixed=sum(
            size > _LARGE and max(subjects[cluster].values()) < _ONE_SUBJECT * size
            for cluster, size in sizes.items()
        ),
        labels=labels,
    )


def report(found: Mapping[str, Groups]) -> None:
    """Print how well each life is grouped, and the labels of its clusters."""
    rows = [
        (
            name,
            groups.scenes,
            groups.subjects,
            groups.agreement.clusters,
            f"{groups.agreement.purity:.3f}",
            f"{groups.agreement.nmi:.3f}",
            f"{groups.in_threes:.2f}",
            f"{groups.median:g}",
            groups.largest,
            groups.mixed,
        )
        for name, groups in found.items()
    ]
    show(
        "Lives, grouped by subject",
        (
            "life", "scenes", "subjects", "clusters", "purity", "NMI", "in threes", "median",
            "largest", "mixed",
        ),
        rows,
    )  # fmt: skip
    for name, groups in found.items():
        show(f"Labels of {name}", ("label",), [(label,) for label in groups.labels])


def main() -> None:
    """Measure the lives, and CLINC150 if its file is there."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--embeddings", default="builtin")
    parser.add_argument("--clinc", type=Path, default=CLINC)
    given = parser.parse_args()
    report({name: grouped(life(name), given.embeddings) for name in (*KNOWN, *UNSEEN)})
    if given.clinc.exists():
        result = clustered(given.clinc, given.embeddings)
        row = (result.clusters, f"{result.purity:.3f}", f"{result.nmi:.3f}")
        show("CLINC150, 60 intents of 50", ("clusters", "purity", "NMI"), [row])


if __name__ == "__main__":
    main()
