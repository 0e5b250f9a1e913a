"""The words with which `events` and `phrases` parse English sentences."""

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning.english_words import word_set

_MORE_DEEDS = word_set(
    """
    beep blink bloom boil bounce breed camp chat coach commute crash crawl cycle deploy dine
    disappear drip dry dust edit empty enrol evaporate evict flash flicker float flow glow graduate
    grind grow hatch heat hike host install irrigate jog lean leak lend load lock log marry melt mow
    object operate overheat park peel perform polish pour prune rattle reboot recover rerun reset
    restart retire ring roast row rust sail sand scrub serve shake sharpen shave ship shovel
    shrink shut sink ski slam sneeze snore spin stack strip struggle surf sweep swell swing
    swim thaw water trim tutor twist vacuum volunteer weed welcome whistle wilt yawn upgrade
    """
)
DEEDS = (en.CLAUSE_VERBS | _MORE_DEEDS | word_set(
    """
    accept attack ban bite block borrow brush catch change check choose collect complete confirm
    contact copy correct cover damage decorate defend deliver design develop dig draw dress drop
    earn elect employ enter escape examine exchange fetch film fire fold forgive fry gain get give
    greet guide hand hang happen harm heal help hide hire hold improve inject injure inspect
    interview invite join keep kill land launch lay lead lend lie lift light maintain manage
    marry meet mend mix offer organise overtake own pass pick post pour prepare press print produce
    protect publish pull punish put raise reach receive record release remove replace rescue reset
    review reward ride rise rob save scan score search see send serve sew share shave shoot shop
    sign sink sit ski slip solve speak spend split spray spread stand store study support
    swallow sweep take teach tear test throw tidy touch train translate treat trim tune turn
    unlock update use quit vaccinate vote weigh wipe wrap write graduate have cost
    """
)) - {"plan", "cry"}  # fmt: skip
"""Verbs of doing and of plain states. None reports, wants, plans, knows, feels or names, so none
can have a clause as its object, or a time that is not the time of the event."""

FEELINGS = word_set("like love hate prefer")
"""Verbs of states to which no time is added."""

ABOUT_A_TIME = en.ABOUT_A_TIME | word_set(
    """
    accept ban cancel check choose confirm cover defend design draw elect fill film get grant have
    invite keep miss need offer organise own plan postpone prepare record refuse save schedule
    store study support test
    """
)
"""Verbs whose object may have its own time."""

NO_PURPOSE = word_set("start stop begin come go get have help run stay wait live die fail offer")
"""Verbs after which "to" with a verb is more than a purpose, or ends something else."""

RESULTS = word_set("find discover learn be become win lose")
"""Verbs after "to" that tell what came of it: "returned to find Bob ill"."""

STATIVE = word_set(
    """
    like love hate prefer drink eat speak play live work own teach study sing wear drive
    """
)
"""Verbs that in the present mean a habit or a state."""

_PARTS = {base: en.participles_of(base) for base in en.BASES | DEEDS}
PASTS = frozenset(en.past_of(base) for base in en.BASES | DEEDS) | frozenset(
    part for base in DEEDS for part in en.participles_of(base) if base not in en.BASES
)
THIRDS = frozenset(en.third(base) for base in en.BASES | DEEDS)
PARTICIPLES = {
    part: base for base in sorted(DEEDS) for part in sorted(en.participles_of(base))
}  # fmt: skip
ALL_PARTICIPLES = frozenset(part for parts in _PARTS.values() for part in parts)
PAST_DEEDS = {en.past_of(base): base for base in sorted(DEEDS | FEELINGS)} | {
    part: base for part, base in PARTICIPLES.items() if part.endswith("ed")
}
THIRD_DEEDS = {en.third(base): base for base in sorted(DEEDS | FEELINGS)}
ING_DEEDS = {ing: base for base in sorted(DEEDS) for ing in en.ings_of(base)}
_CLAUSAL = word_set(
    """
    admit advise agree allow announce argue arrange ask assume attempt beg begged believe bet
    cause claim complain conclude confess consider continue dare decide declare deny deserve
    desire discover doubt dream encourage enjoy ensure estimate expect explain fear figure find
    forbid force forget guarantee guess hate hear hesitate hint hope imagine imply indicate inform
    insist instruct intend invite judge know learn like long love manage matter mean mention mind
    need neglect note notice notify observe order pay permit persuade plan plead point postpone
    practise prefer pretend promise propose prove quit realise realize recall recommend refuse
    regret remember remind report request require resist resolve reveal risk say schedule see seem
    sense show signal state suggest suppose suspect swear teach tell tempt tend think threaten
    tolerate trust try understand urge vow want warn watch wish wonder worry yearn
    """
)
VERB_FORMS = (
    en.BASES
    | DEEDS
    | _CLAUSAL
    | PASTS
    | THIRDS
    | ALL_PARTICIPLES
    | frozenset(en.past_of(base) for base in _CLAUSAL)
    | frozenset(en.third(base) for base in _CLAUSAL)
)
FINITE_ONLY = frozenset(en.FUNCTION & VERB_FORMS) | word_set("went said told gave took came got")

