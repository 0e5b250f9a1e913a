"""The log of a server in a terminal: warnings and errors as plain lines."""

from collections.abc import Mapping

from nacre.core.logs import Field, Level, Log


class TerminalLog(Log):
    """Writes one plain line for each event; with a screen before it, only from "warning" on."""

    def write(self, level: Level, event: str, **fields: Field) -> None:
        """Write one event; fields that are None are left out."""
        is_refusal = event == "mcp" and level == "warning"  # each login begins with one
        if self.writes(level) and not is_refusal:
            present = (f"{name}={value}" for name, value in fields.items() if value is not None)
            self._put(" ".join((f"{level}: {event}", *present)))

    def count(self, level: Level, event: str, values: Mapping[str, float], **fields: Field) -> None:
        """Write one event; metrics belong to stacks."""
        self.write(level, event, **fields)


def terminal_log() -> Log:
    """Return the log that `nacre serve` has without `--log`."""
    import logging

    # At INFO some libraries write the URLs that they ask.
    logging.getLogger().setLevel(logging.WARNING)
    return TerminalLog("warning")
