"""One run of a mirror: apply the edits of pages to the Being, then write its changes to the pages.

Every step can be repeated. Texts that would be lost are copied first; then the Being changes, then
the pages, and last the state. A run that was killed is finished by the next one: edits that reached
the Being are the same on both sides by then, and new scenes get the ids in the journal.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from random import Random
from typing import Literal, Protocol, assert_never

from nacre.being.memory.mirror.content import Content, content_of, successors
from nacre.being.memory.mirror.edits import MirrorEdits, is_scene
from nacre.being.memory.mirror.pages import (
    CONFLICTS,
    MEMORIES,
    Pages,
    folder_of,
    is_entry,
    pages_of,
    recognize,
    title_of,
    without_ending,
)
from nacre.being.memory.mirror.plan import Conflict, Edit, Plan, plan_of
from nacre.being.memory.mirror.rewritten_pages import RewrittenPages
from nacre.being.memory.mirror.state import Common, Journal, MirrorState, digest_of
from nacre.being.memory.repositories import Repositories
from nacre.core.clock import Clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.ids import ulids
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.limits import MIRROR_DELETIONS
from nacre.firewall.content.secrets import BUILT_IN, find_secrets, masked, redact_text

_ATTEMPTS = 3  # to see a folder that no program is writing to

Answer = Literal["delete", "restore", "stop"]
Ask = Callable[[int], Answer]
"""Return the decision about so many units that are missing from their pages."""


class MirrorFiles(Protocol):
    """The files of a mirror. Paths are relative, with `/`; contents have `\\n` at line ends."""

    def read(self) -> Mapping[str, str | None]:
        """Return the content of every page; None for one that cannot be read."""
        ...

    def has_folder(self, name: str) -> bool:
        """Return whether a top folder of pages exists."""
        ...

    def settle(self) -> None:
        """Wait until a program that saves a file in several steps has finished."""
        ...

    def write(self, path: str, content: str) -> bool:
        """Write a page; return False if it is not as `read` returned it last."""
        ...

    def remove(self, path: str) -> bool:
        """Remove a page; return False if it is not as `read` returned it last."""
        ...

    def keep(self, path: str, content: str) -> None:
        """Write a file that is not a page, unless the path exists."""
        ...

    def save(self, state: MirrorState) -> None:
        """Replace the state."""
        ...

    def branch(self) -> str | None:
        """Return the head of the folder's repository, if it is in one."""
        ...


@dataclass(slots=True)
class SyncResult:
    """The counts of one run, and the copies of texts that were not accepted."""

    corrected: int = 0
    added: int = 0
    deleted: int = 0
    restored: int = 0
    written: int = 0  # pages
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)  # paths
    refused: list[str] = field(default_factory=list)  # reasons
    unreadable: list[str] = field(default_factory=list)  # paths