AUXILIARIES = word_set(
    """
    is are am was were has have had will would shall should can cannot could may might must do does
    did
    """
)
BE = word_set("is are am was were be been being")
NEGATIVE = word_set(
    """
    not no never nobody none nothing neither nor cannot without hardly rarely seldom barely scarcely
    noone nowhere unable
    """
)
FOCUS = word_set(
    """
    only just even almost nearly also too either mainly mostly especially exactly alone except
    still yet already again otherwise respectively instead rather quite perhaps maybe probably
    possibly first then likely supposed about
    """
)
QUANTIFIED = word_set(
    """
    every each all both most some many much few several any half another everybody everyone
    everything anybody anyone anything whole
    """
)
INDEFINITE = word_set("a an someone somebody something")
PRONOUNS = frozenset((*en.SUBJECTS, *en.OBJECTS)) | word_set(
    "it somebody someone everybody everyone everything something"
)
THIRD_PERSON = word_set(
    "he she they him them his her their hers its it himself herself themselves itself"
)
DETERMINERS = en.DETERMINERS | word_set(
    "this these those each every all both some no many several any another"
)
PREPOSITIONS = word_set(
    """
    in at on to with from for near behind under over above below beside between into onto through
    across along around inside outside by against without opposite past
    """
)
PARTICLES = word_set("off out up down away back over in on")
ADVERBS = word_set(
    """
    home there here twice once always never often usually sometimes together well hard fast early
    late abroad upstairs downstairs daily weekly monthly
    """
)
NOUNS_IN_LY = word_set("family reply supply assembly belly lily jelly bully ally fly butterfly")
FIXED_PLACES = {
    *(("at", "home"), ("at", "school"), ("at", "work"), ("to", "work"), ("to", "bed")),
    *(("in", "bed"), ("to", "school"), ("by", "bike"), ("by", "bus"), ("by", "train")),
    *(("by", "car"), ("on", "foot"), ("in", "cash"), ("in", "advance")),
}
DAY_PARTS = word_set("morning afternoon evening night noon")
MEALS = word_set("breakfast lunch dinner work school")
IN_PARTS = {("in", "the", part) for part in DAY_PARTS}
DAYS = en.WEEKDAYS | {day + "s" for day in en.WEEKDAYS}
FEASTS = word_set(
    """
    Christmas Easter Ramadan Eid Diwali Hanukkah Halloween Thanksgiving Passover Lent Advent
    Pentecost Whitsun Carnival Midsummer Noon Midnight Spring Summer Autumn Winter Dawn Dusk
    """
)

TIMED = word_set("when whenever before after since until once while")
CONJUNCTIONS = TIMED | word_set("because if unless although though")
FREE = word_set("if unless although though")
"""Conjunctions that a negation in the main clause does not reach."""
WEATHER = word_set("rains rained snows snowed freezes hails thunders")

GIVING = word_set(
    "gave gives give giving given lent lends lend sent sends send offered offers offer sold sells "
    "sell showed shows show handed hands hand owes owed owe"
)
CITIES = word_set(
    "adelaide alexandria austin charlotte chelsea dallas florence georgia jackson jordan lincoln "
    "london madison milan orlando paris phoenix rome salem santiago savannah sofia sydney troy "
    "verona victoria vienna virginia"
)
"""First names that are places as well."""
BUYING = word_set("bought buys baked bakes knitted knits")
KIN = word_set(
    """
    brother sister mother father mum dad mom son daughter wife husband aunt uncle cousin nephew
    niece grandmother grandfather grandma grandpa parents children boss neighbour landlord landlady
    friend colleague tenant dentist doctor teacher birthday house car dog cat phone bike flat flight
    office room garden kitchen bakery school café cafe restaurant shop wedding partner
    """
)
"""People and things that somebody has; no pictures or stories, which may be about that person."""
PARTICLE_VERBS: dict[str, frozenset[str]] = {
    "up": word_set("pick picked picks give gave gives clean cleaned cleans tidy tidied"),
    "off": word_set("switch switched switches turn turned turns"),
    "on": word_set("switch switched switches"),
    "down": word_set("write wrote writes tear tore"),
    "away": word_set("throw threw throws put puts give gave"),
    "back": word_set("bring brought brings pay paid pays give gave gives send sent sends"),
    "out": word_set("throw threw throws print printed prints"),
}
WAYS = word_set(
    "street road lane path alley hall corridor aisle stairs hill slope river window door chimney "
    "highway track tunnel bridge"
)
"""What somebody can move along: "tore down the street"."""
DEVICES = word_set(
    """
    alarm light lights lamp heating radio oven tv television computer laptop printer stove water
    main gas fan pump engine boiler heater dishwasher iron kettle music sprinkler router server
    """
)
GERUNDS = word_set(
    "smoking drinking dancing running swimming skiing gambling cycling hiking fishing shopping"
)
HERE = word_set("home here there abroad upstairs downstairs")
RELATIVES = word_set(
    """
    brother sister mother father mum dad mom son daughter wife husband aunt uncle cousin nephew
    niece grandmother grandfather grandma grandpa parents children boss neighbour landlord landlady
    friend colleague tenant dentist doctor teacher partner
    """
)
ORDERED = word_set("order respectively turn then first last another after before each")
PLACING = word_set("in at on under near behind above below beside between inside")

