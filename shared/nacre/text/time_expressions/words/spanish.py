"""Spanish words of time."""

SPANISH = """
    plain: qué, que, quién, quien, dónde, donde, cuándo, cómo, el, la, los, las, un, una, de, del
    plain: en, y, con, mi, mis, yo, no, por, para, se, es, hice, he, ha, lo, fue, al, a, nos, su
    plain: cuál, cuánto, cuántos, cuántas, hizo, dijo, estuve, pasó, fui, tengo, era, estaba
    empty: ocurrió, sucedió, todo, muestra, lista, recuerdos, hecho, nuevo, hicimos, ha, me, algo
    day -2: anteayer, antes de ayer, antier
    day -1: ayer, anoche, ayer por la noche, ayer por la mañana, ayer por la tarde
    day 0: hoy, esta mañana, esta tarde, esta noche, hoy en la mañana
    tomorrow 1: mañana
    day 1: mañana por la mañana, mañana por la tarde
    day 2: pasado mañana
    in: en, en el, en la, durante el, durante la, en el mes de
    rel -1: pasado, pasada, pasados, pasadas, último, última, últimos, últimas, anterior
    rel 0: este, esta, estos, estas
    rel 1: próximo, próxima, próximos, próximas, que viene, siguiente, entrante
    unit minute: minuto, minutos
    unit hour: hora, horas
    unit day: día, días
    unit week: semana, semanas
    unit month: mes, meses
    unit quarter: trimestre, trimestres
    unit year: año, años
    weekend: fin de semana, a fin de semana
    weekday 0: lunes
    weekday 1: martes
    weekday 2: miércoles
    weekday 3: jueves
    weekday 4: viernes
    weekday 5: sábado
    weekday 6: domingo
    month 1: enero, ~ene
    month 2: febrero, ~feb
    month 3: marzo
    month 4: abril, ~abr
    month 5: mayo
    month 6: junio, ~jun
    month 7: julio, ~jul
    month 8: agosto
    month 9: septiembre, setiembre, ~sept, ~sep
    month 10: octubre, ~oct
    month 11: noviembre, ~nov
    month 12: diciembre, ~dic
    season spring: primavera
    season summer: verano
    season autumn: otoño
    season winter: invierno
    number 1: un, una, uno
    number 2: dos
    number 3: tres
    number 4: cuatro
    number 5: cinco
    number 6: seis
    number 7: siete
    number 8: ocho
    number 9: nueve
    number 10: diez
    number 11: once
    number 12: doce
    number 15: quince
    number 20: veinte
    number 30: treinta
    number 1-3: un par de, par de
    number 2-5: unos, unas, unos pocos, pocos, pocas, unas pocas, algunos, algunas, unos cuantos
    number 3-7: varios, varias
    nth 1: primero, primer, primera
    nth 2: segundo
    nth 3: tercer, tercero
    nth 4: cuarto
    ago_first: hace, hace casi
    number 2-5: cuantos
    ago: atrás
    later_first: dentro de, en
    later: más tarde, después
    since: desde, desde el, desde la, a partir del, a partir de, desde hace, desde el mes de
    before: antes de, antes del, antes de la, antes del mes de
    until: hasta, hasta el, hasta la
    after: después de, después del, tras, tras el
    between: entre, entre el
    and: y, y el
    from: de, del, desde, desde el
    to: a, al, hasta, hasta el, y, y el
    on: en, el, la, los, las, del, de, de la, para, al, durante, por, en el, en la, en los, en las
    on: en el mes de, durante el, durante la, para el, el día, este
    of: de, del, en, de la, de este
    the: el, la, los, las
    part early: principios de, a principios de, comienzos de, a comienzos de
    part early: inicios de, a inicios de
    part middle: mediados de, a mediados de
    part late: finales de, a finales de, fines de, a fines de, a final de
    part_of_day: por la mañana, por la tarde, por la noche, en la mañana, noche
"""
