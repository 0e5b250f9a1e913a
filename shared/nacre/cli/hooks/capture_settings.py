"""The settings of capturing: consent, token, pauses and exclusions.

They are in a private file of the data folder. `nacre capture` writes it, and every hook reads it.
"""

import functools
import json
import os
import re

from nacre.core.lazy_dataclasses import asdict, dataclass, fields

FILE = "capture.json"
THIS_MACHINE = "this machine"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureSettings:
    """The consent of this user to capturing, and where captured conversations go.

    `consented` has the places that the user allowed, each with the time of the consent: this
    machine, or the URL of a server elsewhere. `pauses` are times between which nothing is
    captured; the last one is open while its end is "".
    """

    consented: dict[str, str]
    url: str = ""  # of a server elsewhere; "" is the server that runs on the data folder
    being_id: str = ""
    token: str = ""
    token_id: str = ""
    pauses: tuple[tuple[str, str], ...] = ()
    projects: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_denied: bool = False  # the user said no, and is not asked again

    @property
    def place(self) -> str:
        """Return the place that conversations go to, as the consent names it."""
        return self.url or THIS_MACHINE

    @property
    def is_allowed(self) -> bool:
        """Return whether the user allowed capturing to this place."""
        return bool(self.token) and self.place in self.consented

    @property
    def is_paused(self) -> bool:
        """Return whether capturing is paused now."""
        return bool(self.pauses) and not self.pauses[-1][1]

    def covers(self, at: str) -> bool:
        """Return whether messages of a time are captured; times are text in UTC."""
        if not self.is_allowed or at < self.consented[self.place]:
            return False
        return not any(start <= at and (not end or at < end) for start, end in self.pauses)

    def excludes_project(self, project: str | None) -> bool:
        """Return whether nothing of a project is captured.

        An entry with a slash is a folder with everything in it, whatever links lead to it; any
        other is the name of a folder anywhere in the project's path.
        """
        if not project or not self.projects:
            return False
        paths = _spellings(project)
        for entry in self.projects:
            if "/" in entry or "\\" in entry:
                folders = _spellings(entry)
                if any(
                    path == folder or path.startswith(f"{folder.rstrip('/')}/")
                    for path in paths
                    for folder in folders
                ):
                    return True
            elif any(_folded(entry) in path.split("/") for path in paths):
                return True
        return False

    def excludes_text(self, text: str) -> bool:
        """Return whether a text has a word that is never captured, in any case."""
        if not self.words:
            return False
        text = _composed(text)
        return any(_word(_composed(word)).search(text) for word in self.words)


@functools.lru_cache(maxsize=1024)
def _spellings(folder: str) -> frozenset[str]:
    """Return a folder's path as it is written, and without links; both compare in any case."""
    path = real = os.path.normpath(folder)
    if path[:1] == "/":
        try:
            real = os.path.realpath(path)
        except ValueError:  # no file system can have this name
            real = path
    return frozenset((_folded(path), _folded(real)))


def _folded(path: str) -> str:
    return _composed(path.replace("\\", "/")).casefold()


def _composed(text: str) -> str:
    """Return a text in the normal form in which people type; macOS splits accents in names."""
    if text.isascii():
        return text
    import unicodedata  # it loads slowly

    return unicodedata.normalize("NFC", text)


NO_CAPTURE = CaptureSettings(consented={})


def _word(word: str) -> "re.Pattern[str]":
    start = r"(?<!\w)" if word[:1].isalnum() else ""
    end = r"(?!\w)" if word[-1:].isalnum() else ""
    return re.compile(f"{start}{re.escape(word)}{end}", re.IGNORECASE)


def read_settings(folder: str) -> CaptureSettings:
    """Return the settings in a data folder; without consent if there is no file.

    Raises ValueError for a file that cannot be read, so that nothing is captured by mistake.
    """
    try:
        with open(f"{folder}/{FILE}", encoding="utf-8") as file:  # noqa: PTH123 - pathlib loads slowly
            value = json.load(file)
    except FileNotFoundError:
        return NO_CAPTURE
    if not isinstance(value, dict):
        raise ValueError(f"{FILE} is not a JSON object")  # noqa: TRY004 - as for no JSON at all
    names = {field.name for field in fields(CaptureSettings)}
    settings = CaptureSettings(**{name: value[name] for name in names & value.keys()})
    return CaptureSettings(
        **{
            **{name: getattr(settings, name) for name in names},
            "pauses": tuple((str(start), str(end)) for start, end in settings.pauses),
            "projects": tuple(map(str, settings.projects)),
            "words": tuple(map(str, settings.words)),
            "consented": dict(settings.consented),
        }
    )


def write_settings(folder: str, settings: CaptureSettings) -> None:
    """Write the settings as a file that only its owner can read."""
    temporary = f"{folder}/.new-{FILE}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, f"{folder}/{FILE}")  # noqa: PTH105 - pathlib loads slowly
