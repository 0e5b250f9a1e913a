"""The built-in rules about text that tries to instruct a model; each explains itself.

A rule is tried only on texts that hold one of its `hints`, so most texts cost a few searches
for substrings. Texts arrive folded: small letters, no accents, straight quotes. Every repeat is
bounded, so no text makes a pattern slow.
"""

# ruff: noqa: E501, RUF001 (a pattern broken over lines is harder to read; some are not Latin)

import re
from dataclasses import dataclass
from functools import cache

from nacre.policy.injection_text import fold, squeeze
from nacre.policy.sections import SOURCES, Source

_READ: tuple[Source, ...] = ("definition",)


@dataclass(frozen=True, slots=True)
class InjectionRule:
    """One kind of attack.

    `quotable` rules let a text that only mentions the attack pass. `decoded` rules look at
    what was encoded and leave plain text alone. A text must hold one of `needs` too, if any.
    """

    id: str
    explanation: str
    hints: tuple[str, ...]
    patterns: tuple[str, ...]
    kinds: tuple[Source, ...] = SOURCES
    quotable: bool = True
    decoded: bool = False
    squeezed: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def is_hinted(self, low: str) -> bool:
        """Tell whether the rule is worth trying on a text."""
        if not any(hint in low for hint in self.hints):
            return False
        return not self.needs or any(each in low for each in self.needs)

    def compiled(self) -> tuple[re.Pattern[str], ...]:
        """Return the patterns, compiled when first needed."""
        return tuple(compiled(each) for each in self.patterns)

    def compiled_squeezed(self) -> tuple[re.Pattern[str], ...]:
        """Return the patterns for text whose letters were taken apart."""
        return tuple(compiled(each) for each in self.squeezed)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return one built-in pattern, compiled once for the process."""
    return re.compile(pattern)


def _words(least: int, most: int) -> str:
    return rf"(?:\w{{1,30}}\W{{1,4}}){{{least},{most}}}?"


def _any(*words: str) -> str:
    return "(?:" + "|".join(words) + ")"


def _letters(*words: str) -> str:
    return _any(*(squeeze(word) for word in words))


# A sentence or clause begins here, or something joins an order to one before.
_START = r"(?:^|[.!?:;>\])\"'\n*#-]\s{0,4}|\b(?:and|then|please|now|must|first|also|to|you)\W{1,3})"
_ORDERS = _any(
    "instructions?",
    "directions?",
    "directives?",
    "prompts?",
    "guidelines?",
    "guidance",
    "programming",
    "system messages?",
    "safeguards",
)
# These are also what filters and games have, so they count only as the model's own or earlier ones.
_RULES_TOO = _any("orders?", "rules?", "commands?", "polic(?:y|ies)", "constraints", "restrictions")
_OWN = _any(
    "previous", "prior", "preceding", "earlier", "above", "your", "safety", "system", "developer"
)
_EARLIER = _any(
    "previous", "prior", "preceding", "earlier", "above", "foregoing", "former", "initial",
    "original", "existing", "other", "past", "last", "before", "system", "safety", "developer",
    "your", "all", "any", "every", "following",
)  # fmt: skip
_FILLER = _any(
    "the", "of", "my", "our", "these", "those", "their", "its", "and", "or", "that", "been",
    "you", "given", "proxy's", "server's", "model's", "assistant's", "user's", "security",
    "content", "hidden",
)  # fmt: skip
_DROP = (
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass|neglect|disobey"
    r"|pay no attention to|do(?: not|n't) follow|stop following|supersede)\W{1,4}"
)
_TELL = _any(
    "reveal", "show", "print", "output", "display", "repeat", "tell", "give", "leak", "disclose",
    "expose", "dump", "share", "write", "recite", "list", "copy", "return", "echo", "include",
    "append", "translate", "encode", "provide", "send", "reproduce", "spell", "paste", "quote",
)  # fmt: skip
_SEND = _any(
    "send", "forward", "upload", "post", "posts", "exfiltrate", "transmit", "e-?mail", "leak",
    "export", "mirror", "relay",
)  # fmt: skip
_ADD = _any(
    "deliver",
    "copy",
    "append",
    "report",
    "submit",
    "ship",
    "include",
    "attach",
    "pass",
    "put",
    "embed",
    "share",
)
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
_MODEL = _any(
    "the assistant", "assistants?", "the model", "ai", "ai agents?", "the agent", "agents?",
    "llms?", "language models?", "chatbots?", "claude", "chatgpt", "gpt(?:-?\\d)?", "gemini",
    "copilot", "cursor",
)  # fmt: skip

# A definition that says how changes are reviewed is not one that hides them; one that only
# announces a change is left to the pins, which hold back whatever did change.
_UNANNOUNCED = (
    r"(?![^.\n]{0,200}\b(?:never|not|cannot|requires?|safety)\b)"
    r"(?!.{0,300}\b(?:re-?approv\w{1,3}|announce\w{0,5}|transparen\w{1,4}|changelog|versioning)\b)"
)

RULES: tuple[InjectionRule, ...] = (
    InjectionRule(
        "override-instructions",
        "tells the model to drop the instructions it was given",
        ("ignore", "disregard", "forget", "overrid", "bypass", "neglect", "pay no attention",
         "do not follow", "don't follow", "stop following", "disobey", "supersede"),
        (
            rf"{_DROP}(?:{_FILLER}\W{{1,3}}){{0,3}}{_EARLIER}\W{{1,3}}(?:(?:{_EARLIER}|{_FILLER})\W{{1,3}}){{0,5}}{_ORDERS}\b",
            rf"{_DROP}(?:(?:{_EARLIER}|{_FILLER})\W{{1,3}}){{0,4}}?{_OWN}\W{{1,3}}(?:(?:{_EARLIER}|{_FILLER})\W{{1,3}}){{0,3}}?{_RULES_TOO}\b",
            r"\b(?:ignore|disregard|forget)\W{1,3}(?:all|everything|anything)\W{1,3}"
            r"(?:(?:of|that|the|was|you|i|were|have|been|said|told|written|this)\W{1,3}){0,5}"
            r"(?:previous(?:ly)?|prior|above|before|earlier)\b",
        ),
        squeezed=(
            _letters("ignore", "disregard", "forget", "override", "bypass")
            + rf"(?:{_letters('all', 'any', 'the', 'your', 'of', 'these', 'my')}){{0,3}}"
            + _letters("previous", "prior", "above", "earlier", "preceding", "system", "safety")
            + r"\w{0,12}?"
            + _letters("instruction", "rules", "prompt", "directive", "orders", "guideline"),
        ),
    ),
    InjectionRule(
        "new-instructions",
        "brings instructions that are to replace the model's own",
        ("instruction", "system message", "system prompt", "ones instead", "rules instead", "commands instead", "new task", "objective",
         "new goal"),
        (
            r"\b(?:new|updated|revised|real|actual|true)\W{1,3}(?:system\W{1,3})?(?:instructions?|orders?"
            r"|directives?|system (?:message|prompt))\W{0,4}(?::|#{2,}|are\b|is\b)",
            r"\bnew system (?:message|instructions?|prompt)\b",
            rf"\bfollow\W{{1,3}}(?:only\W{{1,3}})?(?:these|my|this)\W{{1,3}}(?:new\W{{1,3}})?{_any('instructions?', 'ones', 'rules', 'commands?')}\W{{1,3}}(?:instead|only|from now)",
            r"\byour (?:new|real|actual|true|only) (?:instructions?|task|goal|objective|purpose|mission)"
            r" (?:is|are|will be)\b",
            rf"\bin addition to (?:the|your) (?:other|previous|above) instructions\W{{1,3}}{_words(0, 3)}{_TELL}\b",
        ),
    ),
    InjectionRule(
        "forged-role",
        "pretends that the system, the developer or the assistant speaks",
        ("system", "assistant", "developer", "<|", "[inst]", "<<sys>>", "systeme", "sistema"),
        (
            r"<\|(?:im_start|im_end|system|start_header_id|endoftext)\|>|\[/?inst\]|<</?sys>>",
            r"(?:^|[\n\]>]|--|[.!?]\s)\s{0,4}(?:\W{0,4})(?:system|assistant|developer|systeme|sistema|admin)\s{0,2}(?:message|note|override)?\W{0,2}:\W{0,4}"
            rf"(?:{_TELL}|ignore|disregard|forget|approve|execute|run|call|delete|you (?:are|must|will|have)|override|grant|vous|approuvez|apruebe|do not|never|always)\b",
            r"\b(?:tool output|tool result|result(?:at)?: ?ok)\W{1,4}systeme?\W{0,2}:",
            r"#{2,}\s{0,3}(?:new )?(?:system|admin(?:istrator)?) (?:message|instructions?|prompt|override)\s{0,3}(?:#|:|\n)",
            r"\b(?:administrator|admin|developer|system|root|security) override\b\W{0,3}:?\W{0,3}"
            rf"(?:{_TELL}|ignore|disable|grant|enter|accept|code)\b",
        ),
    ),
    InjectionRule(
        "jailbreak-persona",
        "gives the model a role without the limits it has",
        ("anything now", " mode", "from now on", "confines", "restriction", "unrestricted", "the rules",
         "not bound", "no longer", "limitations", "limited by", "no limits", "avoid norms", "filter",
         "without rules", "guidelines", "censorship", "morals", "no rules"),
        (
            r"\bdo anything now\b|\bstrive to avoid norms\b",
            r"\b(?:dan|stan|dude|apophis|developer|jailbreak|jailbroken|god|sudo|unrestricted|evil|maintenance|debug)\W{1,3}mode\W{1,3}"
            r"(?:is\W{1,3})?(?:enabled|activated|unlocked|with no|and (?:must|will|have)|now\b|on\b[.,!])",
            r"\b(?:you are (?:now )?(?:in|entering)|enter|activate|enable|switch to)\W{1,3}(?:\w{1,20}\W{1,3}){0,2}(?:dan|developer|jailbreak|god|sudo|unrestricted|maintenance|debug|admin) mode\b",
            r"\bfrom now on,?\W{1,3}(?:you|your)\W{1,3}(?:(?:are|will|have|must|should|shall)\W{1,3}){0,2}(?:going\W{1,3})?(?:to\W{1,3})?(?:act|reply|respond|answer|behave|pretend|obey|speak|roleplay|ignore|dan\b)",
            r"\bbroken? (?:free )?(?:of|from)?\s?(?:the )?(?:typical )?confines of (?:ai|al|artificial)\b",
            r"\b(?:ai|al|assistant|model|character|chatbot|bot|dan|expert|persona|hacker)\b[^.\n]{0,80}\b(?:without|with no|has no|have no|free (?:of|from))\W{1,3}(?:any\W{1,3})?(?:\w{1,20}\W{1,3}){0,2}(?:restrictions|limitations|limits|filters?|rules|guidelines|censorship|morals)\b",
            r"\b(?:you are|is|they are|be)\W{1,3}(?:no longer|not)\W{1,3}(?:bound|limited|restricted|constrained)\W{1,3}by\b[^.\n]{0,60}\b(?:ai|openai|rules|polic|guidelines|model)",
            r"\bdo(?:es)? not have to (?:abide by|follow) the rules\b",
        ),
    ),
    InjectionRule(
        "prompt-extraction",
        "asks the model for its own instructions",
        ("prompt", "instructions", "text above", "everything above", "words above", "conversation",
         "system configuration", "given initially", "private rules", "hidden rules"),
        (
            rf"\b{_TELL}\W{{1,4}}{_words(0, 6)}(?:(?:system|hidden|initial|original|secret|developer|internal)\W{{1,3}}(?:prompts?|message|instructions?|rules|configuration)|your\W{{1,3}}(?:prompt|(?:\w{{1,20}}\W{{1,3}})?instructions)|all (?:the )?instructions|(?:text|words|everything|instructions)\W{{1,3}}(?:written\W{{1,3}})?(?:above|before this))\b(?!\W{{0,2}}templates?)",
            r"\bwhat (?:are|were|was|is)\W{1,3}(?:your|those|the)\W{1,3}(?:(?:initial|original|system|hidden|secret|exact|previous|first)\W{1,3}){0,2}(?:instructions|prompt|system message)\W{0,3}\?",
            r"\b(?:start|begin)(?:ning)?\W{1,3}(?:your\W{1,3})?(?:answer|reply|response|output)?\W{0,3}with\W{1,4}(?:['\"]|the words).{0,60}\b(?:instructions|prompt|you are)\b",
            r"\brepeat (?:this|the|our|your) (?:entire |whole |full )?(?:conversation|prompt|input)\b",
            r"\b(?:continue|complete|finish)\W{1,3}(?:\w{1,20}\W{1,3}){0,4}['\"](?:the|my|your) (?:system prompt|instructions) (?:is|are)",
            r"\bconsole\.log\(\s?(?:system|prompt)|\bprint\(\s?(?:system_?)?prompt",
            r"\b(?:text|words|prompt|instructions) you (?:were|have been) (?:given|told)\W{1,3}(?:initially|at the (?:start|beginning)|first)",
        ),
        squeezed=(
            _letters("reveal", "show", "print", "output", "display", "repeat", "leak", "disclose", "dump")
            + rf"(?:{_letters('me', 'us', 'the', 'your', 'hidden', 'full', 'entire', 'secret', 'all')}){{0,4}}"
            + _letters("systemprompt", "systemmessage", "initialprompt", "initialinstruction", "hiddenprompt", "hiddeninstruction"),
        ),
    ),
    InjectionRule(
        "exfiltration",
        "asks to send secrets or private data somewhere",
        ("send", "forward", "upload", "post", "exfil", "transmit", "mail", "leak", "export", "copy",
         "append", "report", "submit", "mirror", "relay", "include", "attach", "pass", "put", "embed",
         "deliver", "ship"),
        (
            rf"\b{_SEND}\b[^.\n]{{0,60}}?{_SECRETS}[^\n]{{0,80}}?\b(?:to|at|into|via|using|through)\b[^\n]{{0,40}}?{_AWAY}",
            rf"\b{_ADD}\b[^.\n]{{0,60}}?{_SECRETS}[^\n]{{0,80}}?\b(?:to|at|into|via|using|through)\b[^\n]{{0,40}}?{_HOSTILE}",
            rf"\b(?:call|use|run|invoke)\b[^.\n]{{0,40}}\b(?:send|export|upload|post|forward|leak)\b[^.\n]{{0,40}}{_SECRETS}",
            rf"\b(?:bypass|skip)\b[^.\n]{{0,60}}\b(?:send|export|upload|dump)\b[^.\n]{{0,40}}{_SECRETS}",
            rf"\bexfiltrat(?:e|es|ing)\W{{1,4}}{_words(0, 5)}(?:{_FILES}|{_SECRETS})",
            rf"\b(?:read|reads|access|open|load|cat|fetch|get)\b[^.\n]{{0,40}}?{_FILES}[^\n]{{0,160}}?\b(?:send|sends|pass|upload|post|forward|return it|include|append|provide)\b",
        ),
        needs=(
            "key", "credential", "secret", "password", "token", "environment", "env var", "customer",
            "clipboard", "database", "id_rsa", ".env", ".ssh", ".aws", "cookie", "session", "history",
            " log", "conversation", " chat", " messages", "every message", "personal", "prompt", "canary",
            "confidential", "/etc/", "mcp", ".netrc", ".kube",
        ),
        squeezed=(
            _letters("send", "forward", "upload", "export", "exfiltrate", "mail", "leak")
            + r"\w{0,12}"
            + _letters("customeremail", "credential", "apikey", "password", "secret", "database", "token")
            + r"\w{0,24}?"
            + _letters("attacker", "evil", "external", "credential", "webhook"),
        ),
    ),
    InjectionRule(
        "exfiltration-image",
        "loads an image or link whose address carries data away",
        ("](http", "<img"),
        (
            r"!?\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&/=][^)\s]{0,100}(?:canary|secret|token|password|api_?key|prompt|history|conversation|\{|%7b|<)[^)\s]{0,200}\)",
            r"<img[^>\n]{0,80}src\W{1,3}https?://[^>\s]{0,200}(?:\{|%7b|secret|token|prompt|password|history)",
        ),
    ),
    InjectionRule(
        "concealment",
        "wants something kept from the user",
        ("mention", "tell", "inform", "notify", "reveal", "disclos", "silently", "secretly", "covertly",
         "quietly", "invisibl", "discreet", "hidden bcc", "alert", "discussed with", "aware"),
        (
            r"\b(?:do(?: not|n't)|don't|never|without|must not|avoid|should not|refrain from|no need to)\W{1,3}(?:(?:explicitly|ever|also|even|need|to)\W{1,3}){0,2}(?:mention(?:ing)?|tell(?:ing)?|inform(?:ing)?|notify(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|alert(?:ing)?|show(?:ing)?)\W{1,3}(?:\w{1,20}\W{1,3}){0,5}?(?:(?:to |the |your )user\b|that you(?:'re|\b)|you (?:are|did|read|first)\b)",
            r"\bwithout (?:the )?user'?s?\W{1,3}(?:knowing|noticing|(?:knowledge|awareness)\b)",
            r"\bnot (?:an action|something) that needs to be discussed with the user\b",
        ),
    ),
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
        "addressed-to-model",
        "speaks to the model that reads it, not to a person",
        ("note to", "message to", "message for", "instruction", "attention", "if you are", "as an ai",
         "<!--", "reading this", "assistant", "when you", "you must", "you should", "if you"),
        (
            rf"\b(?:note|message|instructions?|attention|reminder|memo|directive|important)\W{{1,3}}(?:to|for)\W{{1,3}}(?:(?:the|any|all|your|other)\W{{1,3}}){{0,2}}{_MODEL}\b\s?(?::|-|,|reading|processing|that reads)",
            rf"\bif you are an? {_MODEL}\b[^.\n]{{0,60}}\b(?:must|please|should|ignore|send|reply|include|do)\b",
            rf"\b{_MODEL}\b\W{{1,3}}(?:when|whenever|if|while|after|before) (?:you |reading|processing|summari[sz]ing)[^.\n]{{0,60}}\b(?:must|ignore|reveal|send|include|always|do not|never|call)\b",
            rf"\bas an? (?:\w{{1,20}} )?{_MODEL}\b\W{{1,3}}you (?:must|should|will|have to)\b",
            r"<!--[^>\n]{0,80}\b(?:assistant|ai|llm|agent|model)\b\W{0,2}[:,]",
            r"<!--[^>\n]{0,40}\b(?:ignore (?:all|the|previous)|you must|reveal|system prompt)\b",
        ),
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
        "guard-bypass",
        "asks to get round approvals or safety checks, or to approve calls unseen",
        ("bypass", "skip", "disable", "circumvent", "turn off", "approve", "safety", "authorized", "trusted"),
        (
            _START
            + r"(?:bypass|skip|disable|circumvent|turn off|evade|switch off)\W{1,3}(?:(?:the|all|any|your|every|user|human|these)\W{1,3}){0,3}(?:approvals?|confirmations?|safety(?: \w{1,20})?|guardrails?|consent|content filters?|security (?:checks?|controls|polic\w{1,3}|filters?)|moderation|polic(?:y|ies) checks?)\b",
            r"\b(?:auto-?)?approve\W{1,3}(?:the\W{1,3})?(?:next|all|any|every|each|pending|following)\W{1,3}(?:(?:pending|future|further|of|the)\W{1,3}){0,2}(?:tool|function|request|call|action)s?\b",
            r"\btreat\b[^.\n]{0,60}\bas (?:an? )?(?:direct|authorized|authorised|trusted|legitimate|approved)\W{1,3}(?:\w{1,20}\W{1,3}){0,2}(?:commands?|instructions?|orders?|requests?)\b",
            r"\bwithout (?:applying|performing|running|any) (?:\w{1,20} )?(?:safety|security|content|policy) (?:checks?|filters?|polic\w{1,3}|controls)\b",
        ),
        squeezed=(
            _letters("bypass", "disable", "circumvent", "skip")
            + rf"(?:{_letters('the', 'all', 'any', 'your', 'user')}){{0,2}}"
            + _letters("approval", "safety", "confirmation", "guardrail", "security"),
            _letters("approve") + rf"(?:{_letters('the', 'next', 'all', 'any', 'every', 'pending')}){{1,3}}" + _letters("tool", "call", "request"),
        ),
    ),
    InjectionRule(
        "false-memory",
        "wants a claim about rights or rules remembered for later",
        ("remember", "memor", "from now on", "administrator", "admin"),
        (
            r"\b(?:remember|memori[sz]e|store|save|note)\W{1,3}(?:permanently|forever|for (?:all|every) future|always|in (?:your )?(?:long-term )?memory)\W{1,3}(?:\w{1,20}\W{1,3}){0,4}?that\b[^.\n]{0,80}\b(?:administrator|admin|trusted|authori[sz]ed|approved|allowed|ignore|always|never|rules|polic)",
            r"\b(?:remember|memori[sz]e)\b[^.\n]{0,40}\b(?:user|sender|i)\b[^.\n]{0,10}\b(?:is|am|has)\b[^.\n]{0,20}\b(?:administrator|admin|root|full access|elevated)",
        ),
    ),
    InjectionRule(
        "answer-hijack",
        "dictates what the model is to answer instead of its task",
        ("just", "only", "nothing else", "stop everything", "nevermind"),
        (
            r"\b(?:stop everything|stop what you|never ?mind|halt|forget it)\b.{0,40}\b(?:just|only|simply|instead)\W{1,3}(?:print|say|output|write|respond|reply|answer)\b",
            r"\b(?:instructions?|task|prompt)\b.{0,40}\b(?:just|only|instead)\W{1,3}(?:print|say|output|write|respond with|reply with)\W{1,3}['\"]",
        ),
    ),
    InjectionRule(
        "decode-and-obey",
        "hides an order in an encoding and asks to carry it out",
        ("decode", "decrypt", "base64", "rot13", "unscramble", "decipher"),
        (
            r"\b(?:decode|decrypt|unscramble|decipher|deobfuscate|unescape)\b[^.\n]{0,80}\b(?:and|then)\b[^.\n]{0,20}\b(?:execute|follow|obey|run|carry out|comply|do (?:what|as)|act on|perform)\b",
            r"\b(?:rot13|base64|hex|morse)\b[^.\n]{0,20}\bencode\b[^.\n]{0,40}\b(?:text|prompt|instructions|words)\b[^.\n]{0,20}\b(?:given|above|initial)",
        ),
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
        "other-languages",
        "tells the model in another language to drop or show its instructions",
        ("instru", "anweisung", "regeln", "regles", "regole", "consignes", "prompt", "invite", "zasad",
         "talimat", "indicaciones", "befehle", fold("инструкц"), fold("указания"), fold("промпт"),
         "指示", "指令", "提示", "지시", "프롬프트", "プロンプト", "规则", "規則"),
        (
            # Spanish, Portuguese, Italian
            r"\b(?:ignor[ae]|ignorar|ignore|olvid[ae]|olvidar|descart[ae]|omit[ae]|desconsidere|esque[cç]a|dimentic[ah]?i?|trascur[ai])\W{1,3}(?:\w{1,12}\W{1,3}){0,4}?(?:instruccion\w{0,2}|instrucoes|istruzioni|indicaciones|reglas|regras|regole|ordenes|ordens|prompt)\b",
            r"\b(?:revela|revele|muestra|muestre|mostre|mostra|rivela|imprime|dime)\w{0,3}\W{1,3}(?:\w{1,12}\W{1,3}){0,4}?(?:prompt|instrucciones|instrucoes|istruzioni)(?:\W{1,3}(?:de|del|do|di)\W{1,3}sistema|\W{1,3}(?:ocult|inicia|secret|nascost)\w{1,6})",
            # French
            r"\b(?:ignore[rz]?|oublie[rz]?|neglige[rz]?)\W{1,3}(?:\w{1,12}\W{1,3}){0,4}?(?:instructions?|consignes?|regles?|directives?|ordres?)\W{1,3}(?:\w{1,12}\W{1,3}){0,2}?(?:precedent|anterieur|initial|ci-dessus|systeme|prive)\w{0,4}",
            r"\b(?:affiche|revele|montre|copie|repete|donne)[rz]?\b(?:\W{1,3}\w{1,12}){0,4}?\W{1,3}(?:invite|prompt|instructions|consignes|regles)\W{1,3}(?:\w{1,4}\W{1,3})?(?:systeme|cachee?s?|privees?|initiale?s?|secretes?)",
            # German, Dutch
            r"\b(?:ignorier\w{0,3}|vergiss|vergessen sie|missachte|negeer|vergeet)\W{1,3}(?:\w{1,12}\W{1,3}){0,4}?(?:anweisung\w{0,3}|regeln|befehle?|vorgaben|instructies|instruktionen)\b",
            r"\b(?:zeig\w{0,2}|verrate?|nenne?|gib)\W{1,3}(?:\w{1,12}\W{1,3}){0,4}?(?:system-?\s?prompt|systemanweisung\w{0,3}|geheimen? anweisung\w{0,3})\b",
            # Polish, Turkish
            r"\b(?:zignoruj|zapomnij)\W{1,3}(?:\w{1,14}\W{1,3}){0,4}?(?:instrukcj\w{1,3}|polece\w{1,3}|zasad\w{0,2})\b|\btalimatlar\w{0,4}\W{1,3}(?:\w{1,12}\W{1,3}){0,2}(?:yok say|unut|gormezden)",
            # Russian, Ukrainian
            fold(r"(?:игнорир|забудь|проигнорируй|не обращай внимания на|ігноруй)")
            + r"\w{0,8}\W{1,3}(?:\w{1,16}\W{1,3}){0,4}?"
            + fold(r"(?:инструкц|указан|правил|команд|інструкц)"),
            fold(r"(?:покажи|раскрой|выведи|напечатай)")
            + r"\w{0,4}\W{1,3}(?:\w{1,16}\W{1,3}){0,3}?"
            + fold(r"(?:системн\w{1,6} (?:промпт|инструкц|запрос)|скрыт\w{1,6} инструкц)"),
            # Chinese, Japanese, Korean
            r"(?:忽略|无视|無視|忘记|忘記|不要遵守|忽視)[^。！？\n]{0,10}(?:之前|以前|上面|以上|先前|前面|所有|全部)[^。！？\n]{0,8}(?:指令|指示|提示|规则|規則|命令|说明)",
            r"(?:显示|顯示|输出|輸出|告诉我|透露|泄露|打印)[^。！？\n]{0,8}(?:系统提示|系統提示|提示词|系统指令)",
            r"(?:以前|これまで|前|上記|全て|すべて)の?[^。\n]{0,6}(?:指示|命令|ルール|プロンプト)[^。\n]{0,4}(?:無視|忘れ)",
            r"(?:이전|앞|위|모든|기존)[^.\n]{0,8}(?:지시|명령|지침|규칙|프롬프트)[^.\n]{0,6}(?:무시|잊)",
        ),
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
EXPLANATIONS = {rule.id: rule.explanation for rule in RULES} | {
    COPIED: "has the name and the description of another server's tool",
    OWN_BUDGET: "could not be checked by the policy's own patterns within their time",
}
IDS = frozenset(EXPLANATIONS) - {OWN_BUDGET}
