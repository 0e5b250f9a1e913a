"""What counts as a statement about oneself, in English and German."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.text.stated_facts.statements import stated_facts


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("I live in Porto with my two sons.", ["I live in Porto with my two sons"]),
        ("By the way, I just adopted a cat named Mochi!", ["I just adopted a cat named Mochi"]),
        ("My sister works as a nurse in Leeds.", ["My sister works as a nurse in Leeds"]),
        ("I'm allergic to peanuts.", ["I'm allergic to peanuts"]),
        ("We're moving to Oslo in May.", ["We're moving to Oslo in May"]),
        ("I never eat meat on Fridays.", ["I never eat meat on Fridays"]),
        (
            "I've got two kids, Ida and Per, can you suggest a game?",
            ["I've got two kids, Ida and Per"],
        ),
        (
            "I'm stuck with my talk, but I met Ruth at the library on Monday, any tips?",
            ["I met Ruth at the library on Monday"],
        ),
        (
            "I bought a tent last week. What should I pack? My brother is joining us.",
            ["I bought a tent last week", "My brother is joining us"],
        ),
        ("Ich wohne seit drei Jahren in Kiel.", ["Ich wohne seit drei Jahren in Kiel"]),
        (
            "Übrigens, meine Schwester hat gestern geheiratet.",
            ["Meine Schwester hat gestern geheiratet"],
        ),
        (
            "Ich bin gegen Nüsse allergisch, kannst du ein Rezept suchen?",
            ["Ich bin gegen Nüsse allergisch"],
        ),
        ("Wir fliegen im Mai nach Lissabon.", ["Wir fliegen im Mai nach Lissabon"]),
    ],
)
def test_what_people_say_of_their_lives_is_heard(message: str, facts: list[str]) -> None:
    assert list(stated_facts(message)) == facts


@pytest.mark.parametrize(
    "message",
    [
        "Where do I live?",
        "Can you help me plan a trip to Oslo?",
        "Set an alarm for seven.",
        "I want you to act as a chef. I have a restaurant in Rome.",
        "Rewrite this: I live in Paris with my dog Max.",
        "Translate the following text: my mother is a doctor and lives in Bern",
        'The letter said "I have moved to Spain with my whole family" and nothing else.',
        "> I sold my car last week\nWhat does he mean?",
        "I love that idea, thanks!",
        "I like the second one better.",
        "I have a question about taxes.",
        "I've been thinking about your answer.",
        "If I lived in Rome, I would eat gelato.",
        "I wonder whether my cat is ill.",
        "I think you are right.",
        "I tried `git rebase` and it failed",
        "I added a method:\n```\nmy_cat = 1\n```",
        "I got it.",
        "I'd love to visit Rome.",
        "Thanks!",
        "",
        "Sehr geehrte Frau Kern, ich wohne in Ulm und habe zwei Kinder.",
        "Übersetze: Ich wohne in Paris und habe einen Hund.",
        "Wo wohne ich eigentlich?",
        "Ich habe eine Frage zur Steuer.",
        "Ich möchte ein Rezept für Kuchen.",
        "Ich bin mir nicht sicher, ob das stimmt.",
        "I live in Rome. " * 300,
    ],
)
def test_questions_requests_quotes_and_code_are_not(message: str) -> None:
    assert stated_facts(message) == ()


@given(st.text(max_size=120))
def test_any_text_is_read_without_an_error(message: str) -> None:
    assert all(fact.strip() for fact in stated_facts(message))
