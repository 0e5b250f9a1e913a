"""The questions that a Being keeps, if its owner wishes: what was asked, and what was found.

A question that is asked again is counted in its entry. There is a fixed number of entries, and a
new one takes the place of the oldest. An entry with a mark of the owner stays as it was marked.
Entries have the ids of the memories that were found, and none of their texts.
"""

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from nacre import __version__
from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import KEEPS_QUESTIONS, KEPT_QUESTIONS
from nacre.being.memory.model.fields import cleaned_text
from nacre.being.memory.model.types import moment
from nacre.being.memory.store.partitions import items_in
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import KEPT_QUESTIONS_OF_BEING, MAX_QUERY, MAX_TRANSACTION_WRITES
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    Absent,
    Change,
    Check,
    Compare,
    Delete,
    Either,
    Every,
    Item,
    Key,
    Present,
    Put,
    Table,
    Update,
    Value,
    Write,
    fields_in,
)
from nacre.ports.vectors.vector_index import Kind
from nacre.text.analysis import mostly_cjk

QUESTION = ItemSchema("kept question", 1)
Tool = Literal["recall", "search_memory"]
Mark = Literal["good", "bad"]

_ATTEMPTS = 4  # while other processes keep questions too
_ERASED_AT_ONCE = MAX_TRANSACTION_WRITES - 1  # the number of questions is written too
_ID_LENGTH = 12  # hexadecimal digits, short enough to type
_SHORTEST = 12  # characters of a text that is searched within other texts
_SHORTEST_CJK = 4  # of one in Chinese, Japanese or Korean
_KEEPS = Compare(KEEPS_QUESTIONS, "=", value=True)


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory in an answer: its id, its kind, and a hash of the line that was shown."""

    id: str
    kind: Kind
    line: str

    @classmethod
    def of(cls, memory_id: str, kind: Kind, text: str) -> "FoundMemory":
        """Return a memory with the hash of its line."""
        return cls(memory_id, kind, line_hash(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptQuestion:
    """A question with the answer that it got last, or that its owner marked.

    `arguments` are those of the tool, without the question. `gate` is that of a recall. `is_cut`
    says that a secret was cut from the text, so that it cannot be asked again as it was.
    """

    question_id: str
    tool: Tool
    text: str
    arguments: Mapping[str, Any]
    found: tuple[FoundMemory, ...]
    embedding: str
    version: str
    asked: str
    gate: Mapping[str, Any] | None = None
    times: int = 1
    mark: Mark | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a question: the memories in their order, and how they were found."""

    found: Sequence[FoundMemory]
    embedding: str
    gate: Mapping[str, Any] | None = None


def line_hash(text: str) -> str:
    """Return the hash by which a corrected memory is recognized."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class KeptQuestions:
    """The kept questions of Beings. Only those of a Being that keeps questions are added."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def switch(self, being_id: str, *, on: bool) -> None:
        """Start or stop keeping questions; those that are kept already stay."""
        if on:
            change = Change(set={KEEPS_QUESTIONS: True})
        else:
            change = Change(remove=frozenset({KEEPS_QUESTIONS}))
        try:
            self._table.update(keys.meta(being_id), change, when=Present())
        except ConditionFailedError:
            raise NotFoundError("there is no such Being") from None

    def is_on(self, being_id: str) -> bool:
        """Return whether questions of this Being are kept."""
        return (self._table.get(keys.meta(being_id)) or {}).get(KEEPS_QUESTIONS) is True

    def all(self, being_id: str) -> list[KeptQuestion]:
        """Return the questions, the oldest first."""
        questions = map(_question, items_in(self._table, keys.questions(being_id)))
        return sorted(questions, key=lambda question: (question.asked, question.question_id))

    def add(
        self,
        being_id: str,
        tool: Tool,
        text: str,
        arguments: Mapping[str, Value],
        answer: KeptAnswer,
    ) -> None:
        """Keep a question with its answer, without secrets.

        Nothing is kept of a question that is empty or longer than a search reads, or if a memory
        of the answer was erased meanwhile.
        """
        screened = _screened(text)
        if screened is None:
            return
        question, is_cut = screened
        named_arguments: dict[str, Value] = {
            name: value for name, value in arguments.items() if value is not None
        }
        identity = json.dumps([being_id, tool, question, named_arguments], sort_keys=True)
        place = Key(
            keys.questions(being_id), hashlib.sha256(identity.encode()).hexdigest()[:_ID_LENGTH]
        )
        now = moment(self._clock())
        attributes: Item = {
            "found": [{"id": hit.id, "kind": hit.kind, "line": hit.line} for hit in answer.found],
            "gate": None if answer.gate is None else dict(answer.gate),
            "embedding": answer.embedding,
            "version": __version__,
            "asked": now,
            **_listed(being_id, now),
        }
        item = QUESTION.stamp(
            {
                **place.attributes(),
                **attributes,
                "tool": tool,
                "text": question,
                "arguments": named_arguments,
                "is_cut": is_cut,
                "times": 1,
            }
        )
        # A memory that is being erased must not come back as the answer to a question.
        memory_checks = [Check(_place(being_id, hit), Present()) for hit in answer.found]
        for _ in range(_ATTEMPTS):
            stored = self._table.get(place)
            if stored is None:
                writes = self._first(being_id, item)
            else:
                writes = [_keeping(being_id), _asked_again(place, stored, attributes)]
            if not writes:
                return
            try:
                self._table.transact([*writes, *memory_checks])
            except ConditionFailedError as error:
                if error.index >= len(writes) or not self.is_on(being_id):
                    return
            else:
                return

    def mark(self, being_id: str, question_id: str, mark: Mark | None) -> KeptQuestion:
        """Mark the answer to a question as good or bad, or remove the mark; return the question.

        Raises NotFoundError if it is not kept.
        """
        place = Key(keys.questions(being_id), question_id)
        item = self._table.get(place) if question_id else None
        if item is not None:
            # A question without a mark is listed, so that the oldest can be found.
            listed = _listed(being_id, str(item["asked"]))
            if mark is None:
                change = Change(set=listed, remove=frozenset({"mark"}))
            else:
                change = Change(set={"mark": mark}, remove=frozenset(listed))
            try:
                return _question(self._table.update(place, change, when=Present()))
            except ConditionFailedError:  # a newer one took its place
                pass
        raise NotFoundError(
            f"there is no kept question {question_id[:64]!r}; 'nacre eval list' shows them"
        )

    def erase_all(self, being_id: str) -> int:
        """Stop keeping questions, and erase those that are kept; return how many."""
        self.switch(being_id, on=False)
        places = [Key.of(item) for item in items_in(self._table, keys.questions(being_id))]
        return sum(
            _remove(self._table, being_id, places[first : first + _ERASED_AT_ONCE])
            for first in range(0, len(places), _ERASED_AT_ONCE)
        )

    def _first(self, being_id: str, item: Item) -> list[Write]:
        """Return the writes for a question that was not kept before; none if there is no room."""
        meta = self._table.get(keys.meta(being_id)) or {}
        count = meta.get(KEPT_QUESTIONS, 0)
        put = Put(item, Absent())
        if not isinstance(count, int) or count < KEPT_QUESTIONS_OF_BEING:
            room = Compare(KEPT_QUESTIONS, "<", KEPT_QUESTIONS_OF_BEING)
            has_room = Every((_KEEPS, Either((Absent(KEPT_QUESTIONS), room))))
            one_more = Update(keys.meta(being_id), Change(add={KEPT_QUESTIONS: 1}), has_room)
            return [one_more, put]
        oldest = self._table.query(keys.asked_questions(being_id), index="gsi1", limit=1).items
        if not oldest:  # all have marks
            return []
        # One that was marked in the meantime stays; the index may also be a moment behind.
        unmarked = Every((Present(), Absent("mark")))
        return [_keeping(being_id), put, Delete(Key.of(oldest[0]), unmarked)]


