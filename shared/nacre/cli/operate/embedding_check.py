"""The check of the embedding: the one in the settings, and those that Beings still use."""

from collections.abc import Iterator
from importlib.util import find_spec

from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding
from nacre.wiring.compose import Home
from nacre.wiring.features.embeddings import gives_way
from nacre.wiring.settings import Settings

_BEST = "builtin-best"


def check_embedding(home: Home, place: Place) -> Iterator[Finding]:
    """Check the embedding in the settings, and the index of each Being."""
    chosen = Settings.from_environment().embeddings
    runtime = ""
    if chosen == _BEST:
        has_onnxruntime = find_spec("onnxruntime") is not None
        runtime = ", run by onnxruntime" if has_onnxruntime else ", run by numpy"
    yield Finding("embedding", "ok", f"NACRE_EMBEDDINGS is {chosen}{runtime}")
    indexing = home.index.indexing
    for being in home.beings.of_owner(place.owner_name):
        state = indexing.states.get(being.being_id)
        if state is None or state.active == indexing.configured:
            continue
        check, active = f"embedding of {being.name}", f"its index has {state.active}"
        if gives_way(state.active, indexing.configured):
            yield Finding(check, "ok", f"{active}, and changes after the next search or note")
        else:
            yield Finding(check, "warn", active, "run 'nacre reindex'")
