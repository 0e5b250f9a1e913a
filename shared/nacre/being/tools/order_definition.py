"""The definition of the tool that takes orders, as `tools/list` shows it."""

from typing import Any

from nacre.access.scopes import ORDER_PREFIX
from nacre.core.names import order_slug

DEFAULT_ORDER_NAME = "being"


def order_tool_name(name: str) -> str:
    """Return the name of the tool for an order's name: order_clawdbot for Clawdbot."""
    return ORDER_PREFIX + order_slug(name)


def order_definition(name: str) -> dict[str, Any]:
    """Return the definition of the tool for an order's name."""
    receiver = "the Being" if name == DEFAULT_ORDER_NAME else name
    return {
        "name": order_tool_name(name),
        "description": f"Send a message to {receiver} and receive a response. The message will be"
        " processed as if typed by a user. Supports sending images, files (PDF, text, markdown,"
        " CSV, JSON), audio, video, and archives (ZIP, TAR.GZ) via base64 encoding.",
        "inputSchema": _schema(receiver),
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": True,
        },
    }


def _schema(receiver: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": f"The message to send to {receiver}"},
            "sessionKey": {
                "type": "string",
                "description": "Optional session key for conversation continuity",
            },
            "images": _media("images (max 10, 15MB each)", "image", "image/png"),
            "files": _media("files (max 5, 15MB each)", "file", "application/pdf"),
        },
        "required": ["message"],
    }


def _media(description: str, noun: str, example: str) -> dict[str, Any]:
    return {
        "type": "array",
        "description": f"Optional base64-encoded {description}",
        "items": {
            "type": "object",
            "properties": {
                "data": {"type": "string", "description": f"Base64-encoded {noun} data"},
                "mimeType": {"type": "string", "description": f"MIME type (e.g., '{example}')"},
                "filename": {"type": "string", "description": "Optional filename"},
            },
            "required": ["data", "mimeType"],
        },
    }
