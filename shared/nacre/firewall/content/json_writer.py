"""JSON text of small values, which what is recorded and compared consists of."""

import json
from collections.abc import Callable, Iterable
from typing import Any


def writer(*, sort_keys: bool, ensure_ascii: bool) -> Callable[[Any], str]:
    """Return what writes values without blanks.

    `JSONEncoder.encode` makes its C encoder anew for each value, which takes longer than
    a small value does. Interpreters without that encoder use `encode`.
    """
    usual = json.JSONEncoder(sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=ensure_ascii)
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return usual.encode
    text = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
    chunks: Callable[[Any, int], Iterable[str]] = make(
        None, usual.default, text, None, ":", ",", sort_keys, False, True
    )
    return lambda value: "".join(chunks(value, 0))
