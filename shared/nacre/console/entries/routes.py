"""The pages of a Being's notes, diary, soul and other targets.

Every target has a list with a form for a new entry, and a page for each entry with its old
versions.
"""

from typing import NamedTuple

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.memory.model import keys
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.store.entries import Outcome
from nacre.being.memory.store.entry_items import Entry
from nacre.being.memory.store.targets import REQUIRED_SOUL_FIELDS, SOUL_FIELDS, TARGETS, Target
from nacre.console.line_diff import difference
from nacre.console.visits import PageVisit, PostedForm, Visit
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Range, Table

routes = APIRouter(prefix="/beings/{being_id}/profile")

_PAGE = 40


class Kind(NamedTuple):
    """The words that the pages use for a target."""

    title: str
    lead: str
    key: str = ""  # the label of the key field; empty if the server chooses keys
    one: str = "entry"


KINDS = {
    "notes": Kind("Notes", "Notes that are kept word for word, such as things to do.", one="note"),
    "diary": Kind("Diary", "One page for each day.", "Day (YYYY-MM-DD, empty for today)", "page"),
    "souls": Kind("Soul", "Who the Being is: every client reads this first.", "Field", "field"),
    "preferences": Kind("Preferences", "What its partner prefers.", "Name (optional)"),
    "knowledge": Kind("Knowledge", "What it has been taught.", "Title"),
    "relationship": Kind("People", "What it knows about people.", "Name"),
    "partner_tools": Kind("Tools", "Tools that its partner uses.", "Name"),
    "partner_map": Kind("Places", "Where things are.", "Name"),
    "partner_rules": Kind("Rules", "Rules from its partner, as [category] title: body."),
}
_OWN_PAGES = ("notes", "diary", "souls")


@routes.get("")
def show_targets(at: PageVisit) -> Response:
    """Show the targets that are not in the menu themselves."""
    entries = at.memory.entries
    newest = {
        name: entries.page(at.being_id, TARGETS[name], limit=4).entries
        for name in KINDS
        if name not in _OWN_PAGES
    }
    return at.show("entries/targets.html", here="profile", kinds=KINDS, newest=newest)


@routes.get("/{target}")
def show_entries(at: PageVisit, target: str) -> Response:
    """Show the entries of a target, with a form for a new one."""
    return _list_page(at, _target(target))


@routes.post("/{target}")
def add(sent: PostedForm, target: str) -> Response:
    """Append to the entry of a key, or create it, like the tool's `append`."""
    chosen = _target(target)
    try:
        outcome = sent.memory.entries.append(
            sent.being_id,
            chosen,
            sent.text("content"),
            key=sent.text("key") or None,
            location=sent.text("location") or None,
        )
    except InvalidInputError as error:
        return _list_page(sent, chosen, problem=str(error))
    return _after(sent, chosen, outcome)


@routes.get("/{target}/entry")
def show_entry(at: PageVisit, target: str) -> Response:
    """Show an entry as a form, with its old versions."""
    fields = at.query
    return _entry_page(at, _target(target), fields.get("key", ""), fields.get("version", ""))


@routes.post("/{target}/entry")
def save(sent: PostedForm, target: str) -> Response:
    """Replace the text of an entry, unless somebody else has changed it meanwhile."""
    chosen, key = _target(target), sent.text("key")
    entries = sent.memory.entries
    try:
        _check_version(entries.get(sent.being_id, chosen, key), sent)
        location = sent.text("location") or None
        outcome = entries.update(
            sent.being_id, chosen, key, sent.text("content"), location=location
        )
    except (InvalidInputError, ConflictError) as error:
        status = 409 if isinstance(error, ConflictError) else 400
        return _entry_page(sent, chosen, key, "", problem=str(error), status=status)
    return _after(sent, chosen, outcome)


