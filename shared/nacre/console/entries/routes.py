"""What a Being keeps about itself and its partner: notes, diary, soul, and all other targets.

Every kind has the same pages: a list with a form for another entry, and a page for each entry
with its old versions where they are kept.
"""

from typing import NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.memory.store.entries import Entry
from nacre.being.memory.store.profile import Outcome
from nacre.being.memory.store.targets import REQUIRED_SOUL_FIELDS, SOUL_FIELDS, TARGETS, Target
from nacre.console.entries.old_versions import versions
from nacre.console.frame import At, FormVisit, Sent, Visit, console_of, onward, show
from nacre.console.line_diff import difference
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}/profile")

_PAGE = 40


class Kind(NamedTuple):
    """How a target is called on the pages."""

    title: str
    lead: str
    key: str = ""  # what its entries are called by; empty where keys are given
    one: str = "entry"


KINDS = {
    "notes": Kind("Notes", "Memos that are kept word for word, such as things to do.", one="note"),
    "diary": Kind("Diary", "A page for each day.", "Day (YYYY-MM-DD, empty for today)", "page"),
    "souls": Kind("Soul", "Who the Being is: every client reads this first.", "Field", "field"),
    "preferences": Kind("Preferences", "What its partner likes and how.", "Name (may be empty)"),
    "knowledge": Kind("Knowledge", "What it has been taught.", "Title"),
    "relationship": Kind("People", "What it knows of people.", "Name"),
    "partner_tools": Kind("Tools", "Tools that its partner uses.", "Name"),
    "partner_map": Kind("Places", "Where things are.", "Name"),
    "partner_rules": Kind("Rules", "What its partner has laid down: [category] title: body."),
}
_OWN_PAGES = ("notes", "diary", "souls")


@routes.get("")
def show_targets(request: Request, at: At) -> Response:
    """Show the kinds of entries that have no place of their own in the menu."""
    profile = console_of(request).mind().memory.profile
    found = {
        name: profile.page(at.being_id, TARGETS[name], limit=4).entries
        for name in KINDS
        if name not in _OWN_PAGES
    }
    return show(request, at, "entries/targets.html", here="profile", kinds=KINDS, found=found)


@routes.get("/{target}")
def show_entries(request: Request, at: At, target: str) -> Response:
    """Show the entries of a kind, with a form for another one."""
    return _list_page(request, at, _target(target))


@routes.post("/{target}")
def add(request: Request, sent: Sent, target: str) -> Response:
    """Add to the entry of a key, or make it, as the tool's `append` does."""
    chosen = _target(target)
    try:
        outcome = (
            console_of(request)
            .mind()
            .memory.profile.append(
                sent.being_id,
                chosen,
                sent.text("content"),
                key=sent.text("key") or None,
                location=sent.text("location") or None,
            )
        )
    except InvalidInputError as error:
        return _list_page(request, sent, chosen, problem=str(error))
    return _after(request, sent, chosen, outcome)


@routes.get("/{target}/entry")
def show_entry(request: Request, at: At, target: str) -> Response:
    """Show an entry as a form, with its old versions."""
    fields = query_fields(request)
    return _entry_page(
        request, at, _target(target), fields.get("key", ""), fields.get("version", "")
    )


@routes.post("/{target}/entry")
def save(request: Request, sent: Sent, target: str) -> Response:
    """Let an entry say something else, if nobody has changed it meanwhile."""
    chosen, key = _target(target), sent.text("key")
    profile = console_of(request).mind().memory.profile
    try:
        _check_version(profile.get(sent.being_id, chosen, key), sent)
        location = sent.text("location") or None
        outcome = profile.update(
            sent.being_id, chosen, key, sent.text("content"), location=location
        )
    except (InvalidInputError, ConflictError) as error:
        status = 409 if isinstance(error, ConflictError) else 400
        return _entry_page(request, sent, chosen, key, "", problem=str(error), status=status)
    return _after(request, sent, chosen, outcome)


