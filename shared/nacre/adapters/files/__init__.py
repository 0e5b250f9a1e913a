"""Ports as files of this machine: blobs, secrets, vault, audit and backups."""
