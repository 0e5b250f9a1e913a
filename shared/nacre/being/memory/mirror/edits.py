"""The changes that edits of pages make to a Being, with the rights of an agent."""

from nacre.being.memory.mirror.content import FOLDERS, Content, entry_name
from nacre.being.memory.mirror.memory_line import actors_of, parsed_line
from nacre.being.memory.mirror.pages import is_entry
from nacre.being.memory.mirror.plan import Edit
from nacre.being.memory.model.fields import checked_dates, checked_names, checked_text
from nacre.being.memory.model.lineage import origins_of
from nacre.being.memory.model.types import Author, Node, SceneDraft, moment
from nacre.being.memory.model.wordings import corrected
from nacre.being.memory.repositories import Repositories
from nacre.being.memory.store.edits import check_author
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.targets import NOTES, TARGETS, Target
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_ACTION_BYTES, MAX_ACTORS, MAX_TAG_LENGTH
from nacre.core.origins import MIRROR, texts_of, union

_BY: Author = "mirror"
_ULID = 26  # letters and digits of a scene's id


def is_scene(name: str) -> bool:
    """Return whether the name is the id of a scene."""
    return len(name) == _ULID and "/" not in name


@dataclass(frozen=True, slots=True)
class MirrorEdits:
    """Changes one Being. Raises InvalidInputError for a change that it must not make."""

    memory: Repositories
    being_id: str
    clock: Clock

    def add_scene(self, edit: Edit, title: str, scene_id: str) -> None:
        """Record a new scene; one of this id is recorded only once."""
        line = parsed_line(edit.text)
        draft = SceneDraft(
            action=line.action,
            actors=line.actors,
            when=line.days or (moment(self.clock())[:10],),
            themes=(title[:MAX_TAG_LENGTH],) if title else (),
            source="mirror",
            scene_id=scene_id,
        )
        self.memory.scenes.record(self.being_id, [draft])

    def add_entry(self, edit: Edit, title: str, content: Content) -> str:
        """Create an entry named like its page, and return its name.

        A note that exists with the same text is used instead.
        """
        target = FOLDERS[edit.path.partition("/")[0]]
        if target is NOTES:
            prefix = entry_name(target, "")
            for name, unit in content.units.items():
                if name.startswith(prefix) and unit.text == edit.text:
                    return name
            return entry_name(
                target, self.memory.entries.append(self.being_id, target, edit.text).key
            )
        key = self.memory.entries.update(self.being_id, target, title, edit.text).key
        return entry_name(target, key)

    def correct(self, edit: Edit, replacing_id: str) -> None:
        """Replace the text of a memory or an entry; a waiting scene gets another id."""
        if is_entry(edit.name):
            target, key = _entry(edit.name)
            self.memory.entries.update(self.being_id, target, key, edit.text)
        elif is_scene(edit.name):
            self._replace_scene(edit, replacing_id)
        else:
            retry_on_conflict(lambda: self._correct_node(edit))

    def delete(self, edit: Edit) -> None:
        """Hide a memory; delete an entry, or a scene that no patrol has taken."""
        if is_entry(edit.name):
            target, key = _entry(edit.name)
            outcome = self.memory.entries.delete(self.being_id, target, key)
            if not outcome.success and outcome.remark and "can be replaced" in outcome.remark:
                raise InvalidInputError(outcome.remark)
        elif is_scene(edit.name):
            self.memory.scenes.record(self.being_id, [], replacing=[edit.name])
        else:
            self.memory.corrections.hide(self.being_id, edit.name, by=_BY)

    def restore(self, edit: Edit) -> None:
        """Show a memory again that a mirror has hidden."""
        self.memory.corrections.take_back(self.being_id, edit.name, by=_BY)

    def _correct_node(self, edit: Edit) -> Node:
        def change(node: Node) -> Node:
            check_author(node, _BY)
            line = parsed_line(edit.text)
            fields = {
                "action": checked_text(line.action, "text", limit=MAX_ACTION_BYTES),
                "when": checked_dates(line.days or node.when, "days"),
                "actors": checked_names(actors_of(line, node.actors), "people", limit=MAX_ACTORS),
            }
            return corrected(node, fields, by=_BY, now=moment(self.clock()))

        return self.memory.edits.change(self.being_id, edit.name, change)

    def _replace_scene(self, edit: Edit, scene_id: str) -> None:
        scene = self.memory.scenes.get_many(self.being_id, [edit.name]).get(edit.name)
        if scene is None:
            raise NotFoundError("there is no such scene")
        line = parsed_line(edit.text)
        draft = SceneDraft(
            **{
                **scene.text_fields(),
                "action": line.action,
                "when": line.days or scene.when,
                "actors": actors_of(line, scene.actors),
            },
            source=scene.source,
            trust=scene.trust,
            evidence=scene.evidence,
            origins=texts_of(union([origins_of(scene), [MIRROR]])),
            scene_id=scene_id,
        )
        self.memory.scenes.record(self.being_id, [draft], replacing=[edit.name])


def _entry(name: str) -> tuple[Target, str]:
    target, _, key = name.partition("/")
    return TARGETS[target], key