@dataclass(frozen=True, slots=True)
class Mirror:
    """Keeps the pages of one folder and one Being the same."""

    memory: Repositories
    being_id: str
    files: MirrorFiles
    clock: Clock
    rng: Random

    def sync(self, state: MirrorState, ask: Ask, *, is_dry: bool = False) -> SyncResult:
        """Make one run; raises ConflictError if nobody confirms that many units are deleted."""
        pages, content, plan = self._look(state)
        deletions = plan.of("delete")
        branch = self.files.branch()
        # A branch that was switched, or a folder that was renamed, explains every missing page.
        is_doubtful = branch != state.branch or any(
            not self.files.has_folder(folder_of(edit.path)) for edit in deletions
        )
        if len(deletions) > MIRROR_DELETIONS or (deletions and is_doubtful):
            answer: Answer = "delete" if is_dry else ask(len(deletions))
            if answer == "stop":
                raise ConflictError(f"{missing(len(deletions))}; nothing was changed")
            if answer == "restore":
                plan.edits = [edit for edit in plan.edits if edit.change != "delete"]
        result = SyncResult(unreadable=sorted(pages.unreadable))
        if is_dry:
            result.corrected, result.added = len(plan.of("correct")), len(plan.of("add"))
            result.deleted, result.restored = len(deletions), len(plan.of("restore"))
            result.conflicts = [conflict.path for conflict in plan.conflicts]
            return result
        for conflict in plan.conflicts:
            self._keep_copy(conflict, result)
        plan.edits = [self._without_secrets(edit, result) for edit in plan.edits]
        journal = self._journal(plan, state.journal)
        if journal != state.journal:
            state = replace(state, journal=journal)
            self.files.save(state)
        names = self._apply(plan, content, journal, result)
        self._write(pages, state, names, branch, result)
        return result

    def _look(self, state: MirrorState) -> tuple[Pages, Content, Plan]:
        """Return the folder and the Being; a page may be missing while an editor saves it."""
        contents = self.files.read()
        for _ in range(_ATTEMPTS):
            content = content_of(self.memory, self.being_id)
            pages = pages_of(contents, state.units)
            common = self._follow(pages, content, state)
            recognize(pages, common, content.units)
            plan = plan_of(pages, content, common)
            if not plan.of("delete"):
                break
            self.files.settle()
            again = self.files.read()
            if again == contents:
                break
            contents = again
        else:
            raise ConflictError("the folder keeps changing; nothing was changed, try again")
        return pages, content, plan

    def _follow(self, pages: Pages, content: Content, state: MirrorState) -> dict[str, Common]:
        """Rename units that a patrol has made into others; return the common state with that."""
        after = self._after({*state.units, *pages.occurrences}, content, state.journal)
        common = dict(state.units)
        for name, later in sorted(after.items()):
            here = pages.occurrences.pop(name, None)
            earlier = common.pop(name, None)
            if earlier is not None:
                common.setdefault(later, earlier)
            if here is None:
                continue
            if later not in pages.occurrences:
                pages.occurrences[later] = replace(here, name=later)
            elif earlier is None or earlier.has(here.text):
                pages.merged.append(here)
            else:  # an edit of a line whose memory has another line now
                pages.new.append(replace(here, name=None))
        return common

    def _after(self, names: set[str], content: Content, journal: Journal) -> dict[str, str]:
        gone = [name for name in names if name not in content.units and not is_entry(name)]
        replaced = {name: journal.replaced.get(name, name) for name in gone}
        later = successors(self.memory, self.being_id, replaced.values())
        after = {name: later.get(next_, next_) for name, next_ in replaced.items()}
        return {
            name: last for name, last in after.items() if last != name and last in content.units
        }

    def _journal(self, plan: Plan, before: Journal) -> Journal:
        """Return the ids of the scenes that the plan creates, those of an earlier run first."""
        additions = [name for name, _ in _numbered(plan.of("add")) if name not in before.added]
        replaced = [
            edit.name
            for edit in plan.of("correct")
            if is_scene(edit.name) and edit.name not in before.replaced
        ]
        if not additions and not replaced:
            return before
        ids = ulids(self.clock(), self.rng, len(additions) + len(replaced))
        return Journal(
            {**before.added, **dict(zip(additions, ids, strict=False))},
            {**before.replaced, **dict(zip(replaced, ids[len(additions) :], strict=True))},
        )

    def _without_secrets(self, edit: Edit, result: SyncResult) -> Edit:
        """Return an edit with a mark in place of each secret, as in captured conversations.

        Its page is then written with the marks, so the text is copied as it was.
        """
        secrets = find_secrets(edit.text, BUILT_IN) if edit.change in ("add", "correct") else ()
        if not secrets:
            return edit
        kinds = ", ".join(sorted({secret.rule for secret in secrets}))
        reason = f"secrets are not remembered, so they were cut ({kinds})"
        self._keep_copy(Conflict(edit.path, edit.text, reason), result)
        return replace(edit, text=masked(edit.text, secrets))

    def _apply(
        self, plan: Plan, content: Content, journal: Journal, result: SyncResult
    ) -> dict[tuple[str, int], str]:
        """Change the Being; return the names of new units by their places on pages."""
        edits = MirrorEdits(self.memory, self.being_id, self.clock)
        names = self._add(plan, content, edits, journal, result)
        for edit in plan.edits:
            try:
                self._change(edit, edits, journal, result)
            except (InvalidInputError, NotFoundError, ConflictError) as error:
                result.refused.append(f"{_shown(edit.path)}: {error}")
                if edit.change == "correct":
                    self._keep_copy(Conflict(edit.path, edit.text, str(error)), result)
        return names

    def _add(
        self,
        plan: Plan,
        content: Content,
        edits: MirrorEdits,
        journal: Journal,
        result: SyncResult,
    ) -> dict[tuple[str, int], str]:
        names: dict[tuple[str, int], str] = {}
        for key, edit in _numbered(plan.of("add")):
            assert edit.occurrence is not None
            place = (edit.path, edit.occurrence.place)
            title = title_of(edit.path)
            try:
                _check_title(title)
                if folder_of(edit.path) == MEMORIES:
                    edits.add_scene(edit, title, journal.added[key])
                    names[place] = journal.added[key]
                else:
                    names[place] = edits.add_entry(edit, title, content)
                result.added += 1
            except (InvalidInputError, ConflictError) as error:
                result.refused.append(f"{_shown(edit.path)}: {error}")
        return names

    def _change(self, edit: Edit, edits: MirrorEdits, journal: Journal, result: SyncResult) -> None:
        match edit.change:
            case "correct":
                edits.correct(edit, journal.replaced.get(edit.name, ""))
                result.corrected += 1
            case "delete":
                if is_entry(edit.name) or is_scene(edit.name):
                    self._keep_deleted(edit)  # a memory is only hidden
                edits.delete(edit)
                result.deleted += 1
            case "restore":
                edits.restore(edit)
                result.restored += 1
            case "add":
                return
            case _:
                assert_never(edit.change)

    def _write(
        self,
        pages: Pages,
        state: MirrorState,
        names: Mapping[tuple[str, int], str],
        branch: str | None,
        result: SyncResult,
    ) -> None:
        """Write the pages as the Being is now, and the new common state."""
        content = content_of(self.memory, self.being_id)
        followed = self._follow(pages, content, state)
        unseen = {name for name, one in followed.items() if one.path in pages.unreadable}
        rewritten = RewrittenPages(pages, content, self._named(names, content), unseen)
        changes = rewritten.changes()
        common: dict[str, Common] = {}
        written: dict[str, bool] = {}
        for path, text in sorted(changes.items()):
            written[path] = (
                self.files.remove(path) if text is None else self.files.write(path, text)
            )
            if written[path]:
                result.removed += text is None
                result.written += text is not None
        for name, (path, before) in rewritten.places.items():
            text = content.units[name].text
            if written.get(path, True) or before == text:
                common[name] = Common(path, digest_of(text))
            elif name in state.units:
                common[name] = state.units[name]
        for name, earlier in state.units.items():
            if earlier.path in pages.unreadable or not written.get(earlier.path, True):
                common.setdefault(name, earlier)
        self.files.save(MirrorState(common, branch, self._kept_journal(state.journal, content)))

    def _kept_journal(self, journal: Journal, content: Content) -> Journal:
        """Return the replaced scenes that are still known: a branch may have their ids."""
        last = dict(journal.replaced)
        for name in last:
            while last[name] in last:
                last[name] = last[last[name]]
        after = self._after(set(last), content, Journal(replaced=last))
        return Journal(replaced={name: last[name] for name in sorted(after)})

    def _named(
        self, names: Mapping[tuple[str, int], str], content: Content
    ) -> dict[tuple[str, int], str]:
        """Return the names of new units, after a patrol that has taken one meanwhile."""
        gone = [name for name in names.values() if name not in content.units]
        after = successors(self.memory, self.being_id, [n for n in gone if not is_entry(n)])
        return {place: after.get(name, name) for place, name in names.items()}

    def _keep_copy(self, conflict: Conflict, result: SyncResult) -> None:
        title = title_of(conflict.path)
        digest = sha256(f"{conflict.path}\n{conflict.text}".encode()).hexdigest()[:8]
        path = f"{CONFLICTS}/{title} {digest}.md"
        link = without_ending(conflict.path)
        text = (
            f"---\nnacre: conflict\n---\nFrom [[{link}]]: {conflict.reason}. Copy what you need,"
            f" then delete this file.\n\n{conflict.text}\n"
        )
        self.files.keep(path, text)
        result.conflicts.append(path)

    def _keep_deleted(self, edit: Edit) -> None:
        digest = sha256(f"{edit.name}\n{edit.text}".encode()).hexdigest()[:8]
        day = f"{self.clock():%Y-%m-%d}"
        self.files.keep(f".nacre/deleted/{day} {digest}.md", f"{edit.name}\n\n{edit.text}\n")


def missing(count: int) -> str:
    """Return the clause that says how many units are missing from their pages."""
    if count == 1:
        return "1 memory or entry is missing from the folder"
    return f"{count} memories and entries are missing from the folder"


def _shown(path: str) -> str:
    """Return a path with a mark in place of each secret."""
    return redact_text(path, BUILT_IN)[0]


def _check_title(title: str) -> None:
    """Raise InvalidInputError for a title that the Being must not remember."""
    if title != _shown(title):
        raise InvalidInputError("the name of this page has a secret; rename the page")


def _numbered(edits: list[Edit]) -> list[tuple[str, Edit]]:
    """Return new units with the keys of the journal: the text's digest, and a number."""
    counts: dict[str, int] = {}
    result = []
    for edit in edits:
        digest = digest_of(edit.text)
        counts[digest] = counts.get(digest, 0) + 1
        result.append((f"{digest}-{counts[digest]}", edit))
    return result
