"""The page of letters between a Being and the owner's other Beings."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.visits import PageVisit, PostedForm, checked_id

routes = APIRouter(prefix="/beings/{being_id}/letters")


@routes.get("")
def show_letters(at: PageVisit) -> Response:
    """Show all letters, newest first."""
    letters = at.memory.letters
    every = [*letters.received(at.being_id), *letters.sent(at.being_id)]
    return at.show(
        "letters/letters.html",
        here="letters",
        letters=sorted(every, key=lambda letter: letter.letter_id, reverse=True),
    )


@routes.post("/read")
def mark_read(sent: PostedForm) -> Response:
    """Mark a letter as read, so that the Being does not see it again."""
    letters = sent.memory.letters
    letters.mark_read(sent.being_id, checked_id(sent.text("letter")))
    return sent.redirect("letters", said="saved")


@routes.post("/delete")
def delete(sent: PostedForm) -> Response:
    """Delete this Being's copy of a letter."""
    letters = sent.memory.letters
    letters.delete(sent.being_id, checked_id(sent.text("letter")))
    return sent.redirect("letters", said="deleted")
