"""The features that mark text as an instruction to a model, and what each of them weighs.

A feature is a few kinds of words close to each other, or a shape such as role markup. None of
them is a sentence, so a paraphrase still has them. The weights of the features in one place of
a text add up; at `THRESHOLD` the place is a finding.
"""

# ruff: noqa: E501 (a pattern broken over lines is harder to read)

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from math import inf

from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.content.injection.tokens import Token
from nacre.firewall.content.injection.wording import Stretch
from nacre.firewall.content.injection.words import Word as W  # noqa: N817 (it is in every line below)

THRESHOLD = 7.5
REACH = 35  # words: features further apart belong to different places
STRONG = 4  # the least weight of a feature that counts in letters that were taken apart
_MORE = 3  # the most that further features of one kind add
_REPEATED = 12  # words: one feature repeated within them counts as one
_HIDDEN = 60  # words of hidden markup that are read
_MAX_KNOWN = 20_000
_AROUND = 30  # characters around a word in which a shape is searched
# The features that count in letters that were taken apart or run together.
SQUEEZED = frozenset(
    ("override-instructions", "prompt-extraction", "guard-bypass", "exfiltration", "concealment")
)
# The features that are an attack in any wording, if one of them is enough by itself.
_CLEAR = frozenset(
    (
        "override-instructions",
        "guard-bypass",
        "exfiltration",
        "forged-role",
        "jailbreak-persona",
        "exfiltration-image",
    )
)
# Encodings that nobody uses for human readers, with their points.
_ENCODED = {"base64": 4, "hexadecimal": 4, "tag characters": 6, "rot13": 4, "reversed": 4}
_DISGUISED = 4
_MAX_EXTRA = max(_ENCODED.values()) + _DISGUISED
# Text about attacks: the points that a place loses if so many terms are around it.
_TALK, _TALK_TERMS, _ABOUT = 5, 3, 120
# Text about models and agents: the same, for the number of their names.
_MODEL_TALK = ((5, 2), (9, 2))
# The points of a wording: the worth of its score, the score that counts as 0, and the least.
WORDING = "order-wording"
WORDING_WORTH, WORDING_FROM, WORDING_LEAST = 2.0, 2.0, -8.0
# An attack in any wording loses no more than this for an ordinary wording.
CLEAR_LEAST = -4.0
# The most that other features written by hand add up to: they need a wording of this score too.
MOST_BY_HAND = 8.5
_MIN_SCORE = WORDING_FROM - (MOST_BY_HAND - THRESHOLD) / WORDING_WORTH


@dataclass(frozen=True, slots=True)
class Combination:
    """Words of given classes, each within `reach` words of the first.

    `ordered`: the others follow the first. `begins`: the first stands where an imperative may.
    """

    id: str
    weight: float
    needs: tuple[int, ...]
    reach: int
    ordered: bool = False
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern over the folded text.

    The text must hold one of `hints`, and a word of the classes `needs` if there are any.
    """

    id: str
    weight: float
    hints: tuple[str, ...]
    pattern: str
    needs: int = 0
    near: bool = False  # the pattern stands around a word of `needs`

    def compiled(self) -> re.Pattern[str]:
        """Return the pattern, compiled when first needed."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_TOLD = W.ORDERS | W.LIMITS
_PAST = W.EARLIER | W.TOLD
_ITS = W.OWN | W.INNER
_ANY_MODEL = W.MODEL | W.AGENT
_DATA = W.SECRET | W.PRIVATE

