"""Ports as files of this machine: blobs, secrets, vault, audit and backups.

`private_files` writes all of them, readable for their owner only.
"""
