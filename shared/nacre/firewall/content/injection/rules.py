"""The rules about the shape of tool definitions and about hidden text; each explains itself.

What a text says to a model is judged by features, in `injection_features`.

A rule is tried only on texts that hold one of its `hints`, so most texts cost a few searches
for substrings. Texts arrive folded: small letters, no accents, straight quotes. Every repeat is
bounded, so no text makes a pattern slow.
"""

# ruff: noqa: E501 (a pattern broken over lines is harder to read; some are not Latin)

import re
from functools import cache

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.injection.features import EXPLANATIONS as FEATURE_EXPLANATIONS
from nacre.firewall.rules.sections import SOURCES, Source

_READ: tuple[Source, ...] = ("definition",)


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """One kind of attack.

    `quotable` rules let a text that only mentions the attack pass. `decoded` rules look at
    what was encoded and leave plain text alone.
    """

    id: str
    explanation: str
    hints: tuple[str, ...]
    patterns: tuple[str, ...]
    kinds: tuple[Source, ...] = SOURCES
    quotable: bool = True
    decoded: bool = False

    def is_hinted(self, low: str) -> bool:
        """Tell whether the rule is worth trying on a text."""
        return any(hint in low for hint in self.hints)

    def compiled(self) -> tuple[re.Pattern[str], ...]:
        """Return the patterns, compiled when first needed."""
        return tuple(compiled(pattern) for pattern in self.patterns)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return one built-in pattern, compiled once for the process."""
    return re.compile(pattern)


def _words(least: int, most: int) -> str:
    return rf"(?:\w{{1,30}}\W{{1,4}}){{{least},{most}}}?"


def _any(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


_SECRETS = _any(
    "api[ _-]?keys?", "credentials?", "secrets?", "passwords?", "private keys?", "ssh keys?",
    "access tokens?", "auth tokens?", "environment variables?", "env vars?",
    "customer (?:emails?|data|records?)", "clipboard", "database (?:dump|contents)",
    "id_rsa", r"\.env\b", r"\.ssh\b", r"\.aws\b", "cookies", "session (?:data|id|token)s?",
    "(?:conversation|chat|message) (?:history|logs?)", "(?:full|entire|whole|user's|this|the) (?:conversation|chat|prompt)",
    "every message", "all messages",
    "personal (?:data|information)", "system prompt", "canary", "confidential \\w{1,20}",
)  # fmt: skip
_HOSTILE = _any(
    r"\bexternal\b", r"\battackers?\b", r"\w@[\w.-]{1,60}\.", r"\bwebhooks?\b",
    r"\bcollectors?\b", r"\bremote (?:server|host|endpoint)", r"\bthird[- ]part", "pastebin",
    r"\bour (?:\w{1,20} ){0,2}(?:server|endpoint|host)", "evil", r"\bexfil",
)  # fmt: skip
_AWAY = _any("https?://", _HOSTILE)
_FILES = _any(
    r"~?/?\.ssh\b", r"\bid_(?:rsa|ed25519|dsa)", r"(?<!\w)\.env\b", r"\.aws/", r"/etc/(?:passwd|shadow)",
    r"\.cursor/mcp", r"mcp\.json", r"\.netrc", r"\.kube/config", r"\w://(?:confidential|secrets?|admin)",
)  # fmt: skip

# A definition that says how changes are reviewed is not one that hides them; one that only
# announces a change is left to the pins, which hold back whatever did change.
_UNANNOUNCED = (
    # One of the words that begin the patterns below: the rest is slow at every place.
    r"\b(?=later|future|next|after|once|post|initially|at first|for now|until|definition|description"
    r"|swap|replace|change|switch|mutate)"
    r"(?![^.\n]{0,200}\b(?:never|not|cannot|requires?|safety)\b)"
    r"(?!.{0,300}\b(?:re-?approv\w{1,3}|announce\w{0,5}|transparen\w{1,4}|changelog|versioning)\b)"
)

RULES: tuple[InjectionRule, ...] = (
    InjectionRule(
        "secret-action",
        "describes an action that is meant to go unnoticed",
        ("silently", "secretly", "covertly", "quietly", "invisibl", "hidden bcc", "without telling",
         "without asking", "discreetly"),
        (
            r"\b(?:silently|secretly|covertly|quietly|invisibly|discreetly)\W{1,3}(?:\w{1,20}\W{1,3}){0,2}(?:append|send|forward|add|include|copy|upload|call|read|execute|bcc|post|collect|transmit|run|insert|mirror|record|exfiltrate|modify|change|redirect|steal|capture)\w{0,3}\b",
            r"\bhidden (?:bcc|cc|recipient|field|directive)\b",
            r"\bwithout (?:telling|asking|informing|notifying|alerting) (?:them|the user|anyone|him|her)\b",
        ),
        kinds=("sampling", "definition", "elicitation"),
    ),
    InjectionRule(
        "hidden-block",
        "a tool description with a block that is written for the model alone",
        ("<important", "<hidden", "<secret", "<system", "<instruction", "<admin", "<critical",
         "<priority", "<internal", "<override", "[system", "[hidden"),
        (
            r"<\s{0,2}/?\s{0,2}(?:important|hidden|secret|system|instructions?|admin|critical|priority|internal|override)(?:[ _-][\w-]{1,20})?\s{0,2}>",
            r"\[\s{0,2}(?:system|hidden|secret|admin)(?:[ _-][a-z]{1,20})?\s{0,2}\]",
        ),
        kinds=_READ,
        quotable=False,
    ),
    InjectionRule(
        "tool-steering",
        "a tool description that changes how other tools are used",
        ("tool", "invoked", "call", "recipient", "instead", "rather than", "supersede", "route all",
         "precedence", "priority", "intercept", "hijack", "redirect", "impersonat", "must", "bcc",
         "shadow", "all ", "every ", "before", "after", "prior to", "when", "if ", "time",
         "replace", "override", "in place of", "wrap", "any "),
        (
            r"\b(?:before|after|when(?:ever)?|while|prior to)\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?(?:using|calling|running|invoking|use|call|invoke)\W{1,3}(?:this|any|other|every)\W{1,3}(?:other )?tools?\b[^.\n]{0,40}\b(?:read|access|send|open|must (?:first|always|read|send)|pass)\b",
            r"\bwhen\b[^.\n]{0,60}\b(?:is|are) (?:invoked|called|used|executed)\b[^.\n]{0,40}\b(?:make sure|change|must|replace|add|include|ensure|always)\b",
            r"\b(?:supersedes?|shadows?|overrides?|hijacks?)\W{1,3}(?:the\W{1,3})?(?:\w{1,20}\W{1,3}){0,2}?(?:\w{1,30}_\w{1,30}|\w{1,30} tool)\b",
            r"\broute all\b[^.\n]{0,60}\b(?:here|this tool|through)",
            r"\b(?:change|replace|modify|rewrite|redirect|set) the (?:recipient|destination|address|payee|account|receiver)\b",
            r"\b(?:before|after|prior to)\W{1,3}(?:you\W{1,3})?(?:calling|using|running|invoking|call|use|run|invoke)\W{1,3}(?:the\W{1,3})?[a-z]{1,30}_\w{1,30}\b",
            r"\b(?:when|whenever|if|each time|every time|any time)\b[^.\n]{0,60}?\b(?:[a-z]{1,20}_\w{1,30}|another tool|other tools?)\b[^.\n]{0,60}?\b(?:call|use|invoke|run|include|add|send|append|set|also)\b",
            r"\b(?:replaces?|overrides?|replacement for|instead of|in place of|supersedes?|wraps?)\W{1,3}(?:the\W{1,3})?(?:built-?in|official|original|default|native|standard|trusted|legitimate)\b",
            r"\bany (?:calls?|requests?) to [a-z]{1,20}_\w{1,30}\b",
            r"\b(?:do not|don't|never) (?:use|call) (?:the )?(?:other|original|any other|official) (?:tools?|servers?|functions?|\w{1,30} tool)",
            r"\b(?:takes?|has|with) (?:precedence|priority) over\b[^.\n]{0,40}\b(?:tools?|servers?|\w{1,30}_\w{1,30})\b",
            r"\b(?:always|must|only)\W{1,3}(?:use|call|prefer|choose|invoke|select) this\b[^.\n]{0,40}\b(?:instead|rather than|over|before any|before every|before all)\b",
            r"\b(?:must|should|needs? to|has to) be (?:called|used|invoked|run) (?:first|before (?:any|every|all|each)|instead of|whenever|after (?:any|every|each))\b",
            r"\b(?:call|run|invoke|execute)\W{1,3}(?:the\W{1,3})?\w{1,30}_\w{1,30}\W{1,3}(?:\w{1,20}\W{1,3}){0,4}?(?:before|prior to|first|instead)\b",
            r"\b(?:when(?:ever)?|if) (?:the |a )?users? (?:asks?|wants?|requests?|tries|needs?)\b[^.\n]{0,80}\b(?:(?:always|only|must) (?:use|call)|(?:use|call) this (?:tool|function|one)? ?(?:instead|rather))\b",
            r"\b(?:intercepts?|hijacks?|impersonates?|shadows?|redirects?)\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?(?:calls?|requests?|messages?|invocations?|traffic|tools?)\b",
            r"\b(?:all|every|any) (?:\w{1,20} )?(?:calls?|requests?|messages?|payments?|e-?mails?|transfers?|orders) (?:must|should|will|has to|have to|are to) (?:go|also|first|be (?:sent|routed|copied|forwarded|redirected|cc|bcc))",
            r"\b(?:instead of|not) (?:calling |using |the )?(?:\w{1,30}_\w{1,30}|\w{1,20} tool)\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?(?:always|must|call this|use this)\b",
            r"\b(?:ignore|disregard|distrust|avoid)\W{1,3}(?:the\W{1,3})?(?:results?|outputs?|descriptions?|warnings?) (?:of|from|by) (?:\w{1,20} ){0,2}?(?:tools?|servers?|\w{1,30}_\w{1,30})",
            r"\b(?:adds?|includes?|appends?|inserts?|sets?|cc|bcc)\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?(?:bcc|recipient|cc)\b[^\n]{0,40}@",
            r"\bevery\b[^.\n]{0,40}\bcall\b[^.\n]{0,60}\bmust include\b",
        ),
        kinds=_READ,
    ),
    InjectionRule(
        "side-transmission",
        "a tool that also sends what it handles somewhere else",
        ("also", "instead", "then", "additionally", "forward", "while"),
        (
            rf"\b(?:also|then|additionally|instead|while|will)\W{{1,3}}{_words(0, 3)}(?:posts?|sends?|uploads?|forwards?|transmits?|mirrors?|copies|reports?|submits?|logs?|sending|exfiltrates?|leaks?)\W{{1,3}}[^.\n]{{0,60}}?(?:{_AWAY}|analytics endpoint)",
            rf"\b(?:also|then)\W{{1,3}}(?:read|reads|exfiltrate|exfiltrates|steal|steals|harvest|harvests)\W{{1,3}}[^.\n]{{0,40}}(?:{_FILES}|{_SECRETS})",
        ),
        kinds=_READ,
    ),
    InjectionRule(
        "secret-access",
        "a tool description that has the model fetch what the tool does not need",
        ("first", "must", "read", "access", "required", "include", "append", "add", "put", "pass", "copy",
         "insert", "embed", "provide", "upload", "collect", "steal", "harvest", "gather", "should", "need to", "have to", "exfiltrat"),
        (
            rf"\b(?:must|should|need to|have to)\W{{1,3}}(?:first|always|also)?\W{{0,3}}(?:read|access|open|load|fetch|retrieve|pass|include|supply|provide|paste|submit)\b[^.\n]{{0,80}}(?:{_FILES}|confidential|secrets?\b|password|credential|://)",
            r"\bexfiltrat(?:e|es|ing|ion)\b",
            rf"\b(?:collects?|harvests?|gathers?|steals?|exfiltrates?)\W{{1,3}}{_words(0, 3)}(?:{_FILES}|ssh keys?|private keys?|browser (?:cookies|passwords)|environment variables)\b",
            r"\b(?:read|open|load)\b[^.\n]{0,60}\band (?:pass|include|put|provide|send) (?:its|the|their) (?:contents?|text|value|result)\b[^.\n]{0,40}\b(?:as|in|into|to)\b",
            r"\binclude (?:the )?(?:master password|api keys?|secrets?|credentials?|tokens?)\b",
            rf"\b(?:append|include|add|put|pass|copy|insert|embed|provide|place|store)\b[^.\n]{{0,60}}?{_SECRETS}[^.\n]{{0,60}}?\b(?:in|into|as|to|via)\b[^.\n]{{0,30}}\b(?:fields?|parameters?|arguments?|response|headers?|metadata|query|url|body)\b",
            r"\b(?:read|open|access|scan|search|upload|collect|copy|dump)\w{0,3}\b[^.\n]{0,40}(?:home directory|browser history|wallet|keychain|\.git-credentials|\.npmrc|\.bash_history|seed phrase|ssh/|private key)[^\n]{0,120}\b(?:send|upload|post|return|include|attach|forward|transmit|before)",
        ),
        kinds=_READ,
    ),
    InjectionRule(
        "orders-to-model",
        "a tool description that gives the model orders about itself",
        ("you are now", "your system prompt", "your instructions", "your safety", "your guidelines",
         "your restrictions", "your training", "jailbreak", "you must obey", "you must comply",
         "no longer", "system prompt", "your rules", "your context", "from now on", "respond", "reply",
         "answer", "obey", "follow", "refuse", "confirmation", "permission", "assistant", "model",
         "agent", "llm", " ai ", "act as", "behave as", "end of", " mode", "directive", "instruction"),
        (
            r"\byou are (?:now|no longer)\b|\byou must (?:obey|comply)\b|\bfrom now on\b",
            r"\b(?:always|only) (?:respond|reply|answer|obey)\b|\bend of (?:tool )?(?:description|instructions|system prompt)\b",
            r"\b(?:act|behave|respond) as (?:an? |the )?(?:unrestricted|root|admin|administrator|developer|dan|different|unfiltered|evil)\b",
            r"\b(?:developer|dan|god|jailbreak|unrestricted) mode\b|\b(?:hidden|secret) (?:instructions?|directives?)\b",
            r"\b(?:do not|don't|never|stop) (?:follow|obey|refuse|ask(?:ing)? (?:the user )?for (?:confirmation|permission|approval))\b",
            rf"\bthe {_any('assistant', 'ai', 'model', 'llm', 'agent')} (?:must|should|shall|has to|is required to)\W{{1,3}}(?:also|always|never|ignore|first|not|obey|comply|reveal|send|include|treat|silently)\b",
            r"\b(?:ignore|disregard|forget|override|bypass|reveal|print|return|include|leak|show|output|send|repeat|dump|relax|drop)\W{1,3}(?:\w{1,20}\W{1,3}){0,3}?(?:(?:your|the) system prompt|your (?:\w{1,20} )?(?:instructions|safety|guidelines|restrictions|training|rules|context))\b(?! templates?)",
        ),
        kinds=_READ,
    ),
    InjectionRule(
        "later-change",
        "a tool description that announces another one after it was approved",
        ("approv", "trusted", "later", "review", "initially", "at first", "for now", "until",
         "after", "will", "may ", "future"),
        (
            _UNANNOUNCED + r"\b(?:later|future|next|after|once|post)\b[^.\n]{0,60}\b(?:approv\w{1,5}|trusted|review)\b[^.\n]{0,100}\b(?:will|would|can|to|may) (?:silently|secretly|quietly)\b",
            _UNANNOUNCED + r"\b(?:initially|at first|for now|until)\b[^.\n]{0,80}\b(?:later|afterwards|then|once|after)\b[^.\n]{0,60}\b(?:malicious|exfiltrat\w{1,3}|secret\w{0,2}|steal\w{0,3}|payload|hidden|credentials)\b",
            _UNANNOUNCED + r"\b(?:later|future|next) (?:version|update|release)\b[^.\n]{0,60}\b(?:silently|secretly|quietly|exfiltrate)\b",
            _UNANNOUNCED + r"\bafter (?:the )?(?:\w{1,20} )?(?:\d{1,4}|several|few|first|second|some) (?:\w{1,20} )?(?:uses?|calls?|invocations?|days?|runs?)\b[^.\n]{0,60}\b(?:behaves? different\w{0,2}|switch\w{0,3} (?:its|to)|changes? its (?:behaviou?r|description)|becomes? malicious|(?:payload|attack|injection) )",
            _UNANNOUNCED + r"\b(?:definition|description) will (?:silently |later )?(?:change|be (?:swapped|replaced|changed))\b[^.\n]{0,60}\b(?:after|once)\b",
            _UNANNOUNCED + r"\b(?:swap|replace|change|switch|mutate)\b[^.\n]{0,40}\b(?:post-approval|after (?:approval|it is approved|review)|once (?:approved|trusted))",
        ),
        kinds=_READ,
    ),
    InjectionRule(
        "encoded-command",
        "carries a shell command in an encoding",
        ("curl", "wget", "rm -", "/dev/tcp", "/bin/", "bash", "sh -i", "powershell", "python", "nc",
         "eval(", "exec(", "os.system", "subprocess", "iex", "invoke-", "chmod", "mkfifo", "/etc/",
         "crontab", "sudo", ".ssh", "id_rsa", "nohup", "http"),
        (
            r"\b(?:curl|wget)\b[^\n]{0,200}\|\s{0,3}(?:sudo )?(?:ba|z|da|k)?sh\b",
            r"\brm -[a-z]{0,3}[rf][a-z]{0,3}\s[^\n]{0,10}[~/*]|/dev/tcp/|\b(?:ba)?sh -i\b|\bpowershell\b[^\n]{0,40}-e|\bnc -\w{0,4}e",
            r"\bpython3? -c\b|\beval\(|\bexec\(|\bos\.system|\bsubprocess\b|\binvoke-expression\b|\biex\b",
            r"\bchmod \+x\b|\bmkfifo\b|\bcat /etc/|\bcrontab\b|\bsudo \w|\bncat\b|/\.ssh/|\bid_rsa\b|\bnohup\b",
            r"https?://\d{1,3}(?:\.\d{1,3}){3}\b",
        ),
        quotable=False,
        decoded=True,
    ),
    InjectionRule(
        "mixed-scripts",
        "a tool description with words of letters that only look Latin",
        (),
        (),
        kinds=_READ,
        quotable=False,
    ),
    InjectionRule(
        "invisible-text",
        "holds characters that people do not see and models read",
        (),
        (),
        quotable=False,
    ),
)  # fmt: skip

OWN_BUDGET = "own-pattern-budget"
COPIED = "copied-tool"
EXPLANATIONS = (
    FEATURE_EXPLANATIONS
    | {rule.id: rule.explanation for rule in RULES}
    | {
        COPIED: "has the name and the description of another server's tool",
        OWN_BUDGET: "could not be checked by the policy's own patterns within their time",
    }
)
# Names that an older policy file may still list under `without`; they have no effect.
_RETIRED = frozenset(("other-languages",))
IDS = frozenset(EXPLANATIONS) - {OWN_BUDGET} | _RETIRED
