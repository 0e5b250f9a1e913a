"""A service of systemd's user manager: Linux."""

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from nacre.cli.service.definition import MARK, Definition, State, demand, run_program, write
from nacre.core.clock import system_clock
from nacre.core.errors import ConflictError, InvalidInputError, UnavailableError

NAME = "nacre.service"
_SYSTEMCTL = ("systemctl", "--user")
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')


class SystemdUser:
    """Writes the unit to the user's configuration, and asks `systemctl --user`."""

    log_command = f"journalctl --user --unit {NAME}"
    restart_command = f"systemctl --user restart {NAME}"

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._environment = _with_runtime_folder(environment)
        base = environment.get("XDG_CONFIG_HOME", "")
        # The specification: a relative path there is invalid and ignored.
        config = Path(base) if base.startswith("/") else Path(home, ".config")
        self._config = config
        self.file = str(config / "systemd" / "user" / NAME)

    def text(self, definition: Definition) -> str:
        """Return the unit."""
        variables = "".join(
            f"Environment={_quoted(f'{name}={value}')}\n"
            for name, value in sorted(definition.environment.items())
        )
        secrets = str(self._config / "nacre" / "service.env").replace("%", "%%")
        # The server says when it answers; until then an upgrade of the store may take its time.
        # Exit code 2 is a mistake in the settings, which another start does not mend.
        return (
            f"# {MARK}; 'nacre service uninstall' removes it.\n"
            "[Unit]\n"
            "Description=Nacre, the MCP server of your Beings\n"
            "StartLimitIntervalSec=0\n"
            "\n"
            "[Service]\n"
            "Type=notify\n"
            "TimeoutStartSec=infinity\n"
            f"ExecStart={' '.join(map(_word, _startable(definition.command)))}\n"
            f"{variables}"
            "# Secrets, if the server needs any, one NAME=VALUE on each line.\n"
            f"EnvironmentFile=-{secrets}\n"
            "Restart=always\n"
            "RestartSec=2\n"
            "RestartPreventExitStatus=2\n"
            "UMask=0077\n"
            "\n"
            "[Install]\n"
            "WantedBy=default.target\n"
        )

    def installed(self) -> Definition | None:
        """Return the definition in the unit; raise ConflictError if it is not ours."""
        try:
            lines = Path(self.file).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        if not any(MARK in line for line in lines):
            raise ConflictError(f"{self.file} was not written by Nacre; remove it first")
        command: tuple[str, ...] = ()
        environment = {}
        for line in lines:
            key, _, value = line.partition("=")
            if key == "ExecStart":
                words = (word.replace("$$", "$") for word in shlex.split(value))
                command = tuple(word.replace("%%", "%") for word in words)
                command = command[len(_SHELL) :] if command[: len(_SHELL)] == _SHELL else command
            elif key == "Environment":
                name, _, text = "".join(shlex.split(value)).replace("%%", "%").partition("=")
                environment[name] = text
        return Definition(command, environment)

    def install(self, definition: Definition) -> str:
        """Write the unit, start it, and let it start with the machine."""
        text = self.text(definition)
        self.installed()
        write(Path(self.file), text)
        try:
            self._demand("daemon-reload")
            self._demand("enable", "--quiet", NAME)
        except UnavailableError as error:
            raise UnavailableError(
                f"{self.file} is written, but systemd did not start it: {error}; log in as the "
                "user whose service it is, not with su or sudo, and run: "
                f"systemctl --user enable --now {NAME}"
            ) from error
        began = int(system_clock().timestamp())
        try:
            self._demand("restart", NAME)
        except UnavailableError as error:
            reason = self._last_error(began) or f"{error}, see {self.log_command}"
            raise UnavailableError(
                f"the service is installed, but does not start: {reason}; solve that, then run "
                "'nacre service install' again, or 'nacre service uninstall'"
            ) from error
        if self._lingers():
            return ""
        return (
            "It starts when you log in, and stops when you log out. To start it with the machine, "
            "run: sudo loginctl enable-linger $USER"
        )

    def state(self) -> State:
        """Return whether systemd runs the unit."""
        try:
            answer = self._run(*_SYSTEMCTL, "is-active", NAME)
        except UnavailableError:
            return "unknown"
        match answer:
            case "active" | "reloading":
                return "running"
            case "activating":
                return "starting"
            case "":
                return "unknown"
            case _:
                return "stopped"

    def process(self) -> int | None:
        """Return the main process of the unit."""
        try:
            answer = self._run(*_SYSTEMCTL, "show", "--property", "MainPID", "--value", NAME)
        except UnavailableError:
            return None
        return int(answer) or None if answer.isdecimal() else None

    def uninstall(self) -> None:
        """Stop the unit and remove it; a manager that does not run has nothing to stop."""
        self.installed()
        if self.state() != "unknown":
            self._demand("disable", "--quiet", "--now", NAME)
        Path(self.file).unlink(missing_ok=True)
        link = Path(self.file).parent / "default.target.wants" / NAME
        link.unlink(missing_ok=True)
        if self.state() != "unknown":
            self._demand("daemon-reload")

    def _demand(self, *words: str) -> None:
        demand(*_SYSTEMCTL, *words, environment=self._environment)

    def _run(self, *command: str) -> str:
        return run_program(*command, environment=self._environment).stdout.strip()

    def _lingers(self) -> bool:
        """Let the user's services run without a login; return whether the system allows it."""
        enable = ("loginctl", "--no-ask-password", "enable-linger")
        try:
            return run_program(*enable, environment=self._environment).returncode == 0
        except UnavailableError:  # a system without logind
            return False

    def _last_error(self, since: int) -> str:
        """Return the last error in the log since a second of the clock, or an empty text."""
        newest = (f"--since=@{since}", "--output", "cat", "--no-pager")
        try:
            lines = self._run(*shlex.split(self.log_command), *newest).splitlines()
        except UnavailableError:
            return ""
        errors = [line for line in lines if line.startswith("error: ")]
        return errors[-1].removeprefix("error: ") if errors else ""


def _with_runtime_folder(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with the folder of the user's manager, which `su` does not set."""
    folder = f"/run/user/{os.getuid()}"
    if environment.get("XDG_RUNTIME_DIR") or not Path(folder).is_dir():
        return environment
    return {**environment, "XDG_RUNTIME_DIR": folder}


def _startable(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command so that systemd starts it; the name of a program has no escapes there."""
    return (*_SHELL, *command) if re.search(r"[$'\"\\]", command[0]) else command


def _word(word: str) -> str:
    """Return a word of ExecStart, where `$` begins a variable and `%` a specifier."""
    return _quoted(word.replace("$", "$$"))


def _quoted(text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f]", text):
        raise InvalidInputError(f"a service cannot have control characters in {text[:80]!r}")
    text = text.replace("%", "%%")
    if re.fullmatch(r"[\w@%+=:,./$-]+", text, re.ASCII):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