@routes.post("/{target}/delete")
def delete(sent: PostedForm, target: str) -> Response:
    """Delete an entry; its old versions stay."""
    chosen = _target(target)
    entries = sent.memory.entries
    outcome = entries.delete(sent.being_id, chosen, sent.text("key"))
    if not outcome.success:
        return _list_page(sent, chosen, problem=outcome.remark or "there is no such entry")
    return sent.redirect("profile", chosen.name, said="deleted")


@routes.post("/{target}/erase")
def erase(sent: PostedForm, target: str) -> Response:
    """Erase an entry with its old versions; of a required entry, only the old versions."""
    chosen = _target(target)
    sent.parts.eraser().entry(sent.being_id, chosen, sent.text("key"))
    return sent.redirect("profile", chosen.name, said="erased")


def _target(name: str) -> Target:
    if name not in KINDS:
        raise NotFoundError("there is no such page")
    return TARGETS[name]


def _check_version(before: Entry | None, sent: Visit) -> None:
    if str(before.version if before else 0) != sent.text("version"):
        raise ConflictError(
            "somebody else changed the entry meanwhile; its new text is below, so edit it again"
        )


def _after(sent: Visit, target: Target, outcome: Outcome) -> Response:
    message = "same" if outcome.remark and outcome.remark.startswith("nothing changed") else "saved"
    return sent.redirect("profile", target.name, said=message)


def _here(target: Target) -> str:
    return f"profile/{target.name}" if target.name in _OWN_PAGES else "profile"


def _list_page(at: Visit, target: Target, *, problem: str = "") -> Response:
    place = at.query.get("place", "")
    newest_first = target.keyed_by in ("id", "day")
    within = (None, place) if newest_first and place else (place or None, None)
    page = at.memory.entries.page(
        at.being_id, target, keys_in=within, newest_first=newest_first, limit=_PAGE + 1
    )
    entries = [entry for entry in page.entries if entry.key != place or not place]
    listed = list(entries[:_PAGE])  # the list shows only the beginning of long texts
    if target.keyed_by == "field":
        listed.sort(key=_field_order)
    used = {entry.key for entry in listed}
    return at.show(
        "entries/entries.html",
        here=_here(target),
        problem=problem,
        target=target,
        kind=KINDS[target.name],
        entries=listed,
        next=listed[-1].key if len(entries) > _PAGE else None,
        choices=[field for field in SOUL_FIELDS if field not in used]
        if target.keyed_by == "field"
        else [],
    )


def _field_order(entry: Entry) -> int:
    return SOUL_FIELDS.index(entry.key) if entry.key in SOUL_FIELDS else len(SOUL_FIELDS)


def _entry_page(
    at: Visit,
    target: Target,
    key: str,
    version: str,
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    entries = at.memory.entries
    entry = entries.get(at.being_id, target, key) if key.strip() else None
    older = _versions(at.parts.table(), at.being_id, target, key) if key.strip() else []
    if entry is None and not older:
        raise NotFoundError("there is no such entry")
    old = next((past for past in older if str(past.version) == version), None)
    now = entry.text or "" if entry is not None else ""
    return at.show(
        "entries/entry.html",
        here=_here(target),
        status=status,
        problem=problem,
        target=target,
        kind=KINDS[target.name],
        entry=entry,
        key=key if entry is None else entry.key,
        versions=older,
        old=old,
        changes=difference(old.text or "", now) if old is not None else (),
        required=target.keyed_by == "field" and key in REQUIRED_SOUL_FIELDS,
        typed=at.fields if status == 400 else {},
        unsaved=at.text("content") if status == 409 else "",
    )


def _versions(table: Table, being_id: str, target: Target, key: str) -> list[Entry]:
    """Return the old versions of an entry, newest first, including those of a deleted entry."""
    if target.versions is None:
        return []
    prefix = f"{target.versions}{checked_name(key, 'key')}#"
    items = every_item(table, keys.home(being_id), keys=Range(prefix=prefix), descending=True)
    return list(map(Entry.from_item, items))
