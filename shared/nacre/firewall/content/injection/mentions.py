"""Words about an attack that are not an attack: quotations, examples, what a scanner looks for.

Attackers can write like that too. That is the price of not flagging texts about security.
"""

from functools import lru_cache

from nacre.firewall.content.injection.normalized_text import Span
from nacre.firewall.content.injection.rules import compiled

# How people talk about an attack without making one.
_ABOUT = (
    r"\b(?:examples?|e\.g\.|samples?|fixtures?|quot(?:e|es|ed|ing)|phrases?|strings?|detect\w{0,4}"
    r"|scan(?:s|ner|ning)?|classif\w{1,5}|attack(?:s|ers?)?|malicious|injections?|jailbreaks?|corpora"
    r"|training|workshop|quiz|trainer|guidance|guide|guidelines|documentation|docs|paraphrases|literal"
    r"|test|tests|snapshot|saying|says|risky|unsafe|untrusted|explain\w{0,5}|article|blog|paper"
    r"|release notes|changelog|policy|review|blocked|flag(?:s|ged)?|readme"
    r"|s[aä]tz|angriffe?|forscher|befehl|beispiel|attaques?|chercheurs|exemple|ataques?|ejemplo|investigadores)\b"
)
# What somebody in a story says: the words beside a quotation.
_SPOKEN = (
    r"^\W{0,4}(?:\w{1,20}\W{1,2}){0,3}?(?:said|says|asked|whispered|shouted|cried|replied|muttered|answered"
    r"|told|sagte|flüsterte|rief|fragte|dit|murmura|répondit|dijo|disse|susurró)\b"
)
_SAID = (
    r"(?:\b(?:examples?|samples?|expected|fixtures?|tests?|demo|mock|snippet|phrase|pattern|signature"
    r"|placeholder|dummy|illustrative|instance|documentation|docs|readme|blocked|forbidden|rejected"
    r"|transcript)(?:\W{1,3}\w{1,20}){0,2}?\W{0,2}:\W{0,12}"
    r"|\b(?:such as|phrases? like|strings? like|checks? (?:if|whether)|detects?"
    r"|asks? the \w{1,20} to|tests? (?:if|whether)|attempts? to|tries to|trying to"
    r"|telling it to|asking it to)\W{1,3})"
    r"[^.!?\n]{0,60}$"
    r"|\b(?:for (?:example|instance)|e\.g|phrases?|strings?|prompts? like)[ ,.:'\"`]{1,4}$"
)
# In the description of a tool: what examines texts names what it looks for.
_CHECKS = (
    r"\b(?:detects|flags|blocks|scans|filters|rejects|refuses|looks for|warns|guards|prevents"
    r"|protects|identifies|audits|lints|sanitizes|recognizes|classifies|verifies|evaluates|asserts|monitors"
    r"|alerts|determines|simulates|documents|describes|explains|discusses|teaches|illustrates"
    r"|demonstrates|whether|true if|says|saying|instructs)\b[^.!?;:\n]{0,120}$"
    r"|^\W{0,3}(?:detect|block|scan|check|flag|identify|test|evaluate|prevent|stop|guard|filter"
    r"|reject|lint|audit|classify|verify)\b[^.!?;:\n]{0,120}$"
    r"|\b(?:input|output|query|payload|usage|response|title|value|text|label):\W{0,4}$"
)
_CAUGHT = (
    r"^[^.!?;\n]{0,40}\b(?:(?:is|are|be|gets?|was|were) (?:\w{1,20} )?(?:flagged|blocked"
    r"|rejected|detected|refused|caught|treated as (?:data|text)|an? (?:example|attack|test)"
    r"|reported|escaped|quoted)"
    r"|appears? only|as an example|shown only)\b"
)
_TOPIC = (
    r"\b(?:examples?|samples?|fixtures?|phrases?|quot(?:e|es|ed|ing)|attack(?:s|ers?)?|injections?"
    r"|jailbreaks?|malicious|literal|detect\w{0,4}|scanners?|linters?|adversarial|suspicious|untrusted"
    r"|classifiers?|checkers?|guardrails?|moderation|firewalls?|honeypots?|unit tests?|regression"
    r"|expected|mock(?:s|ed)?|demo|placeholder|dummy|readme|documentation|tutorials?|simulated|canned"
    r"|red[- ]team\w{0,3}|benchmark|corpus)\b"
)
_JOINED = r"\b(?:and|then|also)\W{1,3}$"
_QUOTED = r"(?s:'[^'\n]{3,300}'(?![a-z])|\"[^\"\n]{3,300}\"|`[^`\n]{3,300}`|```.{3,4000}?```)"
_SENTENCE = r"[.!?\n]"
_FORBIDDEN = (
    r"\b(?:not|never|n't|cannot|must not|without|don't|prevents?|refus\w{1,3})\W{1,3}"
    r"(?:\w{1,12}\W{1,3}){0,3}$"
    r"|\b(?:not|never|n't|cannot)\b[^.!?;:\n]{0,80}\b(?:or|nor)\W{1,3}$"
)
_HEARD = 150  # characters on either side


@lru_cache(maxsize=1)
def quotations(low: str) -> list[Span]:
    """Return the places where a text quotes something or shows code."""
    return [match.span() for match in compiled(_QUOTED).finditer(low)]


def is_mentioned(low: str, span: Span, quotes: list[Span], *, in_definition: bool) -> bool:
    """Tell whether the words at `span` are talked about, forbidden or quoted as an example."""
    before = low[max(0, span[0] - _HEARD) : span[0]]
    if compiled(_SAID).search(before) or compiled(_FORBIDDEN).search(before):
        return True
    if in_definition and not compiled(_JOINED).search(before):
        sentence = compiled(_SENTENCE).split(before)[-1]
        after = low[span[1] : span[1] + _HEARD]
        if (
            compiled(_CHECKS).search(before)
            or compiled(_TOPIC).search(sentence)
            or compiled(_CAUGHT).search(after)
        ):
            return True
    for start, end in quotes:
        if start <= span[0] and span[1] <= end:
            around = low[max(0, start - _HEARD) : start] + " " + low[end : end + _HEARD]
            return (
                in_definition
                or compiled(_ABOUT).search(around) is not None
                or compiled(_SPOKEN).search(low[end : end + _HEARD]) is not None
            )
    return False
