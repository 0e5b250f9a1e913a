"""The command `nacre policy init`: a first policy, with comments."""

from importlib import resources
from pathlib import Path

import click

from nacre.errors import ConfigurationError, ConflictError
from nacre.wiring.policies import policy_path
from nacre.wiring.settings import Settings


@click.command("init")
@click.argument("file", required=False, type=click.Path(path_type=Path))
def init_command(file: Path | None) -> None:
    """Write a first policy with comments to FILE.

    Without FILE it goes where it counts on this machine: NACRE_POLICY, or
    ~/.config/nacre/policy.toml. A file that is there is never overwritten.
    """
    path = file or policy_path(Settings.from_environment())[0]
    text = (resources.files("nacre.policy") / "packs" / "starter.toml").read_text("utf-8")
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
