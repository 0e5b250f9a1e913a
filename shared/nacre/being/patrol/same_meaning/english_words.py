"""The English words that the rules know; a pair with an unknown word is not recognized."""


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
        "stop", "swap", "tap", "tip", "travel", "trim", "wrap", "jog", "slam", "skip", "strip",
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
    for base, past, participle in (entry.split() for entry in _IRREGULAR.split(";"))
}
BASES = frozenset(_FORMS) | frozenset(_REGULAR.split())


def past_of(base: str) -> str:
    """Return the past of a verb."""
    return _FORMS[base][0] if base in _FORMS else max(participles_of(base), key=len)


def ings_of(base: str) -> list[str]:
    """Return the spellings that the form in -ing of a verb may have."""
    if base.endswith("e") and not base.endswith("ee"):
        return [base[:-1] + "ing"]
    return [base + base[-1] + "ing"] if _doubles(base) else [base + "ing"]


WEEKDAYS = word_set("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = word_set(
    """
    January February March April May June July August September October November December
    """
)
DATED = WEEKDAYS | MONTHS
"""Words with a capital that are not names."""
SEASONS = word_set("spring summer autumn winter")
UNITS = word_set("minute hour morning evening night day week weekend month year")
TIME_NOUNS = (
    SEASONS
    | UNITS
    | {unit + "s" for unit in UNITS}
    | word_set(
        """
        time times moment moments second seconds date dates past future present decade decades
        century era age period phase noon midnight midday afternoon afternoons today yesterday
        tomorrow tonight eve eves birthday birthdays anniversary holiday holidays season seasons
        term semester quarter fortnight weekday weekdays dawn dusk sunrise sunset daytime
        nighttime bit while mile miles way ways lot rest same other next last first following
        previous end beginning start tmrw tmr tomorow tonite now then
        """
    )
)
"""Nouns that may give a time, a duration or a distance, without a preposition."""

SUBJECTS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them", "you": "you"}
OBJECTS = {after: before for before, after in SUBJECTS.items()}
PRONOUNS = word_set("i you he she it we they there that who what")
POSSESSIVES = word_set("my your his her its our their")
DETERMINERS = POSSESSIVES | {"the", "a", "an"}
AUXILIARIES = word_set(
    """
    am is are was were be been being has have had do does did wo ca will would shall should can
    could may might must need
    """
)
AFTER_IS = word_set("a an the not in at on from my your our his her their")
"""Words that show that "she's" means "she is"."""

FUNCTION = (
    AUXILIARIES
    | PRONOUNS
    | DETERMINERS
    | frozenset((*SUBJECTS, *OBJECTS))
    | word_set(
        """
        i me this these those which whom whose when whenever where wherever while because if unless
        although though whether how why and or but so than as like unlike except since until once
        yet nor
        about above across after against along among around at before behind below beneath beside
        between beyond by despite down during for from inside into near of off on onto out
        outside over past through throughout to toward towards under up upon with within without
        not no never none nobody noone nothing nowhere neither hardly barely scarcely rarely seldom
        cannot only even just also too almost nearly mainly mostly especially always again still
        already often usually sometimes simply merely either first then twice both respectively
        instead else ever soon later ago here away back all every each some any many much few
        little most several everybody everyone somebody someone anybody anyone everything
        something anything half one two three four five six seven eight nine ten eleven twelve
        hundred thousand million another other others such same own more less least enough lots
        perhaps maybe yesterday today tomorrow tonight now please let ones each
        there's it's that's
        """
    )
)
"""Words that are never a noun, an adjective or a name."""

ENGLISH = word_set(
    """
    the they she it it's there's my your our their did does were with this which and from because
    when while although unless until how that would should since before every both three four
    five seven eight nine eleven twelve ago you if
    monday tuesday wednesday thursday friday saturday sunday
    """
) | (
    frozenset(part for forms in _FORMS.values() for part in forms)
    | frozenset(third(base) for base in BASES)
    | frozenset(past_of(base) for base in _REGULAR.split())
    | frozenset(("has", "been", "doesn't"))
) - word_set(
    """
    was had let set put come note bent hit rang sang sank rose spread lies dies cut shut quit sit
    fit led done dine sent lit met rent is has given driven
    """
)
"""Words that show that a text is English."""

FOREIGN = word_set(
    """
    der das und nicht ist ein eine einen dem den mit auf ich er wir hat haben wird wurde le les
    et est une du dans avec il elle nous je ne pas los las una por que el gli che della sono uma
    com ele ela och att det som inte het een zijn niet ik
    """
)
"""Words that show that a text may be in another language."""

