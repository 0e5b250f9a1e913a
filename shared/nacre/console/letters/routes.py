"""The page of letters between a Being and the owner's other Beings."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import PageVisit, PostedForm, checked_id, console_of, redirect_to, show

routes = APIRouter(prefix="/beings/{being_id}/letters")


@routes.get("")
def show_letters(request: Request, at: PageVisit) -> Response:
    """Show all letters, newest first."""
    letters = console_of(request).memory_services().memory.letters
    every = [*letters.received(at.being_id), *letters.sent(at.being_id)]
    return show(
        request,
        at,
        "letters/letters.html",
        here="letters",
        letters=sorted(every, key=lambda letter: letter.letter_id, reverse=True),
    )


@routes.post("/read")
def mark_read(request: Request, sent: PostedForm) -> Response:
    """Mark a letter as read, so that the Being does not see it again."""
    letters = console_of(request).memory_services().memory.letters
    letters.mark_read(sent.being_id, checked_id(sent.text("letter")))
    return redirect_to(request, sent, "letters", said="saved")


@routes.post("/delete")
def delete(request: Request, sent: PostedForm) -> Response:
    """Delete this Being's copy of a letter."""
    letters = console_of(request).memory_services().memory.letters
    letters.delete(sent.being_id, checked_id(sent.text("letter")))
    return redirect_to(request, sent, "letters", said="deleted")
