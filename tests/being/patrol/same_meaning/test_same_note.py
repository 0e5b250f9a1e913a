"""The decisions about same notes: labelled pairs, scrambled sentences, and whole patrols."""

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.being.memory.model.types import Node
from nacre.being.patrol.same_meaning.english_words import DATED
from nacre.being.patrol.same_meaning.same_note import same_event, same_text
from tests.being.memory.keeping import a_node
from tests.being.memory.minds import builtin
from tests.being.patrol import test_crashes_on_dynamodb as dynamo
from tests.being.patrol.invariants import check
from tests.being.patrol.same_meaning.judge_pairs import FORM, Pair, by_patrol, judged, pairs_in
from tests.being.patrol.worlds import World, new_world
from tests.scaffolding.aws_stack import Stack

PAIRS = pairs_in(Path(__file__).with_name("pairs.tsv"))
# Written by somebody who knew the promise alone, and judged once before anybody read them.
UNSEEN = pairs_in(Path(__file__).with_name("unseen_pairs.tsv"))
BLIND = pairs_in(Path(__file__).with_name("blind_pairs.tsv"))
ADVERSARIAL = pairs_in(Path(__file__).parents[3] / "being" / "patrol" / "adversarial_pairs.tsv")
MORE = pairs_in(Path(__file__).with_name("adversarial_pairs.tsv"))
ORDER = pairs_in(Path(__file__).with_name("order_pairs.tsv"))
ATTACK = pairs_in(Path(__file__).with_name("attack_pairs.tsv"))
LOAN, DEBT = "Ann lent Bob 200 euros", "Bob lent Ann 200 euros"


@pytest.fixture
def world() -> Iterator[World]:
    new = new_world(builtin()[0])
    yield new
    new.database.close()


def nodes(world: World) -> dict[str, Node]:
    return {node.action: node for node in world.memory.nodes.page(world.being_id).nodes}


def test_no_pair_that_differs_is_taken_for_the_same_and_changes_of_form_are() -> None:
    judgement = judged(PAIRS, same_text)

    assert judgement.wrong == []
    united, total = judgement.share(FORM)
    assert total >= 70
    assert united / total >= 0.6
    assert len(PAIRS) >= 300
    assert len({pair.kind for pair in PAIRS}) >= 30


def test_no_pair_that_was_written_to_be_merged_wrongly_is_merged() -> None:
    assert judged(ADVERSARIAL, same_text).wrong == []
    assert len(ADVERSARIAL) >= 300


def test_no_pair_of_the_blind_sets_is_merged_wrongly() -> None:
    judgement = judged(BLIND, same_text)

    assert judgement.wrong == []
    assert len(judgement.united) >= 89
    assert len(BLIND) == 680


def test_forms_of_eight_languages_are_united_and_no_pair_of_roles_times_and_numbers_is() -> None:
    judgement = judged(MORE, same_text)

    assert judgement.wrong == []
    assert judgement.share() >= (68, 98)
    assert sum(not pair.same for pair in MORE) >= 350


def test_orders_and_voices_are_united_and_no_pair_that_looks_so_is() -> None:
    judgement = judged(ORDER, same_text)

    assert judgement.wrong == []
    assert judgement.share() >= (113, 211)
    assert sum(not pair.same for pair in ORDER) >= 500


def test_no_pair_of_the_attacks_is_united_unless_it_says_the_same() -> None:
    # Those that were united once, and a part of the others; the slow tests judge all.
    pairs = [pair for pair in ATTACK if "once" in pair.kind or pair.same]
    judgement = judged([*pairs, *ATTACK[::4]], same_text)

    assert judgement.wrong == []
    assert judged(pairs, same_text).share() >= (12, 20)
    assert len(pairs) >= 90


@pytest.mark.slow
def test_no_pair_of_all_the_attacks_is_united_unless_it_says_the_same() -> None:
    assert judged(ATTACK, same_text).wrong == []
    assert sum(not pair.same for pair in ATTACK) >= 1750
    assert refused_exchanges((*BLIND, *MORE, *ORDER, *PAIRS, *UNSEEN)) > 1000


