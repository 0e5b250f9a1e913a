"""Words of time in a query ("last week", "vor drei Tagen", 先週) as a range of days.

`time_expression.find_time` is the way in. `tokens` cuts a query by the words of a language, which
are in `words`; `grammar` finds the expressions; `days` counts on the calendar.
"""
