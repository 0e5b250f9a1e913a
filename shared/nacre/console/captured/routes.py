"""The pages of captured conversations: what hooks and imports brought, and its removal."""

from itertools import islice

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.memory.model.types import Conversation
from nacre.console.visits import PageVisit, PostedForm, Visit, checked_id
from nacre.core.errors import InvalidInputError, NotFoundError

routes = APIRouter(prefix="/beings/{being_id}/captured")

_PAGE = 30
_MESSAGES = 50
_MOST = 4000  # characters part of one message
_LONGEST_PLACE = 300


@routes.get("")
def show_conversations(at: PageVisit) -> Response:
    """Show the captured conversations by their last message, the newest first."""
    captured = at.parts.memory_services().captured
    page = captured.conversations(at.being_id, limit=_PAGE, start=_place(at, "before"))
    return at.show(
        "captured/captured.html",
        here="captured",
        conversations=page.conversations,
        before=page.next,
    )


@routes.get("/{conversation_id}")
def show_conversation(at: PageVisit, conversation_id: str) -> Response:
    """Show the messages of a captured conversation in order of time."""
    conversation = _conversation(at, conversation_id)
    messages = at.parts.memory_services().captured.messages(
        at.being_id, conversation.conversation_id, after=_place(at, "after")
    )
    part = list(islice(messages, _MESSAGES))
    return at.show(
        "captured/conversation.html",
        here="captured",
        conversation=conversation,
        messages=part,
        after=part[-1].place if len(part) == _MESSAGES else None,
        most=_MOST,
    )


@routes.post("/remove")
def remove_conversation(sent: PostedForm) -> Response:
    """Erase a conversation with the scenes that were found in it alone."""
    conversation = _conversation(sent, sent.text("conversation"))
    sent.parts.eraser().conversation(sent.being_id, conversation.conversation_id)
    return sent.redirect("captured", said="erased")


@routes.post("/{conversation_id}/remove")
def remove_message(sent: PostedForm, conversation_id: str) -> Response:
    """Erase one message with the scenes that were found in it alone."""
    conversation = _conversation(sent, conversation_id)
    message = sent.memory.history.get(sent.being_id, checked_id(sent.text("message")))
    if message is None or message.conversation_id != conversation.conversation_id:
        raise NotFoundError("there is no such message; it may have been erased")
    sent.parts.eraser().message(sent.being_id, message)
    if conversation.messages == 1:
        return sent.redirect("captured", said="erased")
    return sent.redirect("captured", conversation.conversation_id, said="erased")


def _conversation(at: Visit, conversation_id: str) -> Conversation:
    captured = at.parts.memory_services().captured
    conversation = captured.conversation(at.being_id, checked_id(conversation_id))
    if conversation is None:
        raise NotFoundError("there is no such conversation; it may have been erased")
    return conversation


def _place(at: Visit, name: str) -> str | None:
    """Return the place in a list that the address names; raises InvalidInputError for others."""
    place = at.query.get(name, "").strip()
    if len(place) > _LONGEST_PLACE or not place.isprintable():
        raise InvalidInputError("the address names no place in this list; open the list again")
    return place or None
