"""What every vector index refuses."""

from collections.abc import Sequence

from nacre.core.errors import InvalidInputError
from nacre.ports.embedder import Vector
from nacre.ports.vectors import Point, is_day

VALUE_BYTES = 4  # a float32


def check_names(*names: str) -> None:
    """Refuse an id that is empty or is not text that every store can keep."""
    for name in names:
        if not name:
            raise InvalidInputError("a Being's or a point's id must not be empty")
        try:
            name.encode()
        except UnicodeEncodeError:
            raise InvalidInputError("a Being's or a point's id must be text in Unicode") from None


def check_points(being_id: str, points: Sequence[Point], dimension: int) -> None:
    """Refuse points that an index of this dimension cannot hold."""
    check_names(being_id, *(point.id for point in points))
    for point in points:
        if point.vector is not None:
            check_vector(point.vector, dimension)
        for day in point.days:
            if not is_day(day):
                raise InvalidInputError(f"{day[:40]!r} is not an ISO date such as 2026-07-28")


def check_vector(vector: Vector, dimension: int) -> None:
    """Refuse a vector of another length: it comes from another model."""
    if len(vector) != dimension * VALUE_BYTES:
        raise InvalidInputError(
            f"a vector of {len(vector) // VALUE_BYTES} numbers does not belong to an index of"
            f" {dimension}; run 'nacre reindex' after changing the embedding model"
        )


def check_question(being_id: str, dense: Vector | None, dimension: int, limit: int) -> None:
    """Refuse a search that no index can answer."""
    check_names(being_id)
    if limit < 1:
        raise InvalidInputError("a search asks for at least one hit")
    if dense is not None:
        check_vector(dense, dimension)


def day_number(day: str) -> int:
    """Return an ISO date as a number that orders like it."""
    return int(day.replace("-", ""))


def iso_day(number: int) -> str:
    """Return the ISO date that a number stands for."""
    digits = f"{number:08}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"
