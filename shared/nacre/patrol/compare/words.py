"""The English words that the rules know. A word that is missing makes a pair be missed, no more."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


# Irregular verbs: base, past, participle.
_IRREGULAR = """
    be was been; bear bore borne; beat beat beaten; become became become; begin began begun;
    bend bent bent; bind bound bound; bite bit bitten; blow blew blown; break broke broken;
    bring brought brought; build built built; burn burned burned; buy bought bought;
    catch caught caught; choose chose chosen; come came come; cut cut cut; deal dealt dealt;
    dig dug dug; do did done; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten;
    fall fell fallen; feed fed fed; feel felt felt; fight fought fought; find found found;
    flee fled fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
    forgive forgave forgiven; freeze froze frozen; get got got; give gave given; go went gone;
    grow grew grown; hang hung hung; have had had; hear heard heard; hide hid hidden; hit hit hit;
    hold held held; hurt hurt hurt; keep kept kept; know knew known; lay laid laid; lead led led;
    learn learned learned; leave left left; lend lent lent; let let let; light lit lit;
    lose lost lost; make made made; mean meant meant; meet met met; overtake overtook overtaken;
    pay paid paid; put put put; quit quit quit; read read read; ride rode ridden; ring rang rung;
    rise rose risen; run ran run; say said said; see saw seen; sell sold sold; send sent sent;
    set set set; sew sewed sewn; shake shook shaken; shoot shot shot; show showed shown;
    shut shut shut; sing sang sung; sink sank sunk; sit sat sat; sleep slept slept;
    speak spoke spoken; spend spent spent; spread spread spread; stand stood stood;
    steal stole stolen; stick stuck stuck; sting stung stung; strike struck struck;
    sweep swept swept; swim swam swum; take took taken; teach taught taught; tear tore torn;
    tell told told; think thought thought; throw threw thrown; understand understood understood;
    wake woke woken; wear wore worn; weave wove woven; win won won; write wrote written;
    rewrite rewrote rewritten; overcome overcame overcome; withdraw withdrew withdrawn;
    undertake undertook undertaken; mistake mistook mistaken; foresee foresaw foreseen;
    rebuild rebuilt rebuilt; repay repaid repaid; resell resold resold; redo redid redone
"""
_REGULAR = """
    accept add admire admit adopt advise agree allow announce answer appear apologize apply approve
    argue arrange arrive ask attack attend award bake ban bark behave believe belong book borrow
    brush call cancel care carry celebrate change chase check claim clean climb close collect
    compare complain complete confirm contact cook copy correct cost count cover criticize cry
    damage dance decide decorate defend delay delete deliver deny depend describe design destroy
    develop die discover discuss drop earn employ encourage enjoy enter escape examine exchange
    expect explain export fail fetch file fill film finish fire fix fold follow guess hand happen
    hate help hire hope hug hunt ignore imagine import improve inform injure inspect install insult
    interview introduce invent invite iron join jump kick kill kiss knit knock land last laugh
    launch lie lift like listen live lock look love maintain manage marry mend mention miss mix
    move need notice number offer open order organize owe own pack paint park pass pick plan plant
    play please post pour practice praise prefer prepare present press print promise propose protect
    publish pull punish push question rain raise reach receive recommend record refuse regret reject
    remember remind remove rent repair repeat replace reply report rescue reserve rest return review
    reward rob save scold score search serve share shout sign smell smile smoke snow solve stage
    start stay stop store study suggest support surprise talk taste tease test thank tidy touch
    train translate travel treat trust try turn type use visit vote wait walk want warn wash watch
    water weigh welcome wish work worry wrap