NAME = re.compile(r"\b[A-ZÀ-Þ]\w+")
NOUN = re.compile(
    r"\b(?:the|an?|my|his|her|our|der|die|das|den|dem|eine?|meine?|les?|la|une?|el|los|il|os?) \w+",
    re.IGNORECASE,
)
JOIN = re.compile(r"(?:,|and|und|et|y|e|[A-ZÀ-Þ]\w+| )+")


def exchanged(text: str) -> Iterator[str]:
    """Yield a text with two of its names, or two of its nouns, in each other's place."""
    for kind in (NAME, NOUN):
        for one, other in combinations(kind.finditer(text), 2):
            between = text[one.end() : other.start()]
            is_other = one[0].casefold() != other[0].casefold() and other[0] not in DATED
            if is_other and not JOIN.fullmatch(between):
                yield f"{text[: one.start()]}{other[0]}{between}{one[0]}{text[other.end() :]}"


def refused_exchanges(pairs: Iterable[Pair]) -> int:
    """Return how many sentences say something else than the pair from which they are made."""
    count = 0
    for pair in pairs:
        if pair.same:
            for text in (*exchanged(pair.one), *exchanged(pair.other)):
                assert not same_text(text, pair.one), (text, pair.one)
                assert not same_text(text, pair.other), (text, pair.other)
                count += 1
    return count


def test_two_names_or_nouns_in_each_others_place_are_never_united() -> None:
    assert refused_exchanges((*MORE[::4], *ORDER[::2], *PAIRS[::4])) > 100


SWAPS = (
    *(("before", "after"), ("since", "until"), ("if", "unless"), ("because", "although")),
    *(("all", "some"), ("every", "no"), ("both", "neither"), ("is", "is not"), ("was", "was not")),
    *(("will", "may"), ("to", "from"), ("on", "under"), ("Monday", "Tuesday"), ("2", "3")),
    *(("2015", "2016"), ("two", "three"), ("the", "every"), ("my", "your"), ("has", "had")),
    *(("open", "closed"), ("with", "without"), ("and", "or"), ("vor", "nach"), ("wenn", "obwohl")),
    *(("ist", "ist nicht"), ("zwei", "drei"), ("desde", "hasta"), ("si", "aunque"), ("le", "un")),
    *(("depuis", "avant"), ("quando", "se"), ("lundi", "mardi"), ("lunes", "martes"), ("el", "un")),
)


def changed(text: str) -> Iterator[str]:
    """Yield a text with one word of time, condition, number or negation replaced by another."""
    for first, second in SWAPS:
        for old, new in ((first, second), (second, first)):
            for before, after in ((old, new), (old.capitalize(), new.capitalize())):
                result = re.sub(rf"(?<!\w){before}(?!\w)", after, text, count=1)
                if result != text:
                    yield result


