"""The command `nacre llm-key`: set, clear and show a Being's API key for a language model."""

from typing import TYPE_CHECKING

import click

from nacre.access.beings import Being
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.secret_input import read_secret
from nacre.core.errors import NotFoundError

if TYPE_CHECKING:
    from nacre.being.language_model.api_keys import LlmKeys


@click.group("llm-key")
def llm_key() -> None:
    """Set or clear a Being's API key for a language model."""


@llm_key.command("set")
@being_options
def set_key(*, place: Place) -> None:
    """Store a provider's key for the Being, and replace the one that it has.

    The key is read from a hidden prompt or from standard input, and stored encrypted. Keys that
    begin with sk-ant- go to Anthropic, others to NACRE_LLM_BASE_URL. The Being's orders and patrols
    use it, unless a call sends its own key in the header X-LLM-API-Key.
    """
    being, llm_keys = _opened(place)
    llm_keys.set(being.being_id, read_secret("Key"))
    click.echo(f"Set the key of {being.name}; its orders and patrols now use it.", err=True)


@llm_key.command()
@being_options
def clear(*, place: Place) -> None:
    """Delete the Being's key."""
    being, llm_keys = _opened(place)
    if not llm_keys.clear(being.being_id):
        raise NotFoundError(f"{being.name} has no key; set one with 'nacre llm-key set'")
    click.echo(f"Deleted the key of {being.name}.", err=True)


@llm_key.command()
@json_option
@being_options
def status(*, as_json: bool, place: Place) -> None:
    """Show whether the Being has a key, and since when. The key is never shown."""
    being, llm_keys = _opened(place)
    key = llm_keys.status(being.being_id)
    if as_json:
        show_json(
            {
                "name": being.name,
                "being_id": being.being_id,
                "is_set": key is not None,
                "set_at": key and key.set_at,
            }
        )
    elif key is None:
        click.echo(f"{being.name} has no key.")
    else:
        click.echo(f"{being.name} has a key, set at {key.set_at}.")


def _opened(place: Place) -> "tuple[Being, LlmKeys]":
    home = place.open()
    return place.choose(home), home.llm_keys
