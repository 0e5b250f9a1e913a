"""Commands for the key of a language model that a Being keeps: set, clear and status."""

from random import SystemRandom
from typing import TYPE_CHECKING

import click

from nacre.access.beings import Being
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.secret_input import unseen_value
from nacre.core.clock import system_clock
from nacre.core.errors import NotFoundError

if TYPE_CHECKING:
    from nacre.being.language_model.api_keys import LlmKeys


@click.group("llm-key")
def llm_key() -> None:
    """Set or clear the key that a Being's orders and patrols use."""


@llm_key.command("set")
@placed
def set_key(*, place: Place) -> None:
    """Keep a provider's key for the Being, in the place of one that it has.

    It is typed unseen, or read from standard input, and is stored encrypted. Keys that begin
    with sk-ant- go to Anthropic, others to NACRE_LLM_BASE_URL. Orders and patrols use it, unless a
    call brings a key of its own in the header X-LLM-API-Key.
    """
    being, llm_keys = _opened(place)
    llm_keys.set(being.being_id, unseen_value("Key"))
    click.echo(f"Set the key of {being.name}; its orders and patrols use it from now on.", err=True)


@llm_key.command()
@placed
def clear(*, place: Place) -> None:
    """Forget the Being's key."""
    being, llm_keys = _opened(place)
    if not llm_keys.clear(being.being_id):
        raise NotFoundError(f"{being.name} has no key; set one with 'nacre llm-key set'")
    click.echo(f"Forgot the key of {being.name}.", err=True)


@llm_key.command()
@json_option
@placed
def status(*, as_json: bool, place: Place) -> None:
    """Say whether the Being has a key, and since when; the key is never shown."""
    being, llm_keys = _opened(place)
    found = llm_keys.status(being.being_id)
    if as_json:
        show_json(
            {
                "name": being.name,
                "being_id": being.being_id,
                "is_set": found is not None,
                "set_at": found and found.set_at,
            }
        )
    elif found is None:
        click.echo(f"{being.name} has no key.")
    else:
        click.echo(f"{being.name} has a key, set at {found.set_at}.")


def _opened(place: Place) -> "tuple[Being, LlmKeys]":
    # The memory loads with it, which 'nacre --help' has no use for.
    from nacre.being.language_model.api_keys import LlmKeys

    home = place.open()
    llm_keys = LlmKeys(home.data, home.vault, clock=system_clock, rng=SystemRandom())
    return place.choose(home), llm_keys
