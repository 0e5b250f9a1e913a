"""The parts that turn media into text, by the settings."""

import importlib.util
import subprocess
import sys

import pytest

from nacre.core.errors import UnavailableError
from nacre.wiring.features import media
from nacre.wiring.features.media import media_abilities
from nacre.wiring.settings import Secret, Settings
from tests.being.orders.documents import pdf


def test_documents_are_read_and_sounds_are_not_unless_the_settings_say_how() -> None:
    abilities = media_abilities(Settings("/data"), images=False, files=True)

    assert (abilities.images, abilities.files, abilities.transcriber) == (False, True, None)
    assert abilities.documents is not None
    assert abilities.documents.read(pdf("hello")).text == "hello"


def test_a_transcriber_is_made_of_the_settings() -> None:
    settings = Settings(
        "/data", transcribe_model="whisper-1", transcribe_base_url="http://127.0.0.1:9/v1"
    )
    asked = []

    def key() -> str:
        asked.append("key")
        return "sk"

    transcriber = media_abilities(settings, key=key).transcriber
    assert transcriber is not None
    assert asked == []
    with pytest.raises(UnavailableError, match="NACRE_TRANSCRIBE_BASE_URL"):
        transcriber.transcribe(b"x", name="a", mime_type="audio/wav")
    assert asked == ["key"]

    own = settings._replace(transcribe_api_key=Secret("mine"))
    transcriber = media_abilities(own, key=key).transcriber
    assert transcriber is not None
    with pytest.raises(UnavailableError):
        transcriber.transcribe(b"x", name="a", mime_type="audio/wav")
    assert asked == ["key"]


def test_without_the_openai_package_a_transcriber_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(media, "find_spec", lambda _: None)
    assert importlib.util.find_spec("openai") is not None

    transcriber = media_abilities(Settings("/data", transcribe_model="m")).transcriber

    assert transcriber is not None
    with pytest.raises(UnavailableError, match=r"pip install '\.\[openai\]'"):
        transcriber.transcribe(b"x", name="a", mime_type="audio/wav")


@pytest.mark.slow
def test_nothing_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys\nfrom nacre.wiring.features.media import media_abilities\n"
        "from nacre.wiring.settings import Settings\n"
        "media_abilities(Settings('/data', transcribe_model='whisper-1'))\n"
        "print([name for name in ('openai', 'pypdf') if name in sys.modules])"
    )
    path = [sys.executable, "-c", f"import sys; sys.path[:0] = ['shared']\n{program}"]

    assert subprocess.run(path, capture_output=True, text=True, check=True).stdout == "[]\n"
