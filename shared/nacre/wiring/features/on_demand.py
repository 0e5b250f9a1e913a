"""Build the search for tools that are not in the list."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.gateway.on_demand.search import Searcher, ToolSearch
    from nacre.gateway.on_demand.tool_vectors import ToolVectors
    from nacre.ports.vectors.vector_index import Point
    from nacre.wiring.features.embeddings import Embedders
    from nacre.wiring.ports import Ports


def build_tool_search(ports: "Ports", embedders: "Callable[[], Embedders]") -> "ToolSearch":
    """Return the search for tools, by words and by the model that finds memories."""
    from nacre.core.limits import FIND_SECONDS, STACK_FIND_SECONDS
    from nacre.gateway.on_demand.search import ToolSearch

    def vectors() -> "ToolVectors | None":
        embedder = embedders().primary
        if embedder is None:
            return None
        from nacre.gateway.on_demand.tool_vectors import ToolVectors

        return ToolVectors(lambda: ports.non_durable_data, embedder)

    def search_of(points: "Sequence[Point]", dimension: int) -> "Searcher":
        from nacre.wiring.features.memory import calm_numpy

        calm_numpy()
        from nacre.adapters.vectors.searched_points import searched_points

        return searched_points(points, dimension)

    seconds = STACK_FIND_SECONDS if ports.is_stack else FIND_SECONDS
    return ToolSearch(search_of, vectors, seconds=seconds, in_background=not ports.is_stack)