LITERAL = word_set(
    """
    password passwords passphrase passcode code codes pin key keys token tokens username login
    logins ssid wifi url id ids serial plate iban hash word words spelled spelt spelling name
    names named nickname alias quote title phrase
    """
)
"""Words that show that a text may contain data, whose exact spelling counts."""

ADJECTIVES = word_set(
    """
    old new young big small large little long short tall good bad red blue green black white grey
    brown yellow pink dark light warm cold hot wet dry clean dirty heavy local annual electric
    wooden broken empty full expensive cheap famous beautiful
    """
)
COLOURS = word_set("red blue green black white grey brown yellow pink orange purple")

BASE_OF_VOICE = word_set(
    """
    accept admire adopt approve arrest attack bake bite blame break build buy cancel chase check
    choose clean complete cook cover criticize damage decorate deliver design destroy develop
    draw drive drop eat edit elect employ feed fill finish fire fix forgive fund guide heal hire hit
    hug improve injure inspect install invite kick kill kiss knit like love maintain manage mend
    open order organise own paint pay praise prepare print promote protect publish pull punish
    push raise reach read refuse reject remove repair replace rescue review reward rob save
    scold sell send serve sew sign sing solve spill start steal sting strike sweep teach test
    throw train translate treat trust update use visit wash water win wipe write wrap
    approve block borrow call cancel close contact examine find fold freeze fund give grant hand
    host knit mark lend need offer own postpone punch reject rent run schedule search see send
    show sink smash stop support teach tear trim vaccinate welcome
    """
)
VOICE_PARTICIPLES: dict[str, tuple[str, ...]] = {
    part: tuple(sorted(base for base in BASE_OF_VOICE if part in participles_of(base)))
    for part in {part for base in BASE_OF_VOICE for part in participles_of(base)}
}

CLAUSE_VERBS = word_set(
    """
    arrive bake bark begin book break bring build burn buy call carry chase clean clear climb
    close come cook cry cut dance destroy die drink drive drop eat expire fail fall feed fight fill
    finish fix flee flood fly freeze go hit hug kick kiss knit laugh leave live lock lose melt
    miss move open paint pay plant play push rain read rent repair rest retire return ring run
    scream sell set shout sing sleep smell smile smoke snow spill start stay steal stop swim
    switch take travel visit wait wake walk wash water wear win work
    """
)
"""Verbs of action; none reports, plans, wants, names or feels."""


def _forms(base: str) -> set[str]:
    plain = set() if base in ("read", "cut", "set", "hit") else {base}
    return {past_of(base), third(base)} | plain


CLAUSE_FORMS = {form: base for base in CLAUSE_VERBS for form in _forms(base)}
ABOUT_A_TIME = word_set("book buy rent paint set pay")
"""Verbs whose object may have a time of its own, as in "booked a table on Monday"."""
ON_A_DAY = word_set(
    "arrive clean close come finish fix go open repair return start wash leave work"
)
PASTS_OF = frozenset(_FORMS[base][0] for base in _FORMS) | frozenset(
    past_of(base) for base in _REGULAR.split()
)
STATES = word_set("asleep awake ill sick late tired quiet closed open dark empty alone")
"""Adjectives that no clause or time behind them can belong to."""
BARE = word_set(
    """
    coffee tea milk beer wine bread soup lunch dinner breakfast tennis chess football golf cards
    """
)
"""Nouns that are the object of a verb without an article."""
MANNERS = word_set("home outside inside upstairs downstairs slowly quickly carefully loudly")
FINITE = PASTS_OF | (
    frozenset(CLAUSE_FORMS)
    | frozenset(_FORMS[base][0] for base in _FORMS)
    | frozenset(third(base) for base in BASES)
    | word_set("is are was were has have had will would can could should might does did")
)
SAYING = word_set(
    """
    said says say thinks think thought knows know knew believes believe believed hopes hope hoped
    noticed explained heard feels agreed promised
    """
)
TELLING = word_set("told tells")

EVENTS = word_set(
    """
    meeting dinner lunch breakfast party flight appointment concert call game match trip lesson
    exam class wedding conference interview session date visit event show holiday talk lecture
    booking reservation train plane bus ticket tickets room table course deadline delivery vote
    election strike test surgery operation meetings flights parties classes lessons exams
    """
)
"""Nouns such as "train" or "appointment", whose own time may differ from the time of the action."""

