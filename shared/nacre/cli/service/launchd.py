"""An agent of launchd: macOS."""

import os
import plistlib
import re
from pathlib import Path
from shlex import quote

from nacre.cli.service.definition import (
    MARK,
    Definition,
    State,
    demand,
    make_folder,
    run_program,
    write,
)
from nacre.core.errors import ConflictError, UnavailableError

LABEL = "local.nacre.serve"


class LaunchAgent:
    """Writes the property list to the user's library, and asks `launchctl`."""

    def __init__(self, home: str, uid: int) -> None:
        library = Path(home, "Library")
        self.file = str(library / "LaunchAgents" / f"{LABEL}.plist")
        self._log = library / "Logs" / "Nacre" / "nacre.log"
        self.log_command = f"tail -f {quote(str(self._log))}"
        self._domain = f"gui/{uid}"
        self.restart_command = f"launchctl kickstart -k {self._domain}/{LABEL}"

    def text(self, definition: Definition) -> str:
        """Return the property list."""
        agent = {
            "Label": LABEL,
            "ProgramArguments": list(definition.command),
            "EnvironmentVariables": dict(definition.environment),
            "RunAtLoad": True,
            "KeepAlive": True,
            "ThrottleInterval": 10,
            "Umask": 0o077,
            "StandardOutPath": os.devnull,
            "StandardErrorPath": str(self._log),
        }
        text = plistlib.dumps(agent, sort_keys=False).decode()
        head, separator, rest = text.partition("<plist ")
        return f"{head}<!-- {MARK}; 'nacre service uninstall' removes it. -->\n{separator}{rest}"

    def installed(self) -> Definition | None:
        """Return the definition in the property list; raise ConflictError if it is not ours."""
        try:
            content = Path(self.file).read_bytes()
        except FileNotFoundError:
            return None
        if MARK.encode() not in content:
            raise ConflictError(f"{self.file} was not written by Nacre; remove it first")
        try:
            agent = plistlib.loads(content)
        except (plistlib.InvalidFileException, ValueError) as error:
            raise ConflictError(f"{self.file} is not a property list; remove it first") from error
        return Definition(tuple(agent["ProgramArguments"]), agent["EnvironmentVariables"])

    def install(self, definition: Definition) -> str:
        """Write the property list and start the agent."""
        text = self.text(definition)
        self.installed()
        make_folder(self._log.parent)
        write(Path(self.file), text)
        self._unload()
        try:
            demand("launchctl", "bootstrap", self._domain, self.file)
        except UnavailableError as error:
            raise UnavailableError(
                f"{self.file} is written, but launchd did not start it: {error}; log in to the "
                f"desktop and run: launchctl bootstrap {self._domain} {quote(self.file)}"
            ) from error
        return ""

    def state(self) -> State:
        """Return whether launchd runs the agent."""
        described = self._describe()
        if described is None:
            return "unknown"
        return "running" if "state = running" in described else "stopped"

    def process(self) -> int | None:
        """Return the process of the agent."""
        running = re.search(r"^\s*pid = (\d+)$", self._describe() or "", re.MULTILINE)
        return int(running[1]) if running else None

    def uninstall(self) -> None:
        """Stop the agent and remove its property list; the log stays."""
        self.installed()
        self._unload()
        Path(self.file).unlink(missing_ok=True)

    def _describe(self) -> str | None:
        try:
            return run_program("launchctl", "print", f"{self._domain}/{LABEL}").stdout
        except UnavailableError:
            return None

    def _unload(self) -> None:
        # An error only means that it was not loaded.
        run_program("launchctl", "bootout", f"{self._domain}/{LABEL}")
