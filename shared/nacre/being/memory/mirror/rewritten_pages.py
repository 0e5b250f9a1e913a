"""The pages as they must be written to show the content of the Being."""

from collections import Counter
from collections.abc import Container, Mapping

from nacre.being.memory.mirror.content import FOLDERS, Content, Unit
from nacre.being.memory.mirror.list_page import (
    Item,
    Segment,
    new_item,
    with_items_added,
    with_items_replaced,
    written_page,
)
from nacre.being.memory.mirror.names import file_name, free_path, path_key
from nacre.being.memory.mirror.pages import (
    MEMORIES,
    Pages,
    is_entry,
    new_entry_page,
    new_list_page,
    title_of,
)
from nacre.core.lazy_dataclasses import dataclass, field

_FOLDER_OF = {target.name: folder for folder, target in FOLDERS.items()}


@dataclass(slots=True)
class RewrittenPages:
    """The changes of pages, and where each unit is then."""

    pages: Pages
    content: Content
    names: Mapping[tuple[str, int], str]  # of new units, by their places
    unseen: Container[str] = ()  # the units on pages that cannot be read, which stay there
    places: dict[str, tuple[str, str | None]] = field(default_factory=dict)  # path, text before

    def changes(self) -> dict[str, str | None]:
        """Return the new contents of pages by path; None removes one."""
        pages: dict[str, str | None] = {}
        lists = {path: self._list(path) for path in self.pages.lists}
        for path in self.pages.entries:
            pages |= self._entry(path)
        missing = [
            unit
            for name, unit in self.content.units.items()
            if name not in self.places and name not in self.unseen
        ]
        self._add_memories(lists, [unit for unit in missing if not is_entry(unit.name)])
        for path, segments in lists.items():
            before = self.pages.lists.get(path)
            after = written_page(segments)
            if before is None or after != written_page(before):
                pages[path] = after
        reserved = {*self.pages.path_keys}
        for unit in missing:
            if is_entry(unit.name):
                target, _, key = unit.name.partition("/")
                path = free_path(_FOLDER_OF[target], unit.title, reserved)
                reserved |= {path_key(path)}
                page = new_entry_page(unit.name, key, title_of(path), unit.text)
                pages[path] = str(page)
                self.places[unit.name] = (path, None)
        return pages

    def _list(self, path: str) -> list[Segment]:
        """Return a page with its items as the Being says."""
        items: dict[int, Item | None] = {}
        for occurrence in self.pages.occurrences.values():
            if occurrence.path == path and not is_entry(occurrence.name or ""):
                items[occurrence.place] = self._item(occurrence.name or "", path, occurrence.text)
        for (new_path, place), name in self.names.items():
            if new_path == path:
                items[place] = self._item(name, path, None)
        for occurrence in self.pages.merged:
            if occurrence.path == path:
                items[occurrence.place] = None
        segments = self.pages.lists[path]
        unchanged = {
            place: segment
            for place, segment in enumerate(segments)
            if isinstance(segment, Item)
            and (item := items.get(place)) is not None
            and (item.memory_id, item.text) == (segment.memory_id, segment.text)
        }
        return with_items_replaced(segments, {**items, **unchanged})

    def _item(self, name: str, path: str, text: str | None) -> Item | None:
        unit = self.content.units.get(name)
        if unit is None or name in self.places:
            return None
        self.places[name] = (path, text)
        return new_item(unit.text, name)

    def _entry(self, path: str) -> dict[str, str | None]:
        page = self.pages.entries[path]
        name = self.names.get((path, 0)) or next(
            (one.name for one in self.pages.occurrences.values() if one.path == path), None
        )
        if name is None:
            return {}  # it was refused, or is a copy of another page
        unit = self.content.units.get(name)
        if unit is None:
            return {path: None}
        if name in self.places:
            return {}
        self.places[name] = (path, page.text)
        after = page.named(name).with_text(unit.text)
        return {} if after == page else {path: str(after)}

    def _add_memories(self, lists: dict[str, list[Segment]], units: list[Unit]) -> None:
        """Add memories to the pages of their clusters, or to new ones."""
        homes: dict[str, Counter[str]] = {}
        for name, (path, _) in self.places.items():
            cluster_id = self.content.units[name].cluster_id
            if cluster_id is not None and path in lists:
                homes.setdefault(cluster_id, Counter())[path] += 1
        titles = {path_key(path): path for path in lists}
        reserved = {*self.pages.path_keys}
        added: dict[str, list[Item]] = {}
        begun: dict[str, str] = {}
        for unit in sorted(units, key=lambda unit: (unit.title, unit.text, unit.name)):
            group = unit.cluster_id or unit.title
            path = begun.get(group, "")
            if not path and unit.cluster_id in homes:
                path = min(homes[unit.cluster_id].items(), key=lambda one: (-one[1], one[0]))[0]
            if not path and unit.cluster_id is None:
                own = f"{MEMORIES}/{file_name(unit.title)}.md"
                path = titles.get(path_key(own), "")
            if not path:
                path = free_path(MEMORIES, unit.title, reserved)
                reserved.add(path_key(path))
                lists[path] = new_list_page(title_of(path))
            begun[group] = path
            added.setdefault(path, []).append(new_item(unit.text, unit.name))
            self.places[unit.name] = (path, None)
        for path, items in added.items():
            lists[path] = with_items_added(lists[path], items)
