"""Separate processes that check large results, so that this process stays responsive.

`process_pool.ScreeningProcesses` starts them, `process` is the program that they run.
"""
