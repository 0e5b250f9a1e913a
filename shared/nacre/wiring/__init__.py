"""Composition: the settings, and which adapter stands behind which port.

`laptop` and `aws` each open the `ports` of one deployment; `compose` builds every feature over
them, once for both. Commands, servers and functions start here and work on the `Home` they get.
"""
