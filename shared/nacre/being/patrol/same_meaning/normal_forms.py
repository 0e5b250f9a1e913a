"""One spelling for words that have several: numbers, titles, hours, amounts, openings.

Each form is a table entry that cannot change the meaning. Words with two meanings stay as they are.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from nacre.being.patrol.same_meaning.english_words import LITERAL, word_set

_LETTER = r"[^\W\d_]"
_WORDS = re.compile(rf"{_LETTER}+")

# Words that are frequent in one of the languages only.
_OF_LANGUAGE: Mapping[str, frozenset[str]] = {
    "en": word_set(
        """
the is are was were has have had of and with for from at on my our your his their to
every be will does do not
"""
    ),
    "de": word_set(
        """
der die das den dem ein eine einen ist sind war hat haben wird und mit von im am um für
ich wir sie er nicht zu auf bei kostet
"""
    ),
    "fr": word_set(
        """
le les des du une est sont était avec dans sur pour à au aux et je nous il elle ne mon
ma mes notre chez
"""
    ),
    "es": word_set(
        """
el los las del una es son fue con para por y mi mis nuestro su yo al hay tiene la en
"""
    ),
    "it": word_set(
        """
il lo gli della dello degli è sono una con per e mio mia nostro di del nel alla alle ha
la al dal
"""
    ),
    "pt": word_set(
        """
o os as do da dos das é são uma com para e meu minha nosso no na ao à às tem em um
"""
    ),
}

# From two on: one is often an article. Words with another meaning ("neuf", "sei") are left
# out, and so are tens that another word may continue ("soixante").
_UNTIL_TWENTY: Mapping[str, str] = {
    "en": """two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""",
    "de": """zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn
        sechzehn siebzehn achtzehn neunzehn zwanzig""",
    "fr": """deux trois quatre cinq six sept huit - dix onze douze treize quatorze quinze seize
        dix-sept dix-huit dix-neuf -""",
    "es": """dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
        dieciséis diecisiete dieciocho diecinueve veinte""",
    "it": """due tre quattro cinque - sette otto nove dieci undici dodici tredici quattordici
        quindici sedici diciassette diciotto diciannove venti""",
    "pt": """dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze - - - -
        vinte""",
}
_TENS: Mapping[str, str] = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante",
}
_ONES = {
    "en": "one two three four five six seven eight nine",
    "de": "ein zwei drei vier fünf sechs sieben acht neun",
    "fr": "un deux trois quatre cinq six sept huit neuf",
}
_COMPOUND: Mapping[str, Callable[[str, str], str]] = {
    "en": lambda ten, one: f"{ten}-{one}",
    "de": lambda ten, one: f"{one}und{ten}",
    "fr": lambda ten, one: f"{ten}-{one}",
}


def _numbers(language: str) -> dict[str, str]:
    small = enumerate(_UNTIL_TWENTY[language].split(), start=2)
    numbers = {word: str(number) for number, word in small if word != "-"}
    for ten, word in enumerate(_TENS.get(language, "").split(), start=2):
        if language != "fr":
            numbers[word] = str(10 * ten)
        for one, small_word in enumerate(_ONES[language].split(), start=1):
            numbers[_COMPOUND[language](word, small_word)] = str(10 * ten + one)
    return numbers


_NUMBERS = {language: _numbers(language) for language in _UNTIL_TWENTY}
_MORE_NUMBERS = word_set(
    """
