"""The command `nacre policy init`: a first policy, with comments."""

from pathlib import Path

import click

from nacre.errors import ConfigurationError, ConflictError
from nacre.policy.packs import PACKS, Pack, text_of
from nacre.wiring.policies import policy_path
from nacre.wiring.settings import Settings


@click.command("init")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--pack",
    type=click.Choice(PACKS),
    help="Write a policy that Nacre ships: what holds where nobody wrote one, or the same with "
    "questions before a Being changes who it is and what rules it follows, or deletes.",
)
def init_command(file: Path | None, pack: Pack | None) -> None:
    """Write a first policy with comments to FILE.

    Without FILE it goes where it counts on this machine: NACRE_POLICY, or
    ~/.config/nacre/policy.toml. A file that is there is never overwritten.
    """
    path = file or policy_path(Settings.from_environment())[0]
    text = text_of(pack or "starter")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise ConflictError(
            f"{path} is there already, and stays as it is; name another file"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written ({error.strerror})") from error
    click.echo(path)
    click.echo("Change its rules, then try them with 'nacre policy test'.", err=True)
