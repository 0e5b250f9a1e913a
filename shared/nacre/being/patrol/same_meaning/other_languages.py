"""Closed word lists of five languages, with which `other_orders` parses sentences."""

import re

from nacre.being.patrol.same_meaning.english_words import word_set
from nacre.being.patrol.same_meaning.sentences import Sentence
from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The closed lists of a language, in lower case."""

    times: re.Pattern[str]
    conjunctions: frozenset[str]  # that open a clause about the whole sentence
    verbs: frozenset[str]  # of doing and of plain states
    marks: frozenset[str]  # words that only this language has
    unsure: frozenset[str]  # words with which nothing moves
    pronouns: frozenset[str]
    there_is: tuple[Sentence, ...]
    places: frozenset[str]  # words that open a place
    passive: re.Pattern[str] | None = None
    participles: tuple[tuple[str, str], ...] = ()  # endings of a participle and of the past
    stems: frozenset[str] = frozenset()
    active: str = ""
    agents: frozenset[str] = frozenset()
    inverts: bool = False  # after a time, the verb comes before the subject


def _times(*patterns: str) -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(patterns) + ")", re.IGNORECASE)


_CLOCK = r"\d{1,2}(?::\d\d)?"
FRENCH = Language(
    times=_times(
        r"(?:le )?(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)(?: (?:matin|"
        r"soir|prochain|dernier))?",
        r"en (?:\d{4}|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|"
        r"novembre|décembre|été|hiver|automne)",
        r"hier(?: soir| matin)?",
        r"demain(?: soir| matin)?",
        r"depuis \d{4}",
        r"chaque (?:matin|soir|semaine|mois|année)",
        r"tous les (?:jours|matins|soirs|lundis|mardis|mercredis|jeudis|vendredis|samedis|"
        r"dimanches)",
        rf"à {_CLOCK}",
        r"la semaine (?:prochaine|dernière)",
        r"l'année (?:prochaine|dernière)",
    ),
    conjunctions=word_set("quand si puisque lorsque"),
    verbs=word_set(
        """
        joue va habite travaille part arrive commence dort chante mange boit quitte reste
        ferme ouvre déménage nage court rentre prend prends reprend jouent vont travaillent ferment
        joué quitté déménagé appelé acheté vendu réparé peint arrivé arrivée parti partie resté
        restée descendu rentré mangé travaillé commencé ouvert fermé habitait travaillait
        """
    ),
    marks=word_set("le la les un une des du est a ont à au chez nous je il elle et son sa ses l'"),
    unsure=word_set(
        """
        que qui dont où ne pas plus jamais aucun tout tous toute toutes chaque seulement même aussi
        presque pour de-peur afin dit sait demande pense croit veut peut doit rendez-vous réunion
        fête voyage cours match concert examen ou
        """
    ),
    pronouns=word_set("il elle ils elles lui leur son sa ses"),
    there_is=(("il", "y", "a"),),
    places=word_set("dans à sur sous derrière devant en au"),
    passive=re.compile(
        r"(?P<patient>.+?) (?P<be>a été|ont été) (?P<part>\w+) (?:par) (?P<agent>.+)"
    ),
    participles=(("é", "é"), ("ée", "é"), ("és", "é"), ("ées", "é")),
    stems=word_set("répar chang bloqu trouv nettoy lav coup vol arrêt mang cass invit pay"),
    active="a",
    agents=word_set(
        """
        voisin voisine plombier banque médecin professeur professeure propriétaire mère père frère
        sœur oncle tante cousin cousine policier facteur électricien mécanicien dentiste
        """
    ),
)
SPANISH = Language(
    times=_times(
        r"(?:el|los) (?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)(?: por "
        r"la (?:mañana|tarde|noche))?",
        r"en (?:\d{4}|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|"
        r"octubre|noviembre|diciembre|verano|invierno|otoño|primavera)",
        r"ayer",
        r"mañana",
        r"desde \d{4}",
        r"cada (?:mañana|noche|semana|mes|año|lunes|martes|jueves|viernes)",
        rf"a las {_CLOCK}",
        r"la semana (?:pasada|que viene)",
        r"el (?:mes|año) pasado",
    ),
    conjunctions=word_set("cuando si porque aunque"),
    verbs=word_set(
        """
        juega va vive trabaja viaja duerme canta come bebe corre nada empieza abre cierra tiene
        llega
        sale vuelve compramos compró vendió mudó vivimos llegó bajó quedó trabajó empezó pintó
        reparó
        limpió llamó quedamos duele trabajan viven juegan salió comió durmió
        """
    ),
    marks=word_set("el la los las un una en su mi del se al y con me nos está"),
    unsure=word_set(
        """
        que quien cuyo donde no nunca nadie nada ningún ninguna todo todos toda todas cada solo sólo
        también casi incluso para dijo sabe pregunta piensa cree quiere puede debe cita reunión
        fiesta viaje clase partido concierto examen o
        """
    ),
    pronouns=word_set("él ella ellos ellas le les su sus lo"),
    there_is=(("hay",),),
    places=word_set("en sobre bajo"),
    passive=re.compile(r"(?P<patient>.+?) (?P<be>fue|fueron) (?P<part>\w+) por (?P<agent>.+)"),
    participles=tuple(
        (f"{vowel}d{end}", past)
        for vowel, past in (("a", "ó"), ("i", "ió"))
        for end in ("o", "a", "os", "as")
    ),
    stems=word_set("repar pint bloque encontr limpi cocin lav rob arrest compr vend construy mord"),
    active="",
    agents=word_set(
        """
        vecino vecina fontanero banco médico médica profesor profesora dueño dueña madre padre
        hermano hermana tío tía primo prima policía cartero electricista mecánico dentista abuelo
        abuela jefe jefa
        """
    ),
)
ITALIAN = Language(
    times=_times(
        r"(?:il |la )?(?:lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica)(?: "
        r"mattina| sera)?",
        r"(?:a|in) (?:gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|"
        r"ottobre|novembre|dicembre|estate|inverno)",
        r"nel \d{4}",
        r"dal \d{4}",
        r"ieri",
        r"domani",
        r"di notte",
        r"ogni (?:mattina|sera|giorno|settimana|mese|anno)",
        rf"alle {_CLOCK}",
        r"la settimana (?:prossima|scorsa)",
    ),
    conjunctions=word_set("quando se poiché siccome"),
    verbs=word_set(
        """
        gioca va abita vive lavora viaggia dorme canta mangia beve corre nuota comincia inizia apre
        chiude arriva parte torna restiamo resta sono fa è suona giocano lavorano
        """
    ),
    marks=word_set("il lo la gli un una di del nel con e mio mia al alla in è"),
    unsure=word_set(
        """
        che chi cui dove non mai nessuno niente tutto tutti tutta tutte ogni solo anche quasi
        perfino
        per disse sa chiede pensa crede vuole può deve appuntamento riunione viaggio lezione
        partita concerto esame o
        """
    ),
    pronouns=word_set("lui lei loro gli le suo sua suoi sue lo"),
    there_is=(("c'è",), ("ci", "sono")),
    places=word_set("in sul sotto nel nella"),
    passive=re.compile(
        r"(?P<patient>.+?) (?P<be>è stato|è stata|sono stati|sono state) (?P<part>\w+) "
        r"(?:da|dal|dalla) (?P<agent>.+)"
    ),
    participles=tuple((f"{vowel}t{end}", f"{vowel}to") for vowel in "aiu" for end in "oaie"),
    stems=word_set("ripar dipint pul compr vend tropp trov lav rub bloc"),
    active="ha",
    agents=word_set(
        "vicino vicina idraulico medico padre madre fratello sorella zio zia nonno nonna"
    ),
)
PORTUGUESE = Language(
    times=_times(
        r"(?:na|no|aos|às) (?:segundas?|terças?|quartas?|quintas?|sextas?|sábados?|"
        r"domingos?)(?:-feiras?)?",
        r"em (?:\d{4}|janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|"
        r"outubro|novembro|dezembro)",
        r"ontem",
        r"amanhã",
        r"desde \d{4}",
        r"todas as (?:manhãs|noites|semanas)",
    ),
    conjunctions=word_set("quando se porque embora enquanto"),
    verbs=word_set(
        """
        joga vai mora vive trabalha viaja dorme canta come bebe corre nada começa abre fecha chega
        sai
        volta comprámos compramos comprou vendeu mudou pintou reparou limpou ligou usar
        """
    ),
    marks=word_set("o os um uma em do da no na com e meu minha ao é à"),
    unsure=word_set(
        """
        que quem cujo onde não nunca ninguém nada todo todos toda todas cada só também quase até
        para disse sabe pergunta pensa acha quer pode deve consulta reunião festa viagem aula jogo
        concerto exame ou
        """
    ),
    pronouns=word_set("ele ela eles elas dele dela deles delas lhe seu sua seus suas"),
    there_is=(("há",), ("tem",)),
    places=word_set("em no na sob"),
    passive=re.compile(
        r"(?P<patient>.+?) (?P<be>foi|foram) (?P<part>\w+) (?:por|pelo|pela) (?P<agent>.+)"
    ),
    participles=tuple(
        (f"{vowel}d{end}", past)
        for vowel, past in (("a", "ou"), ("i", "eu"))
        for end in ("o", "a", "os", "as")
    ),
    stems=word_set("repar pint bloque encontr limp lav roub compr consert vend"),
    active="",
    agents=word_set("vizinho vizinha canalizador médico médica pai mãe irmão irmã tio tia avô avó"),
)
_DAYS_DE = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
_MONTHS_DE = (
    "januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|frühling|"
    "sommer|herbst|winter"
)
GERMAN = Language(
    times=_times(
        rf"am (?:{_DAYS_DE})(?:abend|morgen|nachmittag)?",
        rf"im (?:{_MONTHS_DE}|jahr \d{{4}})",
        rf"am \d{{1,2}}\. (?:{_MONTHS_DE})",
        r"seit \d{4}",
        "gestern",
        "heute",
        "morgen",
        rf"jeden (?:{_DAYS_DE}|morgen|abend|tag)",
        "(?:nächste|letzte) woche",
        rf"um {_CLOCK} uhr",
        r"nach dem (?:essen|frühstück)",
        r"mit dem (?:fahrrad|bus|zug|auto)",
    ),
    conjunctions=word_set("weil wenn obwohl bevor nachdem falls als"),
    verbs=word_set(
        """
        kommt geht wohnt arbeitet spielt fährt schläft singt isst trinkt zog ging kam blieb fuhr
        spielte arbeitete wohnte steigt heiratet reist schwimmt lernt kauft verkauft putzt öffnet
        schließt schloss kocht bleiben gehen bleibt fahren blinkt beginnt endet läuft stehen steht
        """
    ),
    marks=word_set(
        "der die das dem den ein eine zu nach im am und seine ihre mit zum zur es wir ich"
    ),
    unsure=word_set(
        """
        dass der-die nicht kein keine keinen nie niemand alle jeder jede jedes nur auch fast sogar
        um-zu sagt sagte weiß wusste fragt fragte denkt glaubt will kann muss ob termin treffen fest
        reise kurs spiel konzert prüfung oder
        """
    ),
    pronouns=word_set("er sie ihn ihm ihr sein seine seinen ihre ihren es"),
    there_is=(("es", "gibt"),),
    places=word_set("im in auf unter hinter"),
    inverts=True,
)

FOCUS = word_set(
    """
    schon erst noch wieder bereits gerade immer oft manchmal selten meist meistens vielleicht eben
    eher ausgerechnet überhaupt beinahe kaum mindestens höchstens wohl
    encore déjà surtout toujours souvent parfois rarement peut-être juste uniquement seul seule
    guère à-peine plutôt
    ya aún aun todavía sobre-todo siempre menudo veces apenas quizá quizás únicamente otra vez
    mismo misma hasta
    ancora già soprattutto sempre spesso forse appena nuovo proprio soltanto raramente stesso stessa
    ainda já sobretudo sempre talvez mesmo mesma apenas somente novamente
    """
)
"""Words that mean another thing beside another word."""
TIMED_NOUNS = word_set(
    """
    billet billets entrada entradas billete billetes boleto boletos biglietto biglietti bilhete
    bilhetes mer mar mare lac lago
    """
)
"""What may have a time of its own: tickets, and views that are painted."""
BEFORE_A_TIME = word_set(
    """
    von vom bis ab vor seit für und oder gegen
    de du des d' jusqu'à jusqu'au dès pour avant après vers et ou à
    del desde hasta para antes después hacia y e o a
    di da dal fino per prima dopo verso ed
    até por antes depois ou
    """
)
"""Words that belong to a time behind them, so that it cannot move without them."""
ARRIVING = word_set("llega llegó sale salió arriva parte chega sai")
ARTICLES = word_set("el la los las un una il lo gli le o a os as um uma")
OWNERS = word_set(
    "son sa ses mon ma mes un une el una su sus mi mis il mio mia suo sua um uma meu minha seu"
)
"""Words behind which a noun stands, and no infinitive."""
TOGETHER = word_set("und et y e ed")
WEATHER = word_set("llueve nieva nevica piove chove neva pleut neige")

LANGUAGES = (FRENCH, SPANISH, ITALIAN, PORTUGUESE, GERMAN)
