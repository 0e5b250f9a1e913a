"""The only package that imports vendors; each file implements a port."""
