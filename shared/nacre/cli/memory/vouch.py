"""The command `nacre vouch`: make the text of a memory the owner's word, or take that back."""

import click

from nacre.being.memory.model.lineage import origins_of, standing_of
from nacre.being.memory.model.types import Node
from nacre.being.memory.text.memory_text import scene_line
from nacre.cli.being_options import Place, being_options
from nacre.cli.confirmation import is_confirmed
from nacre.cli.display import json_option, show_json, without_controls
from nacre.cli.exit_codes import OK, REFUSED
from nacre.core.origins import texts_of


@click.command()
@click.argument("node_id", metavar="ID")
@click.option("--withdraw", is_flag=True, help="Take it back: the memory is trusted as before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@being_options
def vouch(node_id: str, *, withdraw: bool, yes: bool, as_json: bool, place: Place) -> int:
    """Vouch for the text of a memory, whoever reported it.

    The text is shown first. From then on it is trusted as your own word, and all of its origins
    stay. If the text changes, you have to vouch for it again.
    """
    home, being = place.open_being()
    edits = home.memory_services.memory.edits
    node = edits.current(being.being_id, node_id)
    if not withdraw and not yes:
        click.echo(f"{without_controls(scene_line(node))}\nOrigins: {_origins(node)}", err=True)
        if not is_confirmed("Is this true?"):
            click.echo("Nothing was changed.", err=True)
            return REFUSED
    after = edits.vouch(being.being_id, node_id, vouched=not withdraw, version=node.version)
    if as_json:
        facts = {"being": being.name, "being_id": being.being_id, "node_id": after.node_id}
        origins = list(texts_of(origins_of(after)))
        show_json({**facts, "origins": origins, "trust": standing_of(after)})
        return OK
    changed = "You no longer vouch" if withdraw else "You vouch"
    click.echo(f"{changed} for this memory. Its trust is now {standing_of(after)}.")
    return OK


def _origins(node: Node) -> str:
    return ", ".join(texts_of(origins_of(node)))
