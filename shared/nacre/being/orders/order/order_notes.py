"""What stays of an order: its messages in the history, and a scene where nothing was noted.

The patrol reads the messages later and finds in them what matters; the scene stands for them
until then, found by every search at once.
"""

from dataclasses import dataclass
from unicodedata import normalize

from nacre.being.memory.model.message_chain import Said
from nacre.being.memory.model.types import Message
from nacre.being.memory.patrol_trigger import PatrolTrigger
from nacre.being.memory.store.history import History
from nacre.being.memory.store.scenes import SceneDraft, Scenes
from nacre.being.memory.text.memory_text import one_line
from nacre.being.memory.text.text_blocks import shortened
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.limits import LEAST_EXTRACTED_IMPORTANCE, MAX_CHAT_BYTES, ORDER_SCENE_BYTES
from nacre.text.analysis import terms

_NOTES = "update_notes"
_LEAST_TERMS = 3  # a greeting is not worth a memory


@dataclass(frozen=True, slots=True)
class OrderNoting:
    """Keeps what was said in orders."""

    history: History
    scenes: Scenes
    trigger: PatrolTrigger
    clock: Clock

    def keep(
        self,
        being_id: str,
        *,
        message: str,
        answer: str,
        session_id: str,
        marker_id: str | None,
        has_noted: bool,
        caller: str,
    ) -> str | None:
        """Store the messages, and a scene unless the model has noted one; return the marker."""
        added = self.history.add(
            being_id,
            [_said("user", message), _said("assistant", answer)],
            marker_id=marker_id,
            session_key_hash=session_id,
            for_patrol=True,
        )
        if not has_noted and added.messages and len(set(terms(message))) >= _LEAST_TERMS:
            self._note(being_id, message, answer, caller, added.messages)
        return added.marker_id

    def _note(
        self,
        being_id: str,
        message: str,
        answer: str,
        caller: str,
        evidence: tuple[Message, ...],
    ) -> None:
        asked, answered = (
            shortened(one_line(text), ORDER_SCENE_BYTES) for text in (message, answer)
        )
        scene = SceneDraft(
            action=f"Was told in an order: {asked} Answered: {answered}",
            actors=[caller],
            when=[f"{self.clock():%Y-%m-%d}"],
            importance=LEAST_EXTRACTED_IMPORTANCE,
            evidence=tuple(each.message_id for each in evidence),
        )
        self.scenes.record(being_id, [scene])
        try:
            self.trigger.after_scenes(being_id)
        except UnavailableError:  # the scene is stored, and the next one fires
            return


def _said(role: str, text: str) -> Said:
    """Return a message as long as the history takes: other servers' results have no such bound."""
    return Said(role, shortened(normalize("NFC", text), MAX_CHAT_BYTES))


def noted(called: set[str]) -> bool:
    """Whether the model itself has recorded what should stay."""
    return _NOTES in called
