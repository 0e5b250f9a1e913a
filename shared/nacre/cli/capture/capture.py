"""The command `nacre capture`: allow, pause and limit the capture of conversations."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.being.memory.conversations.client_names import HOOKS_LABEL
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.hooks.capture_settings import (
    THIS_MACHINE,
    CaptureSettings,
    read_settings,
    write_settings,
)
from nacre.cli.hooks.server_call import ServerCallError, address_of
from nacre.core.clock import system_clock
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import CAPTURE_TOKEN_DAYS
from nacre.core.token_prefixes import API


@click.group()
def capture() -> None:
    """Allow, pause and limit the capture of conversations by the hooks of clients."""


@capture.command()
@click.option(
    "--url",
    metavar="URL",
    default="",
    help="A server that is not on this machine, such as a stack's McpUrl.",
)
@click.option("--yes", is_flag=True, help="Do not ask before sending to another machine.")
@being_options
def allow(*, url: str, yes: bool, place: Place) -> None:
    """Allow the hooks of your clients to recall memories and to capture conversations.

    The hooks get a token for the Being, in a private file of the data folder. With --url the
    conversations go to a server elsewhere: with --stack the command creates the token there, and
    otherwise it asks for one.
    """
    folder, settings = _open(place)
    if url:
        _check_elsewhere(url)
        if not yes:
            click.confirm(
                f"Your conversations will be sent to {url}, which is not this machine. Allow it?",
                abort=True,
                err=True,
            )
    elif place.stack:
        raise InvalidInputError("give the stack's URL: --url, with the value of its output McpUrl")
    if url and not place.stack:
        from nacre.cli.secret_input import read_secret

        token, token_id, being_id, name = read_secret("Token"), "", "", url
    else:
        token, token_id, being_id, name = _issued_token(place)
    target = url or THIS_MACHINE
    consented = {target: settings.consented.get(target) or _now()}
    write_settings(
        str(folder),
        replace(
            settings,
            consented=consented,
            url=url,
            being_id=being_id,
            token=token,
            token_id=token_id,
            is_denied=False,
        ),
    )
    _revoke(place, settings, now=url)
    click.echo(f"Allowed: conversations are captured for {name}, on {target}.", err=True)
    click.echo("Secrets are cut first. To stop: nacre capture pause", err=True)


@capture.command()
@being_options
def deny(*, place: Place) -> None:
    """Withdraw the consent, revoke the hooks' token, and never ask again.

    What was captured before stays; erase it in the console or with 'nacre forget messages'.
    """
    folder, settings = _open(place)
    _revoke(place, settings)
    write_settings(
        str(folder),
        replace(settings, consented={}, url="", token="", token_id="", is_denied=True),
    )
    click.echo("Denied: hooks neither capture nor recall.", err=True)


@capture.command()
@being_options
def pause(*, place: Place) -> None:
    """Stop capturing messages until 'nacre capture resume'."""
    folder, settings = _open(place)
    if not settings.is_paused:
        write_settings(str(folder), replace(settings, pauses=(*settings.pauses, (_now(), ""))))
    click.echo("Paused: no messages are captured from now on.", err=True)


@capture.command()
@being_options
def resume(*, place: Place) -> None:
    """Capture again. Messages from the pause are not captured later."""
    folder, settings = _open(place)
    if settings.is_paused:
        *before, (start, _) = settings.pauses
        write_settings(str(folder), replace(settings, pauses=(*before, (start, _now()))))
    click.echo("Resumed.", err=True)


@capture.command()
@json_option
@being_options
def status(*, as_json: bool, place: Place) -> None:
    """Show whether conversations are captured, where they go, and what is left out."""
    _, settings = _open(place, to_read=True)
    state = "allowed" if settings.is_allowed else "denied" if settings.is_denied else "not allowed"
    facts = {
        "state": "paused" if settings.is_allowed and settings.is_paused else state,
        "being": _being_name(place, settings),
        "place": settings.place if settings.is_allowed else None,
        "since": settings.consented.get(settings.place),
        "excluded_projects": list(settings.projects),
        "excluded_words": list(settings.words),
    }
    if as_json:
        show_json(facts)
        return
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else value
        click.echo(f"{name.replace('_', ' ')}: {text or '-'}")
    if state == "not allowed":
        click.echo("To allow it: nacre capture allow", err=True)


@capture.group()
def exclude() -> None:
    """Name projects and words that are never captured."""


@exclude.command("project")
@click.argument("names", metavar="PROJECT...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Remove them from the list.")
@being_options
def exclude_project(*, names: tuple[str, ...], remove: bool, place: Place) -> None:
    """Never capture or recall in a PROJECT: a folder and its content, or every folder of a name."""
    # An entry that an earlier version wrote can be removed as the list shows it.
    projects = [*names] if remove else []
    projects += [_project(name.strip()) for name in names if not (remove and "*" in name)]
    _change(
        place,
        lambda settings: replace(
            settings, projects=_changed(settings.projects, projects, remove=remove)
        ),
    )


def _project(name: str) -> str:
    """Return a folder's absolute path, or the name of folders as it is."""
    if "*" in name:
        raise InvalidInputError("a project is a folder or a name, and has no '*'")
    if "/" in name or os.sep in name or name in (".", ".."):
        return os.path.normpath(Path(name).expanduser().absolute())
    return name