def test_a_changed_word_of_time_condition_number_or_negation_is_never_united() -> None:
    alike = [pair for pair in (*ORDER, *MORE, *PAIRS[::3]) if pair.same]
    count = 0
    for pair in alike:
        for text in changed(pair.one):
            assert not same_text(text, pair.other), (text, pair.other)
            count += 1
    assert count > 400


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mia's dentist is at 7 pm.", "Mia's dentist is at 7:00 p.m."),
        ("The contract ends on March 31st, 2026.", "The contract ends on 31 March 2026."),
        ("Rent is $1,450 a month", "Rent is $1450 a month"),
        ("Im Oktober zieht Jana nach Leipzig.", "Jana zieht im Oktober nach Leipzig."),
        ("Le train part à 18h30 pour Nice.", "Le train part à 18:30 pour Nice."),
        ("La Sra. Vega tiene ocho gatos.", "La señora Vega tiene 8 gatos."),
        ("奶奶今年八十二岁。", "奶奶今年82岁"),
        ("明天小王去北京。", "小王明天去北京。"),
        ("PIN della SIM: 5820", "Il PIN della SIM è 5820"),
        ("A Beatriz não come carne com o pai", "Beatriz não come carne com o pai."),
        ("Je suis pas libre le lundi", "Je ne suis pas libre le lundi."),
        ("Io sono vegetariana dal 2012", "Sono vegetariana dal 2012."),
        ("Eu moro em Braga com o meu pai", "Moro em Braga com o meu pai."),
        ("Der Apfelbaum steht in dem Garten", "Der Apfelbaum steht im Garten."),
        ("母は卵アレルギーです", "母は卵アレルギー"),
        ("妹は猫を飼っています。", "妹は猫を飼っている"),
        ("Password of the router: larch", "The password of the router is larch"),
    ],
)
def test_another_form_of_the_same_words_is_the_same(one: str, other: str) -> None:
    assert same_text(one, other)
    assert same_text(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The password is two cats", "The password is 2 cats"),
        ("A password is short", "The password is short"),
        ("I have the 5 May tickets", "I have 5 May tickets"),
        ("Well, pump and pipe are broken", "Pump and pipe are broken"),
        ("Please remember that dog", "Dog"),
        ("Ann lives at 3 May Street", "Ann lives at the 3rd of May Street"),
        ("The parcel was 5 pounds", "The parcel was £5"),
        ("Sei libri sono qui", "6 libri sono qui"),
        ("J'ai un livre neuf à la maison", "J'ai un livre 9 à la maison"),
        ("明天我的会很长", "我明天的会很长"),
        ("明天我想他来", "我想明天他来"),
        ("On Friday we talked about the trip", "We talked about the trip on Friday"),
        ("In March Ann promised to pay", "Ann promised to pay in March"),
        ("The meeting is at 12 am", "The meeting is at 12 pm"),
        ("Je n'y suis pas allé", "J'y suis allé"),
        ("猫が死んだ", "猫が死ん"),
        ("Io solo vado a Roma con mio padre", "Solo vado a Roma con mio padre"),
        ("A Pedro viu a Maria", "Pedro viu a Maria"),
        ("O Pedro e a Rita moram em Braga", "Pedro e a Rita moram em Braga com o pai"),
        ("Am Montag ruft Anna Bernd an", "Bernd ruft am Montag Anna an"),
    ],
)
def test_a_form_with_two_meanings_stays_as_it_is(one: str, other: str) -> None:
    assert not same_text(one, other)


def test_pairs_of_another_author_are_united_as_often_as_was_promised() -> None:
    judgement = judged(UNSEEN, same_text)

    assert judgement.wrong == []
    assert judgement.share(FORM) >= (41, 68)


@pytest.mark.parametrize("pair", PAIRS[::40], ids=lambda pair: pair.kind)
def test_a_patrol_decides_as_the_comparison_does(pair: object) -> None:
    matching = [entry for entry in PAIRS if entry is pair]
    judgement = judged(matching, by_patrol)

    assert judgement.united == judged(matching, same_text).united


@pytest.mark.slow
def test_patrols_unite_no_pair_that_differs() -> None:
    assert judged(UNSEEN).wrong == []
    assert judged(ADVERSARIAL).wrong == []
    assert judged(MORE).wrong == []
    judgement = judged(PAIRS)

    assert judgement.wrong == []
    united, total = judgement.share(FORM)
    assert united / total >= 0.6


@given(st.randoms(use_true_random=False), st.sampled_from(PAIRS))
def test_two_words_that_change_places_change_what_is_said(rng: Random, pair: object) -> None:
    sentence = next(entry for entry in PAIRS if entry is pair).one
    words = sentence.split()
    first, second = sorted(rng.sample(range(len(words)), 2)) if len(words) > 1 else (0, 0)
    swapped = [*words]
    swapped[first], swapped[second] = words[second], words[first]
    idle = {"the", "a", "an", "that", "of", "on"}
    if [w for w in words if w.casefold() not in idle] == [
        w for w in swapped if w.casefold() not in idle
    ]:
        return
    between = " ".join(words[first + 1 : second])
    if between in ("and", "of") or words[first][:1].isdigit() or words[second][:1].isdigit():
        return  # "Ann and Bob", "3rd May"
    assert not same_text(sentence, " ".join(swapped))


