"""Allowed folders without what is denied inside them.

Landlock only grants, and what it grants for a folder holds for all below it. So a folder with
something denied inside is granted as its other children, as they are when the server starts.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nacre.core.errors import ConfigurationError
from nacre.core.limits import CONFINED_ENTRIES, CONFINED_ROOTS
from nacre.firewall.confine.rights import Root
from nacre.firewall.rules.globs.glob import is_literal, literal_prefix
from nacre.firewall.rules.globs.matching import matcher


class Denied(NamedTuple):
    """A path or a glob that is denied, and the rule that says so; `folds` ignores case."""

    glob: str
    reason: str
    folds: bool = False


def split(
    root: Root,
    denied: Sequence[Denied],
    unsaid: list[str],
    *,
    passed_over: Collection[str] = (),
) -> list[Root]:
    """Return the roots that grant everything of a root but what is denied.

    Folders with a name in `passed_over` are not searched for globs. Raise ConfigurationError if
    the folder is too large for that.
    """
    paths: dict[Path, str] = {}
    for deny in denied:
        for path in _matching(Path(root.path), deny, unsaid, passed_over):
            paths.setdefault(path, deny.reason)
    top = Path(root.path)
    covering = [path for path in paths if path == top or path in top.parents]
    if covering:
        unsaid.append(f"{root.reason}: {root.path} is denied by {paths[covering[0]]}")
        return []
    inside = {path for path in paths if top in path.parents}
    if not inside:
        return [root]
    roots = list(_children(top, root, inside))
    if len(roots) > CONFINED_ROOTS:
        raise ConfigurationError(_too_large(root.path))
    first = min(inside)
    unsaid.append(
        f"{root.reason}: {root.path} is granted without {first}"
        + (f" and {len(inside) - 1} more" if len(inside) > 1 else "")
        + f" ({paths[first]}), so nothing new can be made directly in {first.parent}"
    )
    return roots


def folder_before_wildcards(glob: str) -> str:
    """Return the folder that an absolute glob with wildcards begins with."""
    # One more than the literal text: the slash of a `/**` at the end belongs to the wildcard.
    return glob[: len(literal_prefix(glob)) + 1].rpartition("/")[0] or "/"


def _children(folder: Path, root: Root, inside: set[Path]) -> Iterator[Root]:
    """Yield the children that are not denied; names are listed where only files are denied."""
    if not any(path.is_dir() for path in inside if folder in path.parents):
        yield Root(str(folder), "list", root.reason)
    for child in sorted(folder.iterdir()):
        if child.is_symlink() or child in inside:
            continue  # what a link leads to needs a right of its own
        if any(child in path.parents for path in inside):
            yield from _children(child, root, inside)
        elif child.is_dir() or child.is_file():
            yield Root(str(child), root.access, root.reason)


def _matching(
    top: Path, deny: Denied, unsaid: list[str], passed_over: Collection[str]
) -> Iterator[Path]:
    """Yield the paths that are denied and exist: above the root, the root, or below it."""
    glob = deny.glob
    head = glob.removesuffix("/**")
    if not glob or glob.startswith("~"):
        return
    if is_literal(head) and head.startswith("/"):
        yield from _literal(top, Path(head), deny, unsaid)
        if not deny.folds:
            return
    if glob.startswith("/"):
        start = Path(_folded(folder_before_wildcards(glob), deny))
        plain = Path(_folded(str(top), deny))
        if not (start == plain or start in plain.parents or plain in start.parents):
            return
    yield from _found(
        *(top, glob if glob.startswith(("/", "**")) else f"**/{glob}", deny, unsaid, passed_over)
    )


def _literal(top: Path, path: Path, deny: Denied, unsaid: list[str]) -> Iterator[Path]:
    try:
        yield path.resolve(strict=True)
    except (OSError, RuntimeError):
        if top in path.parents:
            unsaid.append(
                f"{deny.reason}: {path} does not exist at the start, so the proxy alone denies it"
            )
    if deny.folds:
        plain = _folded(str(path), deny)
        yield from (place for place in (top, *top.parents) if _folded(str(place), deny) == plain)


def _folded(text: str, deny: Denied) -> str:
    return text.casefold() if deny.folds else text


def _test(glob: str, deny: Denied) -> Callable[[str], bool]:
    matches = matcher(_folded(glob, deny))
    return lambda text: matches(_folded(text, deny))


def _found(
    top: Path, glob: str, deny: Denied, unsaid: list[str], passed_over: Collection[str]
) -> Iterator[Path]:
    is_denied = _test(glob, deny)
    if is_denied(str(top)):
        yield top
        return
    unsaid.append(f"{deny.reason}: '{glob}' applies only to files that exist at the start")
    if not top.is_dir():
        return
    seen = 0
    folders = [top]
    while folders:
        for child in _listed(folders.pop()):
            seen += 1
            if seen > CONFINED_ENTRIES:
                raise ConfigurationError(_too_large(str(top), glob))
            if is_denied(str(child)):
                yield child
            elif child.name not in passed_over and child.is_dir() and not child.is_symlink():
                folders.append(child)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:  # a folder that this account cannot read is not readable for its server either
        return []


def _too_large(folder: str, glob: str = "") -> str:
    subject = f"'{glob}'" if glob else "what is denied"
    return (
        f"{folder} is too large to leave out {subject}; allow smaller folders, or accept with "
        "--accept denies that the proxy alone denies it"
    )
