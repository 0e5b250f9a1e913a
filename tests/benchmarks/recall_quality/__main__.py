"""Measure what searches find, on every data set that the command line names.

    python -m tests.benchmarks.recall_quality [--locomo FILE] [--jsquad FILE]
        [--zero-overlap FOLDER] [--longmemeval FILE] [--beam FOLDER] [--misses NUMBER]
        [EMBEDDINGS ...]

EMBEDDINGS are values of NACRE_EMBEDDINGS. The distractors among questions that share no word with
their answer are LoCoMo's turns.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from nacre.adapters.embeddings.builtin_models import BUILTIN
from tests.benchmarks.recall_quality import datasets
from tests.benchmarks.recall_quality.measure import Answer, Quality, answers, report
from tests.benchmarks.recall_quality.misses import by_cause, shown
from tests.benchmarks.recall_quality.tasks import Task

CHOSEN = ("none", *BUILTIN)
LANGUAGES = {"en": "English", "ja": "Japanese", "mix": "across languages"}
YOUNG = (3, 10, 30)


def main() -> None:
    """Measure what the command line names."""
    given = _arguments()
    sets = data_sets(given)
    if not sets:
        sys.exit("give a file to measure with: --locomo FILE, for example")
    for title, tasks in sets.items():
        measured: dict[str, list[Answer]] = {}
        for name in given.embeddings or CHOSEN:
            measured[name] = answers(tasks(), name)
        report(title, {name: Quality.of(found) for name, found in measured.items()})
        if given.misses:
            for name, found in measured.items():
                _show_misses(name, found, given.misses)


def data_sets(given: argparse.Namespace) -> Mapping[str, Callable[[], Iterator[Task]]]:
    """Return the data sets whose files exist, by their titles."""
    sets: dict[str, Callable[[], Iterator[Task]]] = {}
    if given.locomo:
        sets["LoCoMo"] = partial(datasets.locomo, given.locomo)
    if given.jsquad:
        sets["JSQuAD"] = partial(datasets.jsquad, given.jsquad)
    if given.zero_overlap:
        others = datasets.distractors_of(datasets.locomo(given.locomo)) if given.locomo else []
        files = {name: given.zero_overlap / f"{name}.tsv" for name in LANGUAGES}
        for language, title in LANGUAGES.items():
            tasks = partial(datasets.zero_overlap, files[language], others)
            sets[f"No shared word, {title}"] = tasks
        for size in YOUNG:
            tasks = partial(_young, list(files.values()), size)
            sets[f"No shared word, {size} memories in all"] = tasks
    if given.longmemeval:
        sets["LongMemEval_S"] = partial(datasets.long_mem_eval, given.longmemeval, given.every)
    if given.beam:
        sets["BEAM"] = partial(datasets.beam, given.beam)
    return sets


def _young(files: Sequence[Path], size: int) -> Iterator[Task]:
    return chain.from_iterable(datasets.young(file, size) for file in files)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, path in (
        ("locomo", datasets.LOCOMO),
        ("jsquad", datasets.JSQUAD),
        ("zero-overlap", datasets.ZERO_OVERLAP),
        ("longmemeval", None),
        ("beam", None),
    ):
        default = path if path is not None and path.exists() else None
        parser.add_argument(f"--{name}", type=Path, default=default)
    parser.add_argument("--only", action="store_true", help="only the sets that are named")
    parser.add_argument("--every", type=int, default=6, help="n-th question of LongMemEval")
    parser.add_argument("--misses", type=int, default=0, help="misses to show for each cause")
    parser.add_argument("embeddings", nargs="*", metavar="EMBEDDINGS")
    given = parser.parse_args()
    if given.only:
        named = " ".join(sys.argv)
        for name in ("locomo", "jsquad", "zero_overlap"):
            if f"--{name.replace('_', '-')}" not in named:
                setattr(given, name, None)
    return given


def _show_misses(name: str, found: list[Answer], count: int) -> None:
    for reason, misses in by_cause(found).items():
        print(f"\n{name}: {reason}: {len(misses)}\n")
        step = max(1, len(misses) // count)
        print("\n\n".join(shown(*miss) for miss in misses[::step][:count]))


if __name__ == "__main__":
    main()
