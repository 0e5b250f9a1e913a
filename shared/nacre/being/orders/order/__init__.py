"""One order, from its message to its answer.

`run.Orders` receives it. `agent` talks to the model, `toolbox` calls tools, `answer` puts the
answer together, and `order_record` stores the order in the memory and in its session.
"""
