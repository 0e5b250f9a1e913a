"""Italian words of time."""

ITALIAN = """
    plain: cosa, chi, che, dove, dov, quando, come, il, lo, la, i, gli, le, un, una, di, del, della
    plain: a, con, mio, mia, io, non, per, ho, ha, è, e, si, ci, abbiamo, detto, fatto, stato, sono
    plain: mai, qual, quale, quali, perché, ero, era, sei, ti, mi, al, dei, da, nella, nel
    empty: successo, accaduto, tutto, mostra, ricordi, nuovo, fare, fatto, successa, qualcosa
    empty: facevo
    day -2: l altro ieri, altro ieri, avantieri, ieri l altro, altroieri
    day -1: ieri, ieri sera, ieri mattina, ieri pomeriggio, ieri notte, scorsa notte, stanotte
    day 0: oggi, stamattina, stasera, questa mattina, questa sera, oggi pomeriggio
    day 1: domani, domani mattina, domani sera
    day 2: dopodomani, dopo domani
    in: in, a, d, nel, nell, nella, durante il, durante l
    rel -1: scorso, scorsa, scorsi, scorse, passato, passata, passati, passate, ultimo, ultima
    rel -1: ultimi, ultime, precedente
    rel 0: questo, questa, quest, questi, queste
    rel 1: prossimo, prossima, prossimi, prossime, che viene, seguente
    unit minute: minuto, minuti
    unit hour: ora, ore
    unit day: giorno, giorni
    unit week: settimana, settimane
    unit month: mese, mesi
    unit quarter: trimestre, trimestri
    unit year: anno, anni
    weekend: fine settimana, weekend, week end
    weekday 0: lunedì
    weekday 1: martedì
    weekday 2: mercoledì
    weekday 3: giovedì
    weekday 4: venerdì
    weekday 5: sabato
    weekday 6: domenica
    month 1: gennaio, ~gen
    month 2: febbraio, ~feb
    month 3: marzo
    month 4: aprile, ~apr
    month 5: maggio, ~mag
    month 6: giugno, ~giu
    month 7: luglio, ~lug
    month 8: agosto, ~ago
    month 9: settembre, ~sett
    month 10: ottobre, ~ott
    month 11: novembre, ~nov
    month 12: dicembre, ~dic
    season spring: primavera
    season summer: estate
    season autumn: autunno
    season winter: inverno
    number 1: un, una, uno
    number 2: due
    number 3: tre
    number 4: quattro
    number 5: cinque
    number 6: sei
    number 7: sette
    number 8: otto
    number 9: nove
    number 10: dieci
    number 11: undici
    number 12: dodici
    number 15: quindici
    number 20: venti
    number 30: trenta
    number 1-3: un paio di, paio di
    number 2-5: qualche, alcuni, alcune, pochi, poche
    number 3-7: diversi, diverse, parecchi, parecchie
    nth 1: primo, prima
    nth 2: secondo
    nth 3: terzo
    nth 4: quarto
    ago: fa, or sono, addietro
    later_first: tra, fra, in
    later: dopo
    since: da, dal, dalla, dall, a partire da, a partire dal, sin da, fin da, fin dal
    before: prima di, prima del, prima della, prima dell
    until: fino a, fino al, fino alla, sino a, entro
    after: dopo, dopo il, dopo la
    between: tra, fra, tra il, fra il
    and: e, e il
    from: da, dal, dalla
    to: a, al, fino a, fino al, e, e il
    on: in, a, il, lo, la, l, i, le, gli
    on: del, di, della, dell, dello, nel, nella, nell, negli, nelle
    on: nei, per, al, alla, durante, di, nel mese di, nel corso del, durante il, allo, d
    of: di, del, della, dell, nel, in, dello
    the: il, lo, la, l, i, gli, le
    part early: inizio, inizi di, all inizio di, inizio di, primi di, ai primi di, a inizio
    part middle: metà, a metà, metà di, a metà di
    part late: fine, a fine, fine di, alla fine di
    part_of_day: mattina, sera, pomeriggio, notte
"""
