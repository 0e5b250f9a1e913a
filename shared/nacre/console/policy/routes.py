"""The policy editor: rules of a Being, or of all Beings, checked and compared before they count."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote_plus

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from nacre.access.signin.browser_sessions import SignedIn
from nacre.console.control_access import (
    Owner,
    control_of,
    keeps_server,
    require_keepers_form,
)
from nacre.console.frame import Visit, address, form_visit, show, show_owner, visit
from nacre.console.line_diff import difference
from nacre.console.policy.policy_check import Trial, advice, known_tools, review, tried
from nacre.console.policy.policy_choice import Rulebook
from nacre.core.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PolicyError,
    TooLargeError,
)
from nacre.core.limits import MAX_FORM_BYTES
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.web.forms import query_fields
from nacre.web.page_session import OwnForm, require_form
from nacre.web.signin.routes import redirect

routes = APIRouter()

_ROOM = 8 * 1024  # of a form's bytes, for what is sent beside the text
_NOTE = 200


@dataclass(frozen=True, slots=True)
class Desk:
    """Whose rules are edited: where they are kept, and how their pages are shown."""

    owner: SignedIn
    rulebook: Rulebook
    path: str
    being_id: str  # whose audit new rules are tried on; empty for none
    may_change: bool
    fields: dict[str, str]
    show: Callable[..., Response]

    def text(self, name: str) -> str:
        """Return a field as it was typed, with plain line ends."""
        return self.fields.get(name, "").replace("\r\n", "\n")

    def trial(self) -> Trial:
        """Return the call that is tried, if one is."""
        return Trial(self.text("tool").strip(), self.text("server").strip(), self.text("arguments"))


def _being_desk(request: Request, at: Visit, fields: dict[str, str]) -> Desk:
    def shown(name: str, **values: Any) -> Response:
        return show(request, at, name, here="policy", **values)

    path = address(at.being, "policy")
    return Desk(at.owner, _rulebook(request, at.being_id), path, at.being_id, True, fields, shown)


def _shared_desk(request: Request, owner: SignedIn, fields: dict[str, str]) -> Desk:
    def shown(name: str, **values: Any) -> Response:
        return show_owner(request, owner, name, here="rules", **values)

    may_change = keeps_server(request, owner)
    return Desk(owner, _rulebook(request, GLOBAL), "/rules", "", may_change, fields, shown)


def _rulebook(request: Request, scope: str) -> Rulebook:
    control = control_of(request)
    return Rulebook(control.table(), scope, control.clock, control.policy_file)


def _read_being(request: Request, being_id: str, owner: Owner) -> Desk:
    return _being_desk(request, visit(request, being_id, owner), query_fields(request))


def _sent_being(
    request: Request, being_id: str, form: Annotated[OwnForm, Depends(require_form)]
) -> Desk:
    sent = form_visit(request, being_id, form)
    return _being_desk(request, sent, sent.fields)


def _read_shared(request: Request, owner: Owner) -> Desk:
    return _shared_desk(request, owner, query_fields(request))


def _sent_shared(request: Request, form: Annotated[OwnForm, Depends(require_keepers_form)]) -> Desk:
    return _shared_desk(request, form.signed_in, form.fields)


@routes.get("/beings/{being_id}/policy")
def show_policy(request: Request, desk: Annotated[Desk, Depends(_read_being)]) -> Response:
    """Show a Being's rules, with an editor."""
    return _editor(request, desk)


@routes.get("/beings/{being_id}/policy/version")
def show_version(desk: Annotated[Desk, Depends(_read_being)]) -> Response:
    """Show an earlier version, and what changed with it."""
    return _version(desk)


@routes.post("/beings/{being_id}/policy/check")
def check(request: Request, desk: Annotated[Desk, Depends(_sent_being)]) -> Response:
    """Show what a text would change; nothing is kept."""
    return _checked(request, desk)


@routes.post("/beings/{being_id}/policy/save")
def save(request: Request, desk: Annotated[Desk, Depends(_sent_being)]) -> Response:
    """Put a text in force."""
    return _saved(request, desk)


@routes.get("/rules")
def show_rules(request: Request, desk: Annotated[Desk, Depends(_read_shared)]) -> Response:
    """Show the rules of all Beings that have none of their own."""
    return _editor(request, desk)


@routes.get("/rules/version")
def show_rules_version(desk: Annotated[Desk, Depends(_read_shared)]) -> Response:
    """Show an earlier version of them."""
    return _version(desk)


