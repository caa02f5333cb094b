"""Scenarios as validated values, and what can be named in one.

`scenario` reads a file; `resolved` is what the engine made of it. `catalogue`, `own` and `phys` list what a file can
name. `schemes` tells which network-assisted scheme runs.
"""