hundred thousand million hundert tausend cent mille cien ciento mil cento one eins un
uno una um half halb media mezza meia and und et y e point komma virgule coma virgola
vírgula
"""
)

# "A Pedro" is "to Pedro", so each article goes only before the names that it fits.
_WITH_A = "Ana|Beatriz|Catarina|Carla|Joana|Maria|Mariana|Rita|Sofia|Teresa"
_WITH_O = "Bruno|João|José|Luís|Miguel|Nuno|Paulo|Pedro|Rui|Tiago"
_CAPITAL = r"(?=[A-ZÀ-Þ])"
_START = r"(?<![\w.])"
_Form = tuple[re.Pattern[str], str]


def _forms(*rules: tuple[str, str]) -> tuple[_Form, ...]:
    return tuple((re.compile(pattern), form) for pattern, form in rules)


_DAYS = (
    *(("Mon", "Monday"), ("Tues?", "Tuesday"), ("Wed", "Wednesday"), ("Thu(?:rs?)?", "Thursday")),
    *(("Fri", "Friday"), ("Sat", "Saturday"), ("Sun", "Sunday")),
)
_MONTHS = (
    *(("Jan", "January"), ("Feb", "February"), ("Mar", "March"), ("Apr", "April")),
    *(("Aug", "August"), ("Sept?", "September"), ("Oct", "October"), ("Nov", "November")),
    ("Dec", "December"),
)
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_ALL = _forms(
    (r"(?<=\d)\s?(?:%|per ?cent\b)", " %"),
    (r"€ ?(\d[\d.,]*\d|\d)(?![\d.,]*\d)", r"\1 €"),
    (r"(?<=\d) ?(?:€|euros?\b|Euros?\b)", " €"),
    (r"(?<=\d) (?=(?:mg|kg|g|ml|cl|cm|mm|km|GB|MB|TB|°C|°F)\b)", ""),
)
# For every language: a title that only French writes so, and the full stop after a sign.
_MADAME = _forms((r"\bMme " + _CAPITAL, "Madame "), (r"(?<=[€%])\.$", ""))
_OF: Mapping[str, tuple[_Form, ...]] = {
    "en": _forms(
        *(
            (rf"\b(on|until|by|every|and|from) {short}\.(?=[ ,]|$)", rf"\1 {day}")
            for short, day in _DAYS
        ),
        *((rf"\b{short}\.(?= \d)", month) for short, month in _MONTHS),
        *((rf"(?<=\d ){short}\b\.?(?= \d{{4}}\b)", month) for short, month in _MONTHS),
        (rf"\b({_MONTH}) ([12]?\d|3[01])(?:st|nd|rd|th)?, (\d{{4}})\b", r"\2 \1 \3"),
        (rf"\b({_MONTH}) ([12]?\d|3[01])(?:st|nd|rd|th)?(?=\.?$|, )", r"\2 \1"),
        (
            rf"\b(?:the )?([12]?\d|3[01])(?:st|nd|rd|th)(?: of)? ({_MONTH})(?=\.?$|,| \d{{4}})",
            r"\1 \2",
        ),
        (r"(?:(?<=[a-z,] )|^)Dr\.? " + _CAPITAL, "Doctor "),
        (r"\bProf\. " + _CAPITAL, "Professor "),
        (r"\b(Mrs?|Ms)\. " + _CAPITAL, r"\1 "),
        (r"\bapprox\. (?=\d)", "approximately "),
        (r"\bno\. (?=\d)", "number "),
        (r"(?<=\w) & (?=[a-z])", " and "),
        (r"\$(\d[\d,]*(?:\.\d\d)?)(?![\d.,]*\d)", r"\1 dollars"),
        (r"(?<![\d,.])(\d{1,3}),(\d{3})(?= dollars)", r"\1\2"),
        (r"£(\d{1,3}),(\d{3})(?![\d.,]*\d)", r"£\1\2"),
        (r"\bhalf past (\d{1,2})\b", r"\1:30"),
        (r"\bquarter past (\d{1,2})\b", r"\1:15"),
        (r"(?<![:.\d])(\d{1,2})(?::00)? ?([ap])\.?m\b\.?", r"\1:00 \2m"),
        (r"\b(\d{1,2}:\d\d) ?([ap])\.?m\b\.?", r"\1 \2m"),
        (r"(?<=\d) ?(?:AM|A\.M\.)(?=[ ,.]|$)", " am"),
        (r"(?<=\d) ?(?:PM|P\.M\.)(?=[ ,.]|$)", " pm"),
        (r"(?<=[\d ][A-Z])((?:[a-z]+)) St\.?$", r"\1 Street"),
        (r"\b(\d+) (kilos?|kilograms?|kilogrammes?)\b", r"\1kg"),
        (r"\b(\d+) minutes?\b", r"\1 min"),
        (r"\b(\d+) (?:metres?|meters?)\b", r"\1 m"),
        (r"\b(\d+) (?:litres?|liters?)\b", r"\1 l"),
        (r"\b(e)-mail\b", r"\1mail"),
    ),
    "de": _forms(
        (r"(?<!,) in dem (?=[A-ZÄÖÜ])", " im "),
        (r"^In dem (?=[A-ZÄÖÜ])", "Im "),
        (r"(?<!,) an dem (?=[A-ZÄÖÜ])", " am "),
        (r"(?<!,) zu der (?=[A-ZÄÖÜ])", " zur "),
        (r"(?<!,) zu dem (?=[A-ZÄÖÜ])", " zum "),
        (r"(?<!,) bei dem (?=[A-ZÄÖÜ])", " beim "),
        (r"(?<!,) von dem (?=[A-ZÄÖÜ])", " vom "),
        (r"\b([Ii])ch hab\b", r"\1ch habe"),
        (r"\bDr\. " + _CAPITAL, "Doktor "),
        (r"\bProf\. " + _CAPITAL, "Professor "),
        (r"(?<=[Ss])tr\. (?=\d)", "traße "),
        (r"(?<=[Ss])trasse\b", "traße"),
        (r"(?<![:.\d])(\d{1,2}) Uhr(?! \d)", r"\1:00 Uhr"),
        (r"\b(\d{1,2}) Uhr (\d\d)\b", r"\1:\2 Uhr"),
        (r"(?<![\d.,])(\d{1,3})\.(\d{3})(?= €)", r"\1\2"),
        (r"\bMi\.(?= um \d)", "Mittwoch"),
        (r"\b(?:bzgl)\.", "bezüglich"),
    ),
    "fr": _forms(
        (r"^Moi, je (?=[a-z])", "Je "),
        (r"\b([Jj])e n'(?=[aàeéèhiou]\w* pas\b)", r"\1'"),
        (r"\b(je|tu|il|elle|on|nous|vous|Je|Tu|Il|Elle|On|Nous|Vous) ne (?=\w+ pas\b)", r"\1 "),
        (r"\bMme ", "Madame "),
        (r"\bM\. " + _CAPITAL, "Monsieur "),
        (r"\bDr\.? " + _CAPITAL, "docteur "),
        (r"\b(\d{1,2}) ?[hH] ?(\d\d)\b", r"\1:\2"),
        (r"\b(à|à partir de|vers) (\d{1,2}) ?(?:h|heures)\b(?! ?\d)", r"\1 \2:00"),
    ),
    "es": _forms(
        (r"\b[Dd]ra\. " + _CAPITAL, "doctora "),
        (r"\b[Dd]r\. " + _CAPITAL, "doctor "),
        (r"\b[Ss]ra\. " + _CAPITAL, "señora "),
        (r"\b[Ss]r\. " + _CAPITAL, "señor "),
        (r"^Yo (no )?(?=[a-záéíóúñ]+o\b)", r"\1"),
    ),
    "it": _forms(
        (r"^Io (?!solo |stesso |quando )(non )?(?=(?:sono|ho|[a-z]{3,}o)\b)", r"\1"),
        (r"\b[Dd]ott\.ssa " + _CAPITAL, "dottoressa "),
        (r"\b[Dd]ott\. " + _CAPITAL, "dottor "),
        (r"\b[Ss]ig\.ra " + _CAPITAL, "signora "),
        (r"\b[Ss]ig\. " + _CAPITAL, "signor "),
    ),
    "pt": _forms(
        (r"^Eu (?!mesmo |quando |sozinho )(não )?(?=(?:sou|estou|tenho|[a-z]{3,}o)\b)", r"\1"),
        (rf"^(?:A (?={_WITH_A})|O (?={_WITH_O}))(\w+\b)(?! (?:e|ou) )", r"\1"),
        (r"\b[Dd]ra\. " + _CAPITAL, "doutora "),
        (r"\b[Dd]r\. " + _CAPITAL, "doutor "),
        (r"\b[Ss]ra\. " + _CAPITAL, "senhora "),
        (r"\b[Ss]r\. " + _CAPITAL, "senhor "),
        (r"\b(\d{1,2})h(\d\d)\b", r"\1:\2"),
        (r"\b(às|as) (\d{1,2})h\b", r"\1 \2:00"),
        (r"\bpro (?=[a-z])", "para o "),
        (r"\bpra (?=[a-z])", "para a "),
    ),
}

_OPENINGS = _forms(
    (
        r"^(?:Please )?(?:[Rr]emember|[Nn]ote) that "
        r"(?=(?:the|my|our|his|her|we|you|they|it|there)\b)",
        "",
    ),
    (r"^(?:Please )?(?:[Rr]emember|[Nn]ote) that (?=I )", ""),
    (r"^(?:Just so you know|Note to self|FYI|For your information)[,:] (?=\w)", ""),
    (r"^(?:Well|Oh|Basically|[Yy]ou know|So|Hey|Ok|Okay), (?=\w)(?!\w+ and )", ""),
    (r"^Oh, and (?=(?:the|my|our|I)\b)", ""),
    (r"^[Ii]t turns out (?:that )?(?=(?:the|my|our|his|her|we|you|they|I)\b)", "It turns out "),
    (r"^(?:Um|Uh), (?=\w)", ""),
    (r"^Um, so (?=\w)", ""),
    (r"^Also, (?=ich |wir |der |die |das )", ""),
    (r"^Bon ben, (?=\w)", ""),
    (r"^Merci de noter que (?=\w)", ""),
    (r"^Oye, que (?=\w)", ""),
    (r"^Ricordati che (?=\w)", ""),
    (r"^麻烦记一下(?:\uff0c|,)", ""),
    (r"^(?:えっと|ええと)、", ""),
)

# Nouns that have a single value: "PIN: 1" says "The PIN is 1".
_LABELS = word_set(
    """
