"""Random histories of a Being: what its users and its days do between patrols.

Words are few, so that notes repeat, contradict and crowd each other. Places are numbers that
choose among whatever there is at that moment.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from hypothesis import strategies as st

from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.model.message_chain import ChatMessage
from nacre.being.memory.model.types import Node
from nacre.core.errors import InvalidInputError
from tests.being.patrol.worlds import World

_WHO = ("Ann", "Bob")
_DID = ("fed", "sold", "painted")
_WHAT = ("cat", "old boat", "rye bread", "pear tree")
_VARIANTS = (
    "{who} {did} the {what}",
    "{who} {did} the {what}.",
    "{who} {did}  the {what}",
    "{who} {did} the {what} today",
    "{who} did not {did} the {what}",
    "{who} {did} the 2 {what}",
    "{who} {did} the {what} in the barn",
)
_DAYS = ("2026-07-01", "2026-07-02")


def nodes_of(world: World) -> list[Node]:
    """Return every node, by id."""
    return list(world.memory.nodes.page(world.being_id).nodes)


def living_at(world: World, places: Iterable[int]) -> list[Node]:
    """Return living nodes at these places, each once; none where there are none."""
    living = [node for node in nodes_of(world) if node.is_living]
    ids = {living[place % len(living)].node_id: None for place in places if living}
    return [node for node in living if node.node_id in ids]


class UserStep(Protocol):
    """Something that happens to a Being; where there is nothing for it, nothing does."""

    def do(self, world: World) -> None:
        """Let it happen."""
        ...


@dataclass(frozen=True, slots=True)
class Note:
    """Scenes are recorded."""

    scenes: tuple[tuple[str, str, float], ...]  # action, day, importance

    def do(self, world: World) -> None:
        """Let it happen."""
        for action, day, importance in self.scenes:
            world.note(action, when=[day], importance=importance)


@dataclass(frozen=True, slots=True)
class Say:
    """A conversation is handed over, more than once if it is told so."""

    messages: tuple[tuple[str, str], ...]
    times: int

    def do(self, world: World) -> None:
        """Let it happen."""
        batch = [ChatMessage(role, content) for role, content in self.messages]
        for _ in range(self.times):
            world.memory.history.add(world.being_id, batch, for_patrol=True)


@dataclass(frozen=True, slots=True)
class Recall:
    """Memories are recalled, dead ones too."""

    places: tuple[int, ...]
    times: int

    def do(self, world: World) -> None:
        """Let it happen."""
        every = nodes_of(world)
        ids = {every[place % len(every)].node_id for place in self.places if every}
        world.memory.recalls.add(world.being_id, dict.fromkeys(sorted(ids), self.times))


@dataclass(frozen=True, slots=True)
class Merge:
    """Two memories are merged by hand."""

    places: tuple[int, int]

    def do(self, world: World) -> None:
        """Let it happen."""
        nodes = living_at(world, self.places)
        if len(nodes) == 2:
            text = f"{nodes[0].action} and so on"
            ids = [node.node_id for node in nodes]
            world.memory.edits.merge(world.being_id, ids, action=text)


@dataclass(frozen=True, slots=True)
class UndoMerge:
    """A merge is taken back by hand."""

    place: int

    def do(self, world: World) -> None:
        """Let it happen."""
        for node in living_at(world, [self.place]):
            with suppress(InvalidInputError):  # it was not made by merging
                world.memory.edits.undo_merge(world.being_id, node.node_id)


@dataclass(frozen=True, slots=True)
class UndoRun:
    """Undo the merges of the newest patrol."""

    def do(self, world: World) -> None:
        """Let it happen."""
        run = world.patrol.runs.latest(world.being_id)
        if run is not None and run.state == "done":
            world.patrol.undo(world.being_id, run.run_id)


@dataclass(frozen=True, slots=True)
class Correct:
    """An agent corrects a memory by its id."""

    place: int
    what: str

    def do(self, world: World) -> None:
        """Let it happen."""
        for node in living_at(world, [self.place]):
            with suppress(InvalidInputError):  # the owner has pinned it
                text = f"Ann painted the {self.what} after all"
                world.memory.corrections.correct(world.being_id, node.node_id, text, by="agent")


@dataclass(frozen=True, slots=True)
class Hide:
    """An agent hides a memory."""

    place: int

    def do(self, world: World) -> None:
        """Let it happen."""
        for node in living_at(world, [self.place]):
            with suppress(InvalidInputError):  # the owner has pinned it
                world.memory.corrections.hide(world.being_id, node.node_id, by="agent")


@dataclass(frozen=True, slots=True)
class UndoChange:
    """The owner takes back that a memory was hidden or corrected."""

    place: int

    def do(self, world: World) -> None:
        """Let it happen."""
        changed = [node for node in nodes_of(world) if node.status == "hidden" or node.wordings]
        for node in changed[self.place % len(changed) :][:1] if changed else ():
            with suppress(InvalidInputError):  # it was merged since
                world.memory.corrections.take_back(world.being_id, node.node_id, by="owner")


@dataclass(frozen=True, slots=True)
class Pin:
    """A memory is pinned."""

    place: int

    def do(self, world: World) -> None:
        """Let it happen."""
        for node in living_at(world, [self.place]):
            after = replace(node, pinned=True, version=node.version + 1)
            world.table.put(after.to_item(world.being_id))


@dataclass(frozen=True, slots=True)
class Forget:
    """A memory is erased, with its scenes."""

    place: int

    def do(self, world: World) -> None:
        """Let it happen."""
        for node in living_at(world, [self.place]):
            erasing = MemoryEraser(world.table, clock=world.clock, rng=Random(self.place))
            erasing.node(world.being_id, node.node_id)


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Scenes that wait are deleted."""

    count: int

    def do(self, world: World) -> None:
        """Let it happen."""
        waiting = world.memory.scenes.pending(world.being_id, limit=self.count).scenes
        ids = [scene.scene_id for scene in waiting]
        world.memory.scenes.record(world.being_id, [], replacing=ids)