LATER = en.EVENTS | word_set(
    """
    plan plans schedule agenda deadline forecast budget calendar timetable shift shifts menu offer
    invitation rota programme program sale auction race festival fair parade ceremony market feast
    walk ride tour cruise taxi cab ticket tickets seat seats reservation
    """
)
"""Nouns that may have their own time."""
TIMED_BY_VERB = word_set("move postpone schedule invite need change delay call reset extend")
"""Verbs after which a time may be the new time of their object."""
ASKING = word_set(
    "check test see read write study teach show search choose confirm score examine inspect copy"
)
"""Verbs that take a clause as their object: "checked if", "saw when"."""
UNSURE_STATES = word_set(
    """
    sure unsure certain uncertain curious unclear clear aware known unknown obvious undecided
    doubtful important careful glad sorry
    """
)
PASSIVES = PARTICIPLES | {
    part: base
    for base in (
        "cancel", "postpone", "reject", "approve", "invite", "refuse", "test", "move", "call",
        "need", "support", "own", "schedule",
    )
    for part in sorted(en.participles_of(base))
}  # fmt: skip
BEFORE_A_CLAUSE = word_set("right straight long just soon days hours weeks years back only so")
"""Words that may belong to the conjunction after them."""
IT_IS = frozenset(
    ("is", state) for state in word_set("dark cold hot late early sunny windy wet foggy light warm")
) | frozenset((verb,) for verb in WEATHER)
THIRD_SUBJECTS = word_set("he she they him them it its itself himself herself hers")
DONE_TO_THINGS = word_set(
    """
    finish sell close lock open clean wash write read cook bake buy build paint repair mend fix
    drink eat play start stop burn break fill empty edit update upgrade install iron knit wear
    pack peel polish pour prepare print wipe wrap tidy sharpen deploy dig mow cut complete copy
    correct fold light
    """
)
"""Verbs whose object is a thing, so that no pronoun can mean a second person."""
CIRCUMSTANCES = (
    ("because", "of"), ("in", "case", "of"), ("according", "to"), ("thanks", "to"),
    ("due", "to"), ("despite",), ("in", "spite", "of"),
)  # fmt: skip
STATIVE_THIRDS = frozenset(en.third(base) for base in STATIVE)

SCENERY = word_set(
    "lake sea river mountain mountains forest city town village harbour coast valley sky landscape "
    "skyline bridge church castle beach sunset view"
)
"""What is painted on a picture: "the lake in winter"."""

SPANS = en.UNITS | {unit + "s" for unit in en.UNITS} | word_set("second seconds decades")
DEPICTING = word_set("paint draw photograph film design write record study save")
"""Verbs whose object may be of another time: "the town before the flood"."""
MARRIED = word_set("married divorced engaged")

GIVEN = word_set("given lent sent offered sold shown handed")
INSTITUTIONS = word_set(
    """
    bank school university hospital city council ministry court embassy museum library airline
    office department clinic agency foundation church club shop store hotel
    """
)
"""Institutions that decide; with other verbs, "by" may name a place beside them."""
DECIDED = word_set(
    """
    approved rejected accepted refused invited hired fired offered granted awarded funded owned
    employed elected frozen blocked cancelled canceled postponed criticized praised sued
    """
)
TOOLS = word_set("script server service app tool job function library plugin program module test")
OPERATED = word_set("needed supported used called generated required")
MASS_WEATHER = word_set("hail lightning frost")
PLACE_TAILS = PLACING | {"by", "next"}
DAY_NEEDS_ON = word_set("on and every last next this until since by from to of for before after")

OPERATED_THINGS = DEVICES | word_set(
    "button buttons switch lever handle knob lid tap valve rope lamp"
)
"""What somebody uses for a purpose, and what has no purpose of its own."""

THINGS = word_set(
    """
    bus buses train car bike dishes photos photo cup cups floor window windows letter report book
    books laundry clothes bed garden grass lawn wall walls room kitchen cake bread soup coffee tea
    """
)
