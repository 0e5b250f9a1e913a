"""Words of time in a query ("last week", "vor drei Tagen", 先週) as a range of days.

`time_expression.find_time` is the way in. `tokens` cuts a query by the words of a language, which
are in `words`; `grammar` finds the expressions; `days` counts on the calendar.

These are rules of our own, because libraries fall short: dateparser 1.5 gives single days, finds
none in "letzte Woche" or "this summer", reads "do" and "pet" as days, and takes 45 ms a query.
"""
