"""Shapes of pydantic's types, for programs that use it; this package never imports it."""

import sys
from typing import Any

from nacre.sdk.schema.shape import Definitions, MisfitError, Shape


def is_model(hint: Any) -> bool:
    """Tell whether pydantic defines how values of this type are made."""
    return hasattr(hint, "__get_pydantic_core_schema__") and "pydantic" in sys.modules


def model_shape(hint: Any, definitions: Definitions) -> Shape:
    """Return the shape of a model, or of another type that pydantic knows."""
    adapter = sys.modules["pydantic"].TypeAdapter(hint)

    def load(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except ValueError as error:
            raise MisfitError(explain(error)) from None

    def accepts(value: Any) -> bool:
        try:
            load(value)
        except MisfitError:
            return False
        return True

    return Shape(definitions.adopt(adapter.json_schema()), accepts, load)


def explain(error: Exception) -> str:
    """Return the problem in our words: pydantic's own text would repeat the value."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return str(error)
    reasons = []
    for item in errors(include_url=False, include_input=False, include_context=False)[:3]:
        place = ".".join(str(part) for part in item["loc"])
        reasons.append(f"'{place}': {item['msg']}" if place else item["msg"])
    return "; ".join(reasons)
