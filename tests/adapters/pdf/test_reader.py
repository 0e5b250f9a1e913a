"""The text of PDFs, whatever their writers had in mind."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pypdf
import pytest

from nacre.adapters.pdf import reader as pypdf_reader
from nacre.adapters.pdf.reader import PypdfReader
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.ports.media.documents import DocumentText
from tests.being.orders.documents import assembled, bomb, pdf


def locked(user: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("secret plans")))
    writer.encrypt(user, "owner", algorithm="AES-256")
    output = io.BytesIO()
    writer.write(output)
    return output.getvalue()


def test_pages_are_read_in_their_order() -> None:
    assert PypdfReader().read(pdf("one", "two \\(2\\)")) == DocumentText("one\n\ntwo (2)", 2, 2)


@pytest.mark.slow
def test_a_document_that_anyone_may_read_is_read() -> None:
    assert PypdfReader().read(locked("")).text == "secret plans"


@pytest.mark.parametrize(
    ("document", "error"),
    [
        (locked("password"), "protected by a password"),
        pytest.param(b"%PDF-1.4 nothing else", "damaged", marks=pytest.mark.slow),
        pytest.param(pdf("cut")[:120], "damaged", marks=pytest.mark.slow),
        pytest.param(pdf(kids="2 0 R 2 0 R"), "damaged", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_be_read_is_said(document: bytes, error: str) -> None:
    with pytest.raises(InvalidInputError, match=error):
        PypdfReader().read(document)


@pytest.mark.slow
def test_reading_ends_with_the_text_that_is_taken() -> None:
    document = PypdfReader().read(pdf(*["x" * 2000] * 80))

    assert (document.pages, document.read) == (80, 52)
    assert len(document.text) <= 110_000


@pytest.mark.slow
def test_reading_ends_after_so_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypdf_reader, "PDF_PAGES", 3)

    assert PypdfReader().read(pdf("a", "b", "c", "d")) == DocumentText("a\n\nb\n\nc", 4, 3)


def test_a_document_that_takes_all_memory_takes_only_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pypdf_reader, "PDF_MEMORY_BYTES", 1)

    with pytest.raises(InvalidInputError, match="damaged"):
        PypdfReader().read(pdf("x"))


def test_a_document_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    # A program that never ends stands for a document that never does.
    endless = tmp_path / "endless.py"
    endless.write_text(
        'import sys, time\nprint(\'{"pages": 9}\')\nprint(\'{"text": "first"}\')\n'
        "print('{\"te', end='', flush=True)\ntime.sleep(600)\n"
    )
    reader = PypdfReader(seconds=0.5)
    reader._program = endless

    assert reader.read(b"") == DocumentText("first", pages=9, read=1)


@pytest.mark.parametrize("output", ["", "[]", "null\n", "{", '{"pages": "9"}\n', "\xff\n"])
def test_a_program_that_says_nonsense_is_not_believed(tmp_path: Path, output: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import sys\nsys.stdout.buffer.write({output.encode('latin-1')!r})\n")
    reader = PypdfReader()
    reader._program = program

    with pytest.raises(InvalidInputError, match="damaged"):
        reader.read(b"%PDF-")


def test_a_reader_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with pytest.raises(UnavailableError, match="no process could be started"):
        PypdfReader().read(pdf("x"))


def test_the_process_has_none_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NACRE_LLM_API_KEY", "sk-secret")
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os\nprint('{\"pages\": 1}')\n"
        "print(json.dumps({'text': ' '.join(os.environ)}))\n"
    )
    reader = PypdfReader({"LD_LIBRARY_PATH": "/x"})
    reader._program = program

    names = reader.read(b"").text.split()

    assert "NACRE_LLM_API_KEY" not in names
    assert (
        {"LD_LIBRARY_PATH", "PYTHONPATH"}
        <= set(names)
        <= {*("LD_LIBRARY_PATH", "PYTHONPATH", "LC_CTYPE", "PWD", "SHLVL", "_")}
    )


# Made by the test that reads them: the first takes a second.
HARMFUL: dict[str, Callable[[], bytes]] = {
    "400 MB in a stream": lambda: bomb(400),
    "nested": lambda: assembled([b"<</X " + b"[" * 50_000 + b"]" * 50_000 + b">>"]),
    "a page fifty thousand times": lambda: pdf(
        kids=" ".join(["5 0 R"] * 50_000),
        objects=[b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"],
    ),
    "noise": lambda: b"%PDF-1.4\n" + Random(1).randbytes(2_000_000),
    "objects": lambda: b"%PDF-1.4\n" + b"1 0 obj<</Type/ObjStm/N 99999999>>" * 20_000,
    "references": lambda: pdf("x")[:-40] + b"startxref\n9\n%%EOF" * 1000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMFUL)
def test_no_document_does_harm(name: str) -> None:
    document = HARMFUL[name]()
    try:
        text = PypdfReader().read(document)
    except InvalidInputError:
        return
    assert len(text.text) <= 110_000
    assert text.read <= 2000