@given(st.text(max_size=80))
def test_every_text_is_the_same_as_itself_and_none_breaks_the_comparison(text: str) -> None:
    assert same_text(text, text)
    assert same_text(text, f"Ann said {text}") == same_text(f"Ann said {text}", text)


WHO = ("Ann", "Bob", "Eve", "the doctor", "the judge")
DID = (("saw", "seen"), ("helped", "helped"), ("called", "called"))
JOINED = ("when", "because", "after", "before", "if", "although", "while", "until", "unless")
WHEN = ("in Paris", "on Monday", "in May", "yesterday", "with Carl")


def generated(rng: Random) -> tuple[object, str]:
    """Return a sentence of few words, and who did what to whom in it."""
    one, other, third, fourth = rng.sample(WHO, 4)
    (did, done), (also, _) = rng.sample(DID, 2)
    joined, when = rng.choice(JOINED), rng.choice(WHEN)
    event, further = (one, did, other), (third, also, fourth)
    first, second = f"{one} {did} {other}", f"{third} {also} {fourth}"
    said = f"{one} said"
    meaning, text = rng.choice(
        [
            (event, first),
            (event, f"{other} was {done} by {one}"),
            ((joined, event, further), f"{first} {joined} {second}"),
            ((joined, event, further), f"{joined} {second}, {first}"),
            ((said, further), f"{said} {second}"),
            ((said, further), f"{said} that {second}"),
            ((when, event), f"{first} {when}"),
            ((when, event), f"{when} {first}"),
            ((when, event), f"{other} was {done} by {one} {when}"),
            (("never", event), f"{one} never {did} {other}"),
            (("who", event, third, also), f"{one} that {also} {third} {did} {other}"),
            (("and", event, further), f"{first} and {second}"),
            ((said, further, when), f"{said} {second} {when}"),
            ((when, said, further), f"{when} {said} {second}"),
        ]
    )
    return meaning, text[0].upper() + text[1:]


def test_sentences_from_templates_are_united_only_if_they_say_the_same() -> None:
    rng = Random(3)
    alike: dict[frozenset[str], set[tuple[object, str]]] = {}
    idle = {"that", "by", "was", "the", "seen", "saw"}
    for _ in range(1200):
        meaning, text = generated(rng)
        words = frozenset(text.casefold().replace(",", "").split()) - idle
        alike.setdefault(words, set()).add((meaning, text))
    differing = 0
    united = 0
    for group in alike.values():
        for (meaning, text), (other_meaning, again) in combinations(sorted(group, key=str), 2):
            is_one = same_text(text, again)
            assert not is_one or meaning == other_meaning, (text, again)
            differing += meaning != other_meaning
            united += is_one
    assert differing > 500
    assert united > 20


def test_of_long_texts_only_equality_counts() -> None:
    long = "Ann was seen by Bob and " * 60

    assert not same_text(long, f"{long}now.")
    assert same_text(long, f" {long}")
    assert not same_text(f"{long} left on Monday", f"{long} left Monday")


def a_note(action: str, *, actors: str = "Ann", days: str = "", setting: str | None = None) -> Node:
    return a_node(
        1, action=action, actors=tuple(actors.split()), when=tuple(days.split()), setting=setting
    )


def test_actors_and_settings_must_agree_and_another_day_must_not_be_meant() -> None:
    note = a_note("Ann fed the cat", days="2026-07-01")

    assert same_event(note, a_note("The cat was fed by Ann", days="2026-07-05"))
    assert same_event(note, a_note("Ann fed the cat", actors="ANN"))
    assert not same_event(note, a_note("Ann fed the cat", actors="Bob"))
    assert not same_event(note, a_note("Ann fed the cat", actors="Ann Bob"))
    home = a_note("Ann fed the cat", setting="at home")
    assert same_event(home, note)
    assert same_event(home, a_note("Ann fed the cat", setting="At home."))
    assert not same_event(home, a_note("Ann fed the cat", setting="at Home"))
    assert not same_event(home, a_note("Ann fed the cat", setting="in Rome"))
    yesterday = a_note("Yesterday Ann fed the cat", days="2026-07-01")
    assert same_event(yesterday, a_note("Ann fed the cat yesterday", days="2026-07-01"))
    assert not same_event(yesterday, a_note("Ann fed the cat yesterday", days="2026-07-05"))