@exclude.command("word")
@click.argument("words", metavar="WORD...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Remove them from the list.")
@being_options
def exclude_word(*, words: tuple[str, ...], remove: bool, place: Place) -> None:
    """Never capture a message that has a WORD, in any case."""
    _change(
        place,
        lambda settings: replace(settings, words=_changed(settings.words, words, remove=remove)),
    )


def _change(place: Place, changed: Callable[[CaptureSettings], CaptureSettings]) -> None:
    folder, settings = _open(place)
    after = changed(settings)
    write_settings(str(folder), after)
    click.echo(f"Excluded projects: {', '.join(after.projects) or '-'}", err=True)
    click.echo(f"Excluded words: {', '.join(after.words) or '-'}", err=True)


def _changed(
    entries: tuple[str, ...], names: "tuple[str, ...] | list[str]", *, remove: bool
) -> tuple[str, ...]:
    stripped = [name.strip() for name in names]
    if not all(stripped):
        raise InvalidInputError("a project or a word is empty")
    if remove:
        return tuple(entry for entry in entries if entry not in stripped)
    return tuple(dict.fromkeys([*entries, *stripped]))


def _open(place: Place, *, to_read: bool = False) -> tuple[Path, CaptureSettings]:
    """Return the data folder on this machine, and the settings of capturing in it."""
    from nacre.wiring.data_folder import prepare_data_folder

    folder = prepare_data_folder(place.folder(), to_read=to_read)
    try:
        return folder, read_settings(str(folder))
    except (ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{folder}/capture.json cannot be read; delete it, and allow capturing again"
        ) from error


def _check_elsewhere(url: str) -> None:
    try:
        address = address_of(url)
    except ServerCallError as error:
        raise InvalidInputError(str(error)) from None
    if address.is_this_machine:
        raise InvalidInputError("this URL is on this machine; leave --url out")
    if not address.is_secure:
        raise InvalidInputError("a server elsewhere needs https")


def _issued_token(place: Place) -> tuple[str, str, str, str]:
    """Create a token for the hooks; return it, its id, and the Being's id and name."""
    home, being = place.open_being()
    issued = home.tokens.issue(
        API,
        being_id=being.being_id,
        owner=being.owner,
        scopes=SCOPES_BY_NAME["full"],
        lifetime=timedelta(days=CAPTURE_TOKEN_DAYS),
        label=HOOKS_LABEL,
    )
    return issued.token, issued.record.token_id, being.being_id, being.name


def _revoke(place: Place, settings: CaptureSettings, *, now: str | None = None) -> None:
    """Revoke the token that the hooks had; `now` is the URL that they have instead, if any.

    That of a stack can only be revoked if the command names the stack.
    """
    if not settings.token_id:
        return
    if settings.url and not (place.stack and now in (None, settings.url)):
        click.echo(
            f"The hooks' token {settings.token_id} still works at {settings.url}; revoke it there,"
            " with 'nacre token revoke' and --stack.",
            err=True,
        )
        return
    home = (place if settings.url else replace(place, stack=None)).open()
    active = home.tokens.of_being(settings.being_id)
    if any(record.token_id == settings.token_id for record in active):
        home.tokens.revoke(settings.token_id, being_id=settings.being_id)


def _being_name(place: Place, settings: CaptureSettings) -> str | None:
    """Return the name of the Being that is captured for, or its id if it is elsewhere."""
    if not settings.is_allowed:
        return None
    being = None if settings.url else place.open().beings.get(settings.being_id)
    return being.name if being is not None else settings.being_id or None


def _now() -> str:
    moment: datetime = system_clock()
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
