"""The answers to kept questions, each asked again as at its own time."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nacre.being.memory.search.queries import MemoryQueries
from nacre.being.memory.search.search import NO_EMBEDDER
from nacre.being.memory.store.kept_questions import KeptQuestion
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.vectors.vector_index import Kind


class QuestionClock:
    """A clock that shows the time of a question, so that "yesterday" means the same day again."""

    def __init__(self) -> None:
        self.now = datetime.fromtimestamp(0, UTC)

    def __call__(self) -> datetime:
        """Return the time of the question."""
        return self.now


@dataclass(frozen=True, slots=True)
class Answer:
    """The memories of an answer with their kinds, in their order, and the gate of a recall."""

    kinds: Mapping[str, Kind]
    gate: Mapping[str, Any] | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids in their order."""
        return tuple(self.kinds)


def ask_all(
    queries: MemoryQueries,
    clock: QuestionClock,
    being_id: str,
    questions: Sequence[KeptQuestion],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, Answer]:
    """Return the answers by the ids of their questions. No recall is counted.

    `clock` is the one that `queries` was opened with. Raises UnavailableError if the embedding
    model does not answer for one of them: the search goes on without it, and its answer would
    look like a change of the settings.
    """
    answers = {}
    for number, question in enumerate(questions, start=1):
        clock.now = datetime.fromisoformat(question.asked)
        arguments = {"counted": False, **question.arguments}
        if question.tool == "recall":
            reply = queries.recall(being_id, question.text, **arguments)
        else:
            reply = queries.search(being_id, question.text, **arguments)
        if NO_EMBEDDER in reply.trace["remarks"]:
            raise UnavailableError(
                f"the embedding model did not answer for question {number} of {len(questions)},"
                " so nothing was compared; try again when it does"
            )
        kinds = {hit["id"]: hit["kind"] for hit in reply.trace["memories"]}
        answers[question.question_id] = Answer(kinds, reply.trace.get("gate"))
        progress(number, len(questions))
    return answers