# Each means another day when it is noted on another day.
OF_A_DAY = """
    Ann came back yesterday | Ann called earlier today | Ann leaves in two days | Ann starts tmrw
    Ann was born the other day | Ann quit the day before | Ann was fired that morning | Ann is 40
    Ann left an hour ago | Ann quit Tue | Ann left Easter | Ann left the week | Ann will call Bob
    The nurse is ill | Ann left at noon | Ann came at eight | The shop closes at midnight
    Ann fed the cat tmrw | Ann is ill | Ann left at Christmas | Ann likes the present
    Anna ist gestern gekommen | Anna kommt am Montag | Anna kommt übermorgen | Anna ist krank
    Anna est revenue hier | Anna vient demain | Anna llegó ayer | Ana viene mañana
    Anna è arrivata ieri | Anna viene dopodomani | 安娜昨天回来了 | アンは昨日来た
    田中さんは明後日来る | Анна вчера вернулась | Анна придёт завтра
"""
OF_NO_DAY = """
    Ann walks the dog in the park | Ann fed the cat | The fence was painted by Ann | Ann is a nurse
    Ann is allergic to nuts | Ann likes tea | fed the cat | User prefers dark mode
"""


def told(texts: str) -> list[str]:
    return [text.strip() for line in texts.splitlines() for text in line.split("|") if text.strip()]


@pytest.mark.parametrize("text", told(OF_A_DAY))
def test_a_text_that_may_mean_its_day_is_another_event_on_another_day(text: str) -> None:
    first = a_note(text, days="2026-11-02")

    assert same_event(first, a_note(text, days="2026-11-02"))
    assert not same_event(first, a_note(text, days="2026-11-12"))


@pytest.mark.parametrize("text", told(OF_NO_DAY))
def test_a_text_in_which_no_word_can_mean_a_day_is_told_again_on_another(text: str) -> None:
    assert same_event(a_note(text, days="2026-11-02"), a_note(text, days="2026-11-12"))


def opposites(world: World) -> None:
    """A patrol keeps opposites apart, links them, and unites what says the same."""
    world.note(LOAN)
    world.run()
    world.note(DEBT, "200 euros were lent by Bob")
    world.note("Bob came?", "Bob came.", "Bob works for us", "Bob works for US", actors=["Bob"])
    world.note("Ann paid", setting="in Rome")
    world.note("Ann paid", setting="in Oslo")
    world.run()
    memories = world.memory.nodes.page(world.being_id).nodes
    assert sorted(node.action for node in memories) == sorted(
        [
            *(LOAN, DEBT, "200 euros were lent by Bob", "Bob came?", "Bob came."),
            *("Bob works for us", "Bob works for US", "Ann paid", "Ann paid"),
        ]
    )
    assert nodes(world)[DEBT].similar == (nodes(world)[LOAN].node_id,)
    # Told again, each is evidence of its own memory.
    world.note("Bob came", actors=["Bob"])
    world.note("Bob  came?", actors=["Bob"])
    world.note("Ann paid", setting="In Oslo", when=["2026-07-03"])
    receipt = world.run()
    assert receipt.counts.get("nodes_created", 0) == 0
    assert {len(node.evidence) for node in nodes(world).values()} <= {1, 2}
    assert len(nodes(world)["Bob came?"].evidence) == 2
    assert len(nodes(world)["Bob came."].evidence) == 2


def test_opposites_stay_two_memories_and_are_linked(world: World) -> None:
    opposites(world)
    assert world.embedder is not None
    check(world.items(), world.being_id, emb_id=world.embedder.emb_id)


@pytest.mark.slow
def test_opposites_stay_two_memories_on_dynamodb(stack: Stack) -> None:
    database = SqliteDatabase(":memory:")
    world = dynamo.opened(stack, database)
    world.planner = None
    opposites(world)
    stack.clear("DataTable")
    database.close()


def test_without_embeddings_it_is_the_same() -> None:
    world = new_world(None)
    opposites(world)
    world.database.close()
