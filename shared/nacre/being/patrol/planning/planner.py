"""Thinking with a language model, within a day's budget, believing nothing unchecked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nacre.being.language_model.spending import Spending
from nacre.being.memory.model.types import Cluster, Message, Node, Scene
from nacre.being.memory.text.memory_text import shown_line
from nacre.being.patrol.planning import questions
from nacre.being.patrol.planning.answer_fields import Answer, UnusableError, answer_in
from nacre.being.patrol.planning.found_scenes import drafts_in
from nacre.being.patrol.planning.model_answers import (
    diary_in,
    digest_in,
    merge_in,
    notes_in,
    split_in,
)
from nacre.being.patrol.planning.plans import Digest, MergePlan, SceneDraft, SplitPlan, Thought
from nacre.being.patrol.planning.prompt_text import as_data, briefly, facts, portions, readable
from nacre.being.patrol.planning.questions import Question
from nacre.core.errors import ModelError
from nacre.core.limits import TOKEN_BYTES
from nacre.ports.model import Model

T = TypeVar("T")
_HALF = 12 * 1024  # bytes of one half of a cluster
_OF_QUESTION = ("refused", "truncated", "too_long")  # faults that are not the provider's
_PATIENCE = 2  # so many failures in a row, and the provider is left alone until the next run


class ModelThinking:
    """Thinking with one model, made for one run.

    A provider that refuses the key, or fails twice in a row, is not asked again: each question
    would wait for it as long as the first.
    """

    def __init__(self, model: Model, spending: Spending) -> None:
        self._model = model
        self._spending = spending
        self.model = model.name
        self._failures = 0
        self._last_failure = ""

    def extract(
        self, being_id: str, messages: Sequence[Message]
    ) -> Thought[tuple[SceneDraft, ...]]:
        """Return the scenes that stand in messages; one question for each portion of them."""
        found: list[SceneDraft] = []
        input_tokens = output_tokens = 0
        for portion in portions(messages):
            thought = self._extract(being_id, portion)
            input_tokens += thought.input_tokens
            output_tokens += thought.output_tokens
            if thought.value is None:
                return replace(thought, input_tokens=input_tokens, output_tokens=output_tokens)
            found += thought.value
        return Thought(tuple(found), None, input_tokens, output_tokens)

    def _extract(
        self, being_id: str, portion: Sequence[Message]
    ) -> Thought[tuple[SceneDraft, ...]]:
        shown = readable(portion)
        said = [
            {
                "number": number,
                "date": each.message.ts[:10],
                "role": each.message.role,
                "text": each.text,
            }
            for number, each in enumerate(shown, 1)
        ]
        return self._think(
            being_id,
            questions.EXTRACT,
            {"messages": said},
            lambda answer: drafts_in(answer, shown, being_id),
        )

    def consolidate(self, being_id: str, group: Sequence[Node]) -> Thought[MergePlan]:
        """Return which nodes of a group say the same, and which are no longer so."""
        memories = [{"number": number, **facts(node)} for number, node in enumerate(group, 1)]
        return self._think(
            being_id,
            questions.CONSOLIDATE,
            {"memories": memories},
            lambda answer: merge_in(answer, group),
        )

    def split(
        self, being_id: str, halves: tuple[Sequence[Node], Sequence[Node]]
    ) -> Thought[SplitPlan]:
        """Return whether these halves of a cluster are two subjects, and their names."""
        first, second = (
            briefly([shown_line(node) for node in half], room=_HALF) for half in halves
        )
        material = {"first_half": first, "second_half": second}
        return self._think(being_id, questions.SPLIT, material, split_in)

    def digest(self, being_id: str, cluster: Cluster, members: Sequence[Node]) -> Thought[Digest]:
        """Return what a cluster with these members is about."""
        material: dict[str, object] = {"memories": briefly([shown_line(each) for each in members])}
        if cluster.label:
            material["name_so_far"] = cluster.label
        return self._think(being_id, questions.DIGEST, material, digest_in)

    def diary(self, being_id: str, scenes: Sequence[Scene]) -> Thought[str]:
        """Return a paragraph for the diary about what happened."""
        material = {"noted": briefly([shown_line(scene) for scene in scenes])}
        return self._think(being_id, questions.DIARY, material, diary_in)

    def think(
        self, being_id: str, clusters: Sequence[Cluster], nodes: Sequence[Node]
    ) -> Thought[tuple[str, ...]]:
        """Return what stands out across these memories, in a few short notes."""
        subjects = [f"{cluster.label}: {cluster.digest}" for cluster in clusters]
        material = {
            "subjects": briefly(subjects, room=_HALF),
            "latest": briefly([shown_line(node) for node in nodes], room=_HALF),
        }
        return self._think(being_id, questions.THINK, material, notes_in)

    def _think(
        self,
        being_id: str,
        question: Question,
        material: Mapping[str, object],
        check: Callable[[Answer], T],
    ) -> Thought[T]:
        if self._failures >= _PATIENCE:
            return Thought(None, f"not asked again in this run: {self._last_failure}")
        system, user = question.system, as_data(**material)
        supposed = (len(system.encode()) + len(user.encode())) // TOKEN_BYTES + 1
        held = self._spending.reserve(
            being_id, input_tokens=supposed, output_tokens=question.max_tokens
        )
        if isinstance(held, str):
            return Thought(None, held)
        input_tokens = output_tokens = 0
        try:
            answer = self._model.ask(
                system=system, user=user, schema=question.schema, max_tokens=question.max_tokens
            )
            input_tokens, output_tokens = answer.input_tokens, answer.output_tokens
            self._failures = 0
            return Thought(check(answer_in(answer.text)), None, input_tokens, output_tokens)
        except ModelError as error:
            input_tokens, output_tokens = error.input_tokens, error.output_tokens
            self._take_note(error)
            mine = error.kind in _OF_QUESTION
            return Thought(None, str(error), input_tokens, output_tokens, of_question=mine)
        except UnusableError as error:
            reason = f"the language model's answer cannot be used: {error}"
            return Thought(None, reason, input_tokens, output_tokens, of_question=True)
        finally:
            self._spending.settle(held, input_tokens=input_tokens, output_tokens=output_tokens)

    def _take_note(self, error: ModelError) -> None:
        self._last_failure = str(error)
        if error.kind in _OF_QUESTION:
            self._failures = 0
        else:
            self._failures += _PATIENCE if error.kind == "rejected_key" else 1