"""


def _doubles(base: str) -> bool:
    return base in {
        "admit", "ban", "cancel", "chat", "clap", "drop", "fit", "grab", "hug", "knit", "mop",
        "permit", "pin", "plan", "plug", "prefer", "refer", "rob", "scan", "ship", "shop", "slip",
        "stop", "swap", "tap", "tip", "travel", "trim", "wrap",
    }  # fmt: skip


def participles_of(base: str) -> set[str]:
    """Return the spellings that the past participle of a base form may have."""
    if base in _FORMS:
        return {_FORMS[base][1]}
    if base.endswith("e"):
        return {base + "d"}
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return {base[:-1] + "ied"}
    return {base + "ed", base + base[-1] + "ed"} if _doubles(base) else {base + "ed"}


def third(base: str) -> str:
    """Return the form of a verb after "she"."""
    irregular = {"be": "is", "have": "has", "do": "does", "go": "goes"}
    if base in irregular:
        return irregular[base]
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "x", "z", "ch", "sh")) else "s")


_FORMS = {
    base: (past, participle)
    for base, past, participle in (each.split() for each in _IRREGULAR.split(";"))
}
BASES = frozenset(_FORMS) | frozenset(_REGULAR.split())
THIRDS = {third(base): base for base in BASES}
PASTS = dict(_FORMS.values())
VERBS = frozenset(
    {
        *THIRDS,
        *PASTS,
        *(part for base in BASES for part in participles_of(base)),
        *PASTS.values(),
    }
) | {"are", "am", "were"}


ENGLISH = word_set(
    """
    the and were with his she he they from that will would not their this because when while if
    who which its been you my your our does did should could can cannot must bought went sold
    told left said took gave came got lent paid saw knew thought ago years months weeks days
    """
)
"""Words that show by themselves that a text is English."""
ENGLISH_VERBS = VERBS - word_set(
    """
    is am are was had let set put come use note bent hit rang sang sank rose spread visite lies
    dies cut shut quit sit fit list led mette done dine sent lit made met rent
    """
)
"""Verbs that are not words of another language too."""
WEAK_ENGLISH = word_set("is are of has had her by for at on to it be we me")
FIRM_ENGLISH = word_set("is are of has had her 's")
"""Two of the first show it, if one of them is among the second."""
FOREIGN = word_set(
    """
    der das und nicht ist ein eine einen dem den mit auf ich er wir hat haben wird wurde le les
    et est une du dans avec il elle nous je ne pas los las una por que el gli che della sono uma
    com ele ela och att det som inte het een zijn niet ik
    """
)

SUBJECTS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
OBJECTS = {after: before for before, after in SUBJECTS.items()}
PRONOUNS = frozenset((*SUBJECTS, "you", "it", "there"))
POSSESSIVES = word_set("my your his her its our their")
THESE = word_set("this that these those")
PREPOSITIONS = word_set(
    """
    about above across after against along among around at before behind below beneath beside
    between beyond by despite down during for from in inside into near of off on onto out
    outside over past since through throughout to toward towards under until up upon with within
    without
    """
)
NEGATIVES = word_set(
    """
    not no never none nobody nothing nowhere neither nor hardly barely scarcely rarely seldom
    without cannot
    """
)
FOCUS = word_set(
    """
    1st only even just also too almost nearly mainly mostly especially always again still
    already often usually sometimes simply merely either first then once twice both respectively
    instead else about
    """
)
QUANTIFIERS = word_set(
    """
    all every each some any many much few little most several everybody everyone somebody
    someone anybody anyone everything something anything nobody half both either neither no none
    """
)
BE = word_set("am is are was were be been being")
AUXILIARIES = BE | word_set(
    "has have had do does did will would shall should can could may might must"
)
MODALS = word_set("will would shall should can could may might must")

# Words that begin or hold another clause: what stands beside them may belong to it.
CLAUSE_WORDS = word_set(
    """
    that who whom whose which what when whenever where while because if unless although though
    whether how why and or but so than as like unlike except
    """
)

WEEKDAYS = word_set("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = word_set(
    """
    january february march april may june july august september october november december
    """
)
SEASONS = word_set("spring summer autumn winter")
DAY_PARTS = word_set("morning afternoon evening night")
UNITS = word_set("second minute hour day week weekend month year decade century")
TIMES = word_set("yesterday today tomorrow tonight")
DEICTIC = TIMES | word_set("now currently ago recently lately next last this soon here")
EVENTS = word_set(
    """
    meeting dinner lunch breakfast party flight appointment concert call game match trip lesson
    exam class wedding conference interview session date visit event show holiday talk lecture
    booking reservation train plane bus ticket tickets room table course deadline delivery vote
    election strike test surgery operation meetings flights parties classes lessons exams
    """
)
NOT_ING = word_set(
    """
    evening morning meeting building wedding nothing something everything anything spring string
    king ring thing ceiling painting clothing feeling earring wing during
    """
)

# Nouns whose article changes what is said, as in "in prison" and "in the prison".
MARKED_NOUNS = word_set(
    """
    1st blue cold rule week month year hour minute decade century weekend question way fire
    table case front time times board office air hand side power course last charge school
    church prison jail bed sea court college university class place end day night future past
    moment fact view light sight line order effect point least most back top bottom stage record
    duty leave demand sale hold track ball run house road move job mark part town work home few
    little lot bit number couple dozen hundred thousand million while only same next other best
    first second third chicken lamb fish glass paper iron room space hair wood cloth business
    experience change stone rock beauty youth more less worst better tin lead gold rest one man
    woman god world people children men women mice feet teeth police data media hospital half
    good great kind sort egg duck turkey salmon rabbit onion oak pine cake pie war law life
    death love truth
    """
)

MARKED_ADJECTIVES = word_set(
    "poor rich old young dead sick blind deaf elderly unemployed wounded homeless"
)
"""Adjectives that with "the" and no noun mean people."""

_SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {word: number for number, word in enumerate(_SMALL.split())} | {
    word: 10 * number for number, word in enumerate(_TENS.split(), start=2)
}
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ORDINALS = {
    "first": "1st", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th",
    "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th", "eleventh": "11th",
    "twelfth": "12th", "twentieth": "20th",
}  # fmt: skip

CONTRACTIONS = {
    "can't": "can not", "cannot": "can not", "won't": "will not", "shan't": "shall not",
    "i'm": "i am", "let's": "let us", "couldn't": "could not", "ain't": "ain't",
}  # fmt: skip
_SPELLINGS = """
    color=colour colors=colours colored=coloured colorful=colourful favor=favour favors=favours
    favorite=favourite favorites=favourites flavor=flavour flavors=flavours harbor=harbour
    harbors=harbours honor=honour honored=honoured humor=humour labor=labour neighbor=neighbour
    neighbors=neighbours neighborhood=neighbourhood rumor=rumour rumors=rumours
    behavior=behaviour parlor=parlour vapor=vapour savior=saviour odor=odour armor=armour
    endeavor=endeavour center=centre centers=centres centered=centred theater=theatre
    theaters=theatres fiber=fibre liter=litre liters=litres kilometer=km kilometers=km
    kilometre=km kilometres=km kms=km centimeter=cm centimeters=cm centimetre=cm centimetres=cm
    kilogram=kg kilograms=kg kilogramme=kg kilogrammes=kg kgs=kg gray=grey
    gray-haired=grey-haired traveled=travelled traveling=travelling traveler=traveller
    travelers=travellers canceled=cancelled canceling=cancelling modeling=modelling
    labeled=labelled labeling=labelling fueled=fuelled jewelry=jewellery mom=mum moms=mums
    mommy=mummy airplane=aeroplane airplanes=aeroplanes aluminum=aluminium pajamas=pyjamas
    donut=doughnut donuts=doughnuts skeptical=sceptical plow=plough plowed=ploughed
    catalog=catalogue catalogs=catalogues dialog=dialogue analog=analogue aging=ageing
    judgment=judgement mustache=moustache defense=defence offense=offence license=licence
    licenses=licences practise=practice practised=practiced practising=practicing learnt=learned
    dreamt=dreamed burnt=burned spelt=spelled leant=leaned spoilt=spoiled leapt=leaped
    smelt=smelled whilst=while amongst=among towards=toward afterwards=afterward
    backwards=backward e-mail=email e-mails=emails e-mailed=emailed okay=ok till=until
    fulfill=fulfil enroll=enrol skillful=skilful woolen=woollen artifact=artefact cozy=cosy
    mold=mould moldy=mouldy smolder=smoulder maneuver=manoeuvre pediatrician=paediatrician
    anesthetic=anaesthetic encyclopedia=encyclopaedia diarrhea=diarrhoea estrogen=oestrogen
    percent=% mon=monday tue=tuesday tues=tuesday wed=wednesday thu=thursday thurs=thursday
    fri=friday feb=february aug=august sept=september oct=october nov=november dec=december
    eur=euros usd=dollars vs=versus organisation=organization organisations=organizations
    dr=doctor
    """
SPELLINGS = dict(pair.split("=") for pair in _SPELLINGS.split())
IZE = word_set(
    """
    organ real recogn apolog critic emphas summar special visual final normal prior minim maxim
    memor modern optim standard author character civil colon general legal local material mobil
    neutral patron privat public revolution social stabil symbol sympath util vandal victim
    custom categor capital hospital personal digit synchron theor terror fertil familiar harmon
    central equal
    """
)
"""Stems that are spelled with -ise or -ize alike."""

FILLERS = tuple(
    [word for word in phrase.split() if word not in ("a", "the")]
    for phrase in (
        "well", "oh", "okay", "ok", "so", "yeah", "anyway", "um", "uh", "erm", "you know", "i mean",
        "by the way", "actually", "basically", "in fact", "as you know", "note that", "hey", "fyi",
        "as a matter of fact", "of course", "incidentally", "honestly", "to be honest",
    )
)  # fmt: skip
BARE_FILLERS = tuple(
    [word for word in phrase.split() if word not in ("a", "the")]
    for phrase in ("actually", "basically", "um", "uh", "in fact", "by the way")
)
"""Fillers that need no comma at the beginning of a sentence."""

SCHEDULING = word_set(
    """
    book books booked reserve reserves reserved plan plans planned schedule schedules scheduled
    arrange arranges arranged announce announces announced cancel cancels cancelled canceled
    postpone postpones postponed prepare prepares prepared discuss discusses discussed propose
    proposes proposed suggest suggests suggested mention mentions mentioned promise promises
    promised expect expects expected order orders ordered invite invites invited need needs
    needed want wants wanted request requests requested demand demands demanded offer offers
    offered
    """
)
"""Verbs whose object may have a time of its own: "booked a table on Monday"."""

HOMOGRAPHS = word_set(
    """
    aids polish turkey china march may august mark bill will rose hope apple amazon frank pat jack
    grace joy summer april june dawn faith chase grant rob sue art drew job nice reading mercury
    earth target gap shell visa windows word excel
    """
)
"""Words that are something else with a capital letter."""

NOT_AGENTS = word_set(
    """
    garage garden pool house tent mill well castle tower harbour shore sink stove oven desk
    table bed sofa chair lamp clock stairs steps park field hill mountain forest barn shed pond
    creek kitchen office corner border roadside square stage bar counter shop store school
    hospital airport dock river lake sea road street window door side hand mistake accident
    chance car train bus plane boat ship bike bicycle taxi foot post mail phone email telephone
    letter law name default noon midnight morning evening night today tomorrow tonight now then
    monday tuesday wednesday thursday friday saturday sunday january february march april june
    july august september october november december spring summer autumn winter week month year
    weekend end time deadline far half percent % accident design force nature candlelight
    moonlight bridge station beach coast fire fireplace entrance gate church wall fence tree
    canal
    """
)
"""What follows "by" without having done anything."""

STATES = word_set(
    """
    is are likes loves hates plays speaks lives works has owns wants needs knows prefers drinks
    eats studies teaches collects drives wears sings paints cooks reads
    """
)
SEQUENCE = word_set(
    "1st respectively then first second order former latter followed next finally later"
)
