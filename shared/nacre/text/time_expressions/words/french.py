"""French words of time."""

FRENCH = """
    plain: qui, que, quoi, où, quand, comment, le, la, les, un, une, des, du, de, j, je, ai, est
    plain: ce, qu, et, avec, mon, ma, mes, nous, vous, il, elle, on, pas, dans, pour, sur, au, c
    plain: quel, quelle, quels, quelles, fait, était, étais, avons, avait, chez, pourquoi, combien
    empty: arrivé, tout, montre, liste, souvenirs, s, se, neuf, ont, été, passé, passe, moi, ça, t
    empty: a
    day -2: avant hier
    day -1: hier, hier soir, hier matin, hier après midi, la nuit dernière, cette nuit
    day 0: aujourd hui, ce matin, ce soir, cet après midi
    day 1: demain, demain matin, demain soir
    day 2: après demain
    in: en, au, à l, pendant l, au mois de, durant l, pendant le, durant le, mois de
    rel -1: dernier, dernière, derniers, dernières, passé, passée, passés, passées, précédent
    rel -1: précédente
    rel 0: ce, cet, cette, ces
    rel 1: prochain, prochaine, prochains, prochaines, qui vient, suivant, suivante
    unit minute: minute, minutes
    unit hour: heure, heures
    unit day: jour, jours
    unit week: semaine, semaines
    unit month: mois
    unit quarter: trimestre, trimestres
    unit year: an, ans, année, années
    weekend: week end, weekend, fin de semaine
    weekday 0: lundi
    weekday 1: mardi
    weekday 2: mercredi
    weekday 3: jeudi
    weekday 4: vendredi
    weekday 5: samedi
    weekday 6: dimanche
    month 1: janvier, ~janv
    month 2: février, ~févr
    month 3: ~mars
    month 4: avril
    month 5: ~mai
    month 6: juin
    month 7: juillet, ~juil
    month 8: août
    month 9: septembre, ~sept
    month 10: octobre, ~oct
    month 11: novembre, ~nov
    month 12: décembre, ~déc
    season spring: printemps
    season summer: été
    season autumn: automne
    season winter: hiver
    number 1: un, une
    number 2: deux
    number 3: trois
    number 4: quatre
    number 5: cinq
    number 6: six
    number 7: sept
    number 8: huit
    number 9: neuf
    number 10: dix
    number 11: onze
    number 12: douze
    number 15: quinze
    number 20: vingt
    number 30: trente
    number 2-5: quelques, quelque
    number 3-7: plusieurs
    digits 1: premier
    nth 1: premier, première
    nth 2: deuxième, second
    nth 3: troisième
    nth 4: quatrième
    ago_first: il y a, y a, voici, il y a environ, il y a à peu près, voilà
    ago: plus tôt, auparavant
    later_first: dans, d ici
    later: plus tard
    since: depuis, depuis le, depuis la, depuis l, dès, à partir du, à partir de, depuis le mois de
    before: avant, avant le, avant la, avant l, avant le mois de
    until: jusqu à, jusqu au, jusqu en, jusque
    after: après, après le, après la, après l
    between: entre, entre le, entre le mois de
    and: et, et le
    from: de, du, d, depuis
    to: à, au, jusqu à, jusqu au, et, et le
    on: en, le, au, à, du, de, d, l, la, dans, pour, pendant, au mois de, en l, cours de, durant
    on: ce mois de, de l, de la, les, au cours de, au cours des, pendant les, au cours du
    of: de, du, de la, d, le, de l, en, ci, des
    the: le, la, l, les, des
    part early: début, au début de, au début du mois de, le début de, début du mois de, au début du
    part middle: mi, milieu, au milieu de, la mi, à la mi
    part late: fin, à la fin de, à la fin du mois de, la fin de, fin du mois de, à la fin du
    part_of_day: matin, soir, après midi, midi, nuit
"""
