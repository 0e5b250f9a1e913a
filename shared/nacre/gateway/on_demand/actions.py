"""The action of a request or a tool: it creates, reads, changes or removes things.

Tools of one server often share every word but the verb, and people rarely use the verb of the
tool's name: they file tickets, forget facts, and ask who, what and when.
"""

from collections.abc import Iterable

from nacre.text.stemming import stem

_VERBS = {
    "create": """add answer append attach book build compose comment connect create draft file
        generate insert introduce invite launch leave link log make open post publish push put
        raise react record register remember reply respond save schedule send share start store
        submit upload write""",
    "read": """any are browse check count describe display does download examine export extract
        fetch find get give how inspect is list look lookup measure monitor print query read
        retrieve search see show summarize tell translate view watch what when where whether which
        who whom whose""",
    "change": """adjust alter archive assign change close configure convert correct disable edit
        enable increase lower mark modify move overwrite patch pause rename reopen replace
        reschedule reset resolve restore resume rewrite set switch toggle transfer transition turn
        unarchive undo update""",
    "remove": """cancel clear delete destroy detach discard drop erase forget purge remove revoke
        stop terminate uninstall unlink unset wipe""",
}
_ACTIONS = {stem(verb): action for action, verbs in _VERBS.items() for verb in verbs.split()}
_MARKS = ",.;:!?'\"()"


def action_of(words: Iterable[str]) -> str | None:
    """Return the action of the first verb, None if no word is a known one."""
    actions = (_ACTIONS.get(stem(word.lower().strip(_MARKS))) for word in words)
    return next((action for action in actions if action is not None), None)
