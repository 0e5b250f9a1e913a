"""Questions whose evidence is not among the first ten, sorted by what kept it away."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from nacre.text.analysis import terms
from tests.benchmarks.recall_quality.measure import Answer

TOP = 10
_SHORT = 6  # terms of a memory that says little by itself


def cause(answer: Answer, name: str) -> str:
    """Return why a memory was probably missed."""
    asked, told = set(terms(answer.question.text)), terms(answer.texts[name])
    if name in answer.ranking:
        return "found later, within the first thirty"
    if len(answer.question.evidence) > TOP:
        return "more evidence than places"
    if len(told) < _SHORT:
        return "says little by itself"
    if asked.isdisjoint(told):
        return "shares no word with the question"
    if len(answer.question.evidence) > 1 and answer.recall(TOP) > 0:
        return "one of several, another one was found"
    return "other memories share more with the question"


def by_cause(answers: Iterable[Answer]) -> Mapping[str, Sequence[tuple[Answer, str]]]:
    """Return the missed memories by cause, the most frequent cause first."""
    causes = defaultdict(list)
    for answer in answers:
        for name in sorted(answer.question.evidence.difference(answer.ranking[:TOP])):
            causes[cause(answer, name)].append((answer, name))
    return dict(sorted(causes.items(), key=lambda entry: -len(entry[1])))


def shown(answer: Answer, name: str) -> str:
    """Return a miss as text to read: question, evidence, and what came first."""
    return "\n".join(
        [
            f"  ? {answer.question.text}  ({answer.question.category})",
            f"  = {answer.texts[name][:200]}",
            *(f"    {answer.texts[first][:120]}" for first in answer.ranking[:2]),
        ]
    )
