"""The command `nacre chat`: orders for a person at a terminal."""

import asyncio
import base64
import mimetypes
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

from nacre.access.scopes import ORDER_PREFIX
from nacre.being.memory.text.memory_text import counted
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_types import ALL
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import without_controls
from nacre.cli.exit_codes import FAILURE, INTERRUPTED, OK
from nacre.core.coroutines import step
from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import MAX_MEDIA_BYTES
from nacre.protocol.context import Context, Silence
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.surface import SelectiveSource, WireTool

_LEAVE = ("exit", "quit", "/exit", "/quit")
_HELP = "Write to the Being. /image PATH and /file PATH attach a file; exit ends the chat."
_ALSO = {
    ".jpeg": "image/jpeg",
    ".markdown": "text/markdown",
    ".htm": "text/html",
    ".tgz": "application/gzip",
    ".gz": "application/gzip",
}


class _ProgressLine(Silence):
    """Shows the progress of an order on standard error."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Write the current step of the order over the previous one."""
        if method == "notifications/progress" and sys.stderr.isatty():
            step_text = without_controls(str(params.get("message", "")))
            click.echo(f"\r\033[K({step_text})", err=True, nl=False)


@dataclass
class _Attachments:
    """The files that go with the next message."""

    images: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    def add(self, path: str, *, is_image: bool) -> None:
        (self.images if is_image else self.files).append(_read(path))

    def take(self) -> dict[str, Any]:
        """Return the attachments as arguments, and clear them."""
        attached = {"images": self.images, "files": self.files}
        self.images, self.files = [], []
        return {name: items for name, items in attached.items() if items}


@dataclass
class _Conversation:
    """A conversation with a Being."""

    tool: WireTool
    principal: Principal
    session: str
    save: Path | None

    def send(self, message: str, attachments: Mapping[str, Any]) -> int:
        """Send an order, and show its answer."""
        arguments = {"message": message, "sessionKey": self.session, **attachments}
        context = Context(
            principal=self.principal,
            client_info={"name": "nacre chat"},
            progress_token="chat",  # noqa: S106 - not a secret: the protocol's name for a stream of progress
            channel=_ProgressLine(),
        )
        try:
            result = step(self.tool.call(arguments, context)).to_dict()
        except NacreError as error:
            _clear()
            click.echo(without_controls(f"Error: {error.public or error}"), err=True)
            return FAILURE
        except (KeyboardInterrupt, asyncio.CancelledError):
            _clear()
            click.echo("(cancelled)", err=True)
            return INTERRUPTED
        _clear()
        for block in result["content"]:
            self._show(block)
        return FAILURE if result.get("isError") else OK

    def _show(self, block: Mapping[str, Any]) -> None:
        if block["type"] == "text":
            click.echo(without_controls(block["text"]))
            return
        media = block.get("resource", block)
        mime_type, data = media["mimeType"], base64.b64decode(media.get("blob") or media["data"])
        extension = mimetypes.guess_extension(mime_type) or ".bin"
        name = base_name(unquote(str(media.get("uri", "")))) or f"answer{extension}"
        if self.save is None:
            line = f"({name}, {mime_type}, {counted(len(data), 'byte')}; --save DIR saves it)"
        else:
            line = f"({_saved(self.save, name, data)})"
        click.echo(without_controls(line), err=True)


@click.command()
@click.argument("message", required=False)
@click.option("--session", metavar="KEY", help="Continue the session with this key.")
@click.option("--image", "images", multiple=True, metavar="PATH", help="Attach an image.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Attach a file.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="DIR", help="Save media of answers here."
)
@being_options
def chat(
    message: str | None,
    session: str | None,
    images: tuple[str, ...],
    files: tuple[str, ...],
    save: Path | None,
    place: Place,
) -> int:
    """Talk to a Being from this terminal.

    With MESSAGE, send one order; without it, start a conversation.
    """
    if place.stack:
        raise InvalidInputError(
            "chat works on this machine only; connect a client to the stack's URL instead"
        )
    attachments = _Attachments()
    for path in images:
        attachments.add(path, is_image=True)
    for path in files:
        attachments.add(path, is_image=False)
    with _conversation(place, session, save) as conversation:
        if message is None and not sys.stdin.isatty():
            message = sys.stdin.read()
        if message is not None:
            return conversation.send(message, attachments.take())
        return _converse(conversation, attachments)


def _converse(conversation: _Conversation, attachments: _Attachments) -> int:
    click.echo(_HELP, err=True)
    for line in _lines():
        if line in _LEAVE:
            break
        command, _, path = line.partition(" ")
        if command in ("/image", "/file"):
            try:
                attachments.add(path.strip(), is_image=command == "/image")
            except NacreError as error:
                click.echo(f"Error: {error}", err=True)
        elif line:
            conversation.send(line, attachments.take())
    return OK


def _lines() -> Iterator[str]:
    while True:
        click.echo("> ", err=True, nl=False)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            click.echo(err=True)
            return
        yield line.strip()


@contextmanager
def _conversation(place: Place, session: str | None, save: Path | None) -> Iterator[_Conversation]:
    """Open a conversation with this machine's server, in this process."""
    from nacre.cli.serve.on_demand_worker import OnDemandWorker
    from nacre.core.logs import Log
    from nacre.wiring.laptop import first_being, open_laptop
    from nacre.wiring.settings import Settings

    laptop = open_laptop(place.folder(), Settings.from_environment())
    try:
        owner = laptop.owners.get(place.owner_name).name
        if place.being is None:
            first_being(laptop, owner)
        being = place.choose(laptop)
        principal = Principal(subject="local", being_id=being.being_id, scopes=FULL)
        surface = laptop.application.surface
        assert isinstance(surface, SelectiveSource)
        tool = surface.get_tool(_order_tool(surface.tools_for(principal)))
        assert tool is not None
        work = OnDemandWorker(laptop, Log("warning"))
        try:
            yield _Conversation(tool, principal, session or f"chat-{secrets.token_hex(8)}", save)
        finally:
            work.end()
    finally:
        laptop.close()


def _order_tool(tools: Iterable[Mapping[str, Any]]) -> str:
    for tool in tools:
        if str(tool["name"]).startswith(ORDER_PREFIX):
            return str(tool["name"])
    raise InvalidInputError("the policy denies orders; see 'nacre policy explain order_being'")


def _read(path: str) -> dict[str, str]:
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > MAX_MEDIA_BYTES:
            raise InvalidInputError(f"{path}: larger than {MAX_MEDIA_BYTES} bytes; send less")
        data = file.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or 'cannot be read'}") from None
    types = {f".{media.extension}": media.name for media in reversed(list(ALL.values()))} | _ALSO
    mime_type = types.get(file.suffix.lower()) or mimetypes.guess_type(file.name)[0]
    if mime_type is None:
        raise InvalidInputError(f"{path}: unknown file type; give it an extension such as .txt")
    encoded = base64.b64encode(data).decode()
    return {"data": encoded, "mimeType": mime_type, "filename": file.name}


def _saved(folder: Path, name: str, data: bytes) -> Path:
    """Write a file under a free name, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 1
    while True:
        path = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
        try:
            with path.open("xb") as file:
                file.write(data)
        except FileExistsError:
            number += 1
        else:
            return path


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
