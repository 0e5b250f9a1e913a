"""Sounds count against the daily budget, as questions to the model do."""

from dataclasses import dataclass, field

import pytest

from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.being.orders.media.chat_parts import MediaAbilities
from nacre.being.orders.transcription import BudgetedTranscriber
from nacre.core.errors import UnavailableError
from nacre.ports.media.transcriber import Transcript
from tests.adapters.conftest import StillClock
from tests.being.orders.conftest import World, world_over
from tests.being.orders.documents import SAMPLES, sent
from tests.scaffolding.model_server import saying


@dataclass
class Endpoint:
    """A Transcriber with a fixed answer."""

    answer: Transcript | Exception = field(default_factory=lambda: Transcript("Buy pearls.", 700))
    heard: int = 0

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        self.heard += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def paid(world: World, endpoint: Endpoint, clock: StillClock, tokens: int) -> BudgetedTranscriber:
    spending = Spending(world.mind.table, Budget(tokens), clock=clock)
    return BudgetedTranscriber(endpoint, spending, world.being_id)


def spent(world: World) -> int:
    return world.model_access.spending.of_today(world.being_id).input_tokens


def hear(transcriber: BudgetedTranscriber, size: int, mime_type: str = "audio/mpeg") -> str:
    return transcriber.transcribe(bytes(size), name="a", mime_type=mime_type).text


def test_a_sound_counts_as_what_the_endpoint_says(laptop: World, clock: StillClock) -> None:
    assert hear(paid(laptop, Endpoint(), clock, 1_000), 1_000) == "Buy pearls."
    assert spent(laptop) == 700


@pytest.mark.parametrize(
    ("mime_type", "tokens"), [("audio/mpeg", 601), ("audio/wav", 151), ("audio/flac", 301)]
)
def test_where_nobody_says_it_counts_by_its_size(
    laptop: World, clock: StillClock, mime_type: str, tokens: int
) -> None:
    endpoint = Endpoint(Transcript("Hm."))

    assert hear(paid(laptop, endpoint, clock, 1_000), 120_000, mime_type) == "Hm."
    assert spent(laptop) == tokens


def test_a_sound_that_the_day_has_no_room_for_is_not_sent(laptop: World, clock: StillClock) -> None:
    endpoint = Endpoint()
    transcriber = paid(laptop, endpoint, clock, 600)

    with pytest.raises(UnavailableError, match=r"spend cap of the day reached \(600 tokens\)"):
        hear(transcriber, 120_000)
    assert hear(transcriber, 119_000) == "Buy pearls."
    assert endpoint.heard == 1


def test_a_sound_that_could_not_be_heard_costs_nothing(laptop: World, clock: StillClock) -> None:
    endpoint = Endpoint(UnavailableError("the transcriber answered 500"))
    transcriber = paid(laptop, endpoint, clock, 600)

    for _ in range(3):
        with pytest.raises(UnavailableError, match="answered 500"):
            hear(transcriber, 100_000)
    assert spent(laptop) == 0


def test_an_order_hears_until_the_day_is_spent_and_goes_on(
    laptop: World, clock: StillClock
) -> None:
    """At six cents a minute, six cents a day are two sounds of half a minute."""
    endpoint = Endpoint(Transcript("Buy pearls.", 300))
    world = world_over(
        laptop.mind,
        laptop.model,
        clock,
        abilities=lambda: MediaAbilities(transcriber=endpoint),
        llm_daily_dollars=0.06,
        transcribe_price=0.06,
    )
    world.model.reply = saying("ok")
    memo = sent(SAMPLES["audio/mpeg"], "audio/mpeg", "memo.mp3")

    texts = []
    for _ in range(3):
        assert world.text("What is said?", files=[memo]) == "ok"
        texts.append(world.model.questions[-1].body["messages"][-1]["content"][1]["text"])

    assert [text.count("Buy pearls.") for text in texts] == [1, 1, 0]
    assert "not transcribed: spend cap of the day reached" in texts[2]
    assert endpoint.heard == 2
