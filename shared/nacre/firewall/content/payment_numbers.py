"""Payment cards and bank accounts in text, found by their form and their check digits."""

import re
from collections.abc import Iterator

CARD, IBAN = "card-number", "iban"
_CARD = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
# The first digits and the lengths that networks use.
_NETWORKS = (
    (re.compile(r"4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3(?:0[0-5]|[689])"), (14, 16, 19)),
    (re.compile(r"35(?:2[89]|[3-8])"), (16, 19)),
    (re.compile(r"6(?:011|5|4[4-9]|2)"), (16, 17, 18, 19)),
)
_GROUPED = re.compile(r"\d{4}([ -])(?:\d{4}\1){2}\d{1,7}|\d{4}([ -])\d{6}\2\d{4,5}|\d+")
_IBAN = re.compile(
    r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)
# ISO 13616: how many characters the numbers of a country have.
_COUNTRIES = """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28
    EE20 EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26
    IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30
    NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SD18 SE24 SI19 SK24 SM27 ST25 SV28
    TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _COUNTRIES.split()}


def find_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of card numbers: a network's form with a right Luhn digit."""
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if _GROUPED.fullmatch(match[0]) and _is_issued(digits) and _passes_luhn(digits):
            yield match.span()


def find_ibans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of IBANs: a country's length with a right checksum."""
    for match in _IBAN.finditer(text):
        number = match[0].replace(" ", "")
        length = _LENGTHS.get(number[:2])
        if length is None or len(number) < length:
            continue
        end = _end_of(text, match.start(), length)
        if _passes_97(number[:length]) and not text[end : end + 1].isalnum():
            yield match.start(), end


def _end_of(text: str, start: int, length: int) -> int:
    """Return where a number of this length ends; spaces do not count."""
    place = start
    while length:
        length -= text[place] != " "
        place += 1
    return place


def _is_issued(digits: str) -> bool:
    return any(len(digits) in lengths and form.match(digits) for form, lengths in _NETWORKS)


def _passes_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _passes_97(number: str) -> bool:
    turned = number[4:] + number[:4]
    return int("".join(str(int(character, 36)) for character in turned)) % 97 == 1