COMBINATIONS: tuple[Combination, ...] = (
    # Instructions set aside or replaced.
    Combination("override-instructions", 8.5, (W.DROP, _PAST, W.ORDERS), 7, ordered=True, begins=True),
    Combination("override-instructions", 8.2, (W.DROP, _PAST, W.ORDERS), 5, ordered=True),
    Combination("override-instructions", 9.0, (W.DROP, W.OWN | W.INNER, W.ORDERS), 5, ordered=True, begins=True),
    Combination("override-instructions", 7.8, (W.DROP, W.OWN | W.INNER | _PAST, W.LIMITS), 5, ordered=True, begins=True),
    Combination("override-instructions", 8.2, (W.DROP, W.ALL, _TOLD), 4, ordered=True, begins=True),
    Combination("override-instructions", 8.4, (W.DROP, W.ALL, _PAST), 7, ordered=True, begins=True),
    Combination("override-instructions", 8.4, (W.NOT | W.STOP, W.FOLLOW, _ITS | _PAST, _TOLD), 8, begins=True),
    Combination("override-instructions", 6.4, (_TOLD | W.PROMPT, _ITS | _PAST, W.GONE), 7),
    Combination("override-instructions", 2.0, (_TOLD | W.PROMPT, _ITS | _PAST, W.LONGER), 7),
    Combination("override-instructions", 8.5, (W.DROP, W.TOLD, W.EARLIER), 6, begins=True),
    Combination("override-instructions", 5.5, (W.TOLD, W.YOU, W.GONE | W.DROP | W.LONGER), 9),
    Combination("override-instructions", 5.0, (W.URGENT, W.ALL, W.ORDERS), 6, ordered=True),
    Combination("override-instructions", 4.0, (W.DROP, W.ALL, W.USER), 4, ordered=True, begins=True),
    Combination("new-instructions", 1.9, (W.NEW, W.ORDERS | W.TASK), 3, ordered=True, begins=True),
    Combination("new-instructions", 5.6, (W.FOLLOW, W.NEW | W.ONLY | W.THIS, _TOLD | W.TEXT), 5, begins=True),
    Combination("new-instructions", 3.9, (W.OWN, W.NEW, W.TASK | W.ORDERS), 3),
    # A role without limits.
    Combination("jailbreak-persona", 4.1, (W.YOU, W.FREE | W.BECOME), 5, ordered=True),
    Combination("jailbreak-persona", 7.3, (W.YOU, W.BECOME, _ANY_MODEL | W.CHIEF), 6, ordered=True),
    Combination("jailbreak-persona", 7.4, (W.YOU, W.FREE, W.LIMITS), 8, ordered=True),
    Combination("jailbreak-persona", 3.4, (W.LATER, W.YOU), 4, ordered=True, begins=True),
    Combination("jailbreak-persona", 2.9, (W.BECOME, W.YOU | W.MODEL | W.AGENT), 4, begins=True),
    Combination("jailbreak-persona", 4.2, (W.FREE, W.MODEL | W.AGENT | W.ANSWER), 4),
    Combination("jailbreak-persona", 5.4, (W.WITHOUT | W.NOT, W.LIMITS, W.MODEL | W.ANSWER | W.BECOME), 7),
    Combination("jailbreak-persona", 5.2, (W.YOU, W.GONE | W.LONGER, W.MODEL | W.LIMITS), 6, ordered=True),
    Combination("jailbreak-persona", 5.9, (W.CHIEF | W.FREE, W.MODE), 2),
    # The model's own prompt.
    Combination("prompt-extraction", 7.5, (W.SHOW | W.RENDER, W.HIDDEN_PROMPT), 6, begins=True),
    Combination("prompt-extraction", 7.2, (W.SHOW | W.RENDER, W.OWN_PROMPT), 6, begins=True),
    Combination("prompt-extraction", 3.9, (W.SHOW, W.HIDDEN_PROMPT | W.OWN_PROMPT), 6),
    Combination("prompt-extraction", 7.5, (W.WHAT, W.OWN | W.INNER, W.ORDERS), 5, begins=True),
    Combination("prompt-extraction", 4.6, (W.OWN, W.INNER, W.PROMPT | W.CHAT), 3),
    Combination("prompt-extraction", 4.9, (W.SHOW, W.OWN | W.INNER, W.CHAT), 5, begins=True),
    Combination("prompt-extraction", 6.5, (W.SHOW, W.WORDS | W.ORDERS, _PAST), 6, begins=True),
    Combination("prompt-extraction", 3.4, (W.SHOW, W.WORDS | W.ORDERS, _PAST, W.YOU | W.CHAT), 8, begins=True),
    Combination("prompt-extraction", 5.1, (W.WHAT, W.ORDERS | W.WORDS, _PAST | W.CHAT), 6, begins=True),
    Combination("prompt-extraction", 2.9, (W.ORDERS | W.WORDS, _PAST, W.CHAT), 8),
    Combination("prompt-extraction", 2.4, (W.SHOW, W.ONLY), 5, begins=True),
    # Data sent away.
    Combination("exfiltration", 8.5, (W.SEND, W.SECRET, W.ADDRESS | W.HOSTILE), 12, ordered=True, begins=True),
    Combination("exfiltration", 5.5, (W.SEND, W.PRIVATE, W.ADDRESS | W.HOSTILE), 12, ordered=True, begins=True),
    Combination("exfiltration", 6.4, (W.SEND, W.CHAT, W.ADDRESS | W.HOSTILE | W.PLACE), 12, ordered=True, begins=True),
    Combination("exfiltration", 4.7, (W.GET | W.RENDER, _DATA | W.CHAT, W.SEND, W.ADDRESS), 20, ordered=True, begins=True),
    # The user kept out.
    Combination("concealment", 5.9, (W.NOT | W.WITHOUT, W.TELL, W.USER), 6, ordered=True, begins=True),
    Combination("concealment", 5.1, (W.USER, W.NOT, W.KNOW), 5, ordered=True),
    Combination("concealment", 3.4, (W.NOT, W.TELL, W.ANSWER | W.CHAT), 5, begins=True),
    Combination("concealment", 5.6, (W.KEEP, W.SECRET, W.USER), 7),
    Combination("concealment", 5.7, (W.NOT | W.WITHOUT, W.TELL, W.USER), 6, ordered=True),
    Combination("concealment", 4.7, (W.USER, W.NOT, W.TELL), 6, ordered=True),
    Combination("concealment", 5.7, (W.NOT | W.WITHOUT, W.USER, W.KNOW), 6, ordered=True),
    Combination("concealment", 3.9, (W.NOT, W.TELL, W.THIS), 4, begins=True),
    Combination("concealment", 5.0, (W.SECRETLY, W.SEND | W.ACT | W.DANGER), 3, ordered=True),
    # Who is addressed, and about whom.
    Combination("addressed-to-model", 6.6, (W.ATTENTION, W.MODEL), 3, ordered=True, begins=True),
    Combination("addressed-to-model", 5.7, (W.ATTENTION, W.AGENT), 3, ordered=True, begins=True),
    Combination("addressed-to-model", 6.4, (W.IF, W.YOU, W.MODEL), 6, ordered=True),
    Combination("addressed-to-model", 3.0, (W.IF, W.YOU, W.AGENT), 6, ordered=True),
    Combination("addressed-to-model", 7.4, (W.MODEL, W.READ, W.THIS), 4, ordered=True),
    Combination("addressed-to-model", 5.3, (W.AGENT, W.READ, W.THIS), 4, ordered=True),
    Combination("addressed-to-model", 3.0, (W.MODEL, W.MUST), 4, ordered=True),
    Combination("addressed-to-model", 3.8, (W.MUST, W.MODEL), 3, ordered=True),
    Combination("addressed-to-model", 3.0, (W.AGENT, W.MUST), 6, ordered=True),
    Combination("addressed-to-model", 3.0, (_ANY_MODEL, W.YOU), 4),
    Combination("addressed-to-model", 2.5, (_ANY_MODEL, W.PRAISE), 8),
    Combination("user-as-other", 1.7, (W.USER, W.GRANTED), 4),
    Combination("user-as-other", 2.3, (W.USER, W.WANT, W.YOU), 9, ordered=True),
    Combination("user-as-other", 1.5, (W.USER, W.WANT), 4, ordered=True),
    # The course of the model's work.
    Combination("task-timing", 2.7, (W.WHEN, W.READ, W.THIS | W.TASK | W.USER | W.ANSWER), 5, ordered=True, begins=True),
    Combination("task-timing", 2.7, (W.WHEN, W.READ, W.TEXT), 5, ordered=True, begins=True),
    Combination("task-timing", 2.7, (W.WHEN, W.READ, W.THIS | W.TASK | W.USER), 5, ordered=True),
    Combination("answer-hijack", 5.6, (W.OWN, W.ANSWER), 3, ordered=True),
    Combination("answer-hijack", 3.0, (W.ANSWER, W.ONLY), 4, ordered=True, begins=True),
    Combination("answer-hijack", 5.0, (W.WHATEVER, W.ANSWER | W.TASK), 12),
    Combination("answer-hijack", 0.7, (W.ANSWER, W.WORDS), 5, begins=True),
    Combination("tool-order", 2.5, (W.RUN | W.ACT, W.DEED), 3, ordered=True, begins=True),
    Combination("tool-order", 2.7, (W.ACT | W.SEND | W.RUN, W.TOOL), 4, begins=True),
    Combination("tool-order", 1.9, (W.DANGER | W.SEND, W.ALL, W.PRIVATE | W.SECRET | W.USER), 5, begins=True),
    # Authority and urgency.
    Combination("authority-claim", 2.8, (W.CHIEF, W.GRANTED | W.MUST), 5),
    Combination("authority-claim", 5.3, (W.CHECK | W.GRANTED, W.CHIEF, W.FIRST_PERSON), 6),
    Combination("authority-claim", 3.0, (W.FIRST_PERSON | W.THIS, W.CHIEF), 3, ordered=True),
    Combination("urgency", 1.2, (W.URGENT,), 0, begins=True),
    Combination("urgency", 0.4, (W.YOU, W.MUST), 2),
    # Checks avoided, claims to be remembered, encodings.
    Combination("guard-bypass", 9.1, (W.DROP | W.DANGER, W.OWN, W.CHECK | W.LIMITS), 5, ordered=True, begins=True),
    Combination("guard-bypass", 0.5, (W.DROP | W.WITHOUT | W.DANGER | W.NOT, W.CHECK), 5, ordered=True),
    Combination("guard-bypass", 6.8, (W.APPROVE, W.ALL | W.NEW, W.TOOL | W.ORDERS), 6, begins=True),
    Combination("false-memory", 4.5, (W.KEEP, W.LATER), 8, begins=True),
    Combination("false-memory", 4.5, (W.OWN, W.LATER, W.KEEP), 4),
    Combination("false-memory", 1.3, (W.KEEP, _TOLD), 5, begins=True),
    Combination("false-memory", 3.0, (W.KEEP, W.USER | W.CHIEF), 9, begins=True),
    Combination("decode-and-obey", 7.0, (W.DECODE, W.FOLLOW | W.RUN), 12, begins=True),
    Combination("decode-and-obey", 4.9, (W.CODE, W.FOLLOW | W.RUN), 12),
    # Orders to a reader that is named as a model.
    Combination("addressed-to-model", 2.0, (W.AGENT, W.COMMAND), 4, ordered=True),
    Combination("addressed-to-model", 3.0, (_ANY_MODEL, W.MUST, W.COMMAND), 8, ordered=True),
    Combination("addressed-to-model", 2.2, (W.STRANGER, W.READ, W.MODEL | W.AGENT | W.THIS), 5),
    Combination("addressed-to-model", 3.0, (_ANY_MODEL, W.READ, W.COMMAND), 12, ordered=True),
    Combination("addressed-to-model", 3.0, (W.IF | W.WHEN, _ANY_MODEL), 4, ordered=True, begins=True),
    Combination("addressed-to-model", 3.3, (W.STRANGER, W.COMMAND), 5, ordered=True),
    Combination("addressed-to-model", 3.7, (W.STRANGER, W.MUST), 3, ordered=True),
    Combination("exfiltration", 1.2, (W.SEND | W.DO, W.ADDRESS), 10, ordered=True, begins=True),
    Combination("exfiltration", 1.9, (W.ALL | W.EARLIER, W.PRIVATE | W.CHAT, W.ADDRESS), 12),
    Combination("answer-hijack", 1.3, (W.TELL | W.PRAISE | W.DO, W.USER | W.STRANGER, W.THIS | W.STATED), 8, ordered=True, begins=True),
    Combination("task-timing", 4.9, (W.WHEN, W.READ, W.TASK | W.USER | W.ANSWER, W.COMMAND), 14, ordered=True, begins=True),
    Combination("user-as-other", 4.0, (W.ITS_USER,), 0),
    Combination("user-as-other", 1.7, (W.COMMAND, W.USER), 7, ordered=True),
    Combination("user-as-other", 0.8, (_ANY_MODEL, W.USER), 14),
    Combination("user-as-other", 1.7, (W.YOU | W.OWN, W.USER), 4),
    Combination("exfiltration", 2.9, (_ANY_MODEL, W.ADDRESS), 16, ordered=True),
    Combination("exfiltration", 1.7, (_ANY_MODEL, W.SECRET), 12, ordered=True),
    Combination("exfiltration", 0.4, (_ANY_MODEL, W.PRIVATE | W.ASSET), 10, ordered=True),
    Combination("exfiltration", 0.7, (W.COMMAND, W.SECRET), 6, ordered=True),
    Combination("exfiltration", 1.3, (W.COMMAND, W.SECRET | W.PRIVATE | W.ASSET, W.ADDRESS), 15, ordered=True),
    Combination("exfiltration", 1.5, (W.USER, W.SECRET), 5, ordered=True),
    Combination("exfiltration", 1.4, (W.USER, W.ADDRESS), 14),
    Combination("concealment", 1.6, (W.NOT | W.WITHOUT, W.SECRETIVE), 3, ordered=True, begins=True),
    Combination("concealment", 0.9, (W.NOT | W.WITHOUT, W.SECRETIVE), 3, ordered=True),
    Combination("concealment", 1.0, (W.NOT | W.WITHOUT, W.SECRETIVE, _ANY_MODEL | W.USER), 14),
    Combination("concealment", 1.0, (W.COMMAND, W.NOT | W.WITHOUT, W.TELL | W.SECRETIVE), 16, ordered=True),
    Combination("tool-order", 0.6, (W.SHELL, _ANY_MODEL), 14),
    Combination("tool-order", 0.3, (W.RUN, W.SHELL), 5, ordered=True, begins=True),
    Combination("tool-order", 0.8, (W.DANGER, W.ASSET | W.CHECK), 6, ordered=True, begins=True),
    Combination("tool-order", 3.8, (W.FAULT, _ANY_MODEL, W.COMMAND | W.MUST), 14, ordered=True),
    Combination("tool-order", 1.7, (W.CONTINUE, _ANY_MODEL | W.YOU, W.MUST), 8),
    Combination("task-timing", 1.7, (W.WHEN, W.READ | W.ANSWER), 5, ordered=True, begins=True),
    Combination("task-timing", 1.9, (W.WHEN | W.IF | W.LATER, W.USER), 4, ordered=True, begins=True),
    Combination("answer-hijack", 0.3, (_ANY_MODEL | W.STRANGER, W.STATED), 14, ordered=True),
    Combination("answer-hijack", 2.3, (W.COMMAND, W.STATED), 8, ordered=True),
    Combination("answer-hijack", 2.5, (W.PRAISE | W.SHOW | W.DO, W.STATED, _ANY_MODEL | W.STRANGER), 16),
    Combination("authority-claim", 0.7, (W.CHIEF | W.URGENT, _ANY_MODEL), 8),
    Combination("false-memory", 1.1, (W.KEEP | W.DO, W.PERSIST), 8, ordered=True, begins=True),
    Combination("false-memory", 0.6, (W.LATER, W.COMMAND), 6, ordered=True, begins=True),
    Combination("jailbreak-persona", 3.8, (W.BECOME, _ANY_MODEL), 14),
    Combination("jailbreak-persona", 2.1, (W.YOU, W.BE, W.CHIEF | W.FREE), 6),
)  # fmt: skip