@routes.post("/rules/check")
def check_rules(request: Request, desk: Annotated[Desk, Depends(_sent_shared)]) -> Response:
    """Show what a text would change for all."""
    return _checked(request, desk)


@routes.post("/rules/save")
def save_rules(request: Request, desk: Annotated[Desk, Depends(_sent_shared)]) -> Response:
    """Put a text in force for all."""
    return _saved(request, desk)


def _editor(
    request: Request,
    desk: Desk,
    *,
    text: str | None = None,
    problem: str | None = None,
    status: int = 200,
    **more: Any,
) -> Response:
    """Return the page with what counts, an editor, and what a check has found."""
    counts, own = desk.rulebook.in_force(), desk.rulebook.own()
    kept = own.text if own is not None else counts.text
    written = kept if text is None else text
    try:
        policy = counts.policy()
    except PolicyError as error:
        policy, problem = None, problem or advice(error)
    values: dict[str, Any] = {"review": None, "told": None, "told_now": None, **more}
    return desk.show(
        "policy/policy.html",
        status=status,
        problem=problem,
        path=desk.path,
        may_change=desk.may_change,
        is_shared=desk.rulebook.scope == GLOBAL,
        counts=counts,
        policy=policy,
        own=own,
        based_on=own.number if own is not None else 0,
        written=written,
        is_long=_is_long(written),
        note=desk.text("note")[:_NOTE],
        trial=desk.trial(),
        versions=desk.rulebook.versions(),
        **values,
    )


def _checked(
    request: Request, desk: Desk, *, problem: str | None = None, status: int = 200
) -> Response:
    """Return the page with what a text would change, and what was wrong before it was looked at."""
    control = control_of(request)
    text = _wanted(desk)
    counts = desk.rulebook.in_force()
    own = desk.rulebook.own()
    trial = desk.trial()
    try:
        now = counts.policy()
        found = review(
            text,
            own.text if own is not None else counts.text,
            now,
            tools=known_tools(control.own_tools(), control.table()),
            records=control.records(desk.being_id) if desk.being_id else None,
            being_id=desk.being_id,
        )
        told = tried(found.policy, trial) if trial.tool else None
        told_now = tried(now, trial) if trial.tool else None
    except (PolicyError, InvalidInputError) as error:
        wrong = advice(error) if isinstance(error, PolicyError) else str(error)
        if problem is not None:  # the earlier one stays: it is why nothing was saved
            return _editor(request, desk, text=text, problem=f"{problem}. {wrong}", status=status)
        return _editor(request, desk, text=text, problem=wrong, status=400)
    found_out = {"review": found, "told": told, "told_now": told_now}
    return _editor(request, desk, text=text, problem=problem, status=status, **found_out)


def _saved(request: Request, desk: Desk) -> Response:
    """Put the text in force and lead back, or say why not and keep the text."""
    text = _wanted(desk)
    try:
        desk.rulebook.documents.push(
            desk.rulebook.scope,
            text,
            source="policy",
            based_on=_number(desk.fields.get("based_on", "")),
            by=desk.owner.owner,
            note=desk.text("note").strip()[:_NOTE],
        )
    except PolicyError as error:
        return _editor(request, desk, text=text, problem=advice(error), status=400)
    except TooLargeError as error:
        return _editor(request, desk, text=text, problem=str(error), status=413)
    except ConflictError:
        problem = (
            "Somebody else has saved rules since you began. Your text is kept below, compared "
            "with theirs; look at the difference before you save it"
        )
        return _checked(request, desk, problem=problem, status=409)
    return redirect(request, f"{desk.path}?said=in-force")


def _version(desk: Desk) -> Response:
    number = _number(desk.fields.get("number", ""))
    found = desk.rulebook.documents.version(desk.rulebook.scope, number) if number else None
    if found is None:
        raise NotFoundError("there is no such version")
    documents, scope = desk.rulebook.documents, desk.rulebook.scope
    before = documents.version(scope, number - 1).text if number > 1 else ""
    own = desk.rulebook.own()
    return desk.show(
        "policy/policy_version.html",
        path=desk.path,
        found=found,
        lines=difference(before, found.text),
        rules=_rules(found.text),
        may_change=desk.may_change,
        is_current=own is not None and own.number == found.number,
    )


def _wanted(desk: Desk) -> str:
    """Return the text that was typed, or that of an earlier version."""
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
    return len(quote_plus(text)) > MAX_FORM_BYTES - _ROOM
