"""A folder of a mirror in memory, which can die before any of its writes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nacre.being.memory.mirror.state import MirrorState, state_from


class KilledError(Exception):
    """The process died here."""


@dataclass
class MemoryFiles:
    """A MirrorFiles that keeps everything in memory."""

    pages: dict[str, str] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    copies: dict[str, str] = field(default_factory=dict)
    state: MirrorState = field(default_factory=MirrorState)
    folders_gone: set[str] = field(default_factory=set)
    head: str | None = None
    steps_left: int | None = None  # before it dies
    read_last: dict[str, str | None] = field(default_factory=dict)
    edits_before_write: dict[str, str] = field(default_factory=dict)

    def read(self) -> Mapping[str, str | None]:
        self.read_last = {**self.pages, **dict.fromkeys(self.unreadable)}
        return dict(self.read_last)

    def has_folder(self, name: str) -> bool:
        return name not in self.folders_gone

    def settle(self) -> None:
        pass

    def step(self) -> None:
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise KilledError
            self.steps_left -= 1

    def write(self, path: str, content: str) -> bool:
        self.step()
        if path in self.edits_before_write:
            self.pages[path] = self.edits_before_write.pop(path)
        if self.pages.get(path) != self.read_last.get(path):
            return False
        self.pages[path] = content
        self.step()
        return True

    def remove(self, path: str) -> bool:
        self.step()
        if self.pages.get(path) != self.read_last.get(path):
            return False
        self.pages.pop(path, None)
        self.step()
        return True

    def keep(self, path: str, content: str) -> None:
        self.step()
        self.copies.setdefault(path, content)
        self.step()

    def save(self, state: MirrorState) -> None:
        self.step()
        self.state = state_from(state.facts())
        self.step()

    def branch(self) -> str | None:
        return self.head