password passwort wlan-passwort wlan code pin codice código contraseña senha blutgruppe
"""
)
_IS = re.compile(r" ?(:) | (is|ist|est|es|è|é) ")
_ARTICLES: Mapping[str, frozenset[str]] = {
    "is": frozenset({"the"}),
    "ist": frozenset({"der", "die", "das"}),
    "est": frozenset({"le", "la"}),
    "es": frozenset({"el", "la"}),
    "è": frozenset({"il", "la"}),
    "é": frozenset({"o", "a"}),
}
_CHINESE_LABEL = re.compile(r"^(\w*(?:密码|电话|地址|生日|血型))(?:是|\uff1a|:) ?(?=\w+。?$)")
_JAPANESE_LABEL = re.compile(
    r"^(\w*(?:番号|パスワード|住所|誕生日|血液型))(?:は|\uff1a|:) ?(?=\w+。?$)"
)

_COUNTERS = "个岁点本片天年月日人元块只条张斤杯件次位号枚円匹階台名歳時週個"
_EAST_NUMBER = re.compile(
    rf"(?<![一二三四五六七八九十百千万两\d第])([二三四五六七八九十]+)(?=[{_COUNTERS}])"
)
_EAST_DIGITS = {digit: place for place, digit in enumerate("〇一二三四五六七八九")}


@lru_cache(2048)
def normal_form(text: str) -> str:
    """Return a text, as `plain_text` returns it, in the usual forms of its language."""
    for pattern, form in _OPENINGS:
        text, count = pattern.subn(form, text)
        if count:
            text = text[:1].upper() + text[1:]
    if not _WORDS.search(text):
        return text
    if any("\u3040" <= char <= "\u9fff" for char in text):
        return _eastern(text)
    if {word.lower() for word in _WORDS.findall(text)} & (_LABELS | LITERAL):
        return _labelled(text)  # data may follow, of which every letter counts
    language = _language(text)
    if language is not None:
        text = _with_digits(text, _NUMBERS[language])
    for pattern, form in (*_ALL, *_MADAME, *_OF.get(language or "", ())):
        text = pattern.sub(form, text)
    return text[:1].upper() + text[1:] if language in ("it", "pt", "es") else text


def _labelled(text: str) -> str:
    """Return "PIN of the phone: 1" for "The PIN of the phone is 1"."""
    verbs = list(_IS.finditer(text))
    if len(verbs) != 1 or text[verbs[0].end() :].count(" ") > 1:
        return text
    verb = verbs[0]
    name = text[: verb.start()].split(" ")
    if len(name) > 1 and name[0].lower() in _ARTICLES.get(verb[2], ()):
        name = name[1:]
    if len(name) > 8 or not any(word.lower() in _LABELS for word in name[:2]):
        return text
    label = " ".join(name)
    return f"{label[0].upper()}{label[1:]}: {text[verb.end() :]}"


# The polite end of a sentence, for verbs whose plain end is certain.
_POLITE = _forms(
    (r"ています(?=。?$)", "ている"),
    (r"(?<=[がはに])あります(?=。?$)", "ある"),
    (r"(?<=[0-9二三四五六七八九][本つ])あります(?=。?$)", "ある"),
    (r"始まります(?=。?$)", "始まる"),
    (r"引っ越します(?=。?$)", "引っ越す"),
    (r"(?<=[一-龯ァ-ヶー]を|[一-龯ァ-ヶー]に)行きます(?=。?$)", "行く"),
    (r"飲みません(?=。?$)", "飲まない"),
    (r"食べません(?=。?$)", "食べない"),
    (r"(?<=[一-龯ァ-ヶー])(?:です|だ)(?=。?$)", ""),
    (r"(好き|嫌い)(?:です|だ)(?=。?$)", r"\1"),
)


def _eastern(text: str) -> str:
    for pattern, form in _POLITE:
        text = pattern.sub(form, text)
    text = _EAST_NUMBER.sub(lambda match: _east_number(match[1]), text)
    text = text.replace("じゃない", "ではない").replace("じゃありません", "ではありません")
    return _JAPANESE_LABEL.sub(r"\1: ", _CHINESE_LABEL.sub(r"\1: ", text))


def _east_number(word: str) -> str:
    """Return a number from 2 to 99 in digits, and any other word as it is."""
    tens, ten, ones = word.partition("十")
    if len(tens) > 1 or len(ones) > 1 or "十" in ones or (not ten and len(word) > 1):
        return word
    first = _EAST_DIGITS.get(tens, 1) if ten else 0
    return str(10 * first + _EAST_DIGITS.get(ones if ten else tens, 0))


def _language(text: str) -> str | None:
    """Return the language that most of the frequent words belong to; None if it is unclear."""
    words = [word.lower() for word in _WORDS.findall(text)]
    counts = {
        language: sum(word in frequent for word in words)
        for language, frequent in _OF_LANGUAGE.items()
    }
    best, second = sorted(counts.values(), reverse=True)[:2]
    if best == second:
        return None
    return max(counts, key=lambda language: counts[language])


def _with_digits(text: str, numbers: Mapping[str, str]) -> str:
    """Return the text with digits in place of number words beside which no other number is."""
    words = text.split(" ")
    bare = [word.rstrip(".,;!?") for word in words]
    result = list(words)
    for place, word in enumerate(bare):
        number = numbers.get(word)
        if number is None or not place:
            continue
        beside = [bare[place - 1], *bare[place + 1 : place + 2]]
        if not any(_is_number(other, numbers) for other in beside):
            result[place] = number + words[place][len(word) :]
    return " ".join(result)


def _is_number(word: str, numbers: Mapping[str, str]) -> bool:
    low = word.lower()
    return low in numbers or low in _MORE_NUMBERS or low[:1].isdigit()
