"""Commands that refusals suggest to their readers."""

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Commands:
    """The form of command lines that reach the store of this process.

    `program` starts Nacre, and `place` are the options that name the data folder or the stack,
    with a blank before them; both are quoted for a shell.
    """

    program: str = "nacre"
    place: str = ""

    def line(self, *words: str) -> str:
        """Return a command line that can be pasted."""
        return f"{self.program} {' '.join(words)}{self.place}"
