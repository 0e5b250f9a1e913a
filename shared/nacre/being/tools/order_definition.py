"""The definition of the tool that takes orders, as `tools/list` shows it."""

from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.names import order_slug

DEFAULT_ORDER_NAME = "being"

_UPLOADS = (
    " Above 4 MB in all, give 'size' in place of 'data': you get links to upload to, and then send"
    " the order with 'upload' in place of 'data'."
)


def order_tool_name(name: str) -> str:
    """Return the name of the tool for an order's name: order_clawdbot for Clawdbot."""
    return ORDER_PREFIX + order_slug(name)


def order_definition(name: str, *, links: bool = False) -> dict[str, Any]:
    """Return the definition of the tool for an order's name.

    With `links`, large media may be uploaded before the order.
    """
    receiver = "the Being" if name == DEFAULT_ORDER_NAME else name
    return {
        "name": order_tool_name(name),
        "description": f"Send a message to {receiver} and receive a response. The message will be"
        " processed as if typed by a user. Supports sending images, files (PDF, text, markdown,"
        " CSV, JSON), audio, video, and archives (ZIP, TAR.GZ) via base64 encoding."
        + (_UPLOADS if links else ""),
        "inputSchema": _schema(receiver, links=links),
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }


def _schema(receiver: str, *, links: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": f"The message to send to {receiver}"},
            "sessionKey": {
                "type": "string",
                "description": "Optional session key for conversation continuity",
            },
            "images": _media("images (max 10, 15MB each)", "image", "image/png", links=links),
            "files": _media("files (max 5, 15MB each)", "file", "application/pdf", links=links),
        },
        "required": ["message"],
    }


def _media(description: str, noun: str, example: str, *, links: bool) -> dict[str, Any]:
    uploads = {
        "size": {"type": "integer", "description": "In place of data: bytes; returns a link"},
        "sha256": {"type": "string", "description": "With size: the content's hash, optional"},
        "upload": {"type": "string", "description": "In place of data: id of a sent upload"},
    }
    return {
        "type": "array",
        "description": f"Optional base64-encoded {description}",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {noun} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
                **(uploads if links else {}),
            },
            "required": ["mimeType"] if links else ["data", "mimeType"],
        },
    }
