"""German speech."""

from nacre.text.stated_facts.speech import Speech, pattern

_ADVERBS = r"""(?:(?:gerade|heute|gestern|vorgestern|endlich|auch|schon|seit|immer|nie|oft|
    meistens|jetzt|
    derzeit|momentan|aktuell|neulich|letzte\w*|diese\w*|vor\s+\w+\s+\w+|am\s+\w+|im\s+\w+|
    leider|übrigens|ja|nun|wieder|noch|inzwischen|normalerweise|selbst|\d+|\w+\s+Jahren|dort|
    Woche|Monat|Jahr|Wochenende|Sommer|Winter|Freitag|Montag|Dienstag|Mittwoch|Donnerstag|
    Samstag|Sonntag)\s+)*"""

_VERBS = r"""(?:wohne|lebe|arbeite|studiere|lerne|liebe|mag|hasse|esse|trinke|spiele|laufe|
    jogge|schwimme|
    fahre|unterrichte|leite|sammle|besitze|heiße|komme\s+aus|stamme|spreche|lese|koche|backe|
    singe|male|
    gehe|trainiere|züchte|plane|vermisse|bevorzuge|nehme|rauche|wandere|reise|ziehe|heirate|
    fliege|
    wohnte|lebte|arbeitete|studierte|ging|kaufte|bekam|lernte|traf|verlor|fand|zog|wurde|hatte|
    war|begann|
    habe|hab|bin)"""

GERMAN = Speech(
    task=pattern(
        r"""\bdu\s+bist\s+(?:ein|eine)\b|\bstell\s+dir\s+vor|\brollenspiel|\btu\s+so|
        ^\W*(?:bitte\s+)?(?:schreib|übersetz|fass|erstell|generier|korrigier|verbesser|
        formulier|überarbeit|
        analysier|gib\s+mir)|\bfolgende[nrms]?\s+(?:text|absatz|brief|mail|satz|artikel|code|
        aufsatz)|
        ^\W*(?:sehr\s+geehrte|betreff:|liebe[rs]?\s+\w+,)"""
    ),
    lead=pattern(
        r"""(?:(?:und|aber|also|ach|naja|na\s+ja|ja|nein|hallo|hi|hey|danke|okay|ok|übrigens|
        eigentlich|ehrlich\s+gesagt|
        außerdem|weil|da|denn|leider|zum\s+glück|weißt\s+du)\b[\s,:!.-]*)+"""
    ),
    when=pattern(""),  # the verb follows the time: "gestern habe ich"
    question=pattern(
        r"""[,;:]?\s*\b(?:und\s+|also\s+|aber\s+|nun\s+)?(?:kannst\s+du|können\s+sie|
        könntest\s+du|könnten\s+sie|
        hast\s+du|haben\s+sie|weißt\s+du|soll\s+ich|sollte\s+ich|was\s|wie\s|welche[rsnm]?\s|
        wo\s|wann\s|warum\s|
        bitte|hilf\s+mir|gibt\s+es|ich\s+(?:frage\s+mich|suche|möchte|brauche|hätte\s+gern|will|
        würde|überlege|
        wollte|bin\s+(?:mir\s+)?(?:nicht\s+sicher|unsicher|am\s+überlegen|gespannt)))\b"""
    ),
    statement=pattern(
        rf"""(?:
        ich\s+{_VERBS}\s+\S
        |(?:gestern|heute|morgen|vorgestern|seit\s+[^,]{{2,30}}|letzte\w*\s+\w+|am\s+\w+|
        im\s+\w+|vor\s+\w+\s+\w+|
          nächste\w*\s+\w+)\s+(?:{_VERBS})\s+(?:ich|wir)\b
        |(?:mein|meine|unser|unsere)\s+(?!frage|meinung|problem|anliegen|bitte|vorschlag)
          (?:[\w'-]+,?\s+){{1,4}}?(?:ist|sind|war|waren|hat|haben|hatte|heißt|heißen|wohnt|lebt|
          arbeitet|
          mag|liebt|geht|kommt|wird|studiert|spielt|feiert|heiratet|zieht|bekommt|starb|sagte|
          plant)\b
        |wir\s+(?:haben|hatten|sind|waren|wohnen|leben|planen|fahren|fliegen|ziehen|heiraten|
        gehen|feiern|
          arbeiten|kauften|gingen|bekamen|wollen\s+(?:im|am|nächste))\s+\S
        )"""
    ),
    request=pattern(
        r"""ich\s+(?:habe|hab)\s+(?:eine?|noch\s+eine?|mal\s+eine?|ein\s+paar|folgende|
        keine\s+ahnung|da\s+mal)\s*
        (?:frage|fragen|idee|bitte|problem|ahnung|code|fehler|text)?(?=\s*(?:frage|idee|bitte|
        problem|code|fehler|text|ahnung|$))|
        ich\s+bin\s+(?:mir|nicht\s+sicher|gespannt|neugierig|unsicher|dankbar|einverstanden|
        dafür|sicher)|
        ich\s+(?:mag|liebe)\s+(?:das|die\s+idee|es|deine|den\s+vorschlag)|ich\s+(?:habe|
        hab)\s+(?:das|dich|dir|es)\s|
        ich\s+gehe\s+davon\s+aus|ich\s+komme\s+nicht\s+weiter|ich\s+finde|wir\s+(?:haben|
        hatten)\s+(?:das|es)\s"""
    ),
    hedge=pattern(
        r"""\b(?:du|dir|dich|dein\w*|ihnen|wenn\s+ich|falls|würde|hätte\s+gern|könnte|
        vielleicht|angenommen|wäre|möchte\s+gern(?:e)?\s+wissen)\b"""
    ),
)
