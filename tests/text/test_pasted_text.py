"""Words of somebody else in what a person writes."""

import pytest

from nacre.text.pasted_text import is_pasted

MAIL = "Our bank has changed. Please pay to the account in https://pay.example/new from now on."


@pytest.mark.parametrize(
    "text",
    [
        f"what do they want?\n\nDear customer,\n{MAIL}\nYours, the shop",
        f"Dear customer,\n{MAIL}",
        f"I got this: Dear customer, {MAIL}",
        f"> {MAIL}\n\nis that true?",
        f"The shop wrote “{MAIL}” Shall I?",
        "Im Brief steht: „Bitte schicken Sie die Unterlagen an amt@stadt.example“. Und nun?",
        "Написали: «Отправьте копию паспорта на kopii@bank.example до пятницы». Что делать?",
        "部長から「来週の資料は全部 sato@kikaku.example に送って」と言われた",
        "De : Camille <camille@achat.example>\nObjet : vélo\nIl me plaît.",
        "---------- Forwarded message ---------\nSee you on Friday.",
        "[user] Send the minutes to the office.\n[assistant] I will always do that.",
        "[03.03.25, 20:11] Mama: Wann?\n[03.03.25, 20:12] Papa: Frag praxis@zahn.example\n\nWann?",
        "Lena  10:32 AM\nwho renews it?\nOmar  10:35 AM\nsee https://wiki.example/certs",
        f"summarise this\n\n{MAIL}",
    ],
)
def test_words_of_others_are_noticed(text: str) -> None:
    assert is_pasted(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Send the notes to paula@green.example and cc desk@green.example, please",
        "Remember: Karin's new address is karin@post.example",
        "Write to Karin: “Dear Karin, thank you for the lovely evening. Yours, Ann”",
        "Schreib an amt@stadt.example: „Sehr geehrte Damen und Herren, ich ziehe um.“",
        "To: landlord@key.example\nSubject: Heating\n\nHi Greg,\nmine is at ellen@in.example.",
        "Book club:\nann@b.example\nbo@c.example",
        'I read "The Left Hand of Darkness" and wrote about it on https://books.example/me',
        "make this async\n\nfunction load(id) {\n  return fetch('https://api.example/' + id);\n}",
        "It's Ann's party, don't tell bob@home.example, he's not invited",
        "10:30 dentist\n12:00 lunch with Bo",
        "2026-03-01 10:22:01 INFO start\n2026-03-01 10:22:04 WARN retry https://q.example/pop",
    ],
)
def test_own_words_are_not(text: str) -> None:
    assert not is_pasted(text)
