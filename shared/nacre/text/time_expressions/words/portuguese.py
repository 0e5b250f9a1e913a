"""Portuguese words of time."""

PORTUGUESE = """
    plain: o, que, quem, onde, quando, como, a, os, as, um, uma, de, do, da, em, e, com, meu, minha
    plain: eu, não, por, para, se, é, fiz, foi, no, na, nos, nas, ao, à, disse, estava, qual, quais
    plain: você, comi, fui, tenho, era, minhas, meus, quanto, quantos, quantas, aconteceu, ligou
    empty: sucedeu, tudo, mostra, lista, memórias, novo, feito, fez, houve, fizemos, algo, me
    day -2: anteontem, antes de ontem
    day -1: ontem, ontem à noite, ontem de manhã, ontem à tarde, noite passada
    day 0: hoje, hoje de manhã, hoje à noite, hoje à tarde, esta manhã, esta noite
    day 1: amanhã, amanhã de manhã, amanhã à noite
    day 2: depois de amanhã
    in: em, no, na, durante o, durante a, no mês de
    rel -1: passado, passada, passados, passadas, último, última, últimos, últimas, anterior
    rel -2: retrasado, retrasada
    rel 0: este, esta, estes, estas, neste, nesta, deste, desta, esse, essa, nesse, nessa
    rel 1: próximo, próxima, próximos, próximas, que vem, seguinte
    unit minute: minuto, minutos
    unit hour: hora, horas
    unit day: dia, dias
    unit week: semana, semanas
    unit month: mês, meses
    unit quarter: trimestre, trimestres
    unit year: ano, anos
    weekend: no fim de semana, no final de semana, do fim de semana, do final de semana
    weekend: fim de semana, final de semana, fins de semana
    weekday 0: segunda feira, ~segunda
    weekday 1: terça feira, ~terça
    weekday 2: quarta feira, ~quarta
    weekday 3: quinta feira, ~quinta
    weekday 4: sexta feira, ~sexta
    weekday 5: sábado
    weekday 6: domingo
    month 1: janeiro, ~jan
    month 2: fevereiro, ~fev
    month 3: ~março
    month 4: abril, ~abr
    month 5: maio
    month 6: junho, ~jun
    month 7: julho, ~jul
    month 8: agosto, ~ago
    month 9: setembro
    month 10: outubro, ~out
    month 11: novembro, ~nov
    month 12: dezembro, ~dez
    season spring: primavera
    season summer: verão
    season autumn: outono
    season winter: inverno
    number 1: um, uma
    number 2: dois, duas
    number 3: três
    number 4: quatro
    number 5: cinco
    number 6: seis
    number 7: sete
    number 8: oito
    number 9: nove
    number 10: dez
    number 11: onze
    number 12: doze
    number 15: quinze
    number 20: vinte
    number 30: trinta
    number 1-3: um par de, par de
    number 2-5: alguns, algumas, uns, umas, poucos, poucas
    number 3-7: vários, várias
    nth 1: primeiro, primeira
    nth 2: segundo
    nth 3: terceiro
    nth 4: quarto
    ago_first: há, faz, há cerca de
    ago: atrás
    later_first: daqui a, em, dentro de, daqui
    later: depois
    since: desde, desde o, desde a, a partir de, a partir do, a partir da
    before: antes de, antes do, antes da
    until: até, até o, até a, até ao
    after: depois de, depois do, depois da, após, após o, após a
    between: entre, entre o
    and: e, e o
    from: de, do, da, desde
    to: a, ao, até, até o, e, e o
    on: em, no, na, nos, nas, o, a, os, as, de, do, da, para, durante, ao, no dia, dia, em o, à
    on: no mês de, durante o, durante a, do dia, para o
    of: de, do, da, no, em, deste
    the: o, a, os, as
    part early: início de, no início de, começo de, no começo de, princípio de, no princípio de
    part middle: meados de, em meados de, meio de
    part late: final de, no final de, fim de, no fim de, finais de
    part_of_day: de manhã, à tarde, à noite, de tarde, de noite
"""
