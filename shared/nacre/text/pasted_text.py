"""Words of somebody else in a person's message: what was pasted or quoted from a mail or a page.

People are trusted more than what they read, and an attacker's text gets that trust when it is
pasted. A message counts as pasted if it has the shape of a received mail or a recorded chat, or if
an address or a link stands in a part that is quoted, follows a greeting or is a paragraph of its
own. Without an address no quotation counts: people dictate letters and name titles.
"""

# ruff: noqa: RUF001 (marks of other scripts are its subject)

import re
from collections.abc import Iterator

_READ = 20_000  # characters
_SHORTEST = 4  # words of a quotation
_SENTENCE = 8  # words of a paragraph
_FROM = (
    "From|De|Von|Van|Od|Da|Fra|Från|От|От кого|Feladó|Gönderen|Nadawca|Remitente|Remetente|Mittente"
    "|Expéditeur|Absender|Afzender|Afsender|Avsändare|Lähettäjä|Odesílatel|差出人|送信者|发件人|寄件者"
    "|보낸 사람|المرسل|מאת"
)
_SUBJECT = (
    "Subject|Objet|Betreff|Asunto|Assunto|Oggetto|Onderwerp|Temat|Тема|Tárgy|Konu|Emne|Ämne|Aihe"
    "|Předmět|件名|主题|主旨|제목|الموضوع|נושא"
)
_GREETING = (
    r"(?:Dear|Liebe[rs]?|Chère?|Madame|Monsieur|Car[oa]|Beste|Kedves|K[æä]r[ea]|Hyvä|Hi|Hello|Hallo"
    r"|Bonjour|Hola|Olá|Ciao|Merhaba)\b"
    "|Sehr geehrte|Estimad|Querid|Prezad|Gentil|Szanown|Drog|Dzień dobry|Уважаем|Здравствуйте"
    "|Geachte|Tisztelt|Sayın|Vážen|拝啓|尊敬的|您好|안녕하세요|שלום|مرحبا"
)
_ADDRESS = re.compile(
    r"[^\s@<>\"'«»“”„]{1,64}@[^\s@<>\"'«»“”„]{1,200}\.\w|https?://\S|\bwww\.\S", re.IGNORECASE
)
_SHAPES = re.compile(
    # A forwarded mail, the sender's line of one, and a chat with an assistant.
    r"^[ \t]*-{4,}[^\n-]{3,60}-{4,}[ \t]*$"
    rf"|(?:^|\s)(?:{_FROM})\s?[:：][^\n]{{0,80}}@"
    r"|^[ \t]*(?:\[(?:user|assistant|system|human|ai)\]|<\|?(?:user|assistant|system)\|?>)",
    re.IGNORECASE | re.MULTILINE,
)
_SUBJECT_LINE = re.compile(rf"^[ \t]*(?:{_SUBJECT})\s?[:：]", re.IGNORECASE | re.MULTILINE)
_RECEIVER_LINE = re.compile(r"^[ \t]*\w{1,12}\s?[:：][ \t]?[^\s@]{1,60}@", re.MULTILINE)
# A time, and then a name or nothing, as chats are copied; two of them are a chat.
_TURN = re.compile(
    r"^[^\n]{0,40}\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?\]?"
    r"(?:[ \t]*[-—]?[ \t]*[^:\n]{1,30}:[ \t]|\t|[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_REPLIED = re.compile(r"^ {0,3}>{1,2}(?!>) ?(\S[^\n]*)", re.MULTILINE)
_GREETED = re.compile(rf"(?:[:：]\s|^[ \t]*)(?={_GREETING})", re.IGNORECASE | re.MULTILINE)
# An apostrophe within a word neither opens nor closes a quotation.
_QUOTATIONS = tuple(
    re.compile(rf"{opening}([^{inner}]{{15,4000}})[{inner}]")
    for opening, inner in (
        *(("“", "“”"), ("„", "„“”"), ("«", "«»"), ("»", "«»"), ("「", "「」"), ("『", "『』")),
        *(("‘", "‘’"), (r'(?<!\w)"', '"'), (r"(?<!\w)'", "'")),
    )
)
_BREAK = re.compile(r"\n[ \t]*\n")
_CODE = re.compile(r"[{};][ \t]*$|^[ \t]*File \"|\w\(|^ {4}", re.MULTILINE)
_LETTERS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")  # of languages without spaces


def is_pasted(text: str) -> bool:
    """Tell whether a person's message holds words that somebody else wrote."""
    read = text[:_READ]
    if _SHAPES.search(read) is not None:
        return True
    return _ADDRESS.search(read) is not None and any(_ADDRESS.search(part) for part in _parts(read))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that somebody else may have written."""
    if _RECEIVER_LINE.search(text):
        return  # a mail that the person wants to send
    if len(_TURN.findall(text)) > 1:
        yield text
    paragraphs = _BREAK.split(text)
    if len(paragraphs) > 1:
        yield from filter(_is_prose, paragraphs)
    for pattern in _QUOTATIONS:
        yield from (part for part in pattern.findall(text) if _words(part) >= _SHORTEST)
    yield "\n".join(_REPLIED.findall(text))
    for pattern in (_SUBJECT_LINE, _GREETED):
        if (beginning := pattern.search(text)) is not None:
            yield text[beginning.end() :]


def _is_prose(part: str) -> bool:
    """Tell whether a paragraph is sentences, and neither code nor a list of entries."""
    return _words(part) >= _SENTENCE and _CODE.search(part) is None


def _words(part: str) -> int:
    """Return about how many words a part has."""
    return len(part.split()) + len(_LETTERS.findall(part)) // 3
