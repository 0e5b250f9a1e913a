"""Words by which people and tools call the same thing: a ticket is an issue, a folder a directory.

The vectors know many of these, but a short request has few words, and one of them often decides.
"""

from collections.abc import Iterable

from nacre.text.stemming import stem

_WORDS = """
    access permission; alert monitor; app application; appointment event; article page; bill
    invoice; bug issue; card issue; chart graph; chat channel message; clip video; column field;
    comment note; config configuration; copy duplicate fork; cost price; crash error exception;
    database table; db database; directory folder; docs documentation document; duplicate copy;
    email mail message; env environment; error exception; field column; film video; folder
    directory; forecast weather; graph chart; history commit log; instance server; javascript
    evaluate script; job run; js evaluate script; label tag; location address; log history;
    machine instance; mail email message; meeting event; movie video; mr merge request; msg
    message; password secret; people user; permission access; person user; photo image; pic
    image; picture image; pipeline run workflow; place location; pr pull request; price cost;
    query question; record row; reminder task; repo repository; repository repo; room channel;
    row record; settings configuration; sheet spreadsheet; site page url website; song track;
    spreadsheet sheet; story issue; tab page; table database; tag label; task issue todo;
    temperature weather; ticket issue; todo task; user member person; version release; weather
    forecast; webpage page url; website page url; wiki page; workflow pipeline
"""
_RELATED: dict[str, tuple[str, ...]] = {}
for _line in _WORDS.split(";"):
    _word, *_others = (stem(_part) for _part in _line.split())
    _RELATED[_word] = tuple(_others)


def related(terms: Iterable[str]) -> list[str]:
    """Return other terms for the same things."""
    return [other for term in terms for other in _RELATED.get(term, ())]
