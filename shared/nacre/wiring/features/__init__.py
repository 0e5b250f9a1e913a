"""One file for each feature, composed over the ports of any deployment.

`compose.Home` calls them, each when its feature is first used.
"""
