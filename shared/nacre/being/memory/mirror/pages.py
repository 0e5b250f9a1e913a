"""The pages of a folder, with the units that occur on them."""

from collections.abc import Container, Iterable, Iterator, Mapping

from nacre.being.memory.mirror.content import FOLDERS, UNSORTED
from nacre.being.memory.mirror.entry_page import EntryPage, parsed_entry
from nacre.being.memory.mirror.list_page import Item, Segment, parsed_page
from nacre.being.memory.mirror.names import path_key
from nacre.being.memory.mirror.state import Common, digest_of
from nacre.core.lazy_dataclasses import dataclass, field, replace

MEMORIES = "Memories"
CONFLICTS = "Conflicts"
_MARKERS = ("<<<<<<< ", ">>>>>>> ")  # of a merge in git that is not finished


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A place where a unit occurs: an item of a list, or the whole page of an entry."""

    path: str
    place: int
    text: str
    name: str | None = None  # None for something new


@dataclass(slots=True)
class Pages:
    """The pages of a folder, by path."""

    lists: dict[str, list[Segment]] = field(default_factory=dict)
    entries: dict[str, EntryPage] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    occurrences: dict[str, Occurrence] = field(default_factory=dict)
    repeated: list[Occurrence] = field(default_factory=list)
    new: list[Occurrence] = field(default_factory=list)
    merged: list[Occurrence] = field(default_factory=list)  # their memory has another line

    @property
    def path_keys(self) -> set[str]:
        """Return the keys of all paths."""
        return {path_key(path) for path in (*self.lists, *self.entries, *self.unreadable)}


def title_of(path: str) -> str:
    """Return the title of a page."""
    return without_ending(path.rpartition("/")[2])


def without_ending(path: str) -> str:
    """Return the path of a page without its ending, which may be in capitals."""
    return path[:-3] if path.lower().endswith(".md") else path


def folder_of(path: str) -> str:
    """Return the top folder of a page."""
    return path.partition("/")[0]


def pages_of(contents: Mapping[str, str | None], common: Mapping[str, Common]) -> Pages:
    """Return the pages with these contents; one without a content cannot be read.

    Of several occurrences of one unit, the one in its last known page counts. Another one with
    the same text is left alone; one with another text is new, because somebody copied it.
    """
    pages = Pages()
    places: dict[str, list[Occurrence]] = {}
    for path, content in sorted(contents.items()):
        folder = folder_of(path)
        if content is None or any(line.startswith(_MARKERS) for line in content.split("\n")):
            pages.unreadable.add(path)
            continue
        if folder == MEMORIES:
            pages.lists[path] = parsed_page(content)
            occurrences = list(_items(path, pages.lists[path]))
        else:
            page = parsed_entry(content)
            pages.entries[path] = page
            occurrences = [_entry(path, folder, page)]
        for occurrence in occurrences:
            if occurrence.name is None:
                pages.new.append(occurrence)
            else:
                places.setdefault(occurrence.name, []).append(occurrence)
    for name, several in places.items():
        first = _first(several, common.get(name))
        pages.occurrences[name] = first
        for other in several:
            if other is not first:
                same = other.text == first.text
                (pages.repeated if same else pages.new).append(replace(other, name=None))
    return pages


def recognize(pages: Pages, common: Mapping[str, Common], names: Container[str]) -> None:
    """Name new occurrences that are units without their marks.

    Programs that write a page anew leave out ids and properties. A page at the path of an entry, or
    with its title, is that entry; a line with the text that a memory had on this page is that
    memory. The same goes for a mark that somebody has changed into one of nothing. `names` are
    those of the Being.
    """
    by_path = {(one.path, ""): name for name, one in common.items() if is_entry(name)}
    by_text = {(one.path, one.digest): name for name, one in common.items() if not is_entry(name)}
    for unknown in [one for one in pages.occurrences if one not in names and one not in common]:
        occurrence = pages.occurrences[unknown]
        text = "" if is_entry(unknown) else digest_of(occurrence.text)
        name = (by_path if is_entry(unknown) else by_text).get((occurrence.path, text))
        if name is not None and name not in pages.occurrences:
            pages.occurrences[name] = replace(occurrence, name=name)
            del pages.occurrences[unknown]
    remaining = []
    for occurrence in pages.new:
        if occurrence.path in pages.entries:
            titled = f"{FOLDERS[folder_of(occurrence.path)].name}/{title_of(occurrence.path)}"
            name = by_path.get((occurrence.path, "")) or (titled if titled in names else None)
        else:
            name = by_text.get((occurrence.path, digest_of(occurrence.text)))
        if name is None or name in pages.occurrences:
            remaining.append(occurrence)
        else:
            pages.occurrences[name] = replace(occurrence, name=name)
    pages.new = remaining


def is_entry(name: str) -> bool:
    """Return whether the name of a unit is that of an entry."""
    return "/" in name


def _first(occurrences: Iterable[Occurrence], common: Common | None) -> Occurrence:
    if common is None:
        return next(iter(occurrences))
    return min(occurrences, key=lambda one: (one.path != common.path, not common.has(one.text)))


def _items(path: str, segments: list[Segment]) -> Iterator[Occurrence]:
    for place, segment in enumerate(segments):
        if isinstance(segment, Item) and (segment.text or segment.memory_id):
            yield Occurrence(path, place, segment.text, segment.memory_id)


def _entry(path: str, folder: str, page: EntryPage) -> Occurrence:
    name = page.name
    if name is not None and name.startswith(f"{FOLDERS[folder].name}/"):
        return Occurrence(path, 0, page.text, name)
    return Occurrence(path, 0, page.text)


def new_list_page(title: str) -> list[Segment]:
    """Return the segments of a new page for memories."""
    tag = "" if title == UNSORTED else "\ntags:\n  - nacre"
    return [*f"---\nnacre: memories{tag}\n---\n# {title}\n".split("\n")]


def new_entry_page(name: str, key: str, title: str, text: str) -> EntryPage:
    """Return the page of an entry that has none; its key is an alias if its title differs."""
    page = EntryPage("---\ntags:\n  - nacre\n---\n", text).named(name)
    if key != title and "\n" not in key:
        alias = key.replace("\\", "\\\\").replace('"', '\\"')
        head = page.head.replace("\ntags:", f'\naliases:\n  - "{alias}"\ntags:', 1)
        page = EntryPage(head, page.text)
    return page