@dataclass(frozen=True, slots=True)
class Days:
    """Days go by on which the Being is used."""

    count: int

    def do(self, world: World) -> None:
        """Let it happen."""
        world.age(self.count)


_places = st.integers(0, 30)
_actions = st.builds(
    lambda form, who, did, what: form.format(who=who, did=did, what=what),
    *map(st.sampled_from, (_VARIANTS, _WHO, _DID, _WHAT)),
)
_scenes = st.tuples(_actions, st.sampled_from(_DAYS), st.sampled_from((0.0, 0.5)))
notes = st.builds(Note, st.lists(_scenes, min_size=1, max_size=6).map(tuple))
says = st.builds(
    Say,
    st.lists(
        st.tuples(st.sampled_from(("user", "assistant")), _actions), min_size=1, max_size=3
    ).map(tuple),
    st.integers(1, 2),
)
recalls = st.builds(Recall, st.lists(_places, min_size=1, max_size=4).map(tuple), st.integers(1, 3))
days = st.builds(Days, st.sampled_from((1, 20, 40, 160)))
user_steps: st.SearchStrategy[UserStep] = st.one_of(
    notes,
    recalls,
    days,
    says,
    st.builds(Merge, st.tuples(_places, _places)),
    st.builds(UndoMerge, _places),
    st.builds(UndoRun),
    st.builds(Pin, _places),
    st.builds(Correct, _places, st.sampled_from(_WHAT)),
    st.builds(Hide, _places),
    st.builds(UndoChange, _places),
    st.builds(Forget, _places),
    st.builds(TakeBack, st.integers(1, 2)),
)
stretches = st.builds(lambda note, more: (note, *more), notes, st.lists(user_steps, max_size=4))
"""What happens between two patrols: something is noted, and more."""