TITLES = word_set("Dr Mr Mrs Ms Uncle Aunt Aunty Doctor Professor")
AGENTS = word_set(
    """
    man woman boy girl child children baby kid kids people person stranger friend friends
    neighbour neighbours colleague colleagues guest guests thief thieves burglar robber king queen
    mother father mum dad parents brother sister son daughter uncle aunt cousin nephew niece
    grandmother grandfather grandma grandpa wife husband twin twins
    actor architect artist author baker barber builder butcher carpenter chef cleaner cook
    dentist designer detective developer director doctor driver editor electrician engineer
    farmer firefighter gardener goalkeeper guide hairdresser judge lawyer librarian manager
    mayor mechanic minister musician nurse owner painter pharmacist photographer pilot plumber
    policeman postman president principal professor programmer referee reporter scientist
    secretary singer soldier student students surgeon tailor teacher teachers technician tenant
    tenants landlord landlady boss customer customers client waiter waitress writer vet
    company committee board council government jury team police army choir union
    insurance parser scheduler compiler bot robot babysitter caretaker courier donor engineers
    builders dentists actors artists
    cleaner
    dermatologist cardiologist physiotherapist therapist inspector intern apprentice instructor
    midwife paramedic plasterer roofer locksmith postwoman policewoman officer clerk cashier
    accountant auditor consultant contractor supplier tutor translator volunteer volunteers
    landscaper optician orthodontist paediatrician psychologist seamstress tiler trainer
    locksmiths builders movers nurses doctors singers farmers workers band orchestra
    """
)
"""Nouns that act, and that are not places: "by the doctor" names who did it, not where."""
ANIMALS = word_set(
    """
    dog dogs cat cats horse wasp bee mosquito spider fox wolf bear snake shark storm flood wind
    earthquake hurricane lightning hail frost fox foxes
    """
)
HARMS = word_set(
    """
    attack bite break chase damage destroy drop eat flood hit hurt injure kick kill pull push
    sting strike
    """
)
"""Verbs of animals and weather; with other verbs, "by the dog" may say where."""
HARMED = frozenset(part for base in HARMS for part in participles_of(base))
DESTINATIONS = word_set("station airport hospital school wedding ceremony party")
SEVERAL = frozenset(
    word for word in AGENTS | ANIMALS if word.endswith("s") and not word.endswith("ss")
) | word_set("children people police us them me you")
FIRST_NAMES = word_set(
    """
    aaron abigail adam agnes ahmed aisha alan albert alex alexander ali alice amanda amina amir
    amy andrea andreas andrew angela anita anja ann anna anne annie anton antonio arthur astrid
    barbara beatrice bella ben benjamin bernard beth bianca bill birgit bob boris brian bruno
    carl carla carlos carmen carol caroline catherine cathy cecilia chloe chris christian
    christina christine christopher claire clara claudia colin cora dan dana daniel daniela
    david deborah denise dennis diana diego dieter dirk dmitri dominik donald dora doris dorothy
    edgar edith edward elena elias elisabeth elizabeth ella ellen elsa emil emily emma enrique
    eric erik erika ernst esther eva evelyn fatima felix fernando fiona florian francesca
    francesco frank franz fred freya friedrich gabriel gareth george gerald gina giovanni giulia
    greta guido gustav hanna hannah hans harold harry hassan heather heidi heike heinz helen
    helga henry herbert hilda holger hugo ian ibrahim ida igor ines inga ingrid irene iris isaac
    isabel isabella ivan jacob jakob james jan jana jane janet janine jason javier jean jenny
    jens jessica jim joan joanna joe johan johanna john jonah jonas jonathan jorge jose joseph
    josh juan julia julian juliet julie kai karen karim karin karl kate katharina katherine
    kathy kenneth kevin kim klaus kofi konrad kristina lars laura lea lena leo lewis liam lily
    linda lisa liz lorenzo lotte louis louise luca lucas lucia lucy luis luisa lukas magda maja
    manuel marc marco margaret maria marie mario marion martha martin mary marta mateo matthew
    max maya megan mehmet mei melissa mia michael michelle miguel mike miriam mohamed monika
    moritz nadia naomi natalie nathan nicholas nicole niklas nils nina noah nora oleg olga
    oliver olivia omar oscar oskar otto pablo patricia patrick paul paula pavel pedro peter
    petra philip pierre priya rachel rafael ralf raj ravi rebecca renate ricardo richard rita
    robert roberto roger rolf ron rosa rosalind rosemary ruben rudolf ruth ryan sabine sally sam
    samuel sandra sara sarah sean sebastian sergio sharon sigrid silke silvia simon simone sonia
    sophia sophie stefan stefanie stella stephan stephen steve steven susan susanne sven sylvia
    tania tanja tariq tatiana ted teresa theo theresa thomas tim tina tobias tom tomas tony ulla
    ulrich ursula uwe valentina vanessa vera veronica viktor vincent walter wanda wei wendy
    sofia ludmila fatou nadja priscilla noor inés zeynep kofi ama kwame chidi ngozi aya yuki kenji
    hiroshi haruto sakura minh linh thuy rajesh sunita anil deepa arjun kavya meera vikram lakshmi
    farah layla leila samir karima rashid youssef ingmar lasse bjorn sigurd ebba elin joel silas
    otis edna hugh owen rhys cerys niamh aoife sinead declan padraig seamus darragh rosie poppy
    hattie percy cedric clement gaston marcel odile colette mathilde camille manon etienne bastien
    guillaume thierry agathe benoit margot yann joao thiago beatriz rafaela leonor tiago nuno
    catarina mariana fernanda matteo giorgio tommaso alessandro chiara elisa federica paolo pietro
    giuseppe raquel nuria jaime ignacio alvaro esteban rocio celia graciela karsten heiner jutta
    anneliese gisela wolfgang dietrich annika lennart torsten malte rosalía ola
    wilhelm william yasmin yusuf yvonne zoe grandma grandpa mum dad mom granny
    """
)
"""Names of people that are no places and no other words."""

