"""English words of time."""

ENGLISH = """
    plain: what, did, do, does, i, my, the, who, when, where, how, is, was, were, and, of, to, we
    plain: have, has, had, with, about, you, me, which, why, are, for, at, it, that, this, by, us
    empty: happened, happen, happens, happening, going, go, went, anything, everything, something
    empty: nothing
    empty: thing, things, new, tell, show, list, memories, memory, remember, there, all, any, been
    empty: done, doing, made, make, up, can, could, please, know, note, notes, noted, our, s, say
    day -2: day before yesterday
    day -1: yesterday, last night
    day 0: today, tonight, this morning, this afternoon, this evening
    day 1: tomorrow, tmrw
    day 2: day after tomorrow
    mine: my, your, his, her, our, their, its
    in: in, during, back in, throughout, in the, during the
    rel -1: last, previous, past, this past, this last, these last, these past, the preceding
    past -1: past, this past, these past, this last, these last
    rel 0: this, current
    plain: black friday, good friday, ash wednesday, maundy thursday, palm sunday, shrove tuesday
    plain: cyber monday, taco tuesday, super sunday, casual friday, boxing day
    rel 1: next, coming, upcoming, following, this coming
    after_rel -2: before last
    after_rel 2: after next
    unit minute: minute, minutes, min, mins
    unit hour: hour, hours
    unit day: day, days
    unit week: week, weeks, wk, wks
    unit month: month, months
    unit quarter: quarter, quarters, qtr
    unit year: year, years, yr, yrs
    weekend: weekend, week end
    weekday 0: monday, ~mon
    weekday 1: tuesday, ~tue, ~tues
    weekday 2: wednesday, ~wed
    weekday 3: thursday, ~thu, ~thur, ~thurs
    weekday 4: friday, ~fri
    weekday 5: saturday, ~sat
    weekday 6: sunday, ~sun
    month 1: january, ~jan
    month 2: february, ~feb
    month 3: ~march, ~mar
    month 4: ~april
    short_month 4: apr
    month 5: ~may
    month 6: ~june, ~jun
    month 7: july, ~jul
    month 8: ~august, ~aug
    month 9: september, ~sep, ~sept
    month 10: october, ~oct
    month 11: november, ~nov
    month 12: december, ~dec
    season spring: spring, springtime
    season summer: summer, summertime
    season autumn: autumn, fall
    season winter: winter, wintertime
    number 1: one, a, an
    number 2: two
    number 3: three
    number 4: four
    number 5: five
    number 6: six
    number 7: seven
    number 8: eight
    number 9: nine
    number 10: ten
    number 11: eleven
    number 12: twelve
    number 20: twenty
    number 30: thirty
    number 1-3: couple, couple of, a couple, a couple of
    number 2-5: few, a few
    number 3-7: several
    nth 1: first
    nth 2: second
    nth 3: third
    nth 4: fourth
    nth 5: fifth
    nth 6: sixth
    nth 7: seventh
    nth 8: eighth
    nth 9: ninth
    nth 10: tenth
    nth 15: fifteenth
    nth 20: twentieth
    ago: ago, back, earlier
    later: from now, hence
    later_first: in, within
    window: in, over, during, within, across, throughout
    since: since, ever since, starting from, as of
    before: before, prior to, earlier than
    until: until, till, up to, through
    after: after, later than
    between: between
    and: and
    from: from
    to: to, until, till, through, thru, and
    on: on, in, for, of, from, at, during, by, around, about, for the, back in, over
    of: of
    the: the
    part early: early, the beginning of, beginning of, the start of, start of
    part middle: mid, middle of, the middle of
    part late: late, the end of, end of
    habit: mornings, afternoons, evenings, nights
    part_of_day: morning, afternoon, evening, night, noon
"""
