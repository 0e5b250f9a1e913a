"""The label of a cluster without a model: its best phrases, in the words of its memories.

A phrase is a name or up to three words that stand next to each other. It is good if many members
have it and few other memories do. It keeps its capitals, begins and ends with a word that says
something, and is never a number. Words that most members of other clusters share say nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from nacre.being.memory.model.types import Node
from nacre.being.patrol.steps.cluster_digests import Background
from nacre.text.analysis import STOP_WORDS, terms

_PHRASES = 2  # in a label
_WORDS = 3  # in a phrase
_SHORTEST = 4  # letters of a word of an alphabet; shorter ones are articles in most languages
_COMMON = 0.2  # of all memories; a word that more of the others have is not a subject
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
# In Japanese, runs of kanji or of katakana are words; hiragana joins them.
_RUNS = re.compile("[\u4e00-\u9fff\u3400-\u4dbf\u3005]{2,8}|[\u30a1-\u30fa\u30fc]{2,12}")
_BREAKS = re.compile(
    r"[.,;:!?()\[\]\"/|\u00ab\u00bb\u2013\u2014\u201c-\u201e\u2026"
    r"\u3001\u3002\u300c\u300d\uff01\uff1f]+|\s-\s"
)
_FEW = 2  # members; in a larger cluster, a phrase must be in two of them
_LONGER = 0.3  # added to the factor of a phrase for each further word
_NAME = 1.2  # the factor of a phrase that begins with a capital
_KEPT = 0.75  # of the best score; an earlier label that reaches it is kept
_LONGEST = 60  # characters of a label

# Words of four letters and more that say nothing, in languages without a list of stop words.
_WORDS_WITHOUT_MEANING = """
    aber alle alles auch dann dass dein deine dem denn dich diese diesem diesen dieser dieses
    doch durch eine einem einen einer eines etwas ganz gegen haben hatte hatten heute hier ihre
    ihrem ihren ihrer immer jede jeden jeder jetzt kann kein keine keinen konnte mein meine
    meinem meinen mich mehr muss musste nach nicht noch nur oder ohne schon sehr sein seine
    seinem seinen seiner sich sind über unter viel vom waren weil wenn werden wieder will wird
    wollte worden wurde wurden zum zur zwischen antes como cuando desde donde ella ellos entre
    esta estaba este esto están fue había hace hacia hasta menos mucho muchos nada otra otro
    para pero poco porque quiere siempre sobre también tiene tienen toda todas todo todos tras
    unas unos alors après aussi avant avec cette chez comme dans depuis dont elle elles encore
    était être leur leurs mais même nous parce pour quand sans sont sous très tous tout toute
    vous anche ancora come cosa dalla degli della delle dello dopo hanno molto nella ogni perché
    prima quando questa questo sono stata stato tutti tutto depois ela eles essa esse está foram
    isso mais muito não pela pelo porque quem quando tem também uma você altijd deze door haar
    heeft hebben maar naar niet omdat over toen voor waar werd worden zijn first last week year
    years time times makes made took went came said says want wants asked told found gets
    started wrote bought days hours minutes months across along among around behind beside
    beyond inside near onto outside toward towards without
"""
_FUNCTION_WORDS = frozenset(_WORDS_WITHOUT_MEANING.split())


def label_of(
    members: Sequence[Node],
    background: Background,
    themes: Sequence[str],
    before: str = "",
) -> str:
    """Return the label of at least one memory.

    The label `before` is kept while its phrases are nearly as good, so that labels stay stable.
    """
    forms: dict[tuple[str, ...], Counter[str]] = {}
    for node in members:
        for key, phrase in dict(_phrases_of(node)).items():
            forms.setdefault(key, Counter())[phrase] += 1
    phrases = {key: _form(counts) for key, counts in forms.items()}
    scores = {
        key: _score(key, phrases[key], sum(counts.values()), background)
        for key, counts in forms.items()
        if sum(counts.values()) > 1 or len(members) <= _FEW
    }
    if not any(score > 0 for score in scores.values()):  # no phrase is in two of them
        scores = {key: _score(key, phrase, 1, background) for key, phrase in phrases.items()}
    noted = Counter(theme.casefold() for node in members for theme in node.themes)
    label = [theme for theme, count in sorted(noted.items(), key=_by_count)[:1]]
    label = [theme for theme in label if 2 * noted[theme] >= len(members)]
    used = {term for theme in label for term in terms(theme)}
    chosen = 0.0
    for key in sorted(scores, key=lambda key: (-scores[key], phrases[key], key)):
        if len(label) == _PHRASES or scores[key] <= 0:
            break
        if not used & set(key) and len(", ".join([*label, phrases[key]])) <= _LONGEST:
            label.append(phrases[key])
            used |= set(key)
            chosen += scores[key]
    score_of = {phrases[key]: score for key, score in scores.items()}
    former = before.split(", ")
    is_known = len(former) == len(label) and all(
        phrase in score_of or phrase in noted for phrase in former
    )
    if is_known and sum(score_of.get(phrase, 0) for phrase in former) >= _KEPT * chosen:
        return before
    return ", ".join(label) or ", ".join(themes[:_PHRASES])


def _score(key: tuple[str, ...], phrase: str, count: int, background: Background) -> float:
    """Return the score of a phrase: frequent here, rare elsewhere, a name or several words."""
    elsewhere = [max(0, background.frequency(term) - count) for term in key]
    if max(elsewhere) > max(_COMMON * background.count, count):
        return 0.0
    rarity = [math.log(1 + (1 + background.count) / (1 + number)) for number in elsewhere]
    name = _NAME if phrase[:1].isupper() else 1.0
    return round(count * min(rarity) * name * (1 + _LONGER * (len(key) - 1)), 9)


def _phrases_of(node: Node) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the phrases of a memory and the people in it, each with its terms."""
    yield from _phrases(node.action)
    for actor in node.actors:
        if key := tuple(terms(actor)):
            yield key, actor


def _phrases(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the phrases of a text, each with its terms."""
    for part in _BREAKS.split(text):
        if _SPACELESS.search(part):
            for run in _RUNS.findall(part):
                yield tuple(terms(run)), run
            continue
        words = part.split()
        for start in range(len(words)):
            for end in range(start + 1, min(start + _WORDS, len(words)) + 1):
                phrase = words[start:end]
                if _says_something(phrase[0], start == 0) and _says_something(phrase[-1]):
                    yield tuple(terms(" ".join(phrase))), " ".join(map(_plain, phrase))


def _says_something(word: str, is_first: bool = False) -> bool:
    """Return whether a phrase may begin or end with a word; short ones only if they are names."""
    plain = _plain(word)
    folded = plain.casefold()
    return (
        plain[:1].isalpha()
        and folded not in STOP_WORDS
        and folded not in _FUNCTION_WORDS
        and (len(plain) >= _SHORTEST or (plain[:1].isupper() and len(plain) > 1 and not is_first))
        and bool(terms(plain))
    )


def _plain(word: str) -> str:
    plain = word.strip("'\u2019\"*_#")
    return plain.removesuffix("'s").removesuffix("\u2019s")


def _form(forms: Counter[str]) -> str:
    return min(forms, key=lambda form: (-forms[form], form))


def _by_count(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]