def erase_questions(table: Table, being_id: str, ids: Iterable[str], texts: Iterable[str]) -> None:
    """Erase the questions that found one of these memories, or that quote one of these texts.

    A question quotes a text if one of them is within the other.
    """
    items = list(items_in(table, keys.questions(being_id)))
    if not items:
        return
    erased, plain = set(ids), [text for text in map(_plain, texts) if text]
    for item in items:
        question = _question(item)
        text = _plain(question.text)
        if (
            not erased.isdisjoint(hit.id for hit in question.found)
            or any(memory_id in question.text for memory_id in erased)
            or any(_is_quoted(text, other) for other in plain)
        ):
            _remove(table, being_id, [Key.of(item)])


def _remove(table: Table, being_id: str, places: Sequence[Key]) -> int:
    """Erase questions, and their number with them; return how many were still there."""
    fewer = Update(keys.meta(being_id), Change(add={KEPT_QUESTIONS: -len(places)}), Present())
    try:
        table.transact([fewer, *(Delete(place, Present()) for place in places)])
    except ConditionFailedError:  # a newer question took the place of one
        if len(places) == 1:
            return 0
        return sum(_remove(table, being_id, [place]) for place in places)
    return len(places)


def _keeping(being_id: str) -> Check:
    return Check(keys.meta(being_id), _KEEPS)


def _asked_again(place: Key, stored: Item, attributes: Item) -> Update:
    """Return the write for a question that is kept already; a mark keeps its answer as it is."""
    if "mark" in stored:
        return Update(place, Change(add={"times": 1}), Present("mark"))
    renewed = Change(set=attributes, add={"times": 1})
    return Update(place, renewed, Every((Present(), Absent("mark"))))


def _place(being_id: str, hit: FoundMemory) -> Key:
    partition = keys.nodes(being_id) if hit.kind == "node" else keys.scenes(being_id)
    return Key(partition, hit.id)


def _listed(being_id: str, time: str) -> Item:
    return {"gsi1pk": keys.asked_questions(being_id), "gsi1sk": time}


def _screened(text: str) -> tuple[str, bool] | None:
    """Return a question without secrets, and whether it had one; None if it is not kept."""
    if not text.strip(" *\n\t") or len(text) > MAX_QUERY:
        return None
    from nacre.firewall.content.secrets import (  # noqa: PLC0415 - only keeping needs it
        BUILT_IN,
        redact_text,
    )

    cleaned = cleaned_text(text, "text")
    question, secrets = redact_text(cleaned, BUILT_IN)
    return (question, secrets > 0) if question else None


def _plain(text: str) -> str:
    """Return a text in lower case without the marks around it, with which nobody quotes it."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    letters = [place for place, char in enumerate(plain) if char.isalnum()]
    return plain[letters[0] : letters[-1] + 1] if letters else plain


def _is_quoted(question: str, text: str) -> bool:
    shorter, longer = sorted((question, text), key=len)
    if shorter == longer:
        return True
    is_within = len(shorter) >= _SHORTEST_CJK and shorter in longer
    return is_within and (len(shorter) >= _SHORTEST or mostly_cjk(shorter))


def _question(item: Item) -> KeptQuestion:
    fields = fields_in(QUESTION.read(item), KeptQuestion)
    hits = tuple(FoundMemory(hit["id"], hit["kind"], hit["line"]) for hit in fields["found"])
    return KeptQuestion(**{**fields, "question_id": str(item["sk"]), "found": hits})