@routes.post("/{target}/delete")
def delete(request: Request, sent: Sent, target: str) -> Response:
    """Delete an entry; where versions are kept, they stay."""
    chosen = _target(target)
    outcome = (
        console_of(request).mind().memory.profile.delete(sent.being_id, chosen, sent.text("key"))
    )
    if not outcome.success:
        return _list_page(request, sent, chosen, problem=outcome.remark or "it is not there")
    return onward(request, sent, "profile", chosen.name, said="deleted")


@routes.post("/{target}/erase")
def erase(request: Request, sent: Sent, target: str) -> Response:
    """Erase an entry with its old versions; of a required one only these."""
    chosen = _target(target)
    console_of(request).eraser().entry(sent.being_id, chosen, sent.text("key"))
    return onward(request, sent, "profile", chosen.name, said="erased")


def _target(name: str) -> Target:
    if name not in KINDS:
        raise NotFoundError("there is no such page")
    return TARGETS[name]


def _check_version(before: Entry | None, sent: FormVisit) -> None:
    if str(before.version if before else 0) != sent.text("version"):
        raise ConflictError(
            "the entry was changed meanwhile: below is what it says now; change it anew"
        )


def _after(request: Request, sent: FormVisit, target: Target, outcome: Outcome) -> Response:
    said = "same" if outcome.remark and outcome.remark.startswith("nothing changed") else "saved"
    return onward(request, sent, "profile", target.name, said=said)


def _here(target: Target) -> str:
    return f"profile/{target.name}" if target.name in _OWN_PAGES else "profile"


def _list_page(request: Request, at: Visit, target: Target, *, problem: str = "") -> Response:
    profile = console_of(request).mind().memory.profile
    place = "" if isinstance(at, FormVisit) else query_fields(request).get("place", "")
    newest_first = target.keyed_by in ("id", "day")
    within = (None, place) if newest_first and place else (place or None, None)
    page = profile.page(
        at.being_id, target, keys_in=within, newest_first=newest_first, limit=_PAGE + 1
    )
    entries = [each for each in page.entries if each.key != place or not place]
    shown = list(entries[:_PAGE])  # long texts stay apart: the list shows how they begin
    if target.keyed_by == "field":
        shown.sort(key=lambda each: SOUL_FIELDS.index(each.key) if each.key in SOUL_FIELDS else 99)
    there = {each.key for each in shown}
    return show(
        request,
        at,
        "entries/entries.html",
        here=_here(target),
        status=400 if problem else 200,
        problem=problem,
        target=target,
        kind=KINDS[target.name],
        entries=shown,
        next=shown[-1].key if len(entries) > _PAGE else None,
        choices=[each for each in SOUL_FIELDS if each not in there]
        if target.keyed_by == "field"
        else [],
        typed=at.fields if isinstance(at, FormVisit) else {},
    )


def _entry_page(
    request: Request,
    at: Visit,
    target: Target,
    key: str,
    version: str,
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    profile = console_of(request).mind().memory.profile
    entry = profile.get(at.being_id, target, key) if key.strip() else None
    kept = versions(console_of(request).table(), at.being_id, target, key) if key.strip() else []
    if entry is None and not kept:
        raise NotFoundError("there is no such entry")
    old = next((each for each in kept if str(each.version) == version), None)
    now = entry.text or "" if entry is not None else ""
    return show(
        request,
        at,
        "entries/entry.html",
        here=_here(target),
        status=status,
        problem=problem,
        target=target,
        kind=KINDS[target.name],
        entry=entry,
        key=key if entry is None else entry.key,
        versions=kept,
        old=old,
        changes=difference(old.text or "", now) if old is not None else (),
        required=target.keyed_by == "field" and key in REQUIRED_SOUL_FIELDS,
        typed=at.fields if isinstance(at, FormVisit) and status == 400 else {},
        unsaved=at.text("content") if isinstance(at, FormVisit) and status == 409 else "",
    )
