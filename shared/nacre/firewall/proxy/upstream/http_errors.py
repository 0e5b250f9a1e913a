"""What a remote server's HTTP status means, for whoever set the proxy up."""

from http import HTTPStatus


def status_text(authority: str, status: int) -> str:
    """Say in one line what a server's HTTP status means for its user."""
    try:
        phrase = f" {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = ""
    text = f"{authority} answered {status}{phrase}"
    match status:
        case 401:
            return f"{text}: it wants a token, or another; give one with --bearer-env VARIABLE"
        case 403:
            return f"{text}: what --header gives does not suffice, or it serves only some callers"
        case 301 | 302 | 303 | 307 | 308:
            return f"{text}: it has moved; look up its present address and give that with --url"
        case _:
            return text
