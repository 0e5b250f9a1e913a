"""The planner that asks a language model, within the daily budget, and checks every answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from nacre.being.language_model.daily_budget import Spending
from nacre.being.memory.model.types import Cluster, Message, Node, Scene, SceneDraft
from nacre.being.memory.text.memory_text import shown_line
from nacre.being.patrol.planning import questions
from nacre.being.patrol.planning.answer_fields import Answer, UnusableError, answer_in
from nacre.being.patrol.planning.model_answers import (
    diary_in,
    digest_in,
    drafts_in,
    merge_in,
    notes_in,
    split_in,
)
from nacre.being.patrol.planning.plans import Digest, MergePlan, PlanResult, SplitPlan
from nacre.being.patrol.planning.prompt_text import as_data, briefly, facts, portions, readable
from nacre.being.patrol.planning.questions import Question
from nacre.core.errors import ModelError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import TOKEN_BYTES
from nacre.ports.model import Model

T = TypeVar("T")
_HALF_BYTES = 12 * 1024  # of one half of a cluster
_QUESTION_FAULTS = ("refused", "truncated", "too_long")  # faults that are not the provider's
_MAX_FAILURES = 2  # in a row; then the provider is not asked again in this run


class ModelPlanner:
    """Plans with one model, for one run.

    Without a model, every result has the `reason`, such as a key that cannot be opened. A provider
    that refuses the key, or fails twice in a row, is not asked again: every further question would
    wait for it as long as the first.
    """

    def __init__(self, model: Model | None, spending: Spending, *, reason: str = "") -> None:
        self._model = model
        self._spending = spending
        self._reason = reason
        self.model = "none" if model is None else model.name
        self._failures = 0
        self._last_failure = ""

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> PlanResult[tuple[SceneDraft, ...]]:
        """Return the scenes in messages, with one question for each portion of them."""
        drafts: list[SceneDraft] = []
        input_tokens = output_tokens = 0
        for portion in portions(messages):
            result = self._extract(being_id, portion)
            input_tokens += result.input_tokens
            output_tokens += result.output_tokens
            if result.value is None:
                return replace(result, input_tokens=input_tokens, output_tokens=output_tokens)
            drafts += result.value
        return PlanResult(tuple(drafts), None, input_tokens, output_tokens)

    def _extract(
        self, being_id: str, portion: Sequence[Message]
    ) -> PlanResult[tuple[SceneDraft, ...]]:
        readable_messages = readable(portion)
        messages = [
            {
                "number": number,
                "date": entry.message.ts[:10],
                "role": entry.message.role,
                "text": entry.text,
            }
            for number, entry in enumerate(readable_messages, 1)
        ]
        return self._ask(
            being_id,
            questions.EXTRACT,
            {"messages": messages},
            lambda answer: drafts_in(answer, readable_messages, being_id),
        )

    def consolidate(self, being_id: str, group: Sequence[Node]) -> PlanResult[MergePlan]:
        """Return which nodes of a group say the same, and which are superseded."""
        memories = [{"number": number, **facts(node)} for number, node in enumerate(group, 1)]
        return self._ask(
            being_id,
            questions.CONSOLIDATE,
            {"memories": memories},
            lambda answer: merge_in(answer, group),
        )

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> PlanResult[SplitPlan]:
        """Return whether these halves of a cluster are two subjects, and their labels."""
        first, second = (
            briefly([shown_line(node) for node in half], size=_HALF_BYTES) for half in halves
        )
        material = {"first_half": first, "second_half": second}
        return self._ask(being_id, questions.SPLIT, material, split_in)

    def digest(
        self, being_id: str, cluster: Cluster, members: Sequence[Node]
    ) -> PlanResult[Digest]:
        """Return the label and the digest of a cluster with these members."""
        memories = briefly([shown_line(node) for node in members])
        material: dict[str, object] = {"memories": memories}
        if cluster.label:
            material["name_so_far"] = cluster.label
        return self._ask(being_id, questions.DIGEST, material, digest_in)

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> PlanResult[str]:
        """Return a paragraph for the diary about what happened."""
        material = {"noted": briefly([shown_line(scene) for scene in scenes])}
        return self._ask(being_id, questions.DIARY, material, diary_in)

    def think_notes(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> PlanResult[tuple[str, ...]]:
        """Return a few short notes on the notable points of these memories."""
        subjects = [f"{cluster.label}: {cluster.digest}" for cluster in clusters]
        material = {
            "subjects": briefly(subjects, size=_HALF_BYTES),
            "latest": briefly([shown_line(node) for node in nodes], size=_HALF_BYTES),
        }
        return self._ask(being_id, questions.THINK, material, notes_in)

    def _ask(
        self,
        being_id: str,
        question: Question,
        material: Mapping[str, object],
        check: Callable[[Answer], T],
    ) -> PlanResult[T]:
        if self._model is None:
            return PlanResult(None, self._reason)
        if self._failures >= _MAX_FAILURES:
            return PlanResult(None, f"not asked again in this run: {self._last_failure}")
        system, user = question.system, as_data(**material)
        estimate = (len(system.encode()) + len(user.encode())) // TOKEN_BYTES + 1
        reservation = self._spending.reserve(
            being_id, input_tokens=estimate, output_tokens=question.max_tokens
        )
        if isinstance(reservation, str):
            return PlanResult(None, reservation)
        input_tokens = output_tokens = 0
        try:
            answer = self._model.ask(
                system=system, user=user, schema=question.schema, max_tokens=question.max_tokens
            )
            input_tokens, output_tokens = answer.input_tokens, answer.output_tokens
            self._failures = 0
            return PlanResult(check(answer_in(answer.text)), None, input_tokens, output_tokens)
        except ModelError as error:
            input_tokens, output_tokens = error.input_tokens, error.output_tokens
            self._count_failure(error)
            is_fault = error.kind in _QUESTION_FAULTS
            return PlanResult(
                None, str(error), input_tokens, output_tokens, is_question_fault=is_fault
            )
        except UnusableError as error:
            reason = f"the language model's answer cannot be used: {error}"
            return PlanResult(None, reason, input_tokens, output_tokens, is_question_fault=True)
        finally:
            self._spending.settle(
                reservation, input_tokens=input_tokens, output_tokens=output_tokens
            )

    def _count_failure(self, error: ModelError) -> None:
        self._last_failure = str(error)
        if error.kind in _QUESTION_FAULTS:
            self._failures = 0
        else:
            self._failures += _MAX_FAILURES if error.kind == "rejected_key" else 1
