"""Composition: the settings, and which adapter stands behind which port.

`laptop` and `aws` build everything for the two deployments. Commands, the server and the
functions start here.
"""
