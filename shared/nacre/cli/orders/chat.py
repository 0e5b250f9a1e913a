"""The command `nacre chat`: orders for a person at a terminal."""

import asyncio
import base64
import mimetypes
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

from nacre.access.scopes import ORDER_PREFIX
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.media.media_types import ALL
from nacre.cli.being_options import Place, placed
from nacre.cli.display import harmless
from nacre.cli.exit_codes import FAILURE, INTERRUPTED, OK
from nacre.core.coroutines import step
from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.limits import MAX_MEDIA_BYTES
from nacre.protocol.context import Context, Silence
from nacre.protocol.principal import FULL, Principal
from nacre.protocol.surface import SelectiveSource, WireTool

_LEAVE = ("exit", "quit", "/exit", "/quit")
_HELP = "Write to the Being; /image PATH and /file PATH send something along, exit ends."
_ALSO = {
    ".jpeg": "image/jpeg",
    ".markdown": "text/markdown",
    ".htm": "text/html",
    ".tgz": "application/gzip",
    ".gz": "application/gzip",
}


class _Told(Silence):
    """Tells a person on standard error what goes on."""

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Write what the order is at, over the line before."""
        if method == "notifications/progress" and sys.stderr.isatty():
            doing = harmless(str(params.get("message", "")))
            click.echo(f"\r\033[K({doing})", err=True, nl=False)


@dataclass
class _Along:
    """What goes along with the next message."""

    images: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, str]] = field(default_factory=list)

    def add(self, path: str, *, is_image: bool) -> None:
        (self.images if is_image else self.files).append(_read(path))

    def take(self) -> dict[str, Any]:
        """Return it as arguments, and begin anew."""
        found = {"images": self.images, "files": self.files}
        self.images, self.files = [], []
        return {name: items for name, items in found.items() if items}


@dataclass
class _Talk:
    """A conversation with a Being."""

    tool: WireTool
    principal: Principal
    session: str
    save: Path | None

    def say(self, message: str, along: Mapping[str, Any]) -> int:
        """Give an order, and show its answer."""
        arguments = {"message": message, "sessionKey": self.session, **along}
        context = Context(
            principal=self.principal,
            client_info={"name": "nacre chat"},
            progress_token="chat",  # noqa: S106 - the protocol's word for a place in a stream
            channel=_Told(),
        )
        try:
            result = step(self.tool.call(arguments, context)).to_dict()
        except NacreError as error:
            _clear()
            click.echo(harmless(f"Error: {error.public or error}"), err=True)
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
            click.echo(harmless(block["text"]))
            return
        held = block.get("resource", block)
        mime_type, data = held["mimeType"], base64.b64decode(held.get("blob") or held["data"])
        extension = mimetypes.guess_extension(mime_type) or ".bin"
        name = base_name(unquote(str(held.get("uri", "")))) or f"answer{extension}"
        if self.save is None:
            told = f"({name}, {mime_type}, {len(data)} bytes: --save DIR keeps it)"
        else:
            told = f"({_written(self.save, name, data)})"
        click.echo(harmless(told), err=True)


@click.command()
@click.argument("message", required=False)
@click.option("--session", metavar="KEY", help="Go on with the session of this key.")
@click.option("--image", "images", multiple=True, metavar="PATH", help="Send an image along.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Send a file along.")
@click.option("--save", type=click.Path(path_type=Path), metavar="DIR", help="Keep media here.")
@placed
def chat(
    message: str | None,
    session: str | None,
    images: tuple[str, ...],
    files: tuple[str, ...],
    save: Path | None,
    place: Place,
) -> int:
    """Talk to a Being from this terminal.

    With a MESSAGE it is one order, without one a conversation.
    """
    if place.stack:
        raise InvalidInputError(
            "chat works on this machine; connect a client to the stack's URL instead"
        )
    along = _Along()
    for path in images:
        along.add(path, is_image=True)
    for path in files:
        along.add(path, is_image=False)
    with _talking(place, session, save) as talk:
        if message is None and not sys.stdin.isatty():
            message = sys.stdin.read()
        if message is not None:
            return talk.say(message, along.take())
        return _converse(talk, along)


def _converse(talk: _Talk, along: _Along) -> int:
    click.echo(_HELP, err=True)
    for line in _lines():
        if line in _LEAVE:
            break
        command, _, rest = line.partition(" ")
        if command in ("/image", "/file"):
            try:
                along.add(rest.strip(), is_image=command == "/image")
            except NacreError as error:
                click.echo(f"Error: {error}", err=True)
        elif line:
            talk.say(line, along.take())
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
def _talking(place: Place, session: str | None, save: Path | None) -> Iterator[_Talk]:
    """Give a conversation with the server of this machine, in this process."""
    from nacre.cli.serve.on_demand_worker import WorkOnDemand
    from nacre.core.logs import Log
    from nacre.wiring.laptop import first_being, open_laptop
    from nacre.wiring.settings import Settings

    laptop = open_laptop(place.folder(), Settings.from_environment())
    try:
        owner = laptop.home.owners.get(place.owner_name).name
        if place.being is None:
            first_being(laptop.home, owner)
        being = place.choose(laptop.home)
        principal = Principal(subject="local", being_id=being.being_id, scopes=FULL)
        surface = laptop.application.surface
        assert isinstance(surface, SelectiveSource)
        tool = surface.get_tool(_order_in(surface.tools_for(principal)))
        assert tool is not None
        work = WorkOnDemand(laptop, Log("warning"))
        try:
            yield _Talk(tool, principal, session or f"chat-{secrets.token_hex(8)}", save)
        finally:
            work.end()
    finally:
        laptop.close()


def _order_in(tools: Iterable[Mapping[str, Any]]) -> str:
    for each in tools:
        if str(each["name"]).startswith(ORDER_PREFIX):
            return str(each["name"])
    raise InvalidInputError("the policy denies orders; see 'nacre policy explain order_being'")


def _read(path: str) -> dict[str, str]:
    place = Path(path).expanduser()
    try:
        if place.stat().st_size > MAX_MEDIA_BYTES:
            raise InvalidInputError(f"{path}: larger than {MAX_MEDIA_BYTES} bytes; send less")
        data = place.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or 'cannot be read'}") from None
    known = {f".{each.extension}": each.name for each in reversed(list(ALL.values()))} | _ALSO
    guessed = known.get(place.suffix.lower()) or mimetypes.guess_type(place.name)[0]
    if guessed is None:
        raise InvalidInputError(f"{path}: its name says no type; give it an ending such as .txt")
    encoded = base64.b64encode(data).decode()
    return {"data": encoded, "mimeType": guessed, "filename": place.name}


def _written(folder: Path, name: str, data: bytes) -> Path:
    """Write a file beside others of its name, and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, suffix = Path(name).stem, Path(name).suffix
    number = 1
    while True:
        place = folder / (name if number == 1 else f"{stem}-{number}{suffix}")
        try:
            with place.open("xb") as file:
                file.write(data)
        except FileExistsError:
            number += 1
        else:
            return place


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
