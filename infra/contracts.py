"""Import contracts of our own, run by `lint-imports` beside the built-in ones."""

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class BannedNames(Contract):
    """No module may carry one of these names: a second idea gets a file with its own noun."""

    names = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """List the modules whose last part is a banned name."""
        names = cast("set[str]", self.names)  # a field is its value once parsed
        banned = sorted(module for module in graph.modules if module.rpartition(".")[2] in names)
        return ContractCheck(kept=not banned, metadata={"banned": banned})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which files to rename."""
        for module in check.metadata["banned"]:
            output.print_error(f"{module}: name the file after the one idea it holds.")
            output.new_line()
