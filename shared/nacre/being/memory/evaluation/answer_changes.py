"""The difference between two answers to one question, and the order of the worst ones."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from nacre.being.memory.store.kept_questions import KeptQuestion
from nacre.core.lazy_dataclasses import dataclass

Outcome = Literal["silent", "lost", "moved", "gained", "same"]
OUTCOMES: tuple[Outcome, ...] = ("silent", "lost", "moved", "gained", "same")
"""All outcomes, the worst first."""

CREATED = "created"
"""The cause of a change that a memory was not there before."""


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """Two answers to a question, as ids in their order.

    The outcome is `silent` if the second is empty, `lost` if it lacks a memory of the first,
    `gained` if it only has more, and `moved` if it has the same memories in another order.
    `judged` are the memories of the answer that was kept, and perhaps marked, whose loss is one.
    `causes` say what else changed between the answers.
    """

    question: KeptQuestion
    before: tuple[str, ...]
    after: tuple[str, ...]
    judged: tuple[str, ...]
    causes: tuple[str, ...] = ()

    @property
    def lost(self) -> tuple[str, ...]:
        """Return the memories that only the first answer has."""
        return tuple(id_ for id_ in self.before if id_ not in self.after)

    @property
    def gained(self) -> tuple[str, ...]:
        """Return the memories that only the second answer has."""
        return tuple(id_ for id_ in self.after if id_ not in self.before)

    @property
    def outcome(self) -> Outcome:
        """Return the outcome for the answer."""
        if self.before and not self.after:
            return "silent"
        if self.lost:
            return "lost"
        if self.gained:
            return "gained"
        return "same" if self.before == self.after else "moved"

    @property
    def loses_good(self) -> bool:
        """Return whether an answer that its owner marked as good is no longer whole."""
        return self.question.mark == "good" and self._loses_kept

    @property
    def loses_bad(self) -> bool:
        """Return whether an answer that its owner marked as bad lost a memory."""
        return self.question.mark == "bad" and self._loses_kept

    @property
    def _loses_kept(self) -> bool:
        if self.question.found:
            return not set(self.judged).isdisjoint(self.lost)
        # The answer that was kept is silence, which a new memory may break.
        return not self.before and bool(self.after) and CREATED not in self.causes


def worst_first(changes: Iterable[AnswerChange]) -> list[AnswerChange]:
    """Return the changes with lost good answers first, then by outcome and by the lost rank."""

    def badness(change: AnswerChange) -> tuple[bool, int, int, int, str]:
        lost = [rank for rank, id_ in enumerate(change.before) if id_ not in change.after]
        return (
            not change.loses_good,
            OUTCOMES.index(change.outcome),
            min(lost, default=0),
            -change.question.times,
            change.question.question_id,
        )

    return sorted(changes, key=badness)


def totals(changes: Sequence[AnswerChange]) -> dict[str, int]:
    """Return the number of each outcome, and of lost good and bad answers."""
    counts = Counter(change.outcome for change in changes)
    return {
        **{outcome: counts[outcome] for outcome in OUTCOMES},
        "good_lost": sum(change.loses_good for change in changes),
        "bad_lost": sum(change.loses_bad for change in changes),
    }
