"""The words of attributes, changes and additions in ten languages, for `changed_facts`.

An attribute is what a fact is about: where somebody lives, works or studies, what they drive or
like. Its words say what it is now, or that it has changed. Lists need not be complete: a word that
is missing leaves two facts in the order of their scores.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain

from nacre.core.lazy_dataclasses import dataclass

# A Latin word stands for all words that begin so, and one with "$" for itself. "_" joins words.
# Words of other scripts may be anywhere in a text.
_ATTRIBUTES: Mapping[str, str] = {
    "home": "live$ lives$ lived$ living resid address moved_to move_to moved_in relocat wohn leb"
    " adresse gezogen umgezogen umzug gewohnt gelebt habit vit$ vivai vivr domicile déménag"
    " s'est_installé vive$ vivía vivo$ viven$ mudó mudad traslad dirección reside abita"
    " viveva indirizzo"
    " trasferi mora$ morava mudou woon verhuis 住 引っ越 转居 搬 산다 살아 사는 살고 이사",
    "work": "for_a_living do_for_work works$ work$ worked job$ jobs$ employ profession role$"
    " occupation hired joined promoted became$ arbeit beruf gekündigt angefangen stelle$"
    " travaill métier emploi$ devenu trabaj empleo oficio lavor mestiere impiego werkt$ baan$ 働"
    " 仕事 勤 転職 辞め 工作 上班 辞职 일하 직업 직장",
    "love": "relationship married$ marry single$ dating engaged$ girlfriend boyfriend husband"
    " wife$ divorc broke_up split_up widow in_a_relationship heirat verheiratet hochzeit wedding"
    " ledig scheiden geschieden getrennt geheiratet verlobt célibataire mari$ marié divorcé"
    " fiancé rompu solter casad casó novi rompió sposat fidanzat divorziat celibe nubile"
    " getrouwd gescheiden 独身 結婚 離婚 付き合 婚約 单身 结婚 离婚 결혼 이혼",
    "vehicle": "drive$ drives$ car$ fährt$ auto$ elektroauto roule voiture coche$ conduce$"
    " macchina guida$ 車 开车",
    "phone": "phone telefon handynummer téléphone teléfono telefono numéro número numero 電話"
    " 电话 전화",
    "email": "email e-mail reached_at mailadresse correo",
    "password": "password passwort kennwort mot_de_passe contraseña wachtwoord パスワード 密码",
    "money": "rent$ salary wage price cost$ costs$ pays$ pay$ budget miete gehalt kostet zahlt$"
    " loyer salaire coûte alquiler sueldo cuesta affitto stipendio costa$ huur 家賃 給料 房租"
    " 工资",
    "body": "weigh weight blood_pressure wiegt wog$ wiege gewicht pèse poids$ pesa$ peso$ hair$"
    " haare cheveux 体重 髪",
    "dose": "dose$ mg dosis 毫克",
    "date": "appointment meeting flight train$ wedding deadline due$ shift$ departs begins opens"
    " termin zahnarzttermin flug zug$ hochzeit frist$ sitzung rendez-vous réunion vol$ mariage"
    " cita$ reunión vuelo boda plazo appuntamento riunione volo$ afspraak 会議 予約 飛行機"
    " 締め切り 会议 预约 航班",
    "favourite": "favourite favorite prefer lieblings bevorzug préféré favorit preferid preferit"
    " lievelings 好きな 好きだ 最喜欢",
    "diet": "vegetarian vegan meat$ eats$ fleisch vegetarisch isst$ viande carne$",
    "smoke": "smok rauch fum タバコ 煙草 抽烟 戒烟",
    "drink": "coffee tea$ drinks$ drink$ alcohol kaffee tee$ trinkt$ alkohol bier$ café$ thé$"
    " boit$ toma$ caffè tè$ beve$ コーヒー 紅茶 緑茶 飲",
    "sport": "sport$ runs$ running$ jog swim tennis football rowing rows$ cycl climb handball"
    " klettert schwimm joggt fußball nage$ court$ nada$ fútbol pádel juega$ nuoto スポーツ"
    " テニス 水泳",
    "instrument": "instrument violin cello piano guitar drum bass$ flute trumpet geige klavier"
    " gitarre flöte schlagzeug chitarra batteria guitare violon guitarra violín 楽器 ピアノ"
    " ギター バイオリン",
    "study": "study studies$ studying enrolled major$ university college school studier klasse"
    " schule étudi estudi universi medicina derecho 大学 学校 学んで",
    "learn": "learning lernt$ apprend aprend impara 学習 习 学 배우",
    "leader": "boss$ manager supervisor reports_to landlord doctor$ dentist chef$ chefin"
    " vorgesetzt hausarzt vermieter patron$ jef capo$ medico 上司 大家 医者 老板",
    "device": "laptop phone$ iphone computer android pixel windows linux macbook handy$ portátil"
    " ordinateur",
    "travel": "holiday vacation trip$ travel urlaub fährt_im reise sommer vacances viaj viagg"
    " vacaciones 夏休み 旅行先 行き先",
}
_CHANGES = (
    "now$ no_longer anymore any_more instead$ used_to stopped quit$ gave_up given_up gone_off"
    " dropped switched changed$ change_of replaced swapped traded became$ become$ turned$ left$"
    " moved$ transferred rescheduled postponed delayed extended rebooked slipped raised lowered"
    " went_up went_down reduced cut$ these_days from_this nowadays from_now again$ overcame"
    " outgrew outgrown down_to up_to corrected cancelled canceled promoted elected was_made"
    " decided broke_up divorced engaged$ migrated took_up since$ sold$ married$ cured surgery"
    " jetzt nun$ inzwischen mittlerweile nicht_mehr kein_mehr mehr$ statt doch$ gewechselt"
    " wechselt umgezogen gezogen aufgehört aufgegeben verlegt verschoben geändert geworden seit$"
    " wieder nur_noch herabgesetzt erhöht gestiegen gesunken gekündigt getrennt scheiden"
    " geschieden geheiratet angefangen ersetzt umgestiegen maintenant désormais à_présent plus$"
    " changé déménagé quitté arrêté reporté devenu passé_à remplacé finalement depuis$ rompu"
    " divorcé marié installé abandonné ahora ya_no cambió mudó trasladó dejó pasó_a aplazó"
    " pospuso rompió divorció casó desde$ volvió ora$ adesso ormai cambiat trasferi lasciat"
    " smesso spostat divorziat sposat diventat agora já_não mudou deixou trocou casou divorciou"
    " nu$ tegenwoordig niet_meer verhuisd gestopt veranderd verplaatst voortaan 今は 今では"
    " 現在は やめ 辞め 引っ越 移っ 変わ 変え 変更 替え になった ようになった 転職 転校 結婚し"
    " 離婚 別れ 延期 上がっ 下がっ 现在 不再 不学 搬 换 改到 改成 戒 结婚了 离婚 分手 이제"
    " 지금은 이사 바꾸 바꿨 변경 그만 새로"
)
_ENDS = (
    "no_longer anymore any_more instead$ stopped quit$ gave_up given_up gone_off dropped"
    " switched replaced swapped traded left$ migrated sold$ broke_up split_up divorced outgrown"
    " overcame nicht_mehr mehr$ aufgehört aufgegeben gewechselt ersetzt umgestiegen getrennt"
    " scheiden plus$ arrêté quitté abandonné rompu remplacé ya_no dejó rompió lasciat smesso"
    " niet_meer gestopt já_não deixou やめ 辞め 別れ 不再 不学 戒 그만"
)
_ADDITIONS = (
    "also$ too$ another second$ third$ both$ additionally besides as_well now_and_then auch$"
    " außerdem zusätzlich zweite dritte noch_ein aussi$ également deuxième también además segund"
    " otro$ otra$ anche inoltre altro$ altra$ também outro$ ook$ tweede もう一 も飼 も好 も話"
    " 二匹目 也 还 另 또"
)
_PASTS = (
    "before$ previously formerly earlier in_the_past used_to use_to originally once$ at_first"
    " back_then former previous ever$ first$ s_old the_old his_old her_old their_old initially ex-"
    " früher vorher zuvor damals"
    " ursprünglich ehemals einmal einst zuerst mal$ alte$ alter$ altes$ alten$ avant$ autrefois"
    " auparavant ancien jadis à_l'origine précédent antes$ anteriormente original en_el_pasado"
    " ex antiguo antigua prima$ in_passato vecchio vecchia precedente in_origine un_tempo"
    " vroeger eerder 以前 前に 前の 昔 もともと 最初 かつて 元の 过去 原来 之前 曾经 예전 이전"
)


NEW = re.compile(
    r"\b(?:new|neue[nrms]?|nouve(?:au|l|lle)|nuev[oa]|nuov[oa]|nov[oa]|nieuwe?) (\w+)"
    r"|新(?:しい|的)?(\w\w)|새 (\w+)"
)
"""Finds a thing that is called new."""

_CHANGE, _END, _ADDITION, _PAST = "+change", "+end", "+addition", "+past"
_LATIN = re.compile(r"[a-zà-öø-ÿœß]+")
_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_SHORTEST = 3  # letters of a beginning


@dataclass(frozen=True, slots=True)
class Findings:
    """The meanings of the known words of a text; `start` is where the first of them begins."""

    attributes: frozenset[str]
    changes: bool
    ends: bool  # the change is the end of what it names
    adds: bool
    asks_past: bool
    start: int | None
    changing: tuple[str, ...]  # the words of a change


def findings(lower: str) -> Findings:
    """Return the meanings of the known words of a text in lower case."""
    matches = list(chain(_latin(lower), _asian(lower)))
    kinds = {kind for kind, _, _ in matches}
    starts = [start for kind, start, _ in matches if kind not in (_ADDITION, _PAST)]
    return Findings(
        attributes=frozenset(kind for kind in kinds if not kind.startswith("+")),
        changes=_CHANGE in kinds or _END in kinds,
        ends=_END in kinds,
        adds=_ADDITION in kinds,
        asks_past=_PAST in kinds,
        start=min(starts, default=None),
        changing=tuple(word for kind, _, word in matches if kind == _CHANGE),
    )


def _latin(lower: str) -> Iterator[tuple[str, int, str]]:
    """Yield the kind, the place and the text of each known Latin word and phrase."""
    words = [(match.group(), match.start()) for match in _LATIN.finditer(lower)]
    for number, (word, start) in enumerate(words):
        for kind in _WHOLE.get(word, ()):
            yield kind, start, word
        for beginning, kind in _BEGINNINGS.get(word[:_SHORTEST], ()):
            if word.startswith(beginning):
                yield kind, start, word
        for phrase, kind in _PHRASES.get(word, ()):
            here = [text for text, _ in words[number : number + len(phrase)]]
            if here[:-1] == list(phrase[:-1]) and here[-1].startswith(phrase[-1]):
                yield kind, start, " ".join(here)


def _asian(lower: str) -> Iterator[tuple[str, int, str]]:
    """Yield the same of other scripts."""
    if lower.isascii() or not _ASIAN.search(lower):
        return
    for word, kind in _INSIDE:
        start = lower.find(word)
        if start >= 0:
            yield kind, start, word


_WHOLE: dict[str, list[str]] = {}
_BEGINNINGS: dict[str, list[tuple[str, str]]] = {}  # by their first letters
_PHRASES: dict[str, list[tuple[tuple[str, ...], str]]] = {}
_INSIDE: list[tuple[str, str]] = []

_LISTS = {**_ATTRIBUTES, _CHANGE: _CHANGES, _END: _ENDS, _ADDITION: _ADDITIONS, _PAST: _PASTS}
for _kind, _list in _LISTS.items():
    for _entry in _list.split():
        _parts = tuple(_LATIN.findall(_entry))
        if not _parts:
            _INSIDE.append((_entry.replace("_", " "), _kind))
        elif len(_parts) > 1:
            _PHRASES.setdefault(_parts[0], []).append((_parts, _kind))
        elif _entry.endswith("$") or len(_parts[0]) < _SHORTEST:
            _WHOLE.setdefault(_parts[0], []).append(_kind)
        else:
            _BEGINNINGS.setdefault(_parts[0][:_SHORTEST], []).append((_parts[0], _kind))