_SMALL = [
    *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ONES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
NUMBERS = (
    {word: str(number) for number, word in enumerate(_SMALL, start=2)}
    | {ten: str(10 * number) for number, ten in enumerate(_TENS, start=2)}
    | {
        f"{ten}-{one}": str(10 * first + second)
        for first, ten in enumerate(_TENS, start=2)
        for second, one in enumerate(_ONES, start=1)
    }
)
SCALES = word_set("hundred thousand million billion dozen half one quarter third")


def is_several(word: str) -> bool:
    """Return whether a word looks like the plural of a noun."""
    return word.islower() and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))


PHRASES = [
    (phrase.split(), plain.split())
    for phrase, plain in (
        ("due to the fact that", "because"),
        ("outside of the", "outside the"),
        ("inside of the", "inside the"),
        ("off of the", "off the"),
        ("know whether or not", "know whether"),
    )
]
"""Phrases and the shorter ones that replace them in every context."""

COUNTED = word_set(
    """
    bike bicycle motorbike kitchen bathroom bedroom museum lake shelf umbrella cabin bakery
    supermarket library restaurant balcony basement sofa fridge suitcase wallet laptop appointment
    """
)
"""Singular nouns that lack an article only in notes."""
VISITED = [("dentist",), ("doctor",), ("vet",)]
"""People whom one visits; without "to" the noun may be somebody's own profession."""
GETTING = word_set("bought sold rents rented visited visits forgot has have")

CONTRACTIONS = {
    "can't": "cannot", "won't": "will not", "shan't": "shall not", "i'm": "I am",
}  # fmt: skip
FILLERS = ("by the way, ", "actually, ", "in fact, ", "incidentally, ")
"""Openings without content."""
OPENING = word_set(
    """
    the a an my our your his her its their we you he she they it there this these those when
    whenever while because if unless although until since after before during at in on as by with
    from to for every each last next yesterday tomorrow actually incidentally all both half
    two three four five six seven eight nine ten eleven twelve
    """
)
"""Words that are small in the middle of an English sentence, and no other word with a capital."""

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
    whilst=while amongst=among towards=toward afterwards=afterward
    backwards=backward okay=ok
    fulfill=fulfil enroll=enrol skillful=skilful woolen=woollen artifact=artefact cozy=cosy
    mold=mould moldy=mouldy smolder=smoulder maneuver=manoeuvre pediatrician=paediatrician
    anesthetic=anaesthetic encyclopedia=encyclopaedia diarrhea=diarrhoea estrogen=oestrogen
    organisation=organization organisations=organizations
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

AFTER_ORDERS = word_set("up off out down away back over only me us him them it")
"""Words after a verb that show that it is an order."""
ORDER_VERBS = word_set(
    "pick take bring call tell ask give send meet drop put turn switch feed help invite remind pay"
)
"""Verbs that begin an order to do something with a person."""
OFTEN_ENGLISH = word_set("to of with from by has")
"""Words of which two in one sentence show that it is English."""
KEYS = word_set("key keys plate")
"""Words that may be things as well as data."""
SMALL_OPENINGS = word_set(
    """
    somebody someone nobody everybody everyone there never neither between during until without
    despite according thanks due near behind under over above below beside inside against
    throughout across along among around once though even whether
    """
)
