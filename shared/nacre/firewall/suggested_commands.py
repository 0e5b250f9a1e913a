"""The commands that a refusal tells its reader to run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Commands:
    """How somebody runs our commands so that they reach the store that this process uses.

    `program` starts Nacre, and `place` are the options that name the data folder or the stack,
    with a blank before them; both are quoted for a shell.
    """

    program: str = "nacre"
    place: str = ""

    def line(self, *words: str) -> str:
        """Return a command line that can be pasted."""
        return f"{self.program} {' '.join(words)}{self.place}"
