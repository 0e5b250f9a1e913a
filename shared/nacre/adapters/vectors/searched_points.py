"""A search over points that do not change, without a store."""

from collections.abc import Callable, Sequence

from nacre.adapters.vectors.point_matrix import PointMatrix
from nacre.adapters.vectors.point_rows import row_of
from nacre.ports.vectors.vector_index import Candidates, Point, Question


def searched_points(points: Sequence[Point], dimension: int) -> Callable[[Question], Candidates]:
    """Return the search over these points, for one thread at a time."""
    matrix = PointMatrix(dimension)
    matrix.add([row_of(point) for point in points])
    return matrix.search
