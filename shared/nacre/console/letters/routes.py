"""Letters: what other Beings of the owner wrote to this one, and what it wrote to them."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import At, Sent, console_of, known_id, onward, show

routes = APIRouter(prefix="/beings/{being_id}/letters")


@routes.get("")
def show_letters(request: Request, at: At) -> Response:
    """Show all letters, the newest first."""
    letters = console_of(request).mind().memory.letters
    every = [*letters.received(at.being_id), *letters.sent(at.being_id)]
    return show(
        request,
        at,
        "letters/letters.html",
        here="letters",
        letters=sorted(every, key=lambda each: each.letter_id, reverse=True),
    )


@routes.post("/read")
def mark_read(request: Request, sent: Sent) -> Response:
    """Mark a letter as read, so that the Being is not shown it anew."""
    letters = console_of(request).mind().memory.letters
    letters.mark_read(sent.being_id, known_id(sent.text("letter")))
    return onward(request, sent, "letters", said="saved")


@routes.post("/delete")
def delete(request: Request, sent: Sent) -> Response:
    """Delete the Being's own copy of a letter."""
    letters = console_of(request).mind().memory.letters
    letters.delete(sent.being_id, known_id(sent.text("letter")))
    return onward(request, sent, "letters", said="deleted")
