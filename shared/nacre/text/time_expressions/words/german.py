"""German words of time."""

GERMAN = """
    plain: was, wer, wen, wem, wo, wann, wie, der, die, das, ich, habe, hat, haben, war, ist, und
    plain: mit, von, zu, den, dem, ein, eine, mein, meine, nicht, wir, du, es, auf, für, hier, im
    plain: warum, welche, welcher, welches, gibt, wohnt, sind, waren, sie, uns, mir, bei, los, zum
    empty: passiert, passierte, gemacht, geschehen, geschah, erlebt, alles, etwas, zeig, zeige
    empty: liste
    empty: erinnerungen, erinnerst, dich, getan, neues, sich, so, mich, tat, gewesen, gab, dort
    day -2: vorgestern
    day -1: gestern, gestern abend, gestern früh, gestern morgen, gestern nacht, letzte nacht
    day -1: gestern nachmittag, gestern mittag
    day 0: heute, heute morgen, heute früh, heute abend, heute mittag, heute nacht
    day 0: heute nachmittag, heute vormittag
    day 1: morgen früh, morgen abend, morgen nachmittag, morgen vormittag
    tomorrow 1: morgen
    day 2: übermorgen
    in: im, in, während des, in diesem
    rel -1: letzte, letzten, letzter, letztes, letztem, vorige, vorigen, voriger, voriges
    rel -1: vergangene, vergangenen, vergangener, vergangenes, vergangenem
    rel -2: vorletzte, vorletzten, vorletzter, vorletztes
    rel 0: diese, diesen, dieser, dieses, diesem
    rel 1: nächste, nächsten, nächster, nächstes, nächstem, kommende, kommenden
    rel 1: kommender, kommendes
    rel 2: übernächste, übernächsten, übernächster, übernächstes
    unit minute: minute, minuten
    unit hour: stunde, stunden
    unit day: tag, tage, tagen
    unit week: woche, wochen
    unit month: monat, monate, monaten, monats
    unit quarter: quartal, quartale, quartalen, quartals
    unit year: jahr, jahre, jahren, jahres
    weekend: wochenende, wochenendes, wochenenden
    weekday 0: montag
    weekday 1: dienstag
    weekday 2: mittwoch
    weekday 3: donnerstag
    weekday 4: freitag
    weekday 5: samstag, sonnabend
    weekday 6: sonntag
    month 1: januar, jänner, ~jan
    month 2: februar, feber, ~feb
    month 3: märz, maerz
    month 4: april, ~apr
    month 5: mai
    month 6: juni
    month 7: juli
    month 8: ~august, ~aug
    month 9: september, ~sept, ~sep
    month 10: oktober, ~okt
    month 11: november, ~nov
    month 12: dezember, ~dez
    season spring: frühling, frühjahr, frühlings
    season summer: sommer, sommers
    season autumn: herbst, herbstes
    season winter: winter, winters
    number 1: ein, eine, einer, einem, einen, eines
    number 2: zwei
    number 3: drei
    number 4: vier
    number 5: fünf
    number 6: sechs
    number 7: sieben
    number 8: acht
    number 9: neun
    number 10: zehn
    number 11: elf
    number 12: zwölf
    number 14: vierzehn
    number 20: zwanzig
    number 30: dreißig
    number 2-5: paar, ein paar, einigen, einige, wenigen, wenige, der paar
    number 3-7: mehreren, mehrere
    nth 1: erste, ersten, erster, erstes
    nth 2: zweite, zweiten, zweiter, zweites
    nth 3: dritte, dritten, dritter, drittes
    nth 4: vierte, vierten, vierter, viertes
    nth 5: fünfte, fünften, fünfter, fünftes
    nth 6: sechste, sechsten, sechster, sechstes
    nth 7: siebte, siebten, siebter, siebtes
    nth 8: achte, achten, achter, achtes
    nth 9: neunte, neunten, neunter, neuntes
    nth 10: zehnte, zehnten, zehnter, zehntes
    nth 11: elfte, elften, elfter, elftes
    nth 12: zwölfte, zwölften, zwölfter, zwölftes
    ago_first: vor, vor etwa, vor ungefähr, vor circa, vor ca, vor rund, vor gut
    ago: her
    later_first: in
    since: seit, seit dem, seit der, ab, ab dem
    before: vor, vor dem, vor der
    until: bis, bis zum, bis zu, bis einschließlich
    after: nach, nach dem, nach der
    between: zwischen, zwischen dem
    and: und, und dem
    from: von, vom, von der
    to: bis, bis zum, und
    on: am, im, in, an, vom, von, aus, des, den, dem, für, um, zum, in der, in den, in dem, an den
    on: am letzten, aus dem
    of: im, des, der, in, vom, den, am, dieses
    the: der, die, das, den, dem
    part early: anfang, beginn, zu beginn, zu anfang
    part middle: mitte
    part late: ende, gegen ende
    part_of_day: morgen, abend, nachmittag, vormittag, mittag, nacht, früh
"""