_STEP = r"(?:^|\n|[>\])}|]|--|\*\*|[.!?]\s)\W{0,4}"

# Somebody spoken to: "Assistant, ..." or "<!-- AI: ..." or "@copilot please ...".
_VOCATIVE = r"(?:^|[\n([#*/!\"|;_]|(?<=[\w\"'/])>|--|-\s|(?:[.!:]|\b(?:dear|hey|hi|attention|to all))\s)\s{0,3}@?"
_CALLED = r"(?:\s?\\?[:,](?=[ \t])|\"?\s?(?:\u2192|->|>>)|\s(?=please\b))"

SHAPES: tuple[Shape, ...] = (
    Shape("forged-role", 10.0, ("<|", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>"),
          r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|endoftext|eot_id)\|>|\[/inst\]|<</?sys>>|<start_of_turn>"),
    Shape("forged-role", 5.2, ("system", "assistant", "developer", "admin"),
          _STEP + r"(?:system|assistant|developer|admin(?:istrator)?)(?:[ _-](?:message|note|notice|prompt|override|alert|update|instructions?|directive|mode))?\s{0,2}(?:\*\*)?\s{0,2}(?::(?=[ \t]|\n(?! ))|[\]>])"),
    Shape("forged-role", 4.4, ("override", "system", "admin"),
          r"\b(?:system|admin(?:istrator)?|developer|root|security) (?:override|notice|alert|directive|command|message)\b"),
    Shape("addressed-to-model", 7.4, ("ai", "llm", "assist", "copilot", "claude", "gpt", "gemini", "ki", "ia"),
          _VOCATIVE + r"(?:ai|ki|ia|llm|assistant|copilot|claude|chatgpt|gpt|gemini)s?(?: (?:assistants?|agents?|models?|systems?|reviewers?|readers?|instructions?))?" + _CALLED, needs=W.MODEL, near=True),
    Shape("addressed-to-model", 5.2, ("agent", "model", "bot"),
          r"(?:[([#*/!\"|;_]|(?<=[\w\"'/])>|--|- |(?:[.!]|\b(?:dear|hey|hi|attention|to all)) )[ \t]{0,3}@?(?:model|agent|bot)s?" + _CALLED + r"|\n(?:dear )?(?:model|agent|bot)s?, ", needs=_ANY_MODEL, near=True),
    Shape("secret-file", 2.7, ("ssh", ".env", "id_rsa", ".aws", "passwd", "shadow", ".netrc", ".kube", "authorized_keys"),
          r"~?/?\.ssh\b|\bid_(?:rsa|ed25519|dsa)|(?<!\w)\.env\b(?!\.)|\.aws/|/etc/(?:passwd|shadow)|\.netrc|\.kube/config|authorized_keys"),
    Shape("boundary", 5.8, ("end of", "end_of", "begin", "</", "start of"),
          r"\bbegin(?:ning)?[ _](?:of[ _])?(?:new |hidden |secret |system ){0,2}(?:instructions?|prompt|directives?)\b|(?:^|[\n\-=#*\[<.!(]\s{0,2})(?:end|begin(?:ning)?|start)[ _-]of[ _-](?:the )?(?:\w{1,12}[ _-])?(?:document|page|context|tool|output|input|data|results?|content|user|search|conversation|prompt|instructions?|untrusted)\b(?=\W{0,4}(?:\n|[-=#*\]>]))"
          r"|</(?:tool_?(?:result|output|response)|function_results?|document|context|data|user_?(?:input|query|data)|untrusted\w{0,10}|search_?results?|email|conversation|system)>"),
    Shape("boundary", 5.3, ("---", "===", "###", "***"),
          r"[-=#*]{3}\s{0,2}(?:\w{1,12} ){0,2}(?:prompt|instructions?|directive|override|instruction block)\s{0,2}[-=#*]{3}"),
    Shape("hidden-markup", 3.4, ("<!--", "display:", "visibility:", "font-size:", "color:", "opacity:", "[//]:", "hidden"),
          r"<!--|display:\s?none|visibility:\s?hidden|font-size:\s?[01](?:px|pt|em)?\b|color:\s?(?:white|#fff(?:fff)?\b|transparent)|opacity:\s?0\b|\[//\]: ?#|<\w{1,12}[^>\n]{0,80}\shidden\b"),
    Shape("exfiltration-image", 8.3, ("](http",),
          r"!\[[^\]\n]{0,80}\]\(https?://(?=[^)\s]{0,300}[?&=])(?:[^)\s{<\[$%]|%(?!7b)){0,300}(?:\{|%7b|<|\[|\$)"),
    Shape("exfiltration-image", 4.4, ("<img",),
          r"<img[^>\n]{0,80}src\W{1,3}https?://[^>\s]{0,200}(?:\{|%7b|\[|\$)"),
    Shape("jailbreak-persona", 8.8, ("anything now", "dan mode", "developer mode", "jailbr"),
          r"\bdo anything now\b|\b(?:dan|jailbreak) mode\b|\bdeveloper mode (?:enabled|output|activated)"),
    Shape("forged-role", 2.2, ("user:", "human:", "owner:", "user>", "user_message", "user_prompt", "\"user\"", "\"system\"", "instruction:"),
          r"(?:^|\n|[>}\]])\W{0,4}(?:human|user|owner|### ?instruction):(?=\s)|\buser_(?:message|prompt|input)\b|\"role\"\W{1,4}(?:user|system)\"|</?user>"),
    Shape("forged-role", 6.7, ("function_calls", "<invoke", "tool_calls", "_thinking>", "instruction:"),
          r"<function_calls>|<invoke name=|\"tool_calls\"\s?:|<\w{0,20}_?thinking>|#{2,4} ?instruction:"),
    Shape("concealment", 2.2, ("no need", "needn't", "need not", "without ", "skip ", "no asking", "no approval", "no confirm", "no questions", "won't ", "will not", "must not", "mustn't", "shouldn't", "trace", "for display", "don't ", "between you"),
          r"\bno need to (?:ask|check|confirm|tell|mention|inform|trouble|list|bother)|\bneedn't (?:ask|know|be told|confirm|justify|comment|mention)|\bwithout (?:asking|any confirmation|confirmation|review|telling|showing|another prompt|a prompt|further notice|display\w{0,3}|prompting|waiting)|\b(?:skip|no) (?:asking|approval|confirmations?|questions)\b|\b(?:won't|will not|needn't|must not|mustn't|shouldn't|need not) (?:notice|know|see|find out)\b|\b(?:leave|no) (?:no )?trace\b|\bnot for display\b|\bdon't (?:log|list|let on|bring|flag|comment|draw|ask|waste|alert)\b|\bbetween you and me\b"),
    Shape("user-as-other", 6.3, ("behalf", "person", "people you", "who asked", "whoever", "who sent", "owner of this", "the human", "end user"),
          r"\bon (?:their|his|her|the user's|the customer's|your user's) behalf\b|\b(?:person|people|one|human|user|developer|customer|whoever) (?:who )?(?:you(?:'re| are)? (?:work|help|assist|serv|chat|answer|talk)\w{0,3}|asked you|sent you|(?:who |that )?opened this|in the chat|you work)|\bthe human(?=[.,;:]| (?:sees|is|only|wants|who|must|should|has|asks|will|won't|needn't|doesn't)\b)|\bwhoever (?:\(or whatever\w{0,9}\) )?(?:sent|asked|reads?|handles|process\w{0,3}|summari\w{0,3}|picks)\b"),
    Shape("prompt-extraction", 2.6, ("initialis", "initializ", "trained you", "were told", "were given", "you were", "hidden prompt", "above the first"),
          r"\b(?:text|words|instructions|prompt|everything|whatever|what) (?:that )?(?:you were|you've been|your \w{1,12} (?:told|gave)) ?(?:initiali[sz]ed|given|told|set up|started|you)?|\btrained you\b|\bhidden prompts?\b"),
    Shape("addressed-to-model", 3.0, ("ai ", "ai)", "llm", "agent", "assistant", "model", "bot", "ki ", "ia ", "copilot", "claude", "cursor", "gpt"),
          r"\b(?:note|message|instructions?|attention|memo|brief|hint|directive|rule|reminder|section|readers?|to|for|hey|dear|hello|hi|any|all|whichever|our|have (?:the|your)|let (?:the|your)|tell (?:the|your))[ :]{1,2}(?:the |any |an |all |your |our |automated |coding |ai |llm |smart |clever )?(?:ai|llms?|ki|agents?|assistants?|(?:language )?models?|bots?|copilot|claude|cursor|gpt|chatgpt|gemini|chatbots?)\b(?! (?:of|provider|card|file|training|year|railway|number)s?\b)", needs=_ANY_MODEL),
    Shape("secret-file", 1.7, (".npmrc", ".pem", "hosts.yml", "mcp.json", "credentials", "cookie", "_key", "_token", "database_url", "private key", "one-time", "2fa", "two-factor", "wallet", "os.environ", "process.env", "keychain", "saved card", "stored card", "stored password", "saved password"),
          r"\.npmrc|\.pem\b|hosts\.yml|mcp\.json|\bcredentials\.json|cookie (?:store|jar)|\b\w{2,30}_(?:api_)?(?:key|token|secret)\b|\bdatabase_url\b|\bprivate key\b|\bone-time codes?\b|\btwo-factor\b|\b2fa\b|\bos\.environ\b|\bprocess\.env\b|\bkeychain\b|\b(?:saved|stored) (?:credit )?(?:card|password|credential)"),
    Shape("tool-order", 3.8, ("| sh", "|sh", "| bash", "|bash", "rm -rf", "| nc", "--no-verify", "--force", "autoapprove", "auto-approve", "skip-permissions", "nopasswd", "chmod 777", "strict-ssl", "tls_reject", "trusted-host"),
          r"\|\s?(?:ba)?sh\b|\brm -rf\b|\| ?nc\b|--no-verify|--force\b|auto-?approve|skip-permissions|nopasswd|chmod 777|strict-ssl|tls_reject|trusted-host"),
    Shape("false-memory", 3.8, ("memory", "future", "later", "claude.md", "agents.md", "cursorrules", "remember", "from now on", "from here on", "notes on"),
          r"\b(?:long-term|persistent|permanent) memory\b|\b(?:to|in|into) (?:your |the )?memory\b|\bmemory\.(?:add|store|save|write)\b|\b(?:all |every |in )?(?:future|later) (?:conversations?|sessions?|answers?|chats?|replies|invoices?)\b|\b(?:update|add|edit|append)\b.{0,30}(?:claude\.md|agents\.md|\.?cursorrules)|\bremember that the (?:user|owner|customer)|\bfrom (?:now|here) on\b"),
    Shape("addressed-to-model", 4.1, ("your ",),
          r"\byour (?:developers|creators|makers|trainers|programming|(?:own )?training|context window|(?:system|hidden) prompt|final (?:answer|message|reply|response)|next (?:answer|reply|message|tool|response|call|poem|output)|chain of thought|reasoning|human|principal|guardrails|safety \w{1,12})\b"),
    Shape("addressed-to-model", 2.3, ("ai ", "llm ", "gpt ", "language model"),
          r"\b(?:ai|llm|gpt) (?:reader|reviewer|system|grader|client|helper|friend|summari[sz]er|screener|assistant|agent)s?\b|\b(?:a|any|the) language model\b", needs=_ANY_MODEL),
    Shape("authority-claim", 6.8, ("i'm the", "i am the", "i'm your", "i am your", "user is me", "typed by", "message from your", "your operator"),
          r"\bi(?:'m| am) (?:the|your) (?:\w{1,12} )?(?:user|owner|operator|supervisor|principal|developer)\b|\buser is me\b|\btyped by the (?:user|owner)|\bmessage from your (?:operator|developers?|user|owner|creators?)\b"),
    Shape("authority-claim", 3.7, ("already", "signed off", "permission", "pre-approved", "consented"),
          r"\balready (?:agreed|approved|consented|said|authori[sz]ed|confirmed|given|gave|told|knows|asked)|\bsigned off\b|\b(?:full|their|his|her|my) permission\b|\bpre-approved\b"),
    Shape("exfiltration", 8.5, (".env", ".ssh", "id_rsa", ".aws", ".netrc", "/etc/shadow"),
          r"\b(?:upload|send|post|forward|e?mail|transmit|submit)\b[^.!?\n]{0,40}(?:(?<!\w)\.env\b(?!\.)|\.ssh/|\bid_rsa\b|\.aws/|\.netrc\b|/etc/shadow)[^!?\n]{0,30}\bto\b"),
    Shape("exfiltration", 3.5, ("http",),
          r"https?://[^\s<>\"']{1,200}[?&/]\w{0,12}=(?=[\s<\"'{\[]|$)"),
    Shape("tool-order", 1.6, ("to continue", "to proceed", "to finish", "to complete", "to recover", "to resolve", "to verify", "to unlock", "to help us", "in order to", "to preserve", "to restore", "only way", "only fix"),
          r"\bto (?:continue|proceed|finish|complete|recover|resolve|verify|unlock|preserve|restore|help us)\b[^.\n]{0,50}(?:, |\b(?:you|must|has to|have to) )|\bonly (?:way|fix)\b"),
    Shape("task-timing", 4.5, ("next time", "whenever", "as soon as", "by reading", "by opening", "by retrieving", "after reading", "the moment you"),
          r"\bnext time (?:the|your|some|any|you|i|they|he|she)\w{0,4}\b|\bwhenever (?:the|a|your|some|any)\w{0,4} ?(?:user|one|body|person|human|customer)|\bby (?:reading|opening|retrieving|accessing) this\b|\bafter (?:reading|acting on|processing) this\b|\bthe moment you\b"),
)  # fmt: skip

EXPLANATIONS = {
    "override-instructions": "tells the model to drop the instructions it was given",
    "new-instructions": "brings instructions that are to replace the model's own",
    "forged-role": "pretends that the system, the developer or the assistant speaks",
    "boundary": "pretends that the data ends and instructions begin",
    "jailbreak-persona": "gives the model a role without the limits it has",
    "prompt-extraction": "asks the model for its own instructions",
    "exfiltration": "asks to send secrets or private data somewhere",
    "secret-file": "names a file that holds secrets",
    "exfiltration-image": "loads an image or link whose address carries data away",
    "concealment": "wants something kept from the user",
    "addressed-to-model": "speaks to the model that reads it, not to a person",
    "user-as-other": "speaks of the user as of somebody else than the reader",
    "task-timing": "says what to do before or after the model's own task",
    "answer-hijack": "dictates what the model is to answer instead of its task",
    "tool-order": "orders the use of a tool",
    "authority-claim": "claims the authority to give orders",
    "urgency": "presses for something to be done",
    "guard-bypass": "asks to get round approvals or safety checks, or to approve calls unseen",
    "false-memory": "wants a claim about rights or rules remembered for later",
    "decode-and-obey": "hides an order in an encoding and asks to carry it out",
    "hidden-markup": "is hidden from people by markup",
    "disguised-words": "spells words so that filters miss them",
    "encoded-text": "is written in an encoding",
    WORDING: "is worded like an order to a model",
}


@dataclass(slots=True)
class Evidence:
    """One feature at one place: from position `at` in words, and its span in the text."""

    feature: int
    id: str
    weight: float
    at: int
    start: int
    end: int


def evidence(
    low: str, tokens: list[Token], words: Iterable[str] = (), worded: list[Stretch] | None = None
) -> list[Evidence]:
    """Return the features of a text, in no order.

    `found` are its tokens. Shapes are looked for if its words are given. A text that is worded
    like no order has features only if one of them is clear in any wording.
    """
    total = 0
    for token in tokens:
        total |= token.classes
    possible = 0
    hints = _HINTS.known
    for word in words:
        bits = hints.get(word)
        possible |= _HINTS.of(word) if bits is None else bits
    if worded and max(stretch.score for stretch in worded) < _MIN_SCORE:
        clear = next(_combined(low, tokens, total, _CLEAR_CANDIDATES), None)
        shapes = possible & _HINTS.clear
        if clear is None and (
            not shapes or next(_shaped(low, tokens, total, shapes), None) is None
        ):
            return []
    hits = list(_combined(low, tokens, total, _CANDIDATES))
    if possible:
        hits += _shaped(low, tokens, total, possible)
    return hits


def _is_clear(feature: "Combination | Shape | Evidence") -> bool:
    """Tell whether a feature is an attack in any wording."""
    return feature.weight >= THRESHOLD and feature.id in _CLEAR


class _Hints:
    """The shapes that a word may belong to, as bits: the word contains a part of their hints."""

    def __init__(self) -> None:
        self._parts = [
            (1 << number, [_longest(hint) for hint in shape.hints])
            for number, shape in enumerate(SHAPES)
        ]
        self.known: BoundedCache[str, int] = BoundedCache(_MAX_KNOWN)
        self.clear = sum(1 << at for at, shape in enumerate(SHAPES) if _is_clear(shape))

    def of(self, word: str) -> int:
        """Return the shapes, by their numbers."""
        shapes = self.known.get(word)
        if shapes is None:
            shapes = 0
            for bit, parts in self._parts:
                if any(part in word for part in parts):
                    shapes |= bit
            self.known[word] = shapes
        return shapes


def _longest(hint: str) -> str:
    """Return the longest run of letters and digits in a hint, or its first sign."""
    runs = _RUN.findall(hint)
    return max(runs, key=len) if runs else hint.strip()[0]


_RUN = re.compile(r"[a-z0-9]+")
_HINTS = _Hints()


@dataclass(slots=True)
class _Candidates:
    """The combinations that a word of given kinds may be the first of, kept for each kind."""

    combinations: list[tuple[int, Combination]]
    known: BoundedCache[int, tuple[tuple[int, Combination, tuple[int, ...]], ...]] = field(
        default_factory=lambda: BoundedCache(_MAX_KNOWN)
    )

    def of(self, classes: int) -> tuple[tuple[int, Combination, tuple[int, ...]], ...]:
        """Return the number, the combination, and the other words that it needs."""
        rules = self.known.get(classes)
        if rules is None:
            rules = self.known[classes] = tuple(
                (number, rule, rule.needs[1:])
                for number, rule in self.combinations
                if classes & rule.needs[0] and (not rule.begins or classes & W.BEGINS)
            )
        return rules


_CANDIDATES = _Candidates(list(enumerate(COMBINATIONS)))
_CLEAR_CANDIDATES = _Candidates(
    [(number, rule) for number, rule in enumerate(COMBINATIONS) if _is_clear(rule)]
)


def _combined(
    low: str, tokens: list[Token], total: int, candidates: _Candidates
) -> Iterator[Evidence]:
    for place, token in enumerate(tokens):
        for number, rule, others in candidates.of(token.classes):
            for need in others:
                if not need & total:
                    break
            else:
                span = _span(tokens, place, rule, others)
                if span is not None:
                    weight = rule.weight
                    if rule.id == "override-instructions" and _is_about_a_thing(
                        low, tokens, span[1]
                    ):
                        weight -= _OF_A_THING
                    yield Evidence(number, rule.id, weight, token.at, *span)


# "The instructions for the oven": words without a class name what instructions are about.
_A_THING = re.compile(
    r"(?:\s(?:learned|heard|read|taught|told|given|you|have|been|said|dit|dicho|gehört|gelernt|hast|haben)){0,5}"
    r"\s(?:about|for|on|in|from|of|to|at|if|when|über|für|zu|wenn|sur|pour|si|sobre|para|su|per|se)"
    r"(?P<thing>\s[^\W\d_]{1,20}(?:\s[^\W\d_]{1,20})?)"
)
_OF_A_THING = 4.0  # what setting them aside loses then


def _is_about_a_thing(low: str, tokens: list[Token], end: int) -> bool:
    """Tell whether the words after `end` name an ordinary subject of instructions."""
    match = _A_THING.match(low, end)
    if match is None:
        return False
    place = bisect_left(tokens, match.start("thing"), key=_start)
    return place == len(tokens) or tokens[place].start >= match.end()


def _span(
    tokens: list[Token], place: int, rule: Combination, others: tuple[int, ...]
) -> tuple[int, int] | None:
    """Return the span of a combination that begins with the word at `place`, if it is there."""
    token, size = tokens[place], len(tokens)
    start, end = token.start, token.end
    used = [token]
    for need in others:
        best = None
        ahead = place + 1
        while ahead < size and tokens[ahead].at - token.at <= rule.reach:
            if tokens[ahead].classes & need and tokens[ahead] not in used:
                best = tokens[ahead]
                break
            ahead += 1
        if best is None and (not rule.ordered or token.classes & W.LAST):
            behind = place - 1
            while behind >= 0 and token.at - tokens[behind].at <= rule.reach:
                if tokens[behind].classes & need and tokens[behind] not in used:
                    best = tokens[behind]
                    break
                behind -= 1
        if best is None:
            return None
        used.append(best)
        start, end = min(start, best.start), max(end, best.end)
    return start, end


def _shaped(low: str, tokens: list[Token], total: int, possible: int) -> Iterator[Evidence]:
    for number, shape in enumerate(SHAPES, len(COMBINATIONS)):
        if not possible >> (number - len(COMBINATIONS)) & 1:
            continue
        if (not shape.needs or shape.needs & total) and _hinted(low, shape.hints):
            for start, end in _spans(shape, low, tokens):
                place = bisect_left(tokens, start, key=_start)
                if shape.id != "hidden-markup" or _addresses(tokens, place):
                    at = tokens[min(place, len(tokens) - 1)].at if tokens else 0
                    yield Evidence(number, shape.id, shape.weight, at, start, end)


def _spans(shape: Shape, low: str, tokens: list[Token]) -> Iterator[tuple[int, int]]:
    pattern = shape.compiled()
    if not shape.near:
        for match in pattern.finditer(low):
            yield match.span()
        return
    end = 0
    for token in tokens:
        if token.classes & shape.needs and token.start >= end:
            near = pattern.search(low, max(token.start - _AROUND, end), token.end + _AROUND)
            if near is not None:
                end = near.end()
                yield near.span()


def _hinted(low: str, hints: tuple[str, ...]) -> bool:
    for hint in hints:  # noqa: SIM110 (`any` is slower, and this runs for every text)
        if hint in low:
            return True
    return False


def _start(token: Token) -> int:
    return token.start


def _addresses(tokens: list[Token], place: int) -> bool:
    """Tell whether the text after a mark of hidden text speaks to or about a model."""
    for token in tokens[place : place + _HIDDEN]:
        if token.at - tokens[place].at > _HIDDEN:
            break
        if token.classes & (W.MODEL | W.AGENT | W.DROP | W.ANSWER | W.PRAISE):
            return True
    return False


@dataclass(slots=True)
class Place:
    """A place of a text whose features add up to the threshold, and what each kind adds."""

    scores: dict[str, float]
    start: int
    end: int


def places(
    hits: list[Evidence], tokens: list[Token], way: str, worded: list[Stretch]
) -> Iterator[Place]:
    """Yield the places of one reading that reach the threshold, in order and apart.

    `worded`: the stretches of the text with the scores of their wording, if that counts.
    """
    covered = -1
    for place in _by_hand(hits, tokens, way, worded):
        covered = place.end
        yield place
    for stretch in worded:
        points = wording_points(stretch)
        if points >= THRESHOLD and stretch.start > covered:
            near = tokens[stretch.first : stretch.last]
            if points - _discount(near) >= THRESHOLD:
                covered = stretch.end
                yield Place({WORDING: points}, stretch.start, stretch.end)


def _by_hand(
    hits: list[Evidence], tokens: list[Token], way: str, worded: list[Stretch]
) -> Iterator[Place]:
    extra = _extra(tokens, way)
    if not _may_count(hits, extra, worded):
        return
    hits = _thinned(sorted(hits, key=lambda hit: (hit.at, hit.start)))
    first = last = 0
    while first < len(hits):
        while last < len(hits) and hits[last].at - hits[first].at <= REACH:
            last += 1
        window = hits[first:last]
        start, end = min(hit.start for hit in window), max(hit.end for hit in window)
        points = _points_at(worded, start, end)
        most = MOST_BY_HAND
        if any(map(_is_clear, window)):
            points, most = max(points, CLEAR_LEAST), inf
        if sum(hit.weight for hit in window) + extra + points >= THRESHOLD:
            near = _between(tokens, window[0].at - _ABOUT, window[-1].at + _ABOUT)
            scores = _scores(window, near, way)
            total = min(sum(scores.values()), most) - _discount(near)
            if total + points >= THRESHOLD:
                if total < THRESHOLD:
                    scores[WORDING] = points
                yield Place(scores, start, end)
                first = last
                continue
        first += 1


def _may_count(hits: list[Evidence], extra: int, worded: list[Stretch]) -> bool:
    """Tell whether the features of a text can reach the threshold at all."""
    total = extra + sum(hit.weight for hit in hits)
    most = max(map(wording_points, worded), default=0.0)
    return total + max(most, 0.0) >= THRESHOLD


def _extra(tokens: list[Token], way: str) -> int:
    """Return the most that the disguise of a text can add."""
    if way == "plain":
        return _DISGUISED if sum(1 for token in tokens if token.classes & W.TYPO) > 1 else 0
    return _MAX_EXTRA


def wording_points(stretch: Stretch) -> float:
    """Return the points that the wording of a stretch adds to its features; may be negative."""
    return max(WORDING_WORTH * (stretch.score - WORDING_FROM), WORDING_LEAST)


def _points_at(worded: list[Stretch], start: int, end: int) -> float:
    """Return the highest points of a stretch around this place; stretches are in order."""
    if len(worded) > 1:
        first = bisect_left(worded, start, key=_stretch_end)
        last = bisect_right(worded, end, key=_stretch_start)
        worded = worded[first:last]
    return max(map(wording_points, worded), default=0.0)


def _stretch_start(stretch: Stretch) -> int:
    return stretch.start


def _stretch_end(stretch: Stretch) -> int:
    return stretch.end


def _thinned(hits: list[Evidence]) -> list[Evidence]:
    """Return the hits, with close repetitions of one feature joined."""
    thinned: list[Evidence] = []
    latest: dict[int, Evidence] = {}
    for hit in hits:
        same = latest.get(hit.feature)
        if same is not None and hit.at - same.at <= _REPEATED:
            same.start, same.end = min(same.start, hit.start), max(same.end, hit.end)
        else:
            latest[hit.feature] = copy = Evidence(
                hit.feature, hit.id, hit.weight, hit.at, hit.start, hit.end
            )
            thinned.append(copy)
    return thinned


def _between(tokens: list[Token], first: int, last: int) -> list[Token]:
    return tokens[
        bisect_left(tokens, first, key=_position) : bisect_right(tokens, last, key=_position)
    ]


def _position(token: Token) -> int:
    return token.at


def _discount(near: list[Token]) -> int:
    """Return the points that a place loses because the text around it is about attacks or models."""
    attacks = models = 0
    for token in near:
        attacks += bool(token.classes & W.SECURITY)
        models += bool(token.classes & _ANY_MODEL)
    loss = _TALK if attacks >= _TALK_TERMS else 0
    return loss + sum(points for terms, points in _MODEL_TALK if models >= terms)


def _scores(window: list[Evidence], near: list[Token], way: str) -> dict[str, float]:
    weights: dict[str, dict[int, float]] = {}
    for hit in window:
        weights.setdefault(hit.id, {})[hit.feature] = hit.weight
    scores: dict[str, float] = {}
    for kind, features in weights.items():
        best = max(features.values())
        scores[kind] = best + min(sum(features.values()) - best, _MORE)
    if way in _ENCODED:
        scores["encoded-text"] = _ENCODED[way]
    if way == "scrambled":
        scores["disguised-words"] = _DISGUISED
    start, end = window[0].start, max(hit.end for hit in window)
    if sum(1 for token in near if token.classes & W.TYPO and start <= token.start < end) > 1:
        scores["disguised-words"] = _DISGUISED
    return scores
