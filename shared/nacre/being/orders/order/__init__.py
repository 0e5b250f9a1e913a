"""One order, from its message to its answer.

`run.Orders` receives it. `agent` talks to the model, `toolbox` calls tools, `aggregate` builds
the answer, and `order_record` stores what is kept.
"""
