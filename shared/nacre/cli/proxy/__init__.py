"""The command `proxy`, with one file for each form that it takes.

`proxy_command` parses the options and starts one form, which runs a proxy of `firewall.proxy`.
"""
