"""The policy editor: rules of one Being or of all, reviewed before they are put in force."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote_plus

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from nacre.console.frame import address
from nacre.console.line_diff import difference
from nacre.console.policy.policy_check import Trial, advice, known_tools, review, tried
from nacre.console.policy.policy_choice import Rulebook
from nacre.console.visits import KeeperForm, OwnerPage, OwnerVisit, PageVisit, PostedForm, Visit
from nacre.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PolicyError,
    TooLargeError,
)
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_FORM_BYTES
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import GLOBAL

routes = APIRouter()

_OTHER_FIELDS = 8 * 1024  # bytes of a form for everything except the text
_NOTE = 200


@dataclass(frozen=True, slots=True)
class Desk:
    """The rules that a page edits: who visits it, their store, and how pages are rendered."""

    at: OwnerVisit
    rulebook: Rulebook
    path: str
    being_id: str  # the Being whose recorded calls are replayed; empty for none
    may_change: bool
    fields: dict[str, str]
    show: Callable[..., Response]

    def text(self, name: str) -> str:
        """Return a field as it was typed, with plain line ends."""
        return self.fields.get(name, "").replace("\r\n", "\n")

    def trial(self) -> Trial:
        """Return the test call."""
        return Trial(self.text("tool").strip(), self.text("server").strip(), self.text("arguments"))


def _being_desk(at: Visit, fields: dict[str, str]) -> Desk:
    rulebook, path = _rulebook(at, at.being_id), address(at.being, "policy")
    show_page = partial(at.show, here="policy")
    return Desk(at, rulebook, path, at.being_id, True, fields, show_page)


def _shared_desk(at: OwnerVisit, fields: dict[str, str]) -> Desk:
    show_page = partial(at.show, here="rules")
    return Desk(at, _rulebook(at, GLOBAL), "/rules", "", at.keeps_server, fields, show_page)


def _rulebook(at: OwnerVisit, scope: str) -> Rulebook:
    control = at.control
    return Rulebook(control.table(), scope, control.clock, control.policy_file)


def _read_being(at: PageVisit) -> Desk:
    return _being_desk(at, at.query)


def _sent_being(sent: PostedForm) -> Desk:
    return _being_desk(sent, sent.fields)


def _read_shared(at: OwnerPage) -> Desk:
    return _shared_desk(at, at.query)


def _sent_shared(sent: KeeperForm) -> Desk:
    return _shared_desk(sent, sent.fields)


def _add_pages(path: str, read: Callable[..., Desk], sent: Callable[..., Desk]) -> None:
    """Add the pages of the rules at this path; `read` and `sent` return their desk."""

    @routes.get(path)
    def show_policy(desk: Annotated[Desk, Depends(read)]) -> Response:
        """Show the rules, with an editor."""
        return _editor(desk)

    @routes.get(f"{path}/version")
    def show_version(desk: Annotated[Desk, Depends(read)]) -> Response:
        """Show an earlier version, and what changed with it."""
        return _version(desk)

    @routes.post(f"{path}/check")
    def check(desk: Annotated[Desk, Depends(sent)]) -> Response:
        """Show the changes that a text would make, without saving it."""
        return _checked(desk)

    @routes.post(f"{path}/save")
    def save(desk: Annotated[Desk, Depends(sent)]) -> Response:
        """Put a text in force."""
        return _saved(desk)


_add_pages("/beings/{being_id}/policy", _read_being, _sent_being)
_add_pages("/rules", _read_shared, _sent_shared)


def _editor(
    desk: Desk,
    *,
    text: str | None = None,
    problem: str | None = None,
    status: int = 200,
    **more: Any,
) -> Response:
    """Return the page with the rules in force, an editor, and the results of a review."""
    in_force, pushed = desk.rulebook.in_force(), desk.rulebook.own()
    saved = pushed.text if pushed is not None else in_force.text
    draft = saved if text is None else text
    try:
        policy = in_force.policy()
    except PolicyError as error:
        policy, problem = None, problem or advice(error)
    values: dict[str, Any] = {"review": None, "trial_result": None, "trial_now": None, **more}
    return desk.show(
        "policy/policy.html",
        status=status,
        problem=problem,
        path=desk.path,
        may_change=desk.may_change,
        is_shared=desk.rulebook.scope == GLOBAL,
        in_force=in_force,
        policy=policy,
        own=pushed,
        based_on=pushed.number if pushed is not None else 0,
        draft=draft,
        is_long=_is_long(draft),
        note=desk.text("note")[:_NOTE],
        trial=desk.trial(),
        versions=desk.rulebook.versions(),
        **values,
    )


def _checked(desk: Desk, *, problem: str | None = None, status: int = 200) -> Response:
    """Return the page with the review of a text, and an earlier problem if there was one."""
    control = desk.at.control
    text = _text_of(desk)
    in_force = desk.rulebook.in_force()
    pushed = desk.rulebook.own()
    trial = desk.trial()
    try:
        now = in_force.policy()
        reviewed = review(
            text,
            pushed.text if pushed is not None else in_force.text,
            now,
            tools=known_tools(control.own_tools(), control.table()),
            records=control.records(desk.being_id) if desk.being_id else None,
            being_id=desk.being_id,
        )
        trial_result = tried(reviewed.policy, trial) if trial.tool else None
        trial_now = tried(now, trial) if trial.tool else None
    except (PolicyError, InvalidInputError) as error:
        reason = advice(error) if isinstance(error, PolicyError) else str(error)
        if problem is not None:  # keep it: it says why nothing was saved
            return _editor(desk, text=text, problem=f"{problem}. {reason}", status=status)
        return _editor(desk, text=text, problem=reason, status=400)
    results = {"review": reviewed, "trial_result": trial_result, "trial_now": trial_now}
    return _editor(desk, text=text, problem=problem, status=status, **results)


def _saved(desk: Desk) -> Response:
    """Put the text in force and redirect, or show the problem and keep the text."""
    text = _text_of(desk)
    try:
        desk.rulebook.documents.push(
            desk.rulebook.scope,
            text,
            source="policy",
            based_on=_number(desk.fields.get("based_on", "")),
            by=desk.at.owner.owner,
            note=desk.text("note").strip()[:_NOTE],
        )
    except PolicyError as error:
        return _editor(desk, text=text, problem=advice(error), status=400)
    except TooLargeError as error:
        return _editor(desk, text=text, problem=str(error), status=413)
    except ConflictError:
        problem = (
            "Somebody else saved rules while you were editing. Your text is kept below, compared "
            "with theirs; check the difference before you save"
        )
        return _checked(desk, problem=problem, status=409)
    return desk.at.redirect_to(f"{desk.path}?said=in-force")


def _version(desk: Desk) -> Response:
    number = _number(desk.fields.get("number", ""))
    version = desk.rulebook.documents.version(desk.rulebook.scope, number) if number else None
    if version is None:
        raise NotFoundError("there is no such version")
    documents, scope = desk.rulebook.documents, desk.rulebook.scope
    before = documents.version(scope, number - 1).text if number > 1 else ""
    pushed = desk.rulebook.own()
    return desk.show(
        "policy/policy_version.html",
        path=desk.path,
        stored=version,
        lines=difference(before, version.text),
        rules=_rules(version.text),
        may_change=desk.may_change,
        is_current=pushed is not None and pushed.number == version.number,
    )


def _text_of(desk: Desk) -> str:
    """Return the typed text, or the text of an earlier version."""
    number = _number(desk.fields.get("version", ""))
    if number:
        return desk.rulebook.documents.version(desk.rulebook.scope, number).text
    return desk.text("text")


def _rules(text: str) -> int:
    try:
        return len(load_policy(text, source="policy").rules)
    except PolicyError:
        return 0


def _number(text: str) -> int:
    """Return a version's number, 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _is_long(text: str) -> bool:
    """Tell whether a text does not fit into a form."""
    return len(quote_plus(text)) > MAX_FORM_BYTES - _OTHER_FIELDS
